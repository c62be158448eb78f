"""Look at contracts without running them: validate, explain, origins, schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic.contract.load import Loaded, load
from lakelogic.errors import ContractError, Diagnostic, UsageError


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong or doubtful about one contract."""

    contract: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the contract can run."""
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


def validate(contract: str, *, env: str | None = None, overrides: tuple[str, ...] = ()) -> Validation:
    """Load and compile a contract, and say everything that is wrong with it at once.

    Where the source can be seen, its column names are looked at (headers, footers, keys), never its rows.
    """
    from lakelogic.plan.compile import compile_contract, load_checked
    from lakelogic.run.inspect import columns_now

    try:
        loaded = load_checked(contract, env=env, overrides=overrides)
        compiled = compile_contract(loaded, *columns_now(loaded))
    except ContractError as error:
        return Validation(contract, error.diagnostics)
    return Validation(contract, compiled.warnings)


@dataclass(frozen=True, slots=True)
class Explained:
    """A plan as text, and as data."""

    text: str
    data: dict[str, Any]


def explain(
    contract: str,
    *,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    engine: str | None = None,
    sql: bool = False,
) -> Explained:
    """The plan of a contract, which must be one that can run; columns of source and links are looked at where they are.

    With `sql`, as the statement or frames that an engine will run, over the real source.
    """
    from lakelogic.plan.compile import compile_contract, load_checked
    from lakelogic.plan.explain import as_data, as_text
    from lakelogic.plan.strategies.settings import strategy_of
    from lakelogic.run.inspect import columns_now

    loaded = load_checked(contract, env=env, overrides=overrides)
    compiled = compile_contract(loaded, *columns_now(loaded))
    settings = loaded.contract.materialization
    if sql:
        from lakelogic.run.inspect import lowered

        text = lowered(loaded, engine)
        return Explained(text, {"engine": engine, "sql": text})
    text = as_text(compiled.plan, compiled.checks, settings.target_path, strategy_of(loaded.contract).kind)
    return Explained(text, as_data(compiled.plan, compiled.checks))


@dataclass(frozen=True, slots=True)
class Origin:
    """A value of the resolved contract and where it was written."""

    path: str
    value: Any
    place: str


def origin(contract: str, path: str, *, env: str | None = None, overrides: tuple[str, ...] = ()) -> Origin:
    """Where the value of a key was written; a default says so."""
    loaded: Loaded = load(contract, env=env, overrides=overrides)
    value: Any = loaded.contract
    for part in path.replace("[", ".").replace("]", "").split("."):
        try:
            if part.isdigit():
                value = value[int(part)]
            else:
                value = value[part] if isinstance(value, dict) else getattr(value, part)
        except (AttributeError, KeyError, IndexError, TypeError):
            raise UsageError(f"There is no key `{path}`.", hint="`lakelogic schema` lists all keys.") from None
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", exclude_defaults=True)
    found = loaded.origins.get(path)
    place = "default"
    if found is not None:
        place = f"{found.file or 'the contract'}:{found.line}" if found.line else str(found.file)
    return Origin(path, value, place)
