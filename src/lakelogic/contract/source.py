"""Where rows come from: the source, its load modes and options, the server's defaults, and reference data."""

import re
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from lakelogic.contract import formats
from lakelogic.contract.base import (
    Duration,
    Flag,
    Free,
    Key,
    Place,
    Section,
    Sql,
    Text,
    Verbatim,
    Whole,
    whole,
)
from lakelogic.contract.materialization import SchemaPolicy
from lakelogic.contract.reading.substitute import SecretReference

SourceType = Literal["landing", "table", "delta", "iceberg", "database", "stream", "dlt", "api", "sftp"]
if TYPE_CHECKING:
    Format = str
    LinkType = str
else:  # the words are those of the table of formats
    Format = Literal[formats.names()]
    LinkType = Literal[
        ("landing", "table", "database", *formats.names(r for r in formats.FORMATS.values() if not r.is_document))
    ]
LoadMode = Literal["full", "incremental", "cdc"]
WatermarkStrategy = Literal["pipeline_log", "max_target", "manifest", "lookback", "date_range", "delta_version"]
Bounds = Literal["max_target", "lookback", "date_range"]

_COMPRESSED = (".gz", ".bz2", ".zst", ".zip", ".snappy", ".lz4")
_TABLE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_][\w-]*){1,2}$")


def is_table_name(text: str) -> bool:
    """Whether a target or source reads as `catalog.schema.table` (or `schema.table`) rather than as a path.

    What ends like a file (`orders.csv`, `orders.new.csv`, `orders.csv.gz`) is one.
    """
    return bool(_TABLE_NAME.match(text)) and format_of(text) is None and not text.lower().endswith(_COMPRESSED)


def format_of(path: str) -> Format | None:
    """The format that a path's suffix tells; None for folders and names of tables."""
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return formats.by_suffix(name.rsplit(".", 1)[1]) if "." in name else None


class FixedColumn(Section):
    """One column of a fixed-width file."""

    PURPOSE: ClassVar[str] = "One column of a fixed-width file."

    name: Text = Key(description="The column's name.")
    start: Whole = Key(description="First character, counted from 1.")
    width: Whole = Key(description="How many characters.")


class Options(Section):
    """How a format is read; which options apply depends on the format."""

    PURPOSE: ClassVar[str] = "How the format is read."

    encoding: Text = Key("utf-8", description="How bytes become text.")
    compression: Text | None = Key(None, description="By default told by the suffix.")
    max_record_bytes: Whole = Key(
        64 * 2**20, description="The longest line or quoted value; a longer one stops the run, with its line."
    )
    max_unpacked_ratio: Whole = Key(
        250, description="How many times as large a packed file may become; beyond it the run stops."
    )
    date_formats: dict[str, Verbatim] = Key({}, description="Field: pattern; strftime with `%`, else Java.")
    decimal_comma: Flag = Key(False, description="`1,5` is one and a half.")
    implied_decimals: dict[str, Whole] = Key({}, description="Field: digits after the point.")
    delimiter: Verbatim | None = Key(None, description="csv, tsv: what separates values.")
    quote_char: Verbatim | None = Key(None, description="csv, tsv: what surrounds values.")
    has_header: Flag = Key(True, description="csv, tsv: the first line names the columns.")
    skip_rows: Whole = Key(0, description="csv, tsv: lines before the header.")
    null_values: tuple[Verbatim, ...] = Key((), description="csv, tsv: texts that mean NULL.")
    comment_prefix: Verbatim | None = Key(None, description="csv, tsv: lines that begin so are left out.")
    sheet_name: Text | None = Key(None, description="excel: the sheet.")
    header_row: Whole | None = Key(None, description="excel: the line that names the columns.")
    skip_footer: Whole = Key(0, description="excel: lines at the end.")
    multiline: Flag = Key(False, description="json: one document per file.")
    row_tag: Text | None = Key(None, description="xml: the element that is a row.")
    columns: tuple[FixedColumn, ...] = Key((), description="fixed_width: the columns.")
    url: SecretReference | None = Key(None, description="database: an address without a password, or a reference.")
    connection: SecretReference | None = Key(None, description="database: a reference to a secret.")
    table: Text | None = Key(None, description="database: the table.")
    fetch_size: Whole | None = Key(None, description="database: rows per round trip.")
    partition_column: Text | None = Key(None, description="database: read in parallel by this column.")
    partition_num: Whole | None = Key(None, description="database: into so many parts.")
    brokers: tuple[Text, ...] = Key((), description="kafka: addresses.")
    topic: Text | None = Key(None, description="kafka: the topic.")
    group_id: Text | None = Key(None, description="kafka: the consumer group.")
    starting_offsets: Text | None = Key(None, description="kafka: where to begin.")
    checkpoint: Place | None = Key(None, description="kafka: where progress is kept.")
    trigger: Literal["available_now", "processing_time", "continuous"] | None = Key(None, description="kafka.")
    security: dict[str, Free] = Key({}, description="kafka: security settings; secrets are references.")


class Partition(Section):
    """Dated folders of a landing zone."""

    PURPOSE: ClassVar[str] = "Dated folders of a landing zone."

    format: Verbatim | None = Key(None, description="strftime pattern of the folder.")
    lookback_days: Whole | None = Key(None, description="How many days back.")
    start_date: Text | None = Key(None, description="First day.")
    end_date: Text | None = Key(None, description="Last day.")
    file_pattern: Verbatim | None = Key(None, description="Glob within a folder.")


class PostIngestion(Section):
    """What becomes of landed files that were read."""

    PURPOSE: ClassVar[str] = "What becomes of files that were read."

    action: Literal["retain", "archive", "delete"] = Key("retain", description="Keep, move or delete.")
    archive_path: Place | None = Key(None, description="Where `archive` moves them.")


class Source(Section):
    """Where rows come from."""

    PURPOSE: ClassVar[str] = "Where rows come from."

    type: SourceType | None = Key(None, description="Told by path and format when absent.")
    path: Place | None = Key(None, description="File, folder, glob, URI or table name.")
    format: Format | None = Key(None, description="Told by the suffix when absent.")
    pattern: Verbatim | None = Key(None, description="Glob of file names; other files are never read.")
    query: Sql | None = Key(None, description="database: a query instead of a table.")
    load_mode: LoadMode = Key("full", description="Everything, what is new, or changes.")
    options: Options = whole(Options, "How the format is read.")
    include_deleted: Flag = Key(
        False, description="Tables of ours: read rows that are marked as deleted too, with the column that marks them."
    )
    empty_behavior: Literal["skip", "fail"] = Key("skip", description="What no input means.")
    identity: Literal["mtime", "content"] = Key(
        "mtime", description="What tells that a file was read: content with its place or time, or content alone."
    )
    flatten_nested: Flag = Key(False, description="Make columns of nested values.")
    partition: Partition | None = Key(None, description="Dated folders.")
    partition_filters: dict[str, Free] = Key({}, description="Folder column: value or values.")
    post_ingestion: PostIngestion | None = Key(None, description="What becomes of files that were read.")
    watermark_strategy: WatermarkStrategy | None = Key(None, description="incremental: how progress is known.")
    watermark_field: Text | None = Key(
        None,
        description="full: the field that places a row in a window. max_target, lookback, date_range: the field that "
        "rows are taken by.",
    )
    lookback: Duration | None = Key(
        None, description="How far before a window, or before what the table has, late rows are looked for: `7 days`."
    )
    from_date: Text | None = Key(None, description="date_range: first day, inclusive.")
    to_date: Text | None = Key(None, description="date_range: last day, inclusive.")
    cdc_op_field: Text | None = Key(None, description="cdc: the field that names the operation.")
    cdc_delete_values: tuple[Text, ...] = Key((), description="cdc: operations that delete.")
    cdc_timestamp_field: Text | None = Key(None, description="cdc: when it happened.")

    @property
    def resolved_format(self) -> Format | None:
        """The format as written, or as the suffix of the path or pattern tells; None when nothing tells."""
        if self.format is not None:
            return self.format
        if formats.is_table(self.type):
            return self.type
        for place in (self.path, self.pattern):
            if place and not is_table_name(place) and (file_format := format_of(place)):
                return file_format
        return "delta" if self.resolved_type == "table" else None

    @property
    def resolved_type(self) -> SourceType:
        """The type as written, or as path and format tell."""
        if self.type is not None:
            return self.type
        if self.format is not None and not formats.is_table(self.format):
            return "landing"
        if self.path and is_table_name(self.path):
            return "table"
        return cast("SourceType", self.format) if self.format is not None else "landing"

    @property
    def resolved_watermark_strategy(self) -> WatermarkStrategy | None:
        """How progress is known: the ledger, unless the contract says otherwise; None for a full load."""
        if self.load_mode == "full":
            return None
        return self.watermark_strategy or "pipeline_log"

    @property
    def bounded_by(self) -> Bounds | None:
        """The strategy by which some rows of the source are taken; None where files and versions are taken whole."""
        chosen = self.watermark_strategy
        if self.load_mode == "incremental" and chosen in ("max_target", "lookback", "date_range"):
            return chosen
        return None

    @property
    def follows_target(self) -> bool:
        """Whether the dataset's own table tells where to begin."""
        return self.bounded_by in ("max_target", "lookback")


class Server(Section):
    """Defaults for the source, as the older form of contracts writes them."""

    PURPOSE: ClassVar[str] = "Defaults for the source."

    type: Text | None = Key(None, description="The kind of store (`s3`, `local`, …), or a source type.")
    path: Place | None = Key(None, description="Used when `source.path` is absent.")
    format: Format | None = Key(None, description="Used when `source.format` is absent.")
    mode: Literal["validate", "ingest"] | None = Key(None, description="Judge only, or ingest.")
    cast_to_string: Flag = Key(False, description="Bronze as landed: every column is text.")
    schema_policy: SchemaPolicy | None = Key(None, description="Used when the root has none.")


class Link(Section):
    """Reference data that steps and rules may read."""

    PURPOSE: ClassVar[str] = "Reference data that steps and rules read."

    name: Text = Key(description="What steps and rules call it.")
    path: Place | None = Key(None, description="File, folder or URI.")
    table: Place | None = Key(None, description="Table name.")
    type: LinkType | None = Key(None, description="Another word for `format`, or a source type.")
    format: Format | None = Key(None, description="Told by the suffix when absent.")
    columns: tuple[Text, ...] = Key((), description="The columns kept.")
    filter: Sql | None = Key(None, description="The rows kept; judged before `columns`.")
    include_deleted: Flag = Key(False, description="Tables of ours: rows that are marked as deleted count too.")
    broadcast: Flag | None = Key(None, description="Advice to send the link to every worker.")
    query: Sql | None = Key(None, description="A query instead of the whole table.")

    @property
    def resolved_format(self) -> Format | None:
        """The format as written under either word, or as the suffix tells; tables are Delta."""
        if self.format is not None:
            return self.format
        if self.type not in (None, "landing", "table", "database"):
            return self.type
        if self.path and not is_table_name(self.path):
            return format_of(self.path)
        return "delta"
