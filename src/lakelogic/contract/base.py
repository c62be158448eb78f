"""What all sections of a contract share: frozen models, strict scalars, and marks that say how a value is treated.

Modules of models do without `from __future__ import annotations`: pydantic would compile a thousand
annotations from text again, and reading a contract would take a third longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, model_validator
from pydantic import Field as Key

__all__ = [
    "Dialect",
    "Duration",
    "Flag",
    "Free",
    "Key",
    "Mark",
    "Merge",
    "NamedList",
    "Number",
    "OneOrMany",
    "Place",
    "Scalar",
    "Section",
    "Sql",
    "Text",
    "Verbatim",
    "Whole",
    "whole",
]

Treatment = Literal["plain", "place", "verbatim", "secret", "free", "scalar", "number", "one_or_many", "duration"]


@dataclass(frozen=True, slots=True)
class Mark:
    """How a value is treated beyond its Python type.

    `place`: a path, URI or table name, where `{placeholder}`, `${VAR}` and `env:VAR` are filled.
    `verbatim`: SQL, patterns and prose, where nothing is filled. `secret`: a reference to a secret.
    `free`: any YAML. `scalar`: any single value. `number`: whole or not. `one_or_many`: a list, or one item.
    `duration`: text such as `24h`, `7 days` or `P7D`.
    """

    treatment: Treatment
    note: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """How a stronger layer meets a weaker one: lists are replaced unless they are merged by name."""

    how: Literal["by_name"]


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


Text: TypeAlias = str
Dialect: TypeAlias = Literal[
    "spark", "athena", "bigquery", "clickhouse", "databricks", "doris", "dremio", "drill", "druid", "duckdb", "dune",
    "exasol", "fabric", "hive", "materialize", "mysql", "oracle", "postgres", "presto", "redshift", "risingwave",
    "snowflake", "spark2", "sqlite", "starrocks", "tableau", "teradata", "trino", "tsql",
]  # fmt: skip
Flag: TypeAlias = Annotated[bool, Strict()]
Whole: TypeAlias = Annotated[int, Strict()]
Number: TypeAlias = Annotated[Annotated[int, Strict()] | Annotated[float, Strict()], Mark("number")]
Scalar: TypeAlias = Annotated[
    Annotated[bool, Strict()] | Annotated[int, Strict()] | Annotated[float, Strict()] | Annotated[str, Strict()] | None,
    Mark("scalar"),
]
Free: TypeAlias = Annotated[Any, Mark("free")]
Place: TypeAlias = Annotated[str, Mark("place")]
Verbatim: TypeAlias = Annotated[str, Mark("verbatim")]
Sql: TypeAlias = Annotated[str, Mark("verbatim", "SQL")]
Duration: TypeAlias = Annotated[str, Mark("duration")]
OneOrMany: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(_one_or_many), Mark("one_or_many")]
NamedList = Merge("by_name")


_S = TypeVar("_S", bound=BaseModel)


def whole(model: type[_S], description: str) -> _S:
    """A key whose value is a section that is there even when it is not written, with its defaults."""
    # Not validated: defaults are right by definition, and building a validator for each section costs start-up.
    return Key(default_factory=model.model_construct, description=description)


class Section(BaseModel):
    """One mapping of a document: closed, frozen, and free of `x-…` keys.

    `SHORT` is the annotation of a short form that may stand in place of the mapping; `expand` turns it into
    the mapping. `PURPOSE` is one line for the reference.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True, defer_build=True
    )

    SHORT: ClassVar[Any] = None
    PURPOSE: ClassVar[str] = ""

    @classmethod
    def expand(cls, value: Any) -> Mapping[str, object]:
        """The mapping that a short form stands for."""
        raise ValueError(f"{cls.__name__} has no short form for {value!r}")

    @model_validator(mode="before")
    @classmethod
    def _tidy(cls, value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            value = cls.expand(value)
        return {key: item for key, item in value.items() if not str(key).startswith("x-")}
