"""What we remember: runs, watermarks, resume points, leases. `store.open_ledger` opens one."""
