"""The demo: a small retail estate from landing files to gold, on one engine."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lakelogic.catalogs.local import DEFAULT_FOLDER
from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.privacy.keys import new_key
from lakelogic.run.contract_run import run
from lakelogic.run.events.hub import Event
from lakelogic.run.events.types import EngineStarting
from lakelogic.run.request import ContractRequest
from lakelogic.run.surroundings import Surroundings

LAYERS = ("bronze", "silver", "gold")
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """What happened to one dataset."""

    dataset: str
    status: str
    read: int
    good: int
    quarantined: int
    losses: dict[str, int]
    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BadRowSample:
    """A quarantined row: where it lies, its key, and why."""

    dataset: str
    row: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The whole pass."""

    engine: str
    warehouse: str
    rows: tuple[DatasetRow, ...]
    samples: tuple[BadRowSample, ...]
    seconds: float
    exit_code: int

    def as_dict(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "engine": self.engine,
            "warehouse": self.warehouse,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 2),
            "datasets": [
                {
                    "dataset": row.dataset, "status": row.status, "read": row.read, "good": row.good,
                    "quarantined": row.quarantined, "losses": row.losses, "seconds": round(row.seconds, 2),
                    "reason": row.reason,
                }
                for row in self.rows
            ],
            "quarantined": [{"dataset": s.dataset, "row": s.row, "reasons": list(s.reasons)} for s in self.samples],
        }  # fmt: skip


@dataclass(slots=True)
class _DemoPass:
    engine: Any
    around: Surroundings
    samples: list[BadRowSample] = field(default_factory=list)


def estate_root() -> Path:
    """Where the retail example lies: in the package, or in a checkout."""
    here = Path(__file__).resolve().parents[2]
    for candidate in (here / "examples" / "retail", here.parents[1] / "examples" / "retail"):
        if (candidate / "contracts" / "_registry.yaml").is_file():
            return candidate
    raise UsageError("The retail example is not installed.", hint="Install lakelogic again, or run from a checkout.")


def contracts(root: Path) -> list[Path]:
    """The contracts of the estate by layer, then as the registry lists them."""
    folder = root / "contracts"
    entries = yaml.safe_load((folder / "_registry.yaml").read_text(encoding="utf-8"))["entries"]
    return [folder / e["contracts"][layer] for layer in LAYERS for e in entries if layer in e["contracts"]]


def run_demo(around: Surroundings, engine: str | None, warehouse: str | None) -> DemoReport:
    """Run every contract of the estate in order; a dataset that fails holds back nothing but is told."""
    name = engine or registry.default_name()
    root = estate_root()
    place = Path(warehouse or Path(DEFAULT_FOLDER) / f"demo-{name}").absolute()
    place.mkdir(parents=True, exist_ok=True)
    key_file = place / "demo.key"
    environ = {**around.environ, **_secrets(key_file)}
    started = time.monotonic()
    for sink in around.sinks:
        sink(Event(EngineStarting(name), "demo", _now()))
    demo = _DemoPass(registry.load(name), Surroundings.in_folder(place, root, environ, around.sinks))
    try:
        rows = [_one(demo, path) for path in contracts(root)]
    finally:
        demo.around.close()
        demo.engine.close()
    codes = {"succeeded": 0, "no_new_data": 0, "gated": 1}
    exit_code = max(codes.get(row.status, 4) for row in rows)
    samples = tuple(demo.samples[:_SAMPLES])
    return DemoReport(name, str(place), tuple(rows), samples, time.monotonic() - started, exit_code)


def _now() -> Any:
    from lakelogic import clock

    return clock.now()


def _secrets(key_file: Path) -> dict[str, str]:
    """A throw-away key for the demo's personal data, made once per warehouse and readable by its owner only."""
    if not key_file.exists():
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(new_key())
    key = key_file.read_text().strip()
    return {"LAKELOGIC_PII_KEY": key, "LAKELOGIC_PII_SALT": key}


def _one(demo: _DemoPass, path: Path) -> DatasetRow:
    loaded = load(path)
    started = time.monotonic()
    around = demo.around
    job = ContractRequest(
        loaded, demo.engine, around.catalog, around.ledger, environ=around.environ, sinks=around.sinks
    )
    dataset = loaded.contract.dataset_name
    try:
        result = run(job)
    except LakeLogicError as error:
        return DatasetRow(dataset, "failed", 0, 0, 0, {}, time.monotonic() - started, error.message)
    counts = result.counts
    losses = {**counts.filtered, **counts.deduplicated, **counts.grouped}
    if counts.quarantined and result.sides is not None:
        demo.samples += _samples(result, dataset, loaded.contract.key)
    return DatasetRow(
        dataset,
        result.status,
        counts.source,
        counts.good,
        counts.quarantined,
        {step: n for step, n in losses.items() if n},
        time.monotonic() - started,
        "; ".join(result.reasons) or None,
    )


def _samples(result: Any, dataset: str, key: Sequence[str]) -> list[BadRowSample]:
    """The first rows of each dataset's quarantine, told by key or by place; personal values stay masked."""
    from lakelogic import names

    table = result._bad_table(reveal=False)
    samples = []
    for row in table.slice(0, 3).to_pylist():
        labels = [str(row[name]) for name in key if row.get(name) is not None]
        if row[names.LINE] is not None:
            labels = [f"{Path(str(row[names.SOURCE])).name} line {row[names.LINE]}"]
        where = " ".join(labels) or f"row {row[names.ROW_ID][:8]}"
        samples.append(BadRowSample(dataset, where, tuple(row[names.ERRORS])))
    return samples
