"""Plain Parquet tables with a log of our own."""
