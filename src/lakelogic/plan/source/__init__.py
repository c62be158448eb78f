"""What of a source a plan reads: links, days, watermarks, and rows that are deleted upstream."""
