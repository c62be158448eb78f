"""The last lines of a run: why rows are bad, warnings, drift, and what became of good rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final

from lakelogic.contract import formats
from lakelogic.plan.nodes import Plan
from lakelogic.run.phases import GatedRun
from lakelogic.run.publish.settle import EFFECTS

MOST: Final = 5  # reasons that are told at the end of a run; the report has them all
HIDDEN: Final = "••••"
_OF_THE_TABLE: Final = (*EFFECTS, "closed", "missing", "gone")


def rows_warned(run: GatedRun) -> int:
    """Good rows that failed at least one rule of severity warning."""
    return int(run.measured.get("warned") or 0)


def findings(
    plan: Plan, run: GatedRun, row_rules: Sequence[Mapping[str, Any]], applied: Mapping[str, int]
) -> dict[str, Any]:
    """What the last lines of a run say, as plain data; the rule that failed most often comes first."""
    masked = {mask.column.removeprefix("~bad:").lower() for mask in plan.masks}
    has_lines = not formats.is_table(plan.read.format)  # rows of a table have no place that a person can open
    reasons, warnings = [], []
    for rule in row_rules:
        if rule["severity"] != "error":
            kept = int(run.measured.get(f"note:{rule['name']}") or 0)
            warnings += [{"rule": rule["name"], "rows": kept, "severity": rule["severity"]}] if kept else []
        elif rule["failed"]:
            place = run.bad.examples.get(rule["name"])
            file = hide_folders(place[0], masked) if place is not None else None
            line = place[1] if place is not None and has_lines else None
            reasons.append({"rule": rule["name"], "rows": rule["failed"], "file": file, "line": line})
    return {
        "reasons": _commonest(reasons),
        "warned": rows_warned(run),
        "warnings": _commonest(warnings),  # of good rows
        "applied": {name: applied[name] for name in _OF_THE_TABLE if applied.get(name)},
    }


def _commonest(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rules, key=lambda rule: (-rule["rows"], rule["rule"]))


def hide_folders(path: str, masked: Iterable[str]) -> str:
    """A path without the values of masked columns that are folders of it: `mail=ann@x.org/` is `mail=••••/`."""
    hidden = set(masked)
    return "/".join(
        f"{part.partition('=')[0]}={HIDDEN}" if "=" in part and part.partition("=")[0].lower() in hidden else part
        for part in path.split("/")
    )


def lines(found: Mapping[str, Any], drift: Mapping[str, Any]) -> Iterator[str]:
    """The last lines of a run, for people."""
    yield from problems(found, drift)
    if applied := found.get("applied"):
        yield f"Good rows: {', '.join(f'{count} {name}' for name, count in applied.items())}"


def problems(found: Mapping[str, Any], drift: Mapping[str, Any], most: int = MOST) -> Iterator[str]:
    """What somebody should look at: the commonest reasons with a place, warnings by rule, and columns that differ."""
    reasons = found.get("reasons") or ()
    for reason in reasons[:most]:
        place = _place(reason)
        yield f"Bad: {_rows(reason['rows'])} by {reason['rule']}{f' (such as {place})' if place else ''}"
    if len(reasons) > most:
        more = len(reasons) - most
        yield f"Bad: {more} more rule{'s' if more != 1 else ''}, all in `lakelogic quarantine list`"
    for warning in (found.get("warnings") or ())[:most]:
        word = "Warned" if warning["severity"] == "warning" else "Noted"
        yield f"{word}: {_rows(warning['rows'])} by {warning['rule']}, kept as good rows"
    for where, told in (("source", "Drift of the source"), ("table", "Drift of the table")):
        if parts := list(drift_parts(drift.get(where) or {}, where)):
            yield f"{told}: {'; '.join(parts)}"


def drift_parts(drift: Mapping[str, Any], where: str = "source") -> Iterator[str]:
    """Columns that came, are missing, or have another type, in words; with what they may have been called."""
    words = {"added": "new", "missing": "missing" if where == "source" else "only in the table", "changed": "changed"}
    words["aside"] = "kept aside"
    for kind, columns in drift.items():
        if columns and kind in words:
            yield f"{words[kind]} {', '.join(_columns(columns, drift.get('suggestions') or {}, kind))}"


def _columns(columns: Mapping[str, Any] | Sequence[str], similar: Mapping[str, Any], kind: str) -> Iterator[str]:
    for name in columns:
        told = columns[name] if isinstance(columns, Mapping) else None
        if isinstance(told, Mapping) and "old" in told:
            yield f"{name} ({told['old']}, came as {told['new']})"
        elif kind == "missing" and similar.get(name):
            yield f"{name} (did you mean {similar[name]}?)"
        else:
            yield name


def _rows(count: int) -> str:
    return f"{count} row{'s' if count != 1 else ''}"


def _place(reason: Mapping[str, Any]) -> str | None:
    """`file:line`, seen from the working folder where the file lies below it."""
    file, line = reason.get("file"), reason.get("line")
    if not file:
        return None
    if PurePath(file).is_relative_to(Path.cwd()):
        file = str(PurePath(file).relative_to(Path.cwd()))
    return f"{file}:{line}" if line is not None else str(file)
