"""Is it one meaning? Contracts and rows are made up, run on several engines, and the results compared."""
