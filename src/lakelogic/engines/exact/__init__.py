"""What functions mean where engines differ: floating point, text, patterns, and long expressions in parts."""
