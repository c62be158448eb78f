"""The reference page of contracts: every document and key, its type, default, values, and whether it is available."""

from __future__ import annotations

from collections.abc import Iterable

from lakelogic.contract.base import Section
from lakelogic.contract.codes import MEANINGS
from lakelogic.contract.describe.availability import available_words, status, unavailable_keys
from lakelogic.contract.describe.shape import KeyShape, ValueShape, common_keys, keys_of, parameter_keys, short_shape
from lakelogic.contract.document import Contract
from lakelogic.contract.estate import DOCUMENTS
from lakelogic.contract.reading.documents import NOT_YET

_DOCUMENT = "@"  # before the name of a document that is no contract
_HEAD = "| key | type | default | available | meaning |\n|---|---|---|---|---|"


def reference() -> str:
    """The whole page, in Markdown."""
    page = _ReferencePage()
    page.line("# Contract reference")
    page.line("Every key of every document. A key marked *not yet* is checked and refused until its effect is built.")
    page.line("`x-…` keys are allowed anywhere; keys of other tools go under `extensions`.")
    page.section("Contract", Contract, "", described=True)
    for name, model in DOCUMENTS.items():
        page.section(name.capitalize(), model, f"{_DOCUMENT}{name}", described=True)
    page.line("## Not available yet")
    page.table("| key | instead |\n|---|---|", (f"| `{key}` | {_cell(note)} |" for key, note in unavailable_keys()))
    page.line("## Codes")
    page.table("| code | meaning |\n|---|---|", (f"| `{code}` | {meaning} |" for code, meaning in MEANINGS.items()))
    return page.text()


class _ReferencePage:
    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.seen: set[type[Section]] = set()

    def text(self) -> str:
        return "\n\n".join(self.blocks) + "\n"

    def line(self, text: str) -> None:
        self.blocks.append(text)

    def table(self, head: str, rows: Iterable[str]) -> None:
        self.blocks.append("\n".join([head, *rows]))

    def section(self, title: str, model: type[Section], at: str | None, *, described: bool = False) -> None:
        if model in self.seen:
            return
        self.seen.add(model)
        self.line(f"{'##' if described else '###'} {title}")
        self.line(model.PURPOSE)
        if (short := short_shape(model)) is not None:
            self.line(f"Short form: {_type(short)}.")
        keys = keys_of(model).values()
        if keys:
            self.table(_HEAD, (_row(key, at) for key in keys))
        for key in keys:
            self.below(key.shape, _path(at, key.name), key.name)

    def below(self, shape: ValueShape, at: str | None, title: str) -> None:
        if shape.kind == "section" and shape.model is not None:
            shown = title if at is None or at.startswith(_DOCUMENT) else at
            self.section(f"`{shown}`", shape.model, at)
        elif shape.kind in ("list", "map") and shape.item is not None:
            mark = "[]" if shape.kind == "list" else ".*"
            is_document = at is not None and at.startswith(_DOCUMENT)
            inside = f"{at}{mark}" if is_document or (at is not None and shape.kind == "list") else None
            if at == "environments":
                inside = f"{_DOCUMENT}contract.environments.*"
            self.below(shape.item, inside, f"{title}{mark}")
        elif shape.kind == "tagged" and shape.kinds[0] not in self.seen:
            self.seen.update(shape.kinds)
            self.line(f"### `{title if at is None or at.startswith(_DOCUMENT) else at}`")
            self.line("One of the kinds below, and beside it:")
            self.table(_HEAD, (_row(key, at) for key in common_keys(shape.kinds).values()))
            for kind in shape.kinds:
                here = _path(at, kind.KIND)
                suffix = "" if here is None or status(here) == "available" else " (not available yet)"
                self.line(f"#### `{kind.KIND}`{suffix}")
                text = (kind.__doc__ or "").strip()
                parameters = parameter_keys(kind)
                if kind.MAIN and not kind.BARE:
                    text += f" Short form: `{kind.KIND}: {_type(parameters[kind.MAIN].shape)}` for `{kind.MAIN}`."
                self.line(text)
                if kind.BARE and kind.MAIN:
                    main = parameters[kind.MAIN]
                    self.line(f"`{kind.KIND}: {_type(main.shape)}`. {main.description}")
                else:
                    self.table(_HEAD, (_row(key, here) for key in parameters.values()))
                    for key in parameters.values():
                        self.below(key.shape, _path(here, key.name), key.name)


def _path(at: str | None, name: str) -> str | None:
    return None if at is None else f"{at}.{name}" if at else name


def _row(key: KeyShape, at: str | None) -> str:
    path = _path(at, key.name)
    default = "needed" if key.required else _default(key.default)
    return (
        f"| `{key.name}` | {_cell(_type(key.shape))} | {default} | {_available(path, key)} | {_cell(key.description)} |"
    )


def _available(path: str | None, key: KeyShape) -> str:
    if path is None:
        return "not yet"
    if path.startswith(_DOCUMENT):
        return _of_document(path)
    try:
        state = status(path)
    except KeyError:
        return "see below"
    words = available_words(path)
    if state == "available" and words is not None and key.shape.kind == "closed":
        return "only " + ", ".join(f"`{word}`" for word in words)
    return {"available": "yes", "documentation": "for readers", "not yet": "not yet"}[state]


def _of_document(path: str) -> str:
    """A document's own keys have their effect; those that go into contracts have it as they have it there."""
    name, _, key = path.removeprefix(_DOCUMENT).partition(".")
    if any(document is DOCUMENTS.get(name) and key == refused for document, refused in NOT_YET):
        return "not yet"
    if name in ("domain", "system") and key.split(".", maxsplit=1)[0] in ("notifications", "cost"):
        return {"available": "yes", "documentation": "for readers", "not yet": "not yet"}[status(key)]
    return "for readers" if key in ("description", "compliance", "extensions") else "yes"


def _default(value: object) -> str:
    if value is None or value in ((), {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(shape: ValueShape) -> str:
    match shape.kind:
        case "closed":
            return ", ".join(f"`{word}`" for word in shape.words)
        case "list":
            assert shape.item is not None
            inner = "maps" if shape.item.kind in ("section", "tagged") else _type(shape.item)
            return f"{_type(shape.item)}, or a list" if shape.one_or_many else f"list of {inner}"
        case "map":
            assert shape.item is not None
            return f"map of {_type(shape.item)}"
        case "section" | "tagged":
            return "map"
        case "text" if shape.treatment == "place":
            return "path"
        case "text" if shape.treatment == "secret":
            return "secret reference"
        case "text" if shape.treatment == "duration":
            return "length of time"
    return {"text": "text", "whole": "whole number", "number": "number", "flag": "true or false"}.get(
        shape.kind, "any value" if shape.kind == "free" else "single value"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
