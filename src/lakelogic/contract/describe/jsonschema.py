"""The published JSON Schema of contracts, for editors; made from the same models that read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakelogic.contract.base import Section
from lakelogic.contract.describe.availability import status
from lakelogic.contract.describe.shape import KeyShape, ValueShape, common_keys, keys_of, parameter_keys, short_shape
from lakelogic.contract.document import Contract, ContractLayer
from lakelogic.contract.tagged import Tagged

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OWN_KEYS: dict[str, object] = {"^x-": {}}


def json_schema(root: type[Section] = Contract) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a document; short forms are accepted as the loader accepts them."""
    writer = _SchemaWriter()
    body = writer.section(root, "" if root is Contract else None)
    return {
        "$schema": DIALECT,
        "title": f"LakeLogic {root.__name__.lower()}",
        "description": root.PURPOSE,
        **body,
        "$defs": dict(sorted(writer.definitions.items())),
    }


class _SchemaWriter:
    """Collects one definition per section and per kind of step or rule."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def section(self, model: type[Section], at: str | None) -> dict[str, Any]:
        keys = dict(keys_of(model))
        if issubclass(model, ContractLayer):
            keys = {name: key for name, key in keys_of(Contract).items() if name != "environments"} | keys
        return self.object(keys.values(), at)

    def object(self, keys: Iterable[KeyShape], at: str | None) -> dict[str, Any]:
        listed = list(keys)
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {key.name: self.key(key, at) for key in listed},
            "patternProperties": _OWN_KEYS,
            "additionalProperties": False,
        }
        if needed := [key.name for key in listed if key.required]:
            schema["required"] = needed
        return schema

    def key(self, key: KeyShape, at: str | None) -> dict[str, Any]:
        path = None if at is None else f"{at}.{key.name}" if at else key.name
        schema = dict(self.value(key.shape, path))
        described = key.description
        if path is not None and _status(path) == "not yet":
            described += " Not available yet."
        if described:
            schema["description"] = described
        if key.default not in (None, (), {}) and isinstance(key.default, (str, int, float, bool)):
            schema["default"] = key.default
        if at in ("", "info") and key.name == "version":
            schema["type"] = ["string", "number"]
        return schema

    def value(self, shape: ValueShape, at: str | None) -> dict[str, Any]:
        match shape.kind:
            case "text":
                return {"type": "string"}
            case "whole":
                return {"type": "integer"}
            case "number":
                return {"type": "number"}
            case "flag":
                return {"type": "boolean"}
            case "scalar":
                return {"type": ["string", "number", "boolean", "null"]}
            case "closed":
                return {"enum": list(shape.words)}
            case "list":
                assert shape.item is not None
                many = {"type": "array", "items": self.value(shape.item, f"{at}[]" if at is not None else None)}
                return {"anyOf": [{"type": "string"}, many]} if shape.one_or_many else many
            case "map":
                assert shape.item is not None
                return {"type": "object", "additionalProperties": self.value(shape.item, None)}
            case "section":
                assert shape.model is not None
                return self.reference(shape.model, at)
            case "tagged":
                return self.tagged(shape, at)
        return {}

    def reference(self, model: type[Section], at: str | None) -> dict[str, Any]:
        name = model.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # holds the place, for sections that contain themselves
            whole = {"description": model.PURPOSE, **self.section(model, at)}
            short = short_shape(model)
            self.definitions[name] = {"anyOf": [self.value(short, None), whole]} if short else whole
        return {"$ref": f"#/$defs/{name}"}

    def tagged(self, shape: ValueShape, at: str | None) -> dict[str, Any]:
        return {"oneOf": [self.kind(kind, shape, at) for kind in shape.kinds]}

    def kind(self, kind: type[Tagged], shape: ValueShape, at: str | None) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.definitions:
            below = None if at is None else f"{at}.{kind.KIND}"
            parameters = parameter_keys(kind)
            forms = []
            if kind.MAIN:
                forms.append(self.value(parameters[kind.MAIN].shape, None))
            if not kind.BARE:
                forms.append(self.object(parameters.values(), below))
            own = {} if len(forms) != 1 else dict(forms[0])
            if len(forms) > 1:
                own["anyOf"] = forms
            own["description"] = (kind.__doc__ or "").strip()
            if below is not None and _status(below) == "not yet":
                own["description"] += " Not available yet."
            item = self.object(common_keys(shape.kinds).values(), at)
            item["properties"] = {kind.KIND: own, **item["properties"]}
            item["required"] = [kind.KIND]
            self.definitions[name] = item
        return {"$ref": f"#/$defs/{name}"}


def _status(path: str) -> str | None:
    try:
        return status(path)
    except KeyError:
        return None


def reference() -> str:
    """The reference page of all documents, in Markdown; see `reference.py`."""
    from lakelogic.contract.describe import reference as page

    return page.reference()
