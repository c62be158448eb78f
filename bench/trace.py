"""What one small merge asks of the house: how deep calls go, across how many rooms, and what is asked more than once.

`python -m bench.trace` prints the figures of the second run of a contract over three rows (one update, one insert, one
bad row) on DuckDB over Delta. They are counts, not times: the same on every machine.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

HOUSE = "lakelogic"
# What is worth doing once: a function of a module of ours, or a class that another package brings.
ONCE = {
    ("lakelogic.plan.compile", "compile_contract"): "compilations",
    ("lakelogic.plan.strategies.settings", "strategy_of"): "strategies",
    ("deltalake.table", "__init__"): "openings",
}
CONTRACT = {
    "dataset": "customers",
    "source": {"path": "landing/*.csv", "load_mode": "incremental"},
    "primary_key": ["id"],
    "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "email", "type": "string"}]},
    "quality": {"row_rules": [{"sql": "email LIKE '%@%'"}]},
    "materialization": {"strategy": "merge", "target_path": "shop.silver.customers"},
}


@dataclass(slots=True)
class Trace:
    """What was called between beginning and end."""

    calls: int = 0
    depth: int = 0
    across: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    openings: Counter[str] = field(default_factory=Counter)  # by the table that was opened
    _at: int = 0

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> None:
        """As `sys.setprofile` calls it: with every call of a Python function, and every return from one."""
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", ""))
        if event not in ("call", "return") or not (_is_ours(module) or (module, code.co_name) in ONCE):
            return
        if event == "return":
            self._at -= _is_ours(module)
            return
        if name := ONCE.get((module, code.co_name)):
            self._count(name, frame)
        if not _is_ours(module):
            return
        self.calls += 1
        self._at += 1
        self.depth = max(self.depth, self._at)
        caller = _caller(frame)
        self.across += caller is not None and _room(caller) != _room(module)

    def _count(self, name: str, frame: FrameType) -> None:
        if name != "openings":
            self.counted[name] += 1
        elif "DeltaTable" in type(frame.f_locals.get("self")).__name__:
            self.counted[name] += 1
            self.openings[Path(str(frame.f_locals.get("table_uri"))).name] += 1

    def as_dict(self) -> dict[str, Any]:
        """The figures by their names."""
        shown = asdict(self)
        return {name: shown[name] for name in ("depth", "across", "calls")} | {
            **{name: self.counted[name] for name in ("compilations", "strategies")},
            "openings": dict(self.openings),
        }


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == HOUSE


def _room(module: str) -> str:
    """The folder that a module lies in, of the first level: `lakelogic.run.publish.order` lies in `run`."""
    return module.split(".")[1] if "." in module else module


def _caller(frame: FrameType) -> str | None:
    """The nearest module of ours that the call came from; code that dataclasses make has no module of its own."""
    at = frame.f_back
    while at is not None:
        module = str(at.f_globals.get("__name__", ""))
        if _is_ours(module):
            return module
        at = at.f_back
    return None


def trace_second_run(folder: Path) -> Trace:
    """The trace of the second run of a contract over three rows; the first one has filled its table."""
    from lakelogic import DataProcessor

    landing = folder / "landing"
    landing.mkdir()
    (folder / "customers.yaml").write_text(json.dumps(CONTRACT))
    (landing / "1.csv").write_text("id,email\n1,ann@home\n2,bob@home\n")
    processor = DataProcessor(str(folder / "customers.yaml"), "duckdb")
    processor.run()
    (landing / "2.csv").write_text("id,email\n2,bob@work\n3,cid@home\n4,nowhere\n")
    trace = Trace()
    sys.setprofile(trace)
    try:
        result = processor.run()
    finally:
        sys.setprofile(None)
    if (result.status, result.counts.good, result.counts.quarantined) != ("succeeded", 2, 1):
        raise RuntimeError(f"The run that is traced came out otherwise: {result.status}, {result.counts}.")
    return trace


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="trace-") as name:
        os.chdir(name)
        os.environ["LAKELOGIC_PII_KEY"] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        figures = trace_second_run(Path(name)).as_dict()
        os.chdir("/")
    for key, value in figures.items():
        print(f"{key:14} {value}")


if __name__ == "__main__":
    main()
