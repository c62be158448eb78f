"""What a target remembers of its runs, who may write to it, and whether ledger and tables agree."""
