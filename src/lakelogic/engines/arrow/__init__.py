"""Arrow batches on their way to staged files: adopted, ordered, counted, written."""
