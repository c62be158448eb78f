"""How rows are kept: formats know commits, not rules."""
