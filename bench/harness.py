"""Measure cases: interleaved, each time in a process of its own, and through the parity gate."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench import environments
from bench.data import Data
from bench.parity import Outcome, ParityError, check, check_counts
from bench.tree import ROOT, peak, spend

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """Somebody who does the job, in one way.

    `module` is below bench.subjects; `env` names a peer's environment; `job` is added to what the module is told;
    `full` is false where no rows are to be compared (pure reading and writing).
    """

    name: str
    engine: str
    module: str
    env: str | None = None
    mask: str = "digest"
    full: bool = True
    job: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def say(text: str) -> None:
    """A line of progress."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def job_of(case: Case, data: Data, kind: str, times: int) -> dict[str, Any]:
    """What a worker is told."""
    return {
        "module": case.module,
        "engine": case.engine,
        "format": kind,
        "files": [str(file) for file in data.files(kind)],
        "source": str(data.pattern(kind)),
        "customers": str(data.customers),
        "rows": data.rows,
        "mask": case.mask,
        "only": "all" if case.full else "io",
        "times": times,
        **case.job,
    }


def measure(case: Case, job: dict[str, Any], judge: Callable[[dict[str, Any]], None], *, seconds: int = 3600) -> Record:
    """Run one process of a case; `judge` refuses what a time told by raising ParityError."""
    python = str(environments.python_of(case.env)) if case.env else sys.executable
    # Named after the process that asks: several may measure on one machine.
    room = environments.home() / "rooms" / f"{os.getpid()}-{case.engine}-{case.name}"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
    try:
        told_file, log = room / "told.json", room / "log.txt"
        job = {**job, "out": str(room / "out"), "began": time.time()}
        (room / "job.json").write_text(json.dumps(job))
        command = [python, "-m", "bench.worker", str(room / "job.json"), str(told_file)]
        # The LakeLogic of this checkout, whatever is installed; a peer's environment must not see it.
        found = str(ROOT) if case.env else os.pathsep.join([str(ROOT), str(ROOT / "src")])
        variables = {"PYTHONPATH": found, "TMPDIR": str(room / "tmp"), **case.variables}
        (room / "tmp").mkdir()
        spent = spend(command, log, env=variables, seconds=seconds, limit_mb=job.get("limit_mb", 0))
        record: Record = {"case": case.name, "engine": case.engine, "load": spent.load}
        if spent.code:
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            return {**record, "failed": "\n".join(line[:400] for line in lines[-12:])}
        answer = json.loads(told_file.read_text())
        record |= {"versions": answer["versions"], "whole": {"cpu": spent.cpu, "wall": spent.wall}, "times": []}
        for at, one in enumerate(answer["times"]):
            told = one.pop("told") or {}
            try:
                if at in (0, len(answer["times"]) - 1):  # the times that figures are taken from
                    judge(told)
            except ParityError as error:
                return {**record, "refused": str(error)[:2000], "times": []}
            sides = {side: told.pop(side, []) for side in ("good", "bad")}
            start, end = one.pop("span")
            one["files"] = sum(len(files) for files in sides.values())
            record["times"].append({**one, "peak": peak(spent.samples, start, end), "told": told})
        return record
    finally:
        shutil.rmtree(room, ignore_errors=True)


def interleaved(
    cases: Sequence[Case], data: Data, kind: str, *, rounds: int, times: int, store: Store, part: str
) -> None:
    """Measure all cases in turn, round by round; what the store holds already is not measured again."""
    for turn in range(rounds):
        # Each round begins with another case, so that none always follows the same one.
        for case in [*cases[turn % len(cases) :], *cases[: turn % len(cases)]]:
            key = f"{part}/{data.rows}/{kind}/{case.engine}/{case.name}/{turn}"
            if store.has(key):
                continue

            def judge(told: dict[str, Any], case: Case = case) -> None:
                if "failed" in told:
                    check_counts(data, told.pop("failed"), unique=bool(told["unique"]))
                elif case.full:
                    check(data, Outcome.of(told, case.mask))

            record = measure(case, job_of(case, data, kind, times), judge)
            store.put(key, record)
            say(f"{key}: {describe(record)}")


def describe(record: Record) -> str:
    """A record in a line."""
    if "failed" in record:
        return f"FAILED: {record['failed'].splitlines()[-1][:200] if record['failed'] else 'no word'}"
    if "refused" in record:
        return f"REFUSED, not the right rows: {record['refused'].splitlines()[0]}"
    cpu = ", ".join(f"{one['cpu']:.2f}" for one in record["times"])
    most = max((one["peak"]["total"] for one in record["times"]), default=0) / 2**20
    return f"CPU {cpu} s, peak {most:.0f} MB, load {record['load']:.1f}"


class Store:
    """The records of a session: a file for each, so that a session can be stopped and taken up again."""

    def __init__(self, session: str) -> None:
        self.folder = environments.home() / "sessions" / session

    def _place(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether this was measured; what failed is tried again."""
        return self._place(key).exists() and "failed" not in self.get(key)

    def get(self, key: str) -> Record:
        """A record."""
        found: Record = json.loads(self._place(key).read_text())
        return found

    def put(self, key: str, record: Record) -> None:
        """Remember a record, whole or not at all."""
        place = self._place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_suffix(".part")
        unfinished.write_text(json.dumps({"at": time.time(), **record}))
        unfinished.replace(place)

    def keys(self) -> Iterable[str]:
        """All keys, in order."""
        return sorted(str(file.relative_to(self.folder).with_suffix("")) for file in self.folder.rglob("*.json"))


def fingerprint() -> str:
    """Which LakeLogic is measured: a digest of its source."""
    root = Path(__file__).parents[1] / "src" / "lakelogic"
    digest = sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]
