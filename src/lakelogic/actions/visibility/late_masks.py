"""What the service hides because a table above was masked after rows were made of its clear values."""

from __future__ import annotations

import time
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from lakelogic.actions.look.served import Served
from lakelogic.errors import LakeLogicError
from lakelogic.run.masks.read_before import Upstream, late_columns
from lakelogic.run.places import places
from lakelogic.run.state.progress import progress_of

_ASK_AGAIN_SECONDS = 5.0  # what people look at row by row is not asked of the tables for each row

_Answer = tuple[float, int, frozenset[str] | None]
_answers: WeakKeyDictionary[Served, dict[str, _Answer]] = WeakKeyDictionary()


def late(served: Served, dataset: str, columns: Iterable[str]) -> frozenset[str]:
    """Columns of a dataset, or of its quarantine, in small letters; all of them where that cannot be found out.

    While a contract above cannot be read, what was hidden stays hidden.
    """
    kept, version = _answers.setdefault(served, {}), served.version
    at, of, values = kept.get(dataset, (float("-inf"), -1, frozenset()))
    if of != version or time.monotonic() - at > _ASK_AGAIN_SECONDS:
        try:
            values = _asked(served, dataset, lenient=False)
        except LakeLogicError:
            values = _whatever_is_known(served, dataset, values)
        kept[dataset] = (time.monotonic(), version, values)
    return frozenset(name.lower() for name in columns) if values is None else values


def _whatever_is_known(served: Served, dataset: str, before: frozenset[str] | None) -> frozenset[str] | None:
    try:
        columns = _asked(served, dataset, lenient=True)
    except LakeLogicError:
        return None
    return None if before is None else columns | before


def _asked(served: Served, dataset: str, *, lenient: bool) -> frozenset[str]:
    member = served.report().estate.graph.members.get(dataset)
    if member is None or not member.loaded.contract.materialization.target_path:
        return frozenset()
    around, loaded = served.around, member.loaded
    where = places(loaded.contract, around.catalog)
    progress = progress_of(loaded.contract.dataset_name, where)
    upstream = Upstream(around.catalog, around.ledger, lenient=lenient)
    sides = [late_columns(loaded, where, progress, side, around.catalog, upstream) for side in ("good", "bad")]
    return frozenset(name.lower() for side in sides for name in side)
