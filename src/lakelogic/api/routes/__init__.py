"""One module for each noun of the service."""
