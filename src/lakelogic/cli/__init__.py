"""The command line: arguments to one action, its answer to text or JSON."""
