"""Look after what the ledger remembers: is it what the tables say, and if not, mend it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lakelogic.plan.compile import load_checked
from lakelogic.run.request import ContractRequest
from lakelogic.run.state.checks import Finding
from lakelogic.run.state.doctor import check_up
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class DoctorRequest:
    """Contracts to look at; `mend` brings the ledger up to the tables."""

    contracts: tuple[str, ...]
    env: str | None = None
    overrides: tuple[str, ...] = ()
    mend: bool = True


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found about one dataset."""

    dataset: str
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """6 where something is wrong in the tables, 1 where a person should look, else 0."""
        levels = {finding.level for finding in self.findings}
        return 6 if "wrong" in levels else 1 if "look" in levels else 0

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"dataset": self.dataset, "findings": [asdict(finding) for finding in self.findings]}


def examine(around: Surroundings, request: DoctorRequest) -> list[Examined]:
    """Look at every contract's dataset, in the order in which they were named."""
    examined = []
    for written in request.contracts:
        loaded = load_checked(written, env=request.env, overrides=request.overrides)
        job = ContractRequest(loaded, None, around.catalog, around.ledger)  # type: ignore[arg-type]  # no row is evaluated
        findings = check_up(job, mend=request.mend)
        examined.append(Examined(loaded.contract.dataset_name, tuple(findings)))
    return examined
