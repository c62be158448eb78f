"""One contract, once: the order of a run, and what it answers with."""
