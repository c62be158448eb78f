"""Show what a contract's table should be, and make it so without touching rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class DdlRequest:
    """A contract; with `apply` the statements are carried out."""

    contract: str
    env: str | None = None
    overrides: tuple[str, ...] = ()
    apply: bool = False


@dataclass(frozen=True, slots=True)
class DdlReport:
    """The statements, what they leave as it is, and whether they were carried out."""

    dataset: str
    table: str
    location: str
    exists: bool
    statements: tuple[str, ...]
    left: tuple[str, ...]
    applied: bool

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "dataset": self.dataset,
            "table": self.table,
            "location": self.location,
            "exists": self.exists,
            "statements": list(self.statements),
            "left": list(self.left),
            "applied": self.applied,
        }


def ddl(around: Surroundings, request: DdlRequest) -> DdlReport:
    """The statements of a contract's table; carried out under the lease of the target where asked."""
    from lakelogic import clock, names
    from lakelogic.plan.compile import load_checked
    from lakelogic.run import ddl as definitions
    from lakelogic.run.state import leases

    loaded = load_checked(request.contract, env=request.env, overrides=request.overrides)
    definition = definitions.define(loaded, around.catalog)
    wanted = bool(definition.statements)
    if request.apply and wanted:
        ledger = around.ledger
        lease = leases.acquire(ledger, definition.location, f"ddl-{names.new_run_id(clock.now())}")
        try:
            definition = definitions.define(loaded, around.catalog)
            definitions.apply(definition, loaded.contract.schema_policy.evolution)
        finally:
            leases.release(ledger, lease)
    return DdlReport(
        loaded.contract.dataset_name,
        definition.name,
        definition.location,
        definition.state is not None,
        definition.statements,
        definition.left,
        request.apply and wanted,
    )
