"""Settings of a watermark that do not fit together, told with their lines before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakelogic.contract import codes
from lakelogic.contract.document import Contract
from lakelogic.plan.source.watermarks import TIMES, day_written
from lakelogic.plan.state import Trouble
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.problems import nearest_or_all
from lakelogic.sql.types import Type

Found = Iterator[tuple[str, str, str, str]]  # code, message, path, hint

_FIELD = "Name the field that places rows in time: `watermark_field: updated_at`."


def check(contract: Contract, strategy: Strategy, types: Mapping[str, Type], trouble: Trouble) -> None:
    """What is wrong with the settings of a watermark."""
    for problems in (_needed(contract), _strategies(contract, strategy), _dates(contract)):
        for code, message, path, hint in problems:
            trouble.add(code, message, path, hint)
    for code, message, path, hint in _field(contract, strategy, types):
        trouble.add(code, message, path, hint)


def _needed(contract: Contract) -> Found:
    source = contract.source
    chosen = source.watermark_strategy
    if source.load_mode == "cdc" and chosen in ("max_target", "lookback", "date_range"):
        message = f"`watermark_strategy: {chosen}` has an effect only with `load_mode: incremental`."
        yield codes.NO_EFFECT, message, "source.watermark_strategy", "Remove it: changes are read once."
    strategy = source.bounded_by
    if strategy is not None and not source.watermark_field:
        message = f"`watermark_strategy: {strategy}` needs `watermark_field`."
        yield codes.ONE_NEEDED, message, "source.watermark_strategy", _FIELD
    if strategy == "lookback" and not source.lookback:
        message = "`watermark_strategy: lookback` needs `lookback`."
        yield codes.ONE_NEEDED, message, "source.watermark_strategy", "Say how far back: `lookback: 7 days`."
    if strategy in ("max_target", "date_range") and source.lookback:
        message = f"`lookback` has no effect with `watermark_strategy: {strategy}`."
        yield codes.NO_EFFECT, message, "source.lookback", "Write `watermark_strategy: lookback`, or remove it."
    for name in ("from_date", "to_date"):
        if strategy == "date_range" and not getattr(source, name):
            message = f"`watermark_strategy: date_range` needs `{name}`."
            yield codes.ONE_NEEDED, message, "source.watermark_strategy", f"Add `{name}: 2026-01-31`; it is included."
        elif source.load_mode != "full" and strategy != "date_range" and getattr(source, name):
            message = f"`{name}` has an effect only with `watermark_strategy: date_range`."
            yield codes.NO_EFFECT, message, f"source.{name}", "Write `watermark_strategy: date_range`, or remove it."


def _strategies(contract: Contract, writes: Strategy) -> Found:
    """Which ways of writing bear rows that are read by a bound."""
    strategy, kind = contract.source.bounded_by, writes.kind
    deletion = contract.materialization.deletion
    if strategy is not None and deletion is not None and deletion.strategy == "follow_source":
        message = (
            f"`follow_source` needs all of the source, and `watermark_strategy: {strategy}` takes some of its rows."
        )
        hint = "Read all of it: leave `load_mode` out; or let rows stay: `deletion: {strategy: keep}`."
        yield codes.CONTRADICTION, message, "materialization.deletion.strategy", hint
    if not contract.source.follows_target:
        return
    path = "source.watermark_strategy"
    if not writes.takes_new_rows:
        message = f"`watermark_strategy: {strategy}` reads what the table lacks, and `{kind}` replaces what it has."
        hint = "Use `strategy: append`, `merge` or `scd2`; or read everything: leave `load_mode` out."
        yield codes.CONTRADICTION, message, path, hint
    elif strategy == "lookback" and writes.only_adds:
        message = "`lookback` reads rows again, and `append` would add them again: it never takes the same input twice."
        hint = (
            "Let rows find theirs with `strategy: merge` and a `primary_key`; or read what is new with "
            "`watermark_strategy: max_target` or `pipeline_log`; or replace days with `date_range`."
        )
        yield codes.CONTRADICTION, message, path, hint


def _dates(contract: Contract) -> Found:
    source = contract.source
    if source.bounded_by != "date_range":
        return
    for name in ("from_date", "to_date"):
        if (day := getattr(source, name)) and day_written(day) is None:
            yield codes.BAD_FORMAT, f"`{day}` is no date.", f"source.{name}", "Write it as 2026-01-31."


def _field(contract: Contract, writes: Strategy, types: Mapping[str, Type]) -> Found:
    source, path = contract.source, "source.watermark_field"
    strategy, field = source.bounded_by, source.watermark_field
    if strategy is None or not field:
        return
    name = next((column for column in types if column.lower() == field.lower()), None)
    if name is None:
        yield from _not_in_model(contract, writes, types, field)
        return
    declared = next(field for field in contract.model.fields if field.name == name)
    type_ = types[name]
    if declared.masking:
        message = f"`{name}` is masked, so the table does not tell when its rows were."
        yield codes.CONTRADICTION, message, path, "Name a field that is published as it is."
    if contract.source.follows_target and (declared.default is not None or declared.generated is not None):
        message = f"`{name}` gets values that the source does not have, so the table does not tell what was read."
        yield codes.CONTRADICTION, message, path, "Name a field without `default` and `generated`."
    if strategy == "lookback" and type_.kind not in TIMES:
        message = f"`{name}` is {type_}, and `lookback` goes back in time from a date or an instant."
        yield codes.CONTRADICTION, message, path, "Declare it as date or timestamp, or use `max_target`."
    elif strategy == "max_target" and not (type_.kind in TIMES or type_.is_integer or type_.kind == "decimal"):
        message = f"`{name}` is {type_}, and the greatest {type_} does not tell what came last."
        hint = "Declare it as date, timestamp, a whole number or a decimal."
        yield codes.CONTRADICTION, message, path, hint
    elif strategy == "date_range" and not (type_.kind in TIMES or type_.is_text):
        message = f"`{name}` is {type_}, which falls on no day."
        yield codes.CONTRADICTION, message, path, "Name a field of type date or timestamp."


def _not_in_model(contract: Contract, writes: Strategy, types: Mapping[str, Type], field: str) -> Found:
    path = "source.watermark_field"
    near = nearest_or_all(field, list(types)) if types else f"add `{{name: {field}, type: timestamp}}` to model.fields"
    if contract.source.follows_target:
        message = f"The model has no field `{field}`, so the table cannot tell what was read."
        yield codes.ONE_NEEDED, message, path, str(near)
    elif writes.only_adds and not contract.materialization.reprocess_date_column:
        message = f"The model has no field `{field}`, so the rows of these days cannot be told in the table."
        hint = "Declare it in the model, or name the table's column: materialization: {reprocess_date_column: …}."
        yield codes.ONE_NEEDED, message, path, hint
