"""What lies in a source, before an engine reads it."""
