"""Go on where a pass stopped: what came out well, of which contract and which input, in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lakelogic.catalogs.base import Catalog
from lakelogic.driver.outcome import DONE, DatasetOutcome
from lakelogic.driver.registry import Member
from lakelogic.engines.base import Engine
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.run.events.hub import log
from lakelogic.run.input import pin as window

_FORMAT = 1
_ENTRY = frozenset({"status", "done", "pipeline_run_id", "run_id", "fingerprint"})


class Resume:
    """The state of passes in a JSON file, written after every dataset; only asked where `resuming`."""

    def __init__(self, path: str | os.PathLike[str], pipeline_run_id: str, *, resuming: bool) -> None:
        self.path = Path(path)
        self._id, self._resuming = pipeline_run_id, resuming
        # Read even where nothing is resumed: a pass over a part leaves the rest of the file as it is.
        self._datasets: dict[str, dict[str, Any]] = _read(self.path)
        self.is_new = not self._datasets
        self.scope: str | None = None  # the window that is at hand, where there are several

    def _key(self, dataset: str) -> str:
        return f"{dataset}@{self.scope}" if self.scope else dataset

    def verdict(
        self, dataset: str, fingerprint: str, input_now: Mapping[str, Any] | None, is_known: Callable[[str], bool]
    ) -> tuple[bool, str]:
        """Whether a dataset is done already, and why (or why it runs again; nothing to say of one that never ran).

        `is_known`: whether the ledger has a run. What was done in another warehouse, or before it was emptied, is not.
        """
        entry = self._datasets.get(self._key(dataset))
        if not self._resuming or entry is None:
            return False, ""
        status, before = entry["status"], entry["pipeline_run_id"]
        if not entry["done"]:
            return False, f"runs again: it was {status} in {before}"
        if entry["run_id"] is not None and not is_known(entry["run_id"]):
            return False, f"runs again: the ledger has no {entry['run_id']}, which the state file names"
        if entry["fingerprint"] != fingerprint:
            return False, f"runs again: its contract has changed since {before}"
        if self.scope is not None:  # later windows have moved its source on, and that is theirs
            return True, f"done in {before}; its contract has not changed since"
        if changed := _changed(entry.get("input"), input_now):
            return False, f"runs again: {changed}"
        return True, f"done in {before}; neither its contract nor its input has changed since"

    def tell(self, outcome: DatasetOutcome) -> None:
        """Remember how a dataset came out, on the disk, before anything else happens."""
        if outcome.in_order:
            return  # what is known of it stands
        self._datasets[self._key(outcome.dataset)] = {
            "status": outcome.status,
            "done": outcome.status in DONE,
            "pipeline_run_id": self._id,
            "run_id": outcome.run_id,
            "fingerprint": outcome.fingerprint,
            "input": outcome.input,
            "finished_at": outcome.finished_at.isoformat() if outcome.finished_at else None,
            "reasons": list(outcome.reasons),
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            written.write_text(json.dumps({"format": _FORMAT, "datasets": self._datasets}, indent=1), encoding="utf-8")
            written.replace(self.path)
        except OSError as error:
            # The ledger keeps what was read, so a pass that cannot be resumed by its file is only slower.
            log.warning("The state of the pass cannot be written to %s: %s", self.path, error)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"The state file {path} cannot be read: {error}.", hint="Name another --state-path, or take it away."
        ) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise UsageError(f"{path} is no state file of a pass.", hint="Name another --state-path.")
    datasets = document.get("datasets")
    if not isinstance(datasets, dict) or not all(
        isinstance(entry, dict) and entry.keys() >= _ENTRY for entry in datasets.values()
    ):
        raise UsageError(
            f"{path} is no whole state file of a pass.", hint="Name another --state-path, or take it away."
        )
    return datasets


def input_of(member: Member, catalog: Catalog, engine: Engine) -> dict[str, Any] | None:
    """Everything that a contract reads, as it is now: all its files or the version of its table, and its links."""
    contract = member.loaded.contract
    try:
        source = window.pin_source(contract, catalog, engine)
        links = window.pin_links(contract, catalog, engine)
    except LakeLogicError:
        return None  # its run says what is wrong with it
    plain: dict[str, Any] = json.loads(json.dumps(window.identity_of(source, links)))
    return plain


def _changed(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str | None:
    """How an input differs from what was read, in words; None where it does not."""
    if before == now and now is not None:
        return None
    if before is None or now is None:
        return "what it read is not known"
    if "version" in before and "version" in now and before["version"] != now["version"]:
        return f"its source is at version {now['version']} and was at {before['version']}"
    old = {file[0]: file for file in before.get("files", ())}
    new = {file[0]: file for file in now.get("files", ())}
    if fresh := [path for path, file in new.items() if old.get(path) != file]:
        more = f" and {len(fresh) - 1} more" if len(fresh) > 1 else ""
        return f"{Path(fresh[0]).name}{more} is new or has changed"
    if old.keys() - new.keys():
        return f"{len(old.keys() - new.keys())} of its files are gone"
    links = [n for n, link in now.get("links", {}).items() if before.get("links", {}).get(n) != link]
    return f"its link `{links[0]}` has changed" if links else "its source has changed"
