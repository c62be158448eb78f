"""Who answers for a dataset, what is kept about it, where bad rows go, and who hears of trouble."""

from typing import Annotated, Any, ClassVar, Literal

from lakelogic.contract.base import (
    Duration,
    Flag,
    Free,
    Key,
    NamedList,
    Number,
    Place,
    Section,
    Sql,
    Text,
    Verbatim,
    Whole,
)
from lakelogic.contract.reading.substitute import SecretReference

Layer = Literal[
    "bronze", "silver", "gold", "reference",
    "raw", "landing", "ingest", "staging", "cleansed", "curated", "refined", "presentation", "ref", "seed", "lookup",
]  # fmt: skip
LAYERS: dict[str, str] = {
    "bronze": "bronze", "raw": "bronze", "landing": "bronze", "ingest": "bronze",
    "silver": "silver", "staging": "silver", "cleansed": "silver",
    "gold": "gold", "curated": "gold", "refined": "gold", "presentation": "gold",
    "reference": "reference", "ref": "reference", "seed": "reference", "lookup": "reference",
}  # fmt: skip


class Contact(Section):
    """A person or a team."""

    PURPOSE: ClassVar[str] = "A person or a team."
    SHORT: ClassVar[Any] = Verbatim

    name: Text | None = Key(None, description="Who.")
    role: Text | None = Key(None, description="In which role.")
    email: Text | None = Key(None, description="Where to write.")
    team: Text | None = Key(None, description="The team.")
    url: Text | None = Key(None, description="A page.")
    slack: Text | None = Key(None, description="A channel.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain text: an e-mail address, or a name."""
        return {"email" if "@" in str(value) else "name": value}


class Info(Section):
    """What the dataset is called and what it is for."""

    PURPOSE: ClassVar[str] = "What the dataset is called and what it is for."

    title: Text | None = Key(None, description="A title for people.")
    dataset: Text | None = Key(None, description="The dataset's name.")
    table_name: Text | None = Key(None, description="The table's name.")
    entity: Text | None = Key(None, description="What the rows are: `customers`.")
    version: Text | None = Key(None, description="The contract's version.")
    description: Verbatim | None = Key(None, description="What the dataset is for.")
    owner: Text | None = Key(None, description="Who answers for it.")
    contact: Contact | None = Key(None, description="Whom to ask.")
    target_layer: Layer | None = Key(None, description="The layer.")
    status: Literal["draft", "active", "deprecated", "retired"] | None = Key(None, description="The contract's age.")
    classification: Text | None = Key(None, description="Your own confidentiality class.")
    domain: Text | None = Key(None, description="The domain.")
    system: Text | None = Key(None, description="The system rows come from.")
    data_product: Text | None = Key(None, description="The data product it belongs to.")
    tags: tuple[Text, ...] = Key((), description="Words to find it by.")


class Ownership(Section):
    """Who answers for a domain or a dataset."""

    PURPOSE: ClassVar[str] = "Who answers for it."

    domain_owner: Text | None = Key(None, description="The owner of the domain.")
    owner: Text | None = Key(None, description="The owner of the dataset.")
    team: Text | None = Key(None, description="The team.")
    contacts: Annotated[tuple[Contact, ...], NamedList] = Key((), description="Whom to ask.")
    cost_center: Text | None = Key(None, description="Who pays.")


class Notification(Section):
    """Who hears of what."""

    PURPOSE: ClassVar[str] = "Who hears of what."

    name: Text | None = Key(None, description="A name for this entry.")
    type: Text = Key(description="`slack`, `email`, `teams`, `webhook`, …")
    target: SecretReference | None = Key(None, description="The address, or a reference to it.")
    to: tuple[Text, ...] = Key((), description="Receivers.")
    on: tuple[Text, ...] = Key((), description="Events that are told.")
    subject: Verbatim | None = Key(None, description="Template of the subject.")
    template: Verbatim | None = Key(None, description="Template of the text.")
    enabled: Flag = Key(True, description="Whether it is told.")


class Quarantine(Section):
    """Where bad rows go, and when they are too many."""

    PURPOSE: ClassVar[str] = "Where bad rows go."

    enabled: Flag = Key(True, description="`false`: any bad row stops the run.")
    target: Place | None = Key(None, description="Table name, path or URI.")
    table: Place | None = Key(None, description="Another word for `target`.")
    location: Place | None = Key(None, description="Another word for `target`.")
    format: Literal["delta", "iceberg", "parquet", "csv", "json"] = Key("delta", description="How they are kept.")
    fail_on_quarantine: Flag = Key(False, description="Any bad row closes the gate.")
    max_ratio: Number | None = Key(None, description="The largest share of bad rows, 0 to 1.")
    retention: Duration | None = Key(None, description="How long bad rows are kept.")
    notifications: tuple[Notification, ...] = Key((), description="Who hears of bad rows.")

    @property
    def place(self) -> str | None:
        """The target, under any of its words; None for the default place."""
        return self.target or self.table or self.location


class Lineage(Section):
    """Which stamps rows carry."""

    PURPOSE: ClassVar[str] = "Which stamps rows carry."

    enabled: Flag = Key(True, description="Whether rows are stamped.")
    capture_source_path: Flag = Key(True, description="Where the row came from.")
    capture_timestamp: Flag = Key(True, description="When it was processed.")
    capture_run_id: Flag = Key(True, description="By which run.")
    capture_contract_name: Flag = Key(True, description="Under which contract.")
    capture_domain: Flag = Key(True, description="In which domain.")
    capture_system: Flag = Key(True, description="From which system.")
    capture_created_at: Flag = Key(True, description="When the key first came.")
    capture_created_by: Flag = Key(True, description="Which run first brought it.")
    source_path_column_name: Text = Key("_lakelogic_source", description="Column of the source path.")
    timestamp_column_name: Text = Key("_lakelogic_processed_at", description="Column of the time.")
    run_id_column_name: Text = Key("_lakelogic_run_id", description="Column of the run.")
    contract_name_column_name: Text = Key("_lakelogic_contract_name", description="Column of the contract.")
    domain_column_name: Text = Key("_lakelogic_domain", description="Column of the domain.")
    system_column_name: Text = Key("_lakelogic_system", description="Column of the system.")
    created_at_column_name: Text = Key("_lakelogic_created_at", description="Column of the first time.")
    created_by_column_name: Text = Key("_lakelogic_created_by", description="Column of the first run.")
    preserve_upstream: tuple[Text, ...] = Key((), description="Upstream stamps that are kept under a prefix.")
    upstream_prefix: Text = Key("_upstream", description="The prefix.")
    run_id_source: Literal["run_id", "pipeline_run_id"] = Key("run_id", description="Which id is stamped.")


class UpstreamSource(Section):
    """A dataset this one is made of."""

    PURPOSE: ClassVar[str] = "A dataset this one is made of."
    SHORT: ClassVar[Any] = Text

    dataset: Text = Key(description="Its name.")
    description: Verbatim | None = Key(None, description="What is taken from it.")
    max_age: Duration | None = Key(None, description="How old it may be.")
    grace: Duration | None = Key(None, description="How much older is tolerated.")
    required: Flag | None = Key(None, description="Whether a stale upstream holds this dataset back.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain name."""
        return {"dataset": value}


class Downstream(Section):
    """Who uses the dataset."""

    PURPOSE: ClassVar[str] = "Who uses the dataset."
    SHORT: ClassVar[Any] = Text

    name: Text = Key(description="Dataset, report or service.")
    type: Text | None = Key(None, description="`dashboard`, `model`, …")
    description: Verbatim | None = Key(None, description="What for.")
    owner: Text | None = Key(None, description="Who answers for it.")
    url: Text | None = Key(None, description="Where it is.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain name."""
        return {"name": value}


class Schedule(Section):
    """When the contract runs."""

    PURPOSE: ClassVar[str] = "When the contract runs."
    SHORT: ClassVar[Any] = Text

    cron: Text = Key(description="Five fields of cron.")
    timezone: Text | None = Key(None, description="Whose clock.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain cron line."""
        return {"cron": value}


class Export(Section):
    """Good rows to elsewhere."""

    PURPOSE: ClassVar[str] = "Good rows to elsewhere."

    name: Text | None = Key(None, description="A name for reports; by default the type.")
    type: Literal["snowflake", "databricks", "s3", "files"] = Key(description="Where to.")
    target: Place = Key(
        description="`DB.SCHEMA.TABLE`, `catalog.schema.table`, `s3://bucket/prefix` or a prefix, a folder."
    )
    mode: Literal["merge", "append", "overwrite"] = Key("merge", description="Tables: how rows meet the target.")
    key: tuple[Text, ...] = Key((), description="Tables: what rows are told apart by; by default the primary key.")
    columns: tuple[Text, ...] = Key((), description="By default all but stamps.")
    include_deleted: Flag = Key(False, description="Send rows that are marked as deleted too, with their mark.")
    filter: Sql | None = Key(None, description="The rows exported.")
    format: Literal["parquet", "csv", "ndjson"] | None = Key(None, description="s3, files: by default `parquet`.")
    connection: SecretReference | None = Key(
        None, description="A reference to a JSON object of settings; by default environment variables."
    )
    when: Literal["published", "manual"] = Key("published", description="When it happens.")
    required: Flag = Key(False, description="A failed export fails the run.")

    @property
    def called(self) -> str:
        """What reports call it."""
        return self.name or self.type


class SoftDeletes(Section):
    """How deleted rows are marked."""

    PURPOSE: ClassVar[str] = "How deleted rows are marked."

    enabled: Flag = Key(True, description="Whether rows are marked instead of removed.")
    column: Text | None = Key(None, description="Marks a deleted row.")
    time_column: Text | None = Key(None, description="When it was deleted.")
    reason_column: Text | None = Key(None, description="Why it was deleted.")


class Budget(Section):
    """What runs may cost."""

    PURPOSE: ClassVar[str] = "What runs may cost."

    monthly_limit: Number | None = Key(None, description="Per month.")
    currency: Text | None = Key(None, description="In which currency.")


class Cost(Section):
    """What runs cost and may cost."""

    PURPOSE: ClassVar[str] = "What runs cost and may cost."

    budget: Budget | None = Key(None, description="What they may cost.")
    rates: dict[str, Free] = Key({}, description="What an hour of a machine costs.")


class ExternalLogic(Section):
    """Code of your own, called with the rows."""

    PURPOSE: ClassVar[str] = "Code of your own, called with the rows."

    type: Literal["python", "notebook"] = Key("python", description="What it is.")
    path: Place = Key(description="The file.")
    entrypoint: Text = Key("run", description="The function called.")
    args: dict[str, Free] = Key({}, description="Handed to the function.")
    engine: Text | None = Key(None, description="Pins it to one engine.")
    phase: Literal["pre", "post"] = Key("pre", description="Before the rules, or on good rows.")
    timeout_seconds: Number | None = Key(None, description="How long it may take.")


class Preprocessing(Section):
    """What happens to a document before extraction."""

    PURPOSE: ClassVar[str] = "What happens to a document before extraction."

    content_type: Text | None = Key(None, description="What the documents are.")
    ocr: Free = Key(None, description="Text from pictures.")
    transcription: Free = Key(None, description="Text from sound.")
    chunking: Free = Key(None, description="How long texts are cut.")


class Extraction(Section):
    """Fields out of text, by patterns or by a language model."""

    PURPOSE: ClassVar[str] = "Fields out of text."

    provider: Literal["regex", "document", "openai", "anthropic", "azure_openai", "google", "bedrock", "ollama"] = Key(
        description="Who extracts."
    )
    model: Text | None = Key(None, description="The language model.")
    text_column: Text | None = Key(None, description="The column read.")
    patterns: dict[str, Verbatim] = Key({}, description="regex: field: pattern.")
    prompt_template: Verbatim | None = Key(None, description="What is asked.")
    output_schema: tuple[Free, ...] = Key((), description="The fields made.")
    preprocessing: Preprocessing | None = Key(None, description="What happens before.")
    batch_size: Whole | None = Key(None, description="Rows per request.")
    concurrency: Whole | None = Key(None, description="Requests at once.")
    retry: Free = Key(None, description="How failures are tried again.")
    confidence: Free = Key(None, description="How sure an answer must be.")
    max_cost_per_run: Number | None = Key(None, description="What a run may cost.")
    redact_pii_before_llm: Flag | None = Key(None, description="Hide personal data first.")
    fallback_model: Text | None = Key(None, description="Asked when the first fails.")
