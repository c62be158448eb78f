"""Where a row or a value came from: rows of a table back to the rows and lines of files that they were made of."""
