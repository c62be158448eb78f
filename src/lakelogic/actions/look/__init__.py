"""Look at an estate without changing it: rows, runs, lineage, overview, the static site."""
