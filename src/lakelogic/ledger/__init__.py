"""What we remember: runs, watermarks, resume points, leases. `store.open_ledger` is the door."""
