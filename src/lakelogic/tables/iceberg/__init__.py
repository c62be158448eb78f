"""Iceberg tables through pyiceberg."""
