"""Files to Arrow batches, the same on every engine: csv, JSON, Parquet."""
