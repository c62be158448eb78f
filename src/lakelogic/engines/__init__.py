"""Where a plan becomes work: an engine translates and decides nothing."""
