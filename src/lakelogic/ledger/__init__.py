"""What we remember: runs, watermarks, resume points, leases. `store.open_ledger` is the door.

Importing this package or `records` is cheap; `store` loads SQLAlchemy and is imported when a ledger is opened.
"""
