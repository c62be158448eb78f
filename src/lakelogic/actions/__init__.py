"""Use cases: what a surface asks for, answered without knowing which surface asks."""
