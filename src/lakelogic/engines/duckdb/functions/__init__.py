"""The functions of the catalogue as DuckDB SQL text, by group."""
