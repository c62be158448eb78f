"""Many contracts: registries, estates, the graph between datasets, and passes over it."""
