"""The quarantine as a table: which bad rows wait in it, what identifies each of them, and how they landed."""
