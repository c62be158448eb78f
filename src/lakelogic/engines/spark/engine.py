"""The Engine protocol on Spark."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lakelogic.engines.base import AS_IT_COMES, Capabilities, Frame, Order, Pinned, Staged
from lakelogic.engines.readers.formats import READERS
from lakelogic.engines.spark import nodes, scan, stage
from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.counting import noted, notes_of
from lakelogic.engines.spark.expressions import FUNCTIONS, sql
from lakelogic.engines.spark.frame import (
    adopted,
    arrow_frame,
    empty_frame,
    landed_columns,
    moved,
    parquet_frame,
    to_table,
)
from lakelogic.engines.spark.functions import aggregates, windows
from lakelogic.engines.spark.literals import identifier
from lakelogic.engines.spark.native_delta import SparkDelta, has_delta
from lakelogic.engines.spark.runtime import death, installation
from lakelogic.engines.spark.runtime.work import Work
from lakelogic.errors import FeatureRefused, LakeLogicError, MissingExtra
from lakelogic.plan.nodes import Account, Landed, Link, Mask, Measure, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.sql.expressions import Call, Literal
from lakelogic.sql.types import INT


class SparkEngine:
    """Plans on Spark: a session handed in, a Connect server, a cluster's master, or a local one that we start.

    `spark` is never changed: we work in a session of our own beside it. `fast_start` (local sessions) starts in a
    third of the time and is slower on large inputs; unless it or `LAKELOGIC_SPARK_FAST_START` says, the input decides.
    `settings` are Spark settings for our own session. `delta` loads Delta's own reader and writer.
    """

    name = "spark"
    capabilities = Capabilities(
        name="spark",
        functions=frozenset({*FUNCTIONS, *aggregates.NAMES, *windows.NAMES}),
        formats=frozenset(READERS),
        masks=frozenset({"nullify", "hash", "redact", "partial", "encrypt", "encrypt_deterministic"}),
        nodes=frozenset(kind.__name__ for kind in nodes.LOWER),
        distributed=True,
    )

    def __init__(
        self,
        spark: Any = None,
        master: str | None = None,
        remote: str | None = None,
        *,
        fast_start: bool | None = None,
        settings: Mapping[str, str] | None = None,
        delta: bool = False,
    ) -> None:
        try:
            import pyspark
        except ImportError as error:
            raise MissingExtra("spark", "The engine `spark`") from error
        self._version: str = pyspark.__version__
        self._given = spark
        self._master = master
        self._remote = remote or (None if master or spark is not None else os.environ.get("SPARK_REMOTE"))
        self._fast_start = fast_start
        self._large = False
        self._settings = dict(settings or {})
        self._delta = delta
        self._session: Any = None
        self._small: Any = None
        self._own: SparkDelta | None = None
        self._work: ContextVar[Work | None] = ContextVar("work", default=None)
        self._alone = threading.RLock()  # runs side by side share the engine, and one of them starts the session

    @property
    def version(self) -> str:
        """The version of pyspark."""
        return self._version

    @property
    def session(self) -> Any:
        """Our own session, started when it is first needed."""
        with self._alone:
            if self._session is None:
                if self._given is not None:
                    self._session = sessions.beside(self._given, self._settings)
                elif self._remote is not None:
                    self._session = sessions.connect(self._remote, self._settings)
                else:
                    self._session = self._start()
            session = self._session
        if (work := self._work.get()) is not None:
            work.mark(session)
        return session

    def _start(self) -> Any:
        fast = sessions.fast_start_wanted(self._fast_start, large=self._large)
        return sessions.start(self, self._master, fast, self._settings, self._delta)

    @contextlib.contextmanager
    def work(self, label: str) -> Iterator[Callable[[], None]]:
        """Jobs of this thread, in a fair pool of their own where Spark has pools, under a tag that stops them.

        Spark is not started for it: a run that finds nothing new needs none.
        """
        work = Work(label)
        token = self._work.set(work)
        try:
            yield work.stop
        finally:
            self._work.reset(token)
            work.end()

    def explained(self, error: Exception) -> LakeLogicError | None:
        """A Java process that has ended, told as that; whatever else is wrong stays what it is."""
        return death.ended(self._session, error) if self._session is not None else None

    def own_delta(self) -> SparkDelta:
        """The session's own Delta; raises where it has none. From then on all frames are made where Delta is."""
        with self._alone:
            return self._own_delta()

    def _own_delta(self) -> SparkDelta:
        if self._own is None or self._own.session is not self._session:
            ours = self._given is None and self._remote is None
            if ours and self._session is None:
                self._delta = True
            session = self.session
            if not has_delta(session):
                if not sessions.is_launched_here(session) or not installation.jars():
                    raise FeatureRefused(
                        "The table needs Delta in the Spark session, and it has none.",
                        hint="`lakelogic setup spark` fetches it; a session that is started then has it."
                        if ours
                        else "Start the session with Delta's JARs, extension and catalog.",
                    )
                session = sessions.with_delta(session)
                catalog = {sessions.CATALOG: sessions.DELTA[sessions.CATALOG]}
                sessions.configure(session, {**sessions.changeable(session, self._settings), **catalog})
                self._session, self._small = session, None
            self._own = SparkDelta(session, sessions.changeable(session, self._settings))
        return self._own

    def _for(self, size: int | None) -> tuple[Any, bool]:
        """The session for so many bytes, and whether it is the one for small inputs."""
        session = self.session
        if size is None or size > sessions.SMALL_BYTES or not sessions.is_started_here(session):
            return session, False
        with self._alone:
            if self._small is None:
                self._small = sessions.for_small_inputs(session)
            return self._small, True

    def expect(self, size: int) -> None:
        """A local session that is yet to start gets the full compiler for much data, the quick one for little."""
        self._large = size >= sessions.LARGE_BYTES

    def discover(self, read: Read, pinned: Pinned) -> tuple[Landed, ...]:
        """The keys of all ndjson objects."""
        return scan.discover(lambda: self.session, read, pinned)

    def scan(self, read: Read, pinned: Pinned) -> Frame:
        """The landed columns and where each row came from."""
        if pinned.own:
            self.own_delta()
        size = scan.size_of(pinned.files)
        session, small = self._for(size)
        frame = scan.scan(session, read, pinned)
        if READERS[read.format].by_engine:
            frame = noted(frame, replace(notes_of(frame), size=size))
        # One task for a few rows: nothing has to be moved between tasks then.
        return noted(frame.coalesce(1), replace(notes_of(frame), small=True)) if small else frame

    def adopt(self, data: Any, read: Read | None = None) -> tuple[Frame, tuple[Landed, ...]]:
        """A frame that somebody hands in, and its columns."""
        frame, session = adopted(lambda: self.session, data)
        if session is not None:
            self._session = session
        columns = landed_columns(frame)
        return (scan.marked(frame, columns) if read is not None else frame), columns

    def lower(self, frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
        """What the accounts publish."""
        if notes_of(frame).small and not all(notes_of(link).small for link in links.values()):
            frame = noted(moved(self.session, frame), replace(notes_of(frame), small=False))
        return nodes.lower(frame, accounts, links)

    def link(self, link: Link, pinned: Pinned) -> Frame:
        """The rows of a link that count."""
        source = self.scan(link.read, pinned)
        frame = nodes.apply(source, link.nodes, nodes.Links({}))
        return noted(frame.where(sql(link.keep)) if link.keep is not None else frame, notes_of(source))

    def sql(self, frame: Frame) -> str:
        """Spark's own plan; only text of expressions, never a key."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            frame.explain(mode="formatted")
        return output.getvalue()

    def stage(
        self,
        frame: Frame,
        columns: Sequence[Published],
        masks: Sequence[Mask],
        keys: Keys,
        place: str,
        order: Order = AS_IT_COMES,
    ) -> Staged:
        """One pass: mask, count, write both sides."""
        return stage.stage(frame, columns, masks, keys, place, order)

    def measure(
        self, files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]
    ) -> dict[str, Any]:
        """All measures over the staged good files, in one query."""
        if not measures:
            return {}
        wanted = [(column.name, column.type) for column in columns if column.on_good]
        session, _ = self._for(scan.size_of(files))
        frame = parquet_frame(session, files, wanted) if files else empty_frame(session, wanted)
        from lakelogic.sql.bind import aggregate_type

        computed, inner, outer, summaries = [], [], [], []
        for i, figure in enumerate(measures):
            # The condition goes into the value: rows that do not count give NULL, which no aggregate sees.
            value, function = figure.value, figure.function
            if figure.where is not None:
                kept = value if value is not None else Literal(1, INT)
                value = Call("case", (figure.where, kept, Literal(None, kept.type)), kept.type)
                function = "count" if function == "count_all" else function
            whole = aggregates.whole_numbers(function, value)
            args = [argument for argument in (whole or value,) if argument is not None]
            computed += [f"{sql(value)} AS {identifier(f'v{i}')}" for value in args]
            if whole is not None:
                calls = aggregates.sum_of_whole_numbers(f"m{i}", identifier(f"v{i}"))
            else:
                type_ = aggregate_type(function, value)
                calls = aggregates.summary(function, f"m{i}", [identifier(f"v{i}") for _ in args], args, type_)
            summaries.append(calls)
            inner += [f"{text} AS {identifier(column)}" for column, text in calls.inner.items()]
            outer.append(f"{calls.outer} AS {identifier(f'm{i}')}")
        frame = aggregates.with_layers(frame.selectExpr(*computed) if computed else frame, summaries)
        # `selectExpr` over aggregates is one global aggregation, and answers one row even over nothing.
        row = frame.selectExpr(*inner).selectExpr(*outer).toArrow().to_pylist()[0]
        return {measure.name: row[f"m{i}"] for i, measure in enumerate(measures)}

    def duplicates(self, frame: Frame, keys: Sequence[str]) -> int:
        """How many key values occur more than once."""
        present = " OR ".join(f"{identifier(key)} IS NOT NULL" for key in keys)
        kept = frame.where(present).selectExpr(*(identifier(key) for key in keys))
        repeated = kept.groupBy(*(kept[identifier(key)] for key in keys)).count().where("count > 1")
        return int(repeated.count())

    def open(self, files: Sequence[str], columns: Sequence[tuple[str, pa.DataType]]) -> Frame:
        """Parquet files as a frame."""
        from lakelogic.sql.types import from_arrow

        wanted = [(column, from_arrow(kind)) for column, kind in columns]
        return parquet_frame(self.session, files, wanted) if files else empty_frame(self.session, wanted)

    def wrap(self, table: pa.Table) -> Frame:
        """A small Arrow table as a frame."""
        return arrow_frame(self.session, table)

    def collect(self, frame: Frame, limit: int | None = None) -> pa.Table:
        """The rows as an Arrow table."""
        return to_table(frame if limit is None else frame.limit(limit))

    def close(self) -> None:
        """Stop what we started."""
        session, self._session, self._small, self._own = self._session, None, None, None
        if session is None:
            return
        if self._remote is not None and self._given is None:
            session.stop()
        sessions.release(self)
