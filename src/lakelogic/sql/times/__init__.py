"""Times in contract SQL: patterns, texts, units, zones."""
