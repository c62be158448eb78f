"""Look at contracts without running them: validate, explain, origins, schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.codes import MASKED_FOLDER, NESTED_TARGET, SHARED_ENVIRONMENT
from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded, examine, load
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.contract.reading.tree import Branch, Leaf, Node
from lakelogic.errors import ContractError, Diagnostic, UsageError, Where
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong or doubtful about one contract."""

    contract: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the contract can run."""
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


def validate(
    around: Surroundings,
    contract: str,
    *,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    packs: PackChoice | None = None,
) -> Validation:
    """Load and compile a contract, and say everything that is wrong with it at once.

    Where the source can be seen, its column names are looked at (headers, footers, keys), never its rows.
    """
    from lakelogic.plan.compile import compile_contract, load_checked
    from lakelogic.run.input.inspect import columns_now

    try:
        loaded = load_checked(contract, env=env, overrides=overrides, packs=packs)
        compiled = compile_contract(loaded, *columns_now(loaded, around.catalog))
    except ContractError as error:
        return Validation(contract, error.diagnostics)
    shared = _shared_environments(around, loaded, overrides, packs)
    return Validation(
        contract,
        (
            *compiled.warnings,
            *shared,
            *_masked_folders(around.catalog, loaded),
            *_refused_places(around.catalog, loaded),
        ),
    )


def _refused_places(catalog: Catalog, loaded: Loaded) -> list[Diagnostic]:
    """What a run would refuse: a target inside another table, or around something that lies there now."""
    from lakelogic.errors import LakeLogicError, PlaceRefused
    from lakelogic.run.places import places
    from lakelogic.run.state.overlap import refuse_overlap

    if not loaded.contract.materialization.target_path:
        return []
    try:
        refuse_overlap(places(loaded.contract, catalog), catalog)
    except PlaceRefused as error:
        where = loaded.where("materialization.target_path")
        return [Diagnostic(NESTED_TARGET, error.message, where, "Give the table a folder of its own.")]
    except LakeLogicError:
        return []  # a place that cannot be told or looked at from here is the run's business
    return []


def _masked_folders(catalog: Catalog, loaded: Loaded) -> list[Diagnostic]:
    """What a run would refuse: masked values in the names of the folders that lie there now."""
    from lakelogic.errors import LakeLogicError
    from lakelogic.run.input import pin as window

    diagnostics: list[Diagnostic] = []
    for path, pin in (("source.path", window.pin_source), ("links", window.pin_links)):
        try:
            pin(loaded.contract, catalog)
        except window.MaskedInFolders as error:
            diagnostics.append(Diagnostic(MASKED_FOLDER, error.message, loaded.where(path), error.hint))
        except LakeLogicError:
            continue  # what is not there yet, or not reachable from here, is the run's business
    return diagnostics


def _shared_environments(
    around: Surroundings, loaded: Loaded, overrides: tuple[str, ...], packs: PackChoice | None
) -> list[Diagnostic]:
    """A warning for each environment that reads something else than the contract and writes to the same table."""
    from lakelogic.contract.environments import names_of, sharing

    environments = names_of(loaded.contract, loaded.around)
    if loaded.file is None or not environments:
        return []
    environ = {name: value for name, value in around.environ.items() if name != "LAKELOGIC_ENV"}

    def read(env: str | None) -> Contract | None:
        loaded_, _ = examine(str(loaded.file), env=env, overrides=overrides, packs=packs, environ=environ)
        return loaded_.contract if loaded_ is not None else None

    bare, diagnostics = read(None), []
    for name in environments:
        resolved = read(name) if bare is not None else None
        if resolved is None or bare is None or name in sharing(resolved, loaded.around):
            continue
        is_other = (resolved.source, resolved.links) != (bare.source, bare.links)
        if is_other and resolved.materialization.target_path == bare.materialization.target_path:
            table = resolved.materialization.target_path or "the table that it is sent to"
            message = f"The environment `{name}` reads another source than the contract and writes to {table} as well."
            hint = (
                f"Give environments.{name} a materialization.target_path, or run it with a LAKELOGIC_WAREHOUSE of its "
                f"own: in one warehouse the second of them is refused. environments.{name}.shares_target: true mixes "
                "their rows."
            )
            where = loaded.where(f"environments.{name}")
            diagnostics.append(Diagnostic(SHARED_ENVIRONMENT, message, where, hint, "warning"))
    return diagnostics


@dataclass(frozen=True, slots=True)
class Explained:
    """A plan as text, and as data."""

    text: str
    data: dict[str, Any]


def explain(
    around: Surroundings,
    contract: str,
    *,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    engine: str | None = None,
    sql: bool = False,
    packs: PackChoice | None = None,
    for_others: bool = False,
) -> Explained:
    """The plan of a contract, which must be one that can run; columns of source and links are looked at where they are.

    With `sql`, as the statement or frames that an engine will run, over the real source. `for_others` leaves out what
    the contract took from this machine's environment.
    """
    from lakelogic.plan.compile import compile_contract, load_checked
    from lakelogic.plan.explain import as_data, as_text
    from lakelogic.plan.strategies.settings import strategy_of
    from lakelogic.run.input.inspect import columns_now

    loaded = load_checked(contract, env=env, overrides=overrides, packs=packs)
    compiled = compile_contract(loaded, *columns_now(loaded, around.catalog))
    settings = loaded.contract.materialization
    if sql:
        from lakelogic.run.input.inspect import lowered

        text = lowered(loaded, around.catalog, engine)
        return Explained(text, {"engine": engine, "sql": text})
    text = as_text(compiled.plan, compiled.checks, settings.target_path, strategy_of(loaded.contract).kind)
    data = as_data(compiled.plan, compiled.checks)
    if for_others:
        text, data["links"] = loaded.as_written(text), loaded.as_written(data["links"])
    return Explained(text, data)


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """A value of the resolved contract and where it was written; `over` tells what it took the place of."""

    path: str
    value: Any
    place: str
    over: tuple[tuple[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        return {
            "path": self.path,
            "value": self.value,
            "origin": self.place,
            "over": [{"origin": place, "value": value} for place, value in self.over],
        }


def origin(
    contract: str,
    path: str,
    *,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    packs: PackChoice | None = None,
) -> ValueOrigin:
    """Where the value of a key was written, and what weaker layers say; a default says so."""
    loaded: Loaded = load(contract, env=env, overrides=overrides, packs=packs)
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
    where = loaded.origins.get(path)
    place = _place(where) if where is not None else "default"
    # By place in a list a layer cannot be asked: items merge by name.
    beneath = [] if "[" in path else [_written(tree, path) for _, tree in reversed(loaded.layers)]
    over = [(_place(where), written_value) for where, written_value in filter(None, beneath) if _place(where) != place]
    return ValueOrigin(path, value, place, tuple(dict(over).items()))


def _place(spot: Where) -> str:
    return f"{spot.file or 'the contract'}:{spot.line}" if spot.line else str(spot.file)


def _written(tree: Branch, path: str) -> tuple[Where, Any] | None:
    """What one layer says about a key, and where."""
    node: Node = tree
    spot = tree.spot
    for part in path.split("."):
        entry = node.entries.get(part) if isinstance(node, Branch) else None
        if entry is None:
            return None
        node, spot = entry.value, entry.spot
    return (spot.at(path), node.value) if isinstance(node, Leaf) else None
