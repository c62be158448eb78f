"""Look at a contract that a stranger wrote: nothing of this machine is read for it, and nothing of it is run.

It is looked at in another process, which may use so much time and memory and no more (`bounded.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from lakelogic.actions.author.bounded import Pool
from lakelogic.actions.author.contracts import Explained, Validation
from lakelogic.actions.author.diff import Difference, between, values_of
from lakelogic.contract import codes
from lakelogic.contract.reading.load import Loaded, examine
from lakelogic.driver.registry import Member
from lakelogic.errors import Blocked, ContractError, LoadError, UsageError
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.explain import as_data, as_text
from lakelogic.plan.strategies.settings import strategy_of

MOST_CHARACTERS = 262_144
_MOST_NODES, _MOST_DEEP, _MOST_ALIASES = 20_000, 48, 20
_NAME = "the posted contract"
_AT_ONCE = 2
_FEW = threading.BoundedSemaphore(_AT_ONCE)
_POOL = Pool(_AT_ONCE)
_PATIENCE_SECONDS = 5.0


@contextmanager
def _one_of_few() -> Iterator[None]:
    """A large contract holds a processor for seconds: a few at a time, or somebody who posts many stops all others."""
    if not _FEW.acquire(timeout=_PATIENCE_SECONDS):
        raise Blocked("Too many contracts are being looked at in this moment.", hint="Post it again in a minute.")
    try:
        yield
    finally:
        _FEW.release()


def validate_posted(text: str) -> Validation:
    """Everything that is wrong with a posted contract; its source, its packs and the environment are not looked at."""
    validation: Validation = _asked("validate", text)
    return validation


def explain_posted(text: str) -> Explained:
    """The plan of a posted contract, as far as it can be told without its source."""
    explained: Explained = _asked("explain", text)
    return explained


def differences_of_posted(member: Member, text: str) -> Difference:
    """What a posted version of an estate's contract says differently; raises with every problem of it."""
    return between(values_of(own_words(member)), _asked("values", text))


def _asked(task: str, text: str) -> Any:
    with _one_of_few():
        return _POOL.ask(task, text)


# What follows happens in the other process.


def _validate(text: str) -> Validation:
    try:
        compiled = compile_contract(_read(text))
    except ContractError as error:
        return Validation(_NAME, error.diagnostics)
    return Validation(_NAME, compiled.warnings)


def _explain(text: str) -> Explained:
    loaded = _read(text)
    compiled = compile_contract(loaded)
    target = loaded.contract.materialization.target_path
    shown = as_text(compiled.plan, compiled.checks, target, strategy_of(loaded.contract).kind)
    return Explained(shown, as_data(compiled.plan, compiled.checks))


TASKS: Mapping[str, Callable[[str], Any]] = {
    "validate": _validate,
    "explain": _explain,
    "values": lambda text: values_of(_read(text)),
}


def _read(text: str) -> Loaded:
    _guard(text)
    # With its end of line it is text and never the path of a file here.
    loaded, diagnostics = examine(f"{text}\n", environ={})
    # What a variable holds is the business of the machine that runs it; here its reference stands.
    problems = [problem for problem in diagnostics if problem.code != codes.UNRESOLVED_VARIABLE]
    if problems or loaded is None:
        raise LoadError(problems or diagnostics)
    return loaded


def _guard(text: str) -> None:
    """Refuse what would take all memory, or all of the stack, before it is built: only its outline is read here."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError("The contract is too long.", hint=f"At most {MOST_CHARACTERS:,} characters are read.")
    depth = nodes = aliases = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            nodes += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            # Whatever stands around the word: rather one refusal too many than a file that is looked for.
            if isinstance(event, yaml.ScalarEvent) and event.value == "policy_pack":
                raise UsageError(
                    "A posted contract cannot name policy packs: they would be read from this machine.",
                    hint="Take `metadata.policy_pack` out, or put the contract into the estate.",
                )
            if nodes > _MOST_NODES or depth > _MOST_DEEP or aliases > _MOST_ALIASES:
                raise UsageError(
                    "The contract is too large or too deeply nested.",
                    hint=f"At most {_MOST_DEEP} levels, {_MOST_NODES:,} values and {_MOST_ALIASES} aliases are read.",
                )
    except (yaml.YAMLError, ValueError):
        return  # the reader tells what is wrong with it, and where


def own_words(member: Member) -> Loaded:
    """A contract of the estate as its own file says it, without what it inherits: what a posted one is held against."""
    loaded, _ = examine(f"{member.path.read_text('utf-8')}\n", environ={})
    return loaded or member.loaded


def document_of(loaded: Loaded) -> dict[str, Any]:
    """The resolved document as plain data, with references to secrets and variables; rules and steps say their kind."""
    data: dict[str, Any] = loaded.contract.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    document: dict[str, Any] = _with_kinds(data, loaded.contract.model_dump(mode="json", by_alias=True))
    document_: dict[str, Any] = loaded.as_written(document)
    return document_


def _with_kinds(short: Any, whole: Any) -> Any:
    """What a rule is stands in its class, which counts as a default; without it the document would not say it."""
    if isinstance(short, dict):
        return {name: _with_kinds(value, whole[name]) for name, value in short.items()}
    if isinstance(short, list) and len(short) == len(whole):
        items = [_with_kinds(*pair) for pair in zip(short, whole, strict=True)]
        for item, full in zip(items, whole, strict=True):
            if isinstance(item, dict) and isinstance(full.get("kind"), str):
                item.setdefault("kind", full["kind"])
        return items
    return short
