"""Delta tables: through delta-rs, or through a Spark session that has Delta of its own."""
