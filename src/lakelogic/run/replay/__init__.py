"""Quarantined rows judged once more: replay, its preview, and discarding what nobody will mend."""
