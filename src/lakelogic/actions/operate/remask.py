"""Mask a table, its history and its quarantine anew, after a mask, a key or a salt has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic import clock, names
from lakelogic.actions.operate.quarantine import person
from lakelogic.actions.visibility.remask_followups import InClear, in_clear_below
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class RemaskReport:
    """What was masked anew; None: there is no such table."""

    dataset: str
    target: str
    rows: int | None
    quarantine: str
    quarantined: int | None
    columns: tuple[str, ...]
    forgotten: int = 0  # rows that waited and cannot be replayed any more
    downstream: tuple[InClear, ...] = ()  # datasets that still hold in clear what is masked where it came from

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "dataset": self.dataset, "target": self.target, "rows": self.rows, "quarantine": self.quarantine,
            "quarantined": self.quarantined, "columns": list(self.columns), "forgotten": self.forgotten,
            "downstream": [dataset.as_dict() for dataset in self.downstream],
        }  # fmt: skip


def remask(
    around: Surroundings,
    contract: str,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    why: str | None = None,
    *,
    forget_landed: bool = False,
) -> RemaskReport:
    """Mask what is stored as the contract and the keys at hand say now; the ledger hears of it first.

    Rows that wait in quarantine are kept as they landed, encrypted. Where there is no key, only `forget_landed` goes
    on, and these rows cannot be replayed any more.
    """
    from lakelogic.ledger.records import Act
    from lakelogic.plan.compile import load_checked
    from lakelogic.privacy.keys import load_keys
    from lakelogic.run import faults
    from lakelogic.run.masks import changed as masking
    from lakelogic.run.places import places
    from lakelogic.run.state import leases
    from lakelogic.run.state.environments import refuse_others
    from lakelogic.run.state.progress import progress_of

    loaded = load_checked(contract, env=env, overrides=overrides)
    document, ledger = loaded.contract, around.ledger
    where = places(document, around.catalog)
    keys = load_keys({field.masking for field in document.model.fields if field.masking}, around.environ)
    lease = leases.acquire(ledger, where.target_location, f"remask-{names.new_run_id(clock.now())}")
    try:
        faults.reach("after_lease")
        refuse_others(loaded, where, progress_of(document.dataset_name, where), "Nothing was masked anew.")
        ledger.tell(Act("remask", document.dataset_name, person(), why, {"contract": contract}))
        faults.reach("after_intent")
        progress = progress_of(document.dataset_name, where)
        done = masking.remask(document, where, progress, keys, forget_landed=forget_landed)
    finally:
        leases.release(ledger, lease)
    below = in_clear_below(around)
    return RemaskReport(
        document.dataset_name,
        where.target,
        done.rows,
        where.quarantine,
        done.quarantined,
        done.columns,
        done.forgotten,
        tuple(below),
    )
