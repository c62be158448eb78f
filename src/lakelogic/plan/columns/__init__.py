"""Columns on their way: as they landed, as the model declares them, as they are published; types, masks, evolution."""
