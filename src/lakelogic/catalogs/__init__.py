"""Table name to place."""
