"""Good rows to elsewhere: each destination is a module of its own, with the protocol of `base.py`."""
