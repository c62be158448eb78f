"""Verify that a contract means the same on every engine: from a path to a certificate or the first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """Which contract, on which engines (all that are installed), over how many made-up rows of which seed."""

    contract: str
    engines: tuple[str, ...] = ()
    rows: int = 200
    seed: int = 1
    env: str | None = None
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """A certificate, or the difference; exactly one of them."""

    certificate: Mapping[str, Any] | None
    difference: Mapping[str, Any] | None
    text: str

    @property
    def exit_code(self) -> int:
        """0 with a certificate, 1 with a difference."""
        return 0 if self.difference is None else 1

    def as_dict(self) -> dict[str, Any]:
        """As a program reads it."""
        return {
            "status": "verified" if self.difference is None else "differs",
            "exit_code": self.exit_code,
            "certificate": self.certificate,
            "difference": self.difference,
        }


def verify_contract(
    around: Surroundings, request: VerifyRequest, tell: Callable[[str], None] | None = None
) -> VerifyReport:
    """Generated edge rows through all engines; nothing is published, and the ledger hears nothing."""
    from lakelogic.parity.verify import installed, verify
    from lakelogic.plan.compile import load_checked

    loaded = load_checked(request.contract, env=request.env, overrides=request.overrides or None)
    engines = installed(request.engines)
    try:
        report = verify(loaded, around.catalog, engines, rows=request.rows, seed=request.seed, tell=tell)
    finally:
        for engine in engines:
            engine.close()
    if report.difference is not None:
        parted = report.difference
        details = {"what": parted.what, "column": parted.column, "values": parted.values, "row": parted.row}
        return VerifyReport(None, details, f"{parted}\n  seed {request.seed}, {request.rows} rows")
    assert report.certificate is not None
    certificate = asdict(report.certificate)
    return VerifyReport(certificate, None, _as_text(certificate))


def _as_text(certificate: Mapping[str, Any]) -> str:
    engines = ", ".join(f"{name} {version}" for name, version in certificate["engines"].items())
    rows = f"{certificate['rows']} made-up rows: {certificate['good']} good, {certificate['bad']} bad"
    lost = f", {certificate['lost']} filtered, deduplicated or grouped" if certificate["lost"] else ""
    return "\n".join(
        [
            f"{certificate['dataset']} means the same on {engines}.",
            f"  contract  {certificate['contract_fingerprint']}",
            f"  plan      {certificate['plan_fingerprint']}",
            f"  rows      {rows}{lost} (seed {certificate['seed']})",
            f"  result    {certificate['digest']}",
        ]
    )
