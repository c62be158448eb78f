"""Items that are told apart by a key: `- rename: {from: a, to: b}` is a Rename with `from` and `to`."""

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from lakelogic.contract.base import Section
from lakelogic.errors import Defect


class Tagged(Section):
    """One item of a list whose kind is the one key that is not common to all kinds.

    `KIND` is that key. `MAIN` names the parameter that a bare value stands for (`sql: "…"`, `trim: [a, b]`);
    `BARE` kinds are written in no other way.
    """

    if TYPE_CHECKING:
        kind: str

    KIND: ClassVar[str] = ""
    MAIN: ClassVar[str | None] = None
    BARE: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the model's own fields: those written under the kind's key."""
        return tuple(name for name in cls.model_fields if name not in cls.common() and name != "kind")

    @classmethod
    def common(cls) -> tuple[str, ...]:
        """Names of the fields written beside the kind's key, in the order of declaration."""
        root = next(base for base in reversed(cls.__mro__) if issubclass(base, Tagged) and base.model_fields)
        names = dict.fromkeys(root.model_fields)
        for base in reversed(cls.__mro__):
            if issubclass(base, Tagged) and not base.KIND and not base.__name__.startswith("_"):
                names |= dict.fromkeys(base.model_fields)
        return tuple(names)


def flatten(value: Any, kinds: Mapping[str, type[Tagged]]) -> Any:
    """`{rename: {from, to}, phase}` as `{kind: rename, from, to, phase}`, the form the models take."""
    if not isinstance(value, Mapping) or "kind" in value:
        return value
    kind = next((key for key in value if key in kinds), None)
    if kind is None:
        return value
    parameters = value[kind]
    if not isinstance(parameters, Mapping):
        parameters = {kinds[kind].MAIN or kind: parameters}
    beside = {key: item for key, item in value.items() if key != kind}
    return beside | dict(parameters) | {"kind": kind}


class OneOf:
    """The mark of a union of kinds. The model of a kind is built when the first item of it comes.

    Of some fifty kinds a contract has a few, and building all of them takes longer than reading it.
    """

    def __init__(self, kinds: Mapping[str, type[Tagged]]) -> None:
        self._kinds = kinds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Pydantic asks how a value is validated and written."""
        del source, handler  # which would build every kind
        written = core_schema.plain_serializer_function_ser_schema(_dumped, info_arg=True)
        return core_schema.no_info_plain_validator_function(self._validated, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Pydantic's own schema of a contract, with every kind; `lakelogic schema` writes the one for editors."""
        del schema
        return {"anyOf": [handler(kind.__pydantic_core_schema__) for kind in self._kinds.values()]}

    def _validated(self, value: Any) -> Tagged:
        if isinstance(value, Tagged) and type(value) in self._kinds.values():
            return value
        flat = flatten(value, self._kinds)
        name = str(flat.get("kind") if isinstance(flat, Mapping) else "")
        if name not in self._kinds:
            raise PydanticCustomError("no_such_kind", "none of the kinds that are known here")
        try:
            return self._kinds[name].model_validate(flat)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                error.title, [_under(name, item) for item in error.errors()]
            ) from None


def _under(kind: str, error: Any) -> InitErrorDetails:
    """An error as it stands in the document: below the key of its kind."""
    custom = PydanticCustomError(error["type"], error["msg"])
    return InitErrorDetails(type=custom, loc=(kind, *error["loc"]), input=error["input"])


def _dumped(item: Tagged, info: SerializationInfo) -> dict[str, Any]:
    return item.model_dump(
        mode=info.mode,
        by_alias=info.by_alias,
        exclude_defaults=info.exclude_defaults,
        exclude_unset=info.exclude_unset,
        exclude_none=info.exclude_none,
    )


def one_of(kinds: Mapping[str, type[Tagged]]) -> Any:
    """What a list of these kinds holds, as an annotation for a model: the table is the only list of them."""
    models: Any = reduce(or_, kinds.values())
    return Annotated[models, OneOf(kinds)]


def whole(what: str, kinds: Mapping[str, type[Tagged]], rows: Collection[type]) -> None:
    """Refuse to start where a table that gives kinds their effect does not have one row for each of them."""
    lacking = [name for name, model in kinds.items() if model not in rows]
    strange = [model.__name__ for model in rows if model not in kinds.values()]
    if lacking or strange:
        raise Defect(f"The table of {what} is not whole: no row for {lacking}, a row too many for {strange}.")
