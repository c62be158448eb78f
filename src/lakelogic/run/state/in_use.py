"""Which staged folders a ledger still needs, told beside the tables: upkeep that knows another ledger spares them.

    <table>/_lakelogic_in_use/<ledger and target>.json

The file says which folders open intents and waiting batches are made of. It is written when a run takes its number,
when it has staged its rows, and when it gives its lease back, always from all that the ledger knows; the heartbeat
touches it. A run that stages counts as alive while that happens; what is staged to the end, or waits, is needed until
the ledger says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from lakelogic import clock
from lakelogic.ledger.store import Ledger
from lakelogic.storage import fresh
from lakelogic.tables.upkeep import IN_USE

State = Literal["open", "staged", "held"]
log = logging.getLogger("lakelogic")
_told: dict[str, set[Path]] = {}  # of this process: target → the files that tell of it


def folders_of(ledger: Ledger, target: str) -> dict[str, State]:
    """The staging folders that open intents and waiting batches of a target need: nobody may delete them.

    A folder stands here also where the run that stages into it has written no record yet (`open`).
    """
    found: dict[str, State] = {}
    for intent in ledger.intents_with_files():
        told: Any = intent.staged
        if intent.target != target:
            continue
        if told is not None:
            found |= dict.fromkeys(_folders(told), "staged")
        elif intent.run_id is not None:
            found[f"{target}/batch-{intent.batch_id[:16]}-{intent.run_id}"] = "open"
    for held in ledger.waiting():
        if held.target == target:
            found |= dict.fromkeys(_folders(held.facts), "held")
    return found


def _folders(told: Any) -> set[str]:
    files = [*told["good"], *told["bad"], *told.get("quarantine", ())]
    return {told["folder"], *(str(Path(file["path"]).parent) for file in files)}


def tell(ledger: Ledger, target: str, roots: Sequence[str], owner: str) -> None:
    """Write beside the tables in which batches of a target are staged (`roots`) what the ledger needs there."""
    needed: dict[str, State] = {}
    for folder, state in folders_of(ledger, target).items():
        needed |= {part: state for part in Path(folder).parts if part.startswith("batch-")}
    said = {"ledger": ledger.id, "target": target, "roots": list(roots), "owner": owner, "folders": needed}
    for root in roots:
        if not Path(root).is_dir():  # there is nothing to sweep either
            continue
        path = _file(root, ledger, target)
        if not needed:
            path.unlink(missing_ok=True)
            with suppress(OSError):
                path.parent.rmdir()
            continue
        with fresh.in_place_of(path) as out:
            out.write(json.dumps(said, sort_keys=True).encode())
        _told.setdefault(target, set()).add(path)


def tell_again(ledger: Ledger, target: str) -> None:
    """Bring what was told up to what the ledger knows now, wherever it was told."""
    _told.pop(target, None)
    try:
        said = json.loads(_file(target, ledger, target).read_bytes())
        tell(ledger, target, said["roots"], said["owner"])
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        log.warning("What `%s` still needs of its staged files could not be told: %s", target, error)


def touch(target: str) -> None:
    """The run that stages for a target is alive."""
    for path in _told.get(target, ()):
        with suppress(FileNotFoundError):
            os.utime(path)


def needed_by_others(
    ledger: Ledger | None, location: str, lasts: timedelta, is_dead: Callable[[str], bool]
) -> frozenset[str]:
    """The names of staging folders of a table that ledgers other than this one need."""
    own = ledger.id if ledger is not None else None
    found: set[str] = set()
    for path in sorted((Path(location) / IN_USE).glob("*.json")):
        try:
            said, touched = json.loads(path.read_bytes()), path.stat().st_mtime
        except FileNotFoundError:
            continue
        if said["ledger"] == own:
            continue
        alive = not is_dead(said["owner"]) and clock.now() - datetime.fromtimestamp(touched, clock.now().tzinfo) < lasts
        found |= {name for name, state in said["folders"].items() if state != "open" or alive}
    return frozenset(found)


def _file(root: str, ledger: Ledger, target: str) -> Path:
    name = hashlib.sha256(f"{ledger.id} {target}".encode()).hexdigest()[:16]
    return Path(root) / IN_USE / f"{name}.json"
