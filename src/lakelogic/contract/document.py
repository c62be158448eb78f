"""The contract: the resolved document for one dataset, and the names that follow from it."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, PrivateAttr

from lakelogic.contract.base import Dialect, Flag, Free, Key, NamedList, Number, Place, Section, Text, whole
from lakelogic.contract.fields import Model
from lakelogic.contract.governance import (
    LAYERS,
    Cost,
    Downstream,
    Export,
    ExternalLogic,
    Extraction,
    Info,
    Layer,
    Lineage,
    Notification,
    Ownership,
    Quarantine,
    Schedule,
    SoftDeletes,
    UpstreamSource,
)
from lakelogic.contract.materialization import Materialization, SchemaPolicy
from lakelogic.contract.rules import Quality
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.contract.source import Format, Link, Server, Source, is_table_name
from lakelogic.contract.steps import AnyStep
from lakelogic.names import dataset_name


class ContractLayer(Section):
    """Any key of a contract but its environments: what lies under or over many contracts."""

    PURPOSE: ClassVar[str] = "Any key of a contract."

    model_config = ConfigDict(extra="allow")


class Environment(ContractLayer):
    """What is different in one environment: `path` and `format` of the source, and any key of a contract."""

    PURPOSE: ClassVar[str] = "What is different in one environment; also any key of a contract."

    path: Place | None = Key(None, description="Takes the place of `source.path`.")
    format: Format | None = Key(None, description="Takes the place of `source.format`.")
    shares_target: Flag = Key(False, description="Its rows may stand in one table with those of other environments.")


def told_layer(written: str | None, target: str | None, name: str | None) -> str | None:
    """The layer that is written, or that a table's or a dataset's name tells; None when nothing tells."""
    if written:
        return LAYERS.get(written)
    if target and is_table_name(target):
        return LAYERS.get(target.split(".")[-2])
    return LAYERS.get(name.split("_", 1)[0]) if name and "_" in name else None


class Contract(Section):
    """What people wrote about one dataset, resolved: defaults, environment and overrides are in it."""

    PURPOSE: ClassVar[str] = "The contract of one dataset."

    version: Text = Key("1.0.0", description="The contract's version.")
    info: Info = whole(Info, "What the dataset is called and what it is for.")
    metadata: dict[str, Free] = Key({}, description="Notes of your own.")
    extensions: dict[str, Free] = Key({}, description="Keys of other tools, under a name of theirs.")
    dialect: Dialect = Key("spark", description="The grammar that SQL in the contract is written in.")
    engine: Text | None = Key(None, description="The engine, unless the command names one.")
    dataset: Text | None = Key(None, description="The dataset's name; by default `{layer}_{system}_{entity}`.")
    primary_key: tuple[Text, ...] = Key((), description="The key; may also stand under `materialization`.")
    source: Source = whole(Source, "Where rows come from.")
    server: Server | None = Key(None, description="Defaults for the source.")
    environments: dict[str, Environment] = Key({}, description="Name: what is different there.")
    links: Annotated[tuple[Link, ...], NamedList] = Key((), description="Reference data.")
    model: Model = whole(Model, "The fields.")
    schema_policy: SchemaPolicy = whole(SchemaPolicy, "What a changed schema does.")
    transformations: tuple[AnyStep, ...] = Key((), description="The steps, in order.")
    external_logic: ExternalLogic | None = Key(None, description="Code of your own.")
    extraction: Extraction | None = Key(None, description="Fields out of text.")
    quality: Quality = whole(Quality, "The rules.")
    quarantine: Quarantine = whole(Quarantine, "Where bad rows go.")
    materialization: Materialization = whole(Materialization, "How good rows meet their table.")
    lineage: Lineage = whole(Lineage, "Which stamps rows carry.")
    service_levels: ServiceLevels = whole(ServiceLevels, "What the dataset promises.")
    upstream: tuple[Text, ...] = Key((), description="Datasets this one is made of.")
    upstream_sources: tuple[UpstreamSource, ...] = Key((), description="The same, with more to say.")
    upstream_policy: Literal["strict", "warn"] | None = Key(
        None, description="What a stale upstream does: hold this dataset back, or be used and told within its grace."
    )
    upstream_grace_hours: Number | None = Key(None, description="How many hours more than promised are tolerated.")
    downstream: tuple[Downstream, ...] = Key((), description="Who uses the dataset.")
    schedule: Schedule | None = Key(None, description="When it runs.")
    compliance: dict[str, Free] = Key({}, description="Regulations that apply, in words of your own.")
    notifications: tuple[Notification, ...] = Key((), description="Who hears of what.")
    exports: Annotated[tuple[Export, ...], NamedList] = Key((), description="Good rows to elsewhere.")
    soft_deletes: SoftDeletes | None = Key(None, description="How deleted rows are marked.")
    cost: Cost | None = Key(None, description="What runs cost and may cost.")
    ownership: Ownership | None = Key(None, description="Who answers for it.")
    tags: tuple[Text, ...] = Key((), description="Words to find it by.")
    tier: Layer | None = Key(None, description="The layer.")
    layer_: Layer | None = Key(None, alias="layer", description="The layer.")
    target_layer: Layer | None = Key(None, description="The layer.")

    _stem: str | None = PrivateAttr(default=None)

    @property
    def layer(self) -> str | None:
        """bronze, silver, gold or reference: as written, or as target or dataset tell; None when nothing tells."""
        written = self.info.target_layer or self.layer_ or self.target_layer or self.tier
        name = self.dataset or self.info.dataset or self.info.table_name
        return told_layer(written, self.materialization.target_path, name)

    @property
    def entity(self) -> str:
        """What the rows are: `customers`."""
        if self.info.entity:
            return self.info.entity
        name = self.info.table_name or self.dataset or self.info.dataset
        if name:
            return self._without_prefixes(name.rsplit(".", 1)[-1])
        target = self.materialization.target_path
        if target:
            last = target.rstrip("/").rsplit("/", 1)[-1]
            return self._without_prefixes(last.rsplit(".", 1)[-1] if is_table_name(target) else last.split(".", 1)[0])
        return dataset_name(None, None, self._stem or self.info.title or "dataset")

    @property
    def system(self) -> str | None:
        """The system rows come from, if the contract says so."""
        return self.info.system

    @property
    def domain(self) -> str | None:
        """The domain, if the contract says so."""
        return self.info.domain

    @property
    def dataset_name(self) -> str:
        """The dataset's name: as written, or `{layer}_{system}_{entity}` without what is not known."""
        return self.dataset or self.info.dataset or dataset_name(self.layer, self.system, self.entity)

    @property
    def title(self) -> str:
        """A title for people: as written, or the dataset's name."""
        return self.info.title or self.dataset_name

    @property
    def contract_version(self) -> str:
        """The version, at the root or under `info`."""
        return self.version if "version" in self.model_fields_set else self.info.version or self.version

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key, at the root or under `materialization`."""
        return self.primary_key or self.materialization.primary_key

    def _without_prefixes(self, name: str) -> str:
        for prefix in (self.layer, self.system):
            if prefix:
                name = name.removeprefix(f"{prefix}_")
        return name
