"""What goes through the sequence: the contract's source, or rows that were handed in."""
