"""The functions of the catalogue as Polars expressions, by group."""
