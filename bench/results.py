"""From records to figures: medians and spread, ratios of cases that ran side by side, and the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import Record, Store, fingerprint

FOLDER = Path(__file__).parent / "results"
NO_FIGURES = ("rules", "unique", "mask", "table")  # what the gate was told, and places on the machine
LIBRARIES = ("duckdb", "polars", "pyspark", "deltalake", "pyarrow", "sqlglot", "numpy")


def spread(values: list[float]) -> dict[str, float]:
    """Median, least, most and how many."""
    kept = [round(value, 3) for value in values]
    return {"median": round(median(kept), 3), "least": min(kept), "most": max(kept), "count": len(kept)}


def machine() -> dict[str, Any]:
    """What the machine is, and what is installed; no name and no path of it."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory = next((int(line.split()[1]) // 2**20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    installed = {}
    for name in LIBRARIES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gb": memory,
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "java": java[0] if java else "none",
        "libraries": installed,
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def commit() -> str:
    """The commit that is checked out."""
    root = Path(__file__).parents[1]
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def figures(records: list[Record]) -> dict[str, Any]:
    """The figures of one case: the first time of each process is cold, the last one is warm."""
    troubles = [record[word] for record in records for word in ("refused", "failed") if word in record]
    if troubles:
        # One wrong result is enough: no figure of this case is shown.
        word = "refused" if any("refused" in record for record in records) else "failed"
        return {word: troubles[0]}
    times = {
        "cold": [record["times"][0] for record in records],
        "warm": [record["times"][-1] for record in records if len(record["times"]) > 1],
    }
    found: dict[str, Any] = {"versions": records[-1]["versions"], "load": spread([r["load"] for r in records])}
    for name, group in times.items():
        if group:
            found[name] = {
                **{key: spread([one[key] for one in group]) for key in ("cpu", "wall")},
                **{key: spread([one[key] / 1e6 for one in group]) for key in ("bytes_read", "bytes_written")},
                "peak_mb": {
                    kind: spread([one["peak"].get(kind, 0) / 2**20 for one in group])
                    for kind in sorted({kind for one in group for kind in one["peak"]})
                },
                "files": group[-1]["files"],
                **{key: value for key, value in group[-1]["told"].items() if key not in NO_FIGURES},
            }
    return found


def ratios(records: dict[str, dict[str, Record]], when: str) -> dict[str, Any]:
    """CPU of each case against each other one, from the same rounds: `{case: {base: spread}}`."""

    def cpu(record: Record) -> float | None:
        if "times" not in record or not record["times"] or (when == "warm" and len(record["times"]) < 2):
            return None
        return float(record["times"][0 if when == "cold" else -1]["cpu"]) or None

    found: dict[str, Any] = {}
    for case, turns in records.items():
        for base, others in records.items():
            both = [(cpu(turns[turn]), cpu(others[turn])) for turn in turns if turn in others]
            pairs = [(one, other) for one, other in both if one and other]
            if case != base and pairs:
                found.setdefault(case, {})[base] = spread([one / other for one, other in pairs])
    return found


def summarise(store: Store, part: str) -> dict[str, Any]:
    """All figures of a part: `{rows/format/engine: {cases, cold, warm}}`."""
    groups: dict[str, dict[str, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for key in store.keys():  # noqa: SIM118 - a store is no mapping
        name, _, rest = key.partition("/")
        if name == part:
            group, case, turn = rest.rsplit("/", 2)
            groups[group][case][turn] = store.get(key)
    found = {}
    for group, cases in groups.items():
        sound = {case: turns for case, turns in cases.items() if not any(_is_trouble(one) for one in turns.values())}
        found[group] = {
            "cases": {case: figures(list(turns.values())) for case, turns in cases.items()},
            "ratios": {when: ratios(sound, when) for when in ("cold", "warm")},
        }
    return found


def _is_trouble(record: Record) -> bool:
    return "refused" in record or "failed" in record


def save(part: str, groups: dict[str, Any], *, keep: bool = True) -> Path:
    """Write the figures of a part; groups that were not measured now are kept from before."""
    FOLDER.mkdir(exist_ok=True)
    place = FOLDER / f"{part}.json"
    about = {
        "commit": commit(),
        "source": fingerprint(),
        "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": machine(),
    }
    before = json.loads(place.read_text())["groups"] if keep and place.exists() else {}
    merged = {**before, **{name: {**group, "about": about} for name, group in groups.items()}}
    place.write_text(json.dumps({"groups": merged}, indent=1, sort_keys=True) + "\n")
    return place
