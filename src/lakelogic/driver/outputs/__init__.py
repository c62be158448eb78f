"""What a pass leaves behind for others: summaries, rows in a table, files, metrics."""
