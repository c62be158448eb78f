"""Preview a replay or a discard: how many rows, what would become of them, and a token that goes stale.

The token stands for the version of the quarantine, the contract and the choice. Where one of them has changed, the
action that brings the token is refused: nobody decides about rows that they have not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lakelogic import clock, names
from lakelogic.actions.operate.quarantine import QueuePlace, Request, find, refuse_clear
from lakelogic.errors import Overtaken, UsageError
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.quarantine.queue import ACTIVE
from lakelogic.run.surroundings import Surroundings

ACTIONS = ("replay", "discard")
MOST_AT_ONCE = 20_000  # rows that are judged while somebody waits; more is work for a worker
_MOST_SHOWN = 200


def preview(
    around: Surroundings, action: str, request: Request, limit: int = 50, engine: str | None = None
) -> dict[str, Any]:
    """What an action would do to the chosen rows; nothing is written."""
    if action not in ACTIONS:
        raise UsageError(f"`{action}` has no preview.", hint=f"There are {', '.join(ACTIONS)}.")
    place = find(around, request)
    if place.loaded is None:
        raise UsageError("A preview needs the contract.", hint="Name the contract's file instead of the dataset.")
    refuse_clear(around, place)
    token, version = _token(action, place, request)
    limit = max(1, min(limit, _MOST_SHOWN))
    report = (
        _replayed(around, place, request, limit, engine) if action == "replay" else _discarded(place, request, limit)
    )
    return {
        "action": action, "dataset": place.dataset, "table": place.name, "version": version, "token": token, **report,
    }  # fmt: skip


def refuse_stale(around: Surroundings, token: str, action: str, request: Request) -> None:
    """Refuse an action whose preview showed something else than what is there now."""
    place = find(around, request)
    if place.loaded is None or _token(action, place, request)[0] != token:
        raise Overtaken(
            f"The quarantine of `{place.dataset}`, its contract or the choice is not what the preview showed.",
            where=place.name,
            hint="Nothing was changed. Look at a new preview, and decide again.",
        )


def _token(action: str, place: QueuePlace, request: Request) -> tuple[str, int | None]:
    state = place.queue.state()
    version = state.version if state else None
    assert place.loaded is not None
    choice = {name: value for name, value in asdict(request.chosen).items() if name != "states"}
    facts = [action, place.dataset, place.queue.location, version, fingerprint(place.loaded), choice]
    return "pv-" + hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:32], version


def _replayed(
    around: Surroundings, place: QueuePlace, request: Request, limit: int, engine_name: str | None
) -> dict[str, Any]:
    from lakelogic.actions.look.stories import local_engine
    from lakelogic.engines import registry
    from lakelogic.run.replay.preview import preview
    from lakelogic.run.request import ContractRequest

    assert place.loaded is not None
    engine = registry.load(engine_name or local_engine())
    try:
        result = preview(ContractRequest(place.loaded, engine, around.catalog, None), request.chosen, limit)
    finally:
        engine.close()
    quality = place.loaded.contract.quality
    notes = ["rules over the whole dataset are looked at by the replay itself"] if quality.dataset_rules else []
    return {
        "chosen": result.chosen, "passed": result.passed, "failed": result.failed, "left_out": dict(result.left_out),
        "reasons": [
            {"rule": rule, "label": label, "text": text, "rows": rows}
            for (rule, label, text), rows in result.reasons.most_common()
        ],
        "rows": [_shown(row.row, row.outcome, row.rules, row.why) for row in result.rows],
        "more": result.chosen > len(result.rows), "notes": notes,
    }  # fmt: skip


def _discarded(place: QueuePlace, request: Request, limit: int) -> dict[str, Any]:
    now = clock.now()
    total, reasons, first = 0, Counter[str](), list[tuple[Any, Any]]()
    for row in place.queue.entries():
        if row[names.STATE] == ACTIVE and request.chosen.keeps(row, place.queue.stamped, now):
            total += 1
            reasons.update(row[names.RULES] or ())
            if len(first) < limit:
                first.append((row[names.ROW_ID], row[names.BATCH_ID]))
    row_ids = frozenset(first)
    table = place.queue.rows(lambda row: (row[names.ROW_ID], row[names.BATCH_ID]) in row_ids, len(row_ids))
    rows = [_shown(row, "discarded", (), None) for row in table.to_pylist()]
    return {
        "chosen": total, "passed": 0, "failed": 0, "left_out": {},
        "reasons": [
            {"rule": rule, "label": rule, "text": None, "rows": rows_}
            for rule, rows_ in reasons.most_common()
        ],
        "rows": rows, "more": total > len(rows),
        "notes": ["the rows stay in the table with who, when and why, and never reach the target"],
    }  # fmt: skip


def _shown(row: Mapping[str, Any], outcome: str, now: tuple[str, ...], why: str | None) -> dict[str, Any]:
    """A row with its values as they are kept; what landed is never told."""
    values = {name: value for name, value in row.items() if not name.startswith("_lakelogic_") and name != names.STATE}
    return {
        "row_id": row[names.ROW_ID], "outcome": outcome, "was": list(row.get(names.RULES) or ()), "now": list(now),
        "why": why, "values": values,
    }  # fmt: skip
