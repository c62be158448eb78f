"""What the models say of themselves: shapes of keys, availability, JSON Schema, the reference page."""
