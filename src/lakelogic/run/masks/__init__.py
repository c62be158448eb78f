"""Masks that changed after rows were written: what is refused meanwhile, and how a table is masked anew."""
