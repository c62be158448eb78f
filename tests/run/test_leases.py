"""Leases of processes that cannot come back for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.errors import Blocked, LedgerError
from lakelogic.ledger.store import open_ledger
from lakelogic.run import leases


def test_a_process_that_could_not_give_its_lease_back_is_not_kept_out_by_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(f"sqlite:///{workspace}/ledger.db") as ledger:
        lease = leases.acquire(ledger, "a.b.c", "run-1")
        with pytest.raises(Blocked):
            leases.acquire(ledger, "a.b.c", "run-2")

        def full(_: object) -> None:
            raise LedgerError("The ledger cannot be used: disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(type(ledger), "release", lambda self, held: full(held))
            with pytest.raises(LedgerError):
                leases.release(ledger, lease)
        assert leases.acquire(ledger, "a.b.c", "run-3").owner.startswith("run-3@")
