"""What a run reads: files, tables, days and watermarks, given what its table holds already."""
