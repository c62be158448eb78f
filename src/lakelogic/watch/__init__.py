"""Numbers for monitoring, and the ways by which they leave the process."""
