"""scd2: every version of a key with the time it held, half-open; changes of the batch take their places in time.

The versions in the table and the rows of the batch are put in one line per key, by time. A row of the batch opens a
version where a tracked column differs from what held before, or nothing held; a deletion ends what held. A version that
is in the table stays, but for one that a row or a deletion of the same instant corrects. Numbers and ends follow.
Versions of keys that the batch does not have stand by: they are put in no line, and come back as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from lakelogic import names
from lakelogic.contract.materialization import Scd2
from lakelogic.plan.nodes import Assignment, Bounds, Fork, Keep, Node, Pairs, RowWise, Stack, WindowFunction
from lakelogic.plan.predicates import both, either, holds
from lakelogic.plan.strategies.confirmed import CONFIRMED, ECHO, SPEAKER, as_rows, drop_answered, gather, remembered
from lakelogic.plan.strategies.departures import came_from, departed, departing, own_time, place_returned
from lakelogic.plan.strategies.frames import (
    BROKEN,
    CHANGE,
    COMPARED,
    DELETE,
    EFFECT,
    HELD,
    INCOMING,
    WRITTEN,
    FrameBuilder,
    MergeSides,
    Settlement,
    any_of,
    choose,
    differs,
    negated,
    nothing,
)
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.plan.strategies.surrogate import made_of
from lakelogic.sql.expressions import FALSE, TRUE, Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Type

NEW, GONE, TIME, PLACE = "~incoming", "~gone", "~time", "~place"
KEYS, BYSTANDERS = "keys", "bystanders"  # links: the keys of the batch; versions of other keys
SAID = "~said~time"  # the time that a row brings, where another one may be its place
MET = "~met"  # a version of the table whose key the batch has
AFTER = "~after."  # before the name of a column: its value in the table afterwards
RAW = "~raw."  # before the name of a column that rows of the batch may lack: as they brought it
_BEFORE, _LAST, _KEPT = "~before.", "~last.", "~kept."
_ALL, _SO_FAR, _EARLIER = Bounds(True, None, None), Bounds(True, None, 0), Bounds(True, None, -1)


def own_columns(strategy: Strategy) -> dict[str, Type]:
    """The columns that a history has beside those of the good rows."""
    history = strategy.history
    assert history is not None
    columns = {
        history.surrogate_key: STRING,
        history.effective_from_field: TIMESTAMP,
        history.effective_to_field: TIMESTAMP,
        history.current_flag_field: BOOLEAN,
        history.version_column: INT,
    }
    if history.change_reason_column:
        columns[history.change_reason_column] = STRING
    if history.last_seen_field:
        columns[history.last_seen_field] = TIMESTAMP
    return columns


def instant(written: str) -> datetime | None:
    """An instant as a contract writes it, in UTC; None where it is none."""
    try:
        moment = datetime.fromisoformat(written.strip())
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def tracked_columns(history: Scd2, sides: MergeSides, order: str | None) -> tuple[str, ...]:
    """The columns in which a change opens a version: as written, or all but keys, stamps and the time itself."""
    if history.track_columns:
        return tuple(name for written in history.track_columns if (name := sides.spelled(written)) is not None)
    return tuple(
        name
        for name in sides.incoming
        if name not in sides.keys
        and name != order
        and name.lower() not in sides.stamps
        and not name.startswith(names.RESERVED_PREFIX)
    )


def settle(strategy: Strategy, sides: MergeSides) -> Settlement:
    """All versions of the keys of the batch, in time."""
    assert strategy.history is not None
    own = own_columns(strategy)
    columns = {**sides.stored}
    for name, type_ in {**sides.incoming, **own}.items():
        columns.setdefault(name, type_)
    order = sides.spelled(strategy.order) if strategy.order else None
    time = SAID if strategy.of_table and order is not None else TIME
    builder = FrameBuilder({**columns, names.FILE: STRING, NEW: BOOLEAN, GONE: BOOLEAN, time: TIMESTAMP, PLACE: INT})
    builder.columns |= _lacking(columns, sides)
    stored_time = _stored_time(columns, strategy.history, sides, order)
    confirmed: tuple[Node, ...] = ()
    if strategy.history.last_seen_field:
        builder.columns[ECHO] = BOOLEAN
        confirmed = (remembered(strategy.history, Column(MET, BOOLEAN), stored_time),)
    versions = _Versions(strategy, strategy.history, sides, builder, order)
    values = versions.work_out(columns)
    on = tuple((Column(key, columns[key]), key) for key in sides.keys)
    return Settlement(
        columns,
        Pairs("meet", TRUE, KEYS, "left", on, None, (), "~stored", MET),
        (
            Fork(
                "stand by",
                BYSTANDERS,
                None,
                (
                    Keep("stand by", negated(Column(MET, BOOLEAN))),
                    *departing(strategy, strategy.history, sides, columns),
                ),
            ),
            *confirmed,
            _lined_up(columns, strategy.history, sides, order, time, stored_time),
            *builder.nodes,
            *_joined_by_bystanders(columns, values, departed(strategy, strategy.history, sides)),
        ),
        {name: Column(AFTER + name, value.type) for name, value in values.items()},
        {
            **sides.incoming,
            **({DELETE: BOOLEAN} if sides.has_deletes else {}),
            **{names.ABSENT + name: BOOLEAN for name in sides.absent},
        },
        () if strategy.follows_source else sides.keys,
        beside={KEYS: sides.keys, **({HELD: sides.keys} if strategy.follows_source else {})},
        own=frozenset(own),
        identity=(*sides.keys, strategy.history.effective_from_field, strategy.history.surrogate_key),
    )


def _stored_time(columns: Mapping[str, Type], history: Scd2, sides: MergeSides, order: str | None) -> Expression:
    """The time of a version of the table."""
    began = Column(history.effective_from_field, TIMESTAMP)
    stored_time = own_time(Column(order, columns[order]) if order is not None else None, began)
    if order is None and sides.newer and sides.time_column:
        # A first version holds from the beginning of time; where rows come back late, it matters when it came.
        came = Call("coalesce", (Column(sides.time_column, TIMESTAMP), began), TIMESTAMP)
        is_first = call("same", began, Literal(instant(history.effective_from_default), TIMESTAMP))
        stored_time = choose(is_first, came, began)
    return stored_time


def _lined_up(
    columns: Mapping[str, Type], history: Scd2, sides: MergeSides, order: str | None, time: str, stored_time: Expression
) -> Stack:
    """Versions of the table, their confirmations, then rows of the batch, each with its time in the column `time`."""
    new_time: Expression = Literal(sides.now, TIMESTAMP)
    if order is not None:
        new_time = convert(Column(order, sides.incoming[order]), TIMESTAMP)
    gone = holds(Column(DELETE, BOOLEAN)) if sides.has_deletes else FALSE
    stored = [
        *(Column(name, type_) for name, type_ in columns.items()),
        Column(names.FILE, STRING), FALSE, FALSE, stored_time, Literal(0, INT),
    ]  # fmt: skip
    landed = sides.incoming
    come = [
        *(convert(Column(n, landed[n]), t) if n in landed else nothing(t) for n, t in columns.items()),
        nothing(STRING), TRUE, gone, new_time, Literal(1, INT),
    ]  # fmt: skip
    outputs = [
        *(RAW + name if name in sides.absent else name for name in columns),
        names.FILE,
        NEW,
        GONE,
        time,
        PLACE,
    ]
    for name in sides.absent:
        outputs.append(names.ABSENT + name)
        stored.append(FALSE)
        come.append(holds(Column(names.ABSENT + name, BOOLEAN)))
    below = [(INCOMING, tuple(come))]
    if history.last_seen_field:
        echoes = [*as_rows(columns, history, order), *(FALSE for _ in sides.absent), TRUE]
        outputs.append(ECHO)
        stored.append(FALSE)
        below = [(CONFIRMED, tuple(echoes)), (INCOMING, (*come, FALSE))]
    return Stack("line up", Column(MET, BOOLEAN), tuple(outputs), tuple(stored), tuple(below))


def _lacking(columns: Mapping[str, Type], sides: MergeSides) -> dict[str, Type]:
    """Beside columns that some rows of the batch lack: what these rows brought, and whether they lack it."""
    lacking = {RAW + name: columns[name] for name in sides.absent}
    return lacking | {names.ABSENT + name: BOOLEAN for name in sides.absent}


def _joined_by_bystanders(
    columns: Mapping[str, Type], values: Mapping[str, Expression], ending: Mapping[str, Expression]
) -> Iterable[Node]:
    """The values afterwards beside those before, then the versions that stood by: of these only `ending` changes."""
    yield RowWise("after", tuple(Assignment(AFTER + name, value) for name, value in values.items()))
    before = {**columns, names.FILE: STRING}
    after = {AFTER + name: value.type for name, value in values.items()}
    line_values: dict[str, Expression] = {
        EFFECT: nothing(STRING), CHANGE: nothing(STRING), WRITTEN: TRUE, BROKEN: FALSE, COMPARED: FALSE,
    }  # fmt: skip
    line_values |= {name: value for name, value in ending.items() if name in line_values}
    kinds = {**before, **after, **{name: value.type for name, value in line_values.items()}}
    stayed = [
        *(Column(name, type_) for name, type_ in before.items()),
        *(convert(ending.get(name, Column(name, columns[name])), value.type) for name, value in values.items()),
        *line_values.values(),
    ]
    own = tuple(Column(name, type_) for name, type_ in kinds.items())
    yield Stack("all versions", TRUE, tuple(kinds), own, ((BYSTANDERS, tuple(stayed)),))


class _Versions:
    """What holds from when to when, once the batch has taken its places."""

    def __init__(
        self, strategy: Strategy, history: Scd2, sides: MergeSides, builder: FrameBuilder, order: str | None
    ) -> None:
        self.strategy, self.history, self.sides, self.builder, self.order = strategy, history, sides, builder, order
        self.tracked = tracked_columns(history, sides, order)
        fixed = {*sides.keys, *self.tracked, order}
        self.others = [name for name in sides.incoming if name not in fixed and name.lower() not in sides.created]
        self.open_end = Literal(instant(history.effective_to_default), TIMESTAMP)
        self.first_start = Literal(instant(history.effective_from_default), TIMESTAMP)

    def work_out(self, columns: Mapping[str, Type]) -> dict[str, Expression]:
        """Adds what settlements tell of a row; the table's values afterwards."""
        if self.strategy.of_table and self.order is not None:
            marks = (NEW, GONE, SAID, TIME)
            place_returned(self.builder, self.history, self.sides, self.order, marks, self.open_end)
        if self.history.last_seen_field:
            drop_answered(self.builder, self.sides.keys, NEW, TIME, PLACE)
        self._fill_in()
        self._look_back()
        self._look_ahead()
        self._number()
        values = {name: self._value(name) for name in columns}
        self._tell(values)
        return values

    @property
    def speaks(self) -> Expression:
        """A row that can open a version: of the batch, or a confirmation that was remembered."""
        return self.builder[SPEAKER if self.history.last_seen_field else NEW]

    def _window(self, functions: Iterable[WindowFunction]) -> None:
        self.builder.window(
            (self.builder[key] for key in self.sides.keys), (self.builder[TIME], self.builder[PLACE]), functions
        )

    def _fill_in(self) -> None:
        """A column that did not land holds on: each row has what the row before it in time had."""
        builder = self.builder
        # A list of one value is there, even where the value is NULL.
        lists = {name: Type("array", element=builder.columns[RAW + name]) for name in self.sides.absent}
        unsaid = {name: either([builder[names.ABSENT + name], builder[GONE]]) for name in lists}
        present_values = {
            name: choose(unsaid[name], nothing(type_), Call("array", (builder[RAW + name],), type_))
            for name, type_ in lists.items()
        }
        self._window(
            WindowFunction(_KEPT + name, "last_value_present", (present_values[name],), type_, _SO_FAR)
            for name, type_ in lists.items()
        )
        if lists:
            builder.add("fill in", {name: self._filled(name, unsaid[name]) for name in lists})

    def _filled(self, name: str, unsaid: Expression) -> Expression:
        kept = Call("item", (self.builder[_KEPT + name], Literal(0, INT)), self.builder.columns[RAW + name])
        # A default stands for a value only where none was known.
        raw = self.builder[RAW + name]
        return choose(unsaid, Call("coalesce", (kept, raw), raw.type), raw)

    def _look_back(self) -> None:
        """What held before each row, and whether a row of the batch opens a version or ends one."""
        builder = self.builder
        until = choose(builder[NEW], nothing(TIMESTAMP), builder[self.history.effective_to_field])
        mark = choose(builder[NEW], Literal(1, INT), nothing(INT))
        self._window(
            [
                WindowFunction("~come", "count", (mark,), BIGINT, _ALL),
                WindowFunction("~before", "lag", (builder[TIME],), TIMESTAMP),
                WindowFunction("~before~new", "lag", (self.speaks,), BOOLEAN),
                WindowFunction("~before~gone", "lag", (builder[GONE],), BOOLEAN),
                WindowFunction("~until", "max", (until,), TIMESTAMP, _SO_FAR),
                WindowFunction("~until~before", "max", (until,), TIMESTAMP, _EARLIER),
                *(WindowFunction(_BEFORE + c, "lag", (builder[c],), builder.columns[c]) for c in self.tracked),
            ]
        )
        before, ended, time = builder["~before"], builder["~until~before"], builder[TIME]
        nothing_held = either(
            [
                call("is_null", before),
                holds(builder["~before~gone"]),
                both(holds(call("lt", before, ended)), holds(call("le", ended, time))),
            ]
        )
        builder.add("held", {"~nothing": nothing_held})
        other = any_of(differs(builder[c], builder[_BEFORE + c]) for c in self.tracked)
        builder.add(
            "open",
            {
                "~opens": both(self.speaks, negated(builder[GONE]), either([builder["~nothing"], other])),
                "~ends": both(builder[NEW], builder[GONE], negated(builder["~nothing"])),
            },
        )

    def _look_ahead(self) -> None:
        """Versions that a row of the same instant takes the place of, and what is a version now."""
        builder = self.builder
        self._window(
            [
                WindowFunction("~next~speaks", "lead", (either([builder["~opens"], builder["~ends"]]),), BOOLEAN),
                WindowFunction("~next~time", "lead", (builder[TIME],), TIMESTAMP),
            ]
        )
        corrected = both(
            negated(self.speaks), holds(builder["~next~speaks"]), call("same", builder["~next~time"], builder[TIME])
        )
        stays = both(negated(self.speaks), negated(corrected))
        self._carry_back(stays)
        is_version = either([stays, both(builder["~opens"], negated(builder["~absorbed"]))])
        ends_before = both(
            holds(call("gt", builder["~until"], builder[TIME])), holds(call("lt", builder["~until"], self.open_end))
        )
        builder.add("version", {"~version": is_version, "~bounded": ends_before})
        event = choose(either([builder["~version"], builder["~ends"]]), builder["~begins"], nothing(TIMESTAMP))
        # A row that opens nothing can still bring news in columns that are not tracked.
        news = both(builder[NEW], negated(builder[GONE]), negated(builder["~opens"]), negated(builder["~bounded"]))
        pairs = [part for c in self._news() for part in (text(c), convert(builder[c], STRING))]
        rest = Call("row_json", tuple(pairs), STRING) if pairs else text("")
        builder.add("event", {"~event": event, "~news": news, "~rest": rest})

    def _carry_back(self, stays: Expression) -> None:
        """A late row that is like the version after it makes none of its own: that version began earlier.

        The version keeps its surrogate key, because facts point to it; it takes over the time of the row. A row that
        corrects a version stays, for the same reason.
        """
        builder = self.builder
        speaks = either([stays, builder["~opens"], builder["~ends"]])
        adds = both(builder["~opens"], negated(self._corrects()))
        opened: list[WindowFunction] = [
            WindowFunction("~spoke~before", "lag_present", (choose(speaks, adds, nothing(BOOLEAN)),), BOOLEAN),
            self._opener("~opener~time", TIME),
            *([self._opener("~opener~order", self.order)] if self.order is not None else ()),
        ]
        self._window(opened)
        other = any_of(differs(builder[c], builder[_BEFORE + c]) for c in self.tracked)
        before, ended = builder["~before"], builder["~until~before"]
        gap = both(holds(call("lt", before, ended)), holds(call("lt", ended, builder[TIME])))
        unbroken = negated(either([call("is_null", before), holds(builder["~before~gone"]), gap]))
        continues = both(stays, unbroken, negated(other), holds(builder["~spoke~before"]))
        builder.add("continues", {"~continues": continues})
        is_last = choose(speaks, builder["~continues"], nothing(BOOLEAN))
        self._window([WindowFunction("~next~continues", "lead_present", (is_last,), BOOLEAN)])
        builder.add(
            "begins",
            {
                "~absorbed": both(adds, holds(builder["~next~continues"])),
                "~begins": choose(builder["~continues"], builder["~opener~time"], builder[TIME]),
            },
        )

    def _corrects(self) -> Expression:
        """The row before is a version of the table, of the same instant."""
        builder = self.builder
        return both(call("same", builder["~before~new"], FALSE), call("same", builder["~before"], builder[TIME]))

    def _opener(self, name: str, column: str) -> WindowFunction:
        """A column of the last row before that opens a version."""
        value, type_ = self.builder[column], self.builder.columns[column]
        return WindowFunction(name, "lag_present", (choose(self.builder["~opens"], value, nothing(type_)),), type_)

    def _news(self) -> list[str]:
        return [name for name in self.others if name.lower() not in self.sides.stamps]

    def _number(self) -> None:
        """Number, start and end of every version."""
        builder = self.builder
        # From where a version begins, which may be before the row that carries it.
        begins = either([builder["~absorbed"], both(builder["~version"], negated(builder["~continues"]))])
        mark = choose(begins, Literal(1, INT), nothing(INT))
        rest = choose(builder["~version"], builder["~rest"], nothing(STRING))
        self._window(
            [
                WindowFunction("~next", "lead_present", (builder["~event"],), TIMESTAMP),
                WindowFunction("~number", "count", (mark,), BIGINT, _SO_FAR),
                WindowFunction("~held~rest", "last_value_present", (rest,), STRING, _SO_FAR),
            ]
        )
        self._give_keys()
        self._gather_news()
        if self.history.last_seen_field:
            is_stored = both(builder["~version"], negated(self.speaks))
            gather(builder, self.sides.keys, GONE, TIME, is_stored, self.history.last_seen_field)
        builder.add("touched", {"~touched": holds(call("gt", builder["~come"], Literal(0, BIGINT)))})
        is_open = both(negated(builder["~bounded"]), call("is_null", builder["~next"]))
        end = Call("coalesce", (builder["~next"], self.open_end), TIMESTAMP)
        earlier = both(builder["~bounded"], holds(call("lt", builder["~until"], end)))
        is_first = call("same", builder["~number"], Literal(1, BIGINT))
        early = holds(call("lt", builder["~begins"], self.first_start))
        builder.add(
            "hold",
            {
                "~from": choose(both(is_first, negated(early)), self.first_start, builder["~begins"]),
                "~to": choose(earlier, builder["~until"], end),
                "~open": is_open,
                "~renewed": both(builder["~touched"], builder["~version"], holds(builder["~last~news"])),
            },
        )

    def _give_keys(self) -> None:
        """The surrogate key that a version has, and the one it would get: of the key and the time of the change.

        A version that began earlier than was known keeps the key of its first time; another one of that time is told
        apart from it by what is different: when that version begins now, and how many versions there are.
        """
        builder, surrogate = self.builder, self.strategy.surrogate
        assert surrogate is not None
        parts: list[Expression] = [*(builder[key] for key in self.sides.keys), builder[TIME]]
        key = builder[self.history.surrogate_key]
        self._window([WindowFunction("~key~before", "lag", (key,), STRING)])
        own = choose(negated(self.speaks), key, self._corrects(), builder["~key~before"], nothing(STRING))
        builder.add("keys", {"~own~key": own, "~first~key": Call("coalesce", (own, made_of(surrogate, parts)), STRING)})
        held = choose(call("is_null", builder["~own~key"]), nothing(TIMESTAMP), builder[TIME])
        builder.window(
            (*(builder[key] for key in self.sides.keys), builder["~first~key"]),
            (),
            [WindowFunction("~holder", "max", (held,), TIMESTAMP, _ALL)],
        )
        apart = made_of(surrogate, [*parts, builder["~holder"], builder["~number"]])
        fresh = choose(call("is_null", builder["~holder"]), builder["~first~key"], apart)
        builder.add("new keys", {"~new~key": fresh})

    def _gather_news(self) -> None:
        """The last news of every version, while it held: also of one that the same batch ends."""
        builder = self.builder
        builder.add("news last", {"~spoke": choose(builder["~news"], Literal(1, INT), Literal(0, INT))})
        builder.window(
            (*(builder[key] for key in self.sides.keys), builder["~number"]),
            (builder["~spoke"], builder[TIME], builder[PLACE]),
            [
                WindowFunction("~last~news", "last_value", (builder["~news"],), BOOLEAN, _ALL),
                WindowFunction("~later~news", "lead", (builder["~news"],), BOOLEAN),
                *(
                    WindowFunction(_LAST + c, "last_value", (builder[c],), builder.columns[c], _ALL)
                    for c in self.others
                ),
            ],
        )

    def _value(self, name: str) -> Expression:
        """A column of the table afterwards; keys that the batch does not have stay as they are."""
        builder, history, old = self.builder, self.history, self.builder[name]
        value: Expression | None = None
        if name == history.surrogate_key:
            assert self.strategy.surrogate is not None
            # A key that facts point to stays, whatever comes in before its version, or corrects it.
            value = Call("coalesce", (builder["~own~key"], builder["~new~key"]), STRING)
        elif name == history.effective_from_field:
            value = builder["~from"]
        elif name == history.effective_to_field:
            value = builder["~to"]
        elif name == history.current_flag_field:
            value = builder["~open"]
        elif name == history.version_column:
            value = convert(builder["~number"], old.type)
        elif name == history.change_reason_column:
            value = self._reason()
        elif name == history.last_seen_field:
            value = builder["~seen"]
        elif name == self.order:
            return choose(builder["~continues"], builder["~opener~order"], old)
        elif name in self.others:
            return choose(builder["~renewed"], builder[_LAST + name], old)
        return old if value is None else choose(builder["~touched"], value, old)

    def _reason(self) -> Expression:
        builder = self.builder
        after_gap = either(
            [
                both(holds(builder["~before~gone"]), holds(call("lt", builder["~before"], builder[TIME]))),
                both(
                    holds(call("lt", builder["~before"], builder["~until~before"])),
                    holds(call("lt", builder["~until~before"], builder[TIME])),
                ),
            ]
        )
        is_first = call("same", builder["~number"], Literal(1, BIGINT))
        reason = builder[self.history.change_reason_column or ""]
        stays = both(builder["~continues"], negated(call("is_null", reason)))
        return choose(is_first, text("initial"), stays, reason, after_gap, text("reinserted"), text("changed"))

    def _tell(self, values: Mapping[str, Expression]) -> None:
        """The effect of every row of the batch, the change of every version, and whether they fit together."""
        builder, history = self.builder, self.history
        corrects = self._corrects()
        is_last = call("is_null", builder["~later~news"])
        renews = both(builder["~news"], is_last, differs(builder["~rest"], builder["~held~rest"]))
        effect = choose(
            negated(builder[NEW]), nothing(STRING),
            builder["~ends"], text("deleted"),
            builder[GONE], text("ignored"),
            either([both(builder["~opens"], corrects), builder["~absorbed"]]), text("updated"),
            builder["~opens"], text("inserted"),
            renews, text("updated"),
            text("unchanged"),
        )  # fmt: skip
        stored = [name for name in values if values[name] != builder[name] and name.lower() not in self.sides.stamps]
        changed = any_of(differs(values[name], builder[name]) for name in stored)
        closed = both(holds(builder[history.current_flag_field]), negated(builder["~open"]))
        change = choose(
            either([self.speaks, negated(builder["~touched"])]), nothing(STRING),
            negated(builder["~version"]), text("replaced"),
            closed, text("closed"),
            changed, text("updated"),
            nothing(STRING),
        )  # fmt: skip
        builder.add("effect", {EFFECT: effect, CHANGE: change, WRITTEN: builder["~version"]})
        current = choose(builder["~open"], Literal(1, INT), nothing(INT))
        written = (*(builder[key] for key in self.sides.keys), builder[WRITTEN])
        builder.window(
            written,
            (builder["~from"], builder[TIME]),
            [
                WindowFunction("~next~from", "lead", (builder["~from"],), TIMESTAMP),
                WindowFunction("~currents", "count", (current,), BIGINT, _ALL),
            ],
        )
        overlap = holds(call("lt", builder["~next~from"], builder["~to"]))
        backwards = holds(call("lt", builder["~to"], builder["~from"]))
        several = holds(call("gt", builder["~currents"], Literal(1, BIGINT)))
        # Two versions that stood in the table with one time: nobody can say which of them held.
        twice = both(negated(self.speaks), corrects)
        wrong = both(builder["~touched"], builder[WRITTEN], either([overlap, backwards, several, twice]))
        came = came_from(self.strategy, history, self.builder.columns)
        compared = both(negated(builder[NEW]), came) if came != FALSE else FALSE
        builder.add("check", {BROKEN: wrong, COMPARED: compared})
