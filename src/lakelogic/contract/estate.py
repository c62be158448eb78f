"""The documents around contracts: domain, system, registry and policy pack. Models only."""

from typing import ClassVar, Literal

from lakelogic.contract.base import Flag, Free, Key, Place, Section, Text
from lakelogic.contract.document import ContractLayer, Environment
from lakelogic.contract.governance import Cost, Notification, Ownership
from lakelogic.contract.materialization import Materialization
from lakelogic.contract.rules import Quality
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.contract.steps import AnyStep


class Domain(Section):
    """`_domain.yaml`: who owns a domain, and what all its datasets promise."""

    PURPOSE: ClassVar[str] = "`_domain.yaml`: who owns a domain, and what all its datasets promise."

    domain: Text = Key(description="The domain's name.")
    description: Text | None = Key(None, description="What the domain is about.")
    ownership: Ownership | None = Key(None, description="Who answers for it.")
    service_levels: ServiceLevels | None = Key(None, description="Promises of every dataset.")
    notifications: tuple[Notification, ...] = Key((), description="Who hears of what.")
    compliance: dict[str, Free] = Key({}, description="Regulations that apply.")
    cost: Cost | None = Key(None, description="What runs may cost.")
    retention: dict[str, Text] = Key({}, description="Layer: how long rows are kept, `P90D`.")
    metadata: dict[str, Free] = Key({}, description="Notes of your own.")
    extensions: dict[str, Free] = Key({}, description="Keys of other tools.")


class Storage(Section):
    """Where a system keeps its layers: each key fills the placeholder of its name (`{landing_root}`)."""

    PURPOSE: ClassVar[str] = "Where a system keeps its layers: each key fills the placeholder of its name."

    storage_root: Place | None = Key(None, description="The root of all; `{system_folder}` is the document's folder.")
    landing_root: Place | None = Key(None, description="Landed files; by default `{storage_root}/landing`.")
    bronze_root: Place | None = Key(None, description="Bronze tables; by default `{storage_root}/bronze`.")
    silver_root: Place | None = Key(None, description="Silver tables; by default `{storage_root}/silver`.")
    gold_root: Place | None = Key(None, description="Gold tables; by default `{storage_root}/gold`.")
    reference_root: Place | None = Key(None, description="Reference tables; by default `{storage_root}/reference`.")
    quarantine_root: Place | None = Key(None, description="Quarantine; by default `{storage_root}/quarantine`.")
    log_root: Place | None = Key(None, description="Reports and summaries; by default `{storage_root}/logs`.")


class SystemEnvironment(Environment):
    """What is different in one environment for all contracts of a system."""

    PURPOSE: ClassVar[str] = "What is different in one environment for all contracts of a system."

    storage: Storage | None = Key(None, description="Other places than those of the system.")


class System(Section):
    """`_system.yaml`: where a system's data lives, and how its contracts run."""

    PURPOSE: ClassVar[str] = "`_system.yaml`: where a system's data lives, and how its contracts run."

    system: Text = Key(description="The system's name.")
    domain: Text | None = Key(None, description="The domain it belongs to.")
    description: Text | None = Key(None, description="What the system is.")
    storage: Storage | None = Key(None, description="Where its layers are kept.")
    environments: dict[str, SystemEnvironment] = Key({}, description="Name: what is different there.")
    engine: Text | None = Key(None, description="The engine of its contracts.")
    materialization: dict[str, Materialization] = Key({}, description="`_all` or a layer: defaults.")
    ownership: Ownership | None = Key(None, description="Who answers for it.")
    service_levels: ServiceLevels | None = Key(None, description="Promises of every dataset.")
    cost: Cost | None = Key(None, description="What its machines cost.")
    contracts: tuple[Text, ...] = Key((), description="Its contracts, in place of a registry.")
    metadata: dict[str, Free] = Key({}, description="Notes of your own.")
    extensions: dict[str, Free] = Key({}, description="Keys of other tools.")


class RegistryEntry(Section):
    """One entity and its contracts per layer."""

    PURPOSE: ClassVar[str] = "One entity and its contracts per layer."

    entity: Text = Key(description="What the rows are.")
    enabled: Flag = Key(True, description="Whether the driver runs it.")
    contracts: dict[str, Text] = Key({}, description="Layer: path of the contract.")
    depends_on: tuple[Text, ...] = Key((), description="Entities that come first.")


class Registry(Section):
    """`_registry.yaml`: which contracts run."""

    PURPOSE: ClassVar[str] = "`_registry.yaml`: which contracts run."

    entries: tuple[RegistryEntry, ...] = Key(description="The entities.")
    metadata: dict[str, Free] = Key({}, description="Notes of your own.")
    extensions: dict[str, Free] = Key({}, description="Keys of other tools.")


class Pack(Section):
    """A policy pack: defaults, demands, and rules and steps that many contracts share."""

    PURPOSE: ClassVar[str] = "A policy pack: what many contracts share."

    name: Text = Key(description="The pack's name.")
    description: Text | None = Key(None, description="What it is for.")
    defaults: ContractLayer | None = Key(None, description="Used where a contract says nothing.")
    reference_defaults: ContractLayer | None = Key(None, description="The same, for reference data.")
    bronze_defaults: ContractLayer | None = Key(None, description="The same, for bronze.")
    silver_defaults: ContractLayer | None = Key(None, description="The same, for silver.")
    gold_defaults: ContractLayer | None = Key(None, description="The same, for gold.")
    require: ContractLayer | None = Key(None, description="Nobody may override it.")
    quality: Quality | None = Key(None, description="Rules that are added.")
    transformations: tuple[AnyStep, ...] = Key((), description="Steps that are added.")
    reference_transformations: tuple[AnyStep, ...] = Key((), description="The same, for reference data.")
    bronze_transformations: tuple[AnyStep, ...] = Key((), description="The same, for bronze.")
    silver_transformations: tuple[AnyStep, ...] = Key((), description="The same, for silver.")
    gold_transformations: tuple[AnyStep, ...] = Key((), description="The same, for gold.")
    transformations_mode: Literal["prepend", "append"] = Key("append", description="Before or after a contract's own.")


DOCUMENTS: dict[str, type[Section]] = {"domain": Domain, "system": System, "registry": Registry, "pack": Pack}
