"""The reference page of commands: made from the commands themselves, so that it cannot fall behind them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from lakelogic.cli.main import cli

_SHARED_BY = 5  # commands that have an option in common, before it is explained once for all of them


@dataclass(frozen=True, slots=True)
class Guide:
    """What the reference adds to a command: the page that tells its story, and commands to copy."""

    page: str | None = None  # under docs/
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that LakeLogic reads."""

    name: str
    default: str  # what holds where it is not set
    meaning: str


GUIDES: dict[str, Guide] = {
    "run": Guide(
        "start/first-contract.md",
        (
            "lakelogic run orders.yaml --engine duckdb",
            "lakelogic run orders.yaml --set quality.max_quarantine_ratio=0.5",
        ),
    ),
    "validate": Guide(
        "concepts/contract.md", ("lakelogic validate contracts/*.yaml", "lakelogic validate contracts --select tag:pii")
    ),
    "explain": Guide(
        "how-to/find-bad-rows.md",
        (
            "lakelogic explain orders.yaml --sql --engine duckdb",
            "lakelogic explain orders.yaml --origin service_levels.freshness_hours",
            "lakelogic explain orders.yaml --key 1001",
        ),
    ),
    "verify": Guide("how-to/verify.md", ("lakelogic verify orders.yaml --engines duckdb,polars --rows 300",)),
    "init": Guide("start/first-contract.md"),
    "demo": Guide("start/install.md"),
    "keys new": Guide("how-to/mask-personal-data.md"),
    "setup spark": Guide("start/install.md"),
    "doctor": Guide("start/install.md"),
    "approve": Guide("how-to/approve.md"),
    "bootstrap": Guide(
        "how-to/bootstrap.md", ("lakelogic bootstrap --landing landing --output-dir contracts --system shop",)
    ),
    "docs build": Guide("how-to/serve.md#without-the-service", ("lakelogic docs build site contracts",)),
    "drive": Guide(
        "how-to/drive.md",
        (
            "lakelogic drive --registry contracts/_registry.yaml --dry-run",
            "lakelogic drive --registry contracts/_registry.yaml --state-path out/state.json --resume",
            "lakelogic drive --registry contracts/_registry.yaml --reprocess-date 2026-02-02",
        ),
    ),
    "estate graph": Guide("concepts/estate.md", ("lakelogic estate graph contracts --format mermaid",)),
    "export": Guide("how-to/export.md", ("lakelogic export contracts/gold_region_kpis.yaml --dry-run",)),
    "import rules": Guide("how-to/share-rules.md"),
    "lineage rows": Guide(
        "how-to/serve.md", ("lakelogic lineage rows gold_region_kpis --key west --estate contracts",)
    ),
    "maintain": Guide("how-to/maintain.md", ('lakelogic maintain orders.yaml --retention "7 days"',)),
    "quarantine list": Guide(
        "how-to/quarantine.md",
        (
            "lakelogic quarantine list orders.yaml --rule amount_min",
            "lakelogic quarantine list orders.yaml --by amount",
        ),
    ),
    "quarantine show": Guide("how-to/quarantine.md"),
    "quarantine explain": Guide("how-to/find-bad-rows.md"),
    "quarantine replay": Guide("how-to/quarantine.md", ("lakelogic quarantine replay orders.yaml --preview",)),
    "quarantine discard": Guide(
        "how-to/quarantine.md",
        ('lakelogic quarantine discard orders.yaml --rule id_required --reason "test data of the supplier"',),
    ),
    "reload": Guide("how-to/maintain.md", ('lakelogic reload orders.yaml --why "corrected file"',)),
    "remask": Guide("how-to/mask-personal-data.md"),
    "reset": Guide("how-to/maintain.md", ('lakelogic reset orders.yaml --yes --why "wrong delivery"',)),
    "serve": Guide("how-to/serve.md", ("lakelogic serve contracts --port 8096",)),
    "state gaps": Guide(
        "how-to/windows.md#days-that-nobody-has-processed", ("lakelogic state gaps --until 2026-02-06",)
    ),
    "token new": Guide(
        "how-to/serve.md", ('lakelogic token new --person maja@example.com --role lab=steward --lasts "30 days"',)
    ),
    "worker": Guide("how-to/serve.md"),
}

VARIABLES: dict[str, tuple[Variable, ...]] = {
    "Every command": (
        Variable("LAKELOGIC_ENGINE", "Spark where it can start, else DuckDB, else Polars",
                 "The engine, where neither the command nor the contract says."),
        Variable("LAKELOGIC_ENV", "none", "The environment, as `--env`."),
        Variable("LAKELOGIC_POLICY_PACK", "none", "Policy packs of every command, parted by commas."),
        Variable("LAKELOGIC_POLICY_PACK_DIR", "`policy_packs`", "Where policy packs lie."),
        Variable("LAKELOGIC_WAREHOUSE", "`lakelogic_warehouse`", "The folder of the built-in catalog."),
        Variable("LAKELOGIC_CATALOG", "`local`", "Where tables lie: the built-in catalog, or that of another package."),
        Variable("LAKELOGIC_LEDGER", "SQLite in the warehouse",
                 "The database of the ledger: `sqlite:///…` or `postgresql://…`."),
        Variable("LAKELOGIC_ICEBERG_CATALOG", "SQLite in the warehouse",
                 "The catalog of Iceberg tables: `http(s)://…` is a REST catalog, any other address a database."),
        Variable("LAKELOGIC_LOG_LEVEL", "`info`",
                 "How much commands tell: `debug`, `info`, `warning`, `error`; `debug` also shows where an error that "
                 "nobody foresaw came from."),
        Variable("LAKELOGIC_DEBUG", "off",
                 "`1`: an error that nobody foresaw is shown with all its lines, which may hold values of rows."),
        Variable("NO_COLOR", "off", "Anything: no colours on a terminal."),
        Variable("TERM", "the terminal's", "`dumb`: a pass is told in plain lines instead of being drawn."),
    ),
    "Masks": (
        Variable("LAKELOGIC_PII_KEY", "none",
                 "Keys of encrypting masks, parted by commas; the first encrypts, all decrypt."),
        Variable("LAKELOGIC_PII_SALT", "none", "The key of hashing masks."),
        Variable("LAKELOGIC_REVEAL", "allowed", "`never`: encrypted values are not shown in clear, whoever asks."),
    ),
    "Service": (
        Variable("LAKELOGIC_API_HOSTS", "none", "Names that the service answers to, beside its own, parted by commas."),
        Variable("LAKELOGIC_API_ORIGINS", "none", "Origins whose pages may ask it, parted by commas."),
        Variable("LAKELOGIC_OIDC_ISSUER", "none", "The identity provider whose tokens the service takes."),
        Variable("LAKELOGIC_OIDC_AUDIENCE", "none", "For whom these tokens are made; needed with an issuer."),
        Variable("LAKELOGIC_OIDC_KEYS", "none", "The address or file of the provider's keys; needed with an issuer."),
        Variable("LAKELOGIC_OIDC_PERSON_CLAIM", "`email`", "Which claim names the person."),
        Variable("LAKELOGIC_OIDC_ROLES_CLAIM", "`lakelogic_roles`", "Which claim names the roles."),
    ),
    "Spark": (
        Variable("LAKELOGIC_SPARK_MASTER", "`local[*]`", "The master of a session that LakeLogic starts."),
        Variable("LAKELOGIC_SPARK_FAST_START", "by the size of the input",
                 "`1` or `0`: whether a local session starts with the prepared archive and the quick compiler."),
        Variable("LAKELOGIC_CACHE", "`lakelogic` in the user's cache folder",
                 "Where Spark's jars and the archive lie."),
        Variable("XDG_CACHE_HOME", "`~/.cache`", "The user's cache folder."),
        Variable("JAVA_HOME", "`java` on the path", "The Java that Spark starts."),
        Variable("SPARK_REMOTE", "none", "A Spark Connect server, as Spark itself reads it."),
        Variable("SPARK_CONF_DIR", "`conf` of the installation", "Spark's own settings."),
        Variable("PYSPARK_PYTHON", "this Python", "The Python of Spark's workers, as Spark itself reads it."),
        Variable("PYSPARK_SUBMIT_ARGS", "`pyspark-shell`", "What is handed to Spark's own launcher."),
    ),
    "Tests of failures": (
        Variable("LAKELOGIC_FAULT", "none", "`POINT:KIND`: a run dies, fails or waits at a point of its protocol."),
        Variable("LAKELOGIC_FAULT_SECONDS", "`30`", "How long a fault of the kind `stall` waits."),
    ),
}  # fmt: skip


def commands(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that can be called, by its words behind `lakelogic`, in the order of the alphabet."""
    for name in sorted(group.commands):
        command, words = group.commands[name], f"{path} {name}".strip()
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield words, command
            yield from commands(command, words)
        else:
            yield words, command


def page(notice: str) -> str:
    """The page as Markdown."""
    every = dict(commands())
    shared = shared_options(every)
    overview = [(f"[`{words}`](#{anchor(words)})", summary(command)) for words, command in every.items()]
    parts = [
        "# Commands",
        notice,
        "`lakelogic COMMAND --help` says the same on a terminal. With `--json` one JSON object goes to standard "
        "output, and everything meant for people to standard error. Progress is only shown on a terminal. "
        "[Exit codes](errors.md#exit-codes) are the same for all commands.",
        _table(("command", "does"), overview),
        "`lakelogic-driver` is `lakelogic drive` under a name of its own.",
        "## Options of many commands",
        _options(list(shared.values())),
    ]
    for words, command in every.items():
        parts += _section(words, command, shared)
    return "\n\n".join([*parts, *_environment()]) + "\n"


def _environment() -> list[str]:
    parts = [
        "## Environment",
        "What a command or a contract says goes before a variable. Variables of exports stand on "
        "[their page](../how-to/export.md).",
    ]
    for subject, variables in VARIABLES.items():
        rows = [(f"`{variable.name}`", variable.default, variable.meaning) for variable in variables]
        parts += [f"### {subject}", _table(("variable", "without it", "means"), rows)]
    return parts


def anchor(words: str) -> str:
    """The link target of a command's heading."""
    return f"lakelogic-{words.replace(' ', '-')}"


def summary(command: click.Command) -> str:
    """The first paragraph of a command's help."""
    return " ".join(_help(command).partition("\n\n")[0].split())


def shared_options(every: dict[str, click.Command]) -> dict[str, click.Option]:
    """Options that many commands have with the same words and the same help, by their first name."""
    options = [option for command in every.values() for option in _options_of(command)]
    counts = Counter(_same(option) for option in options)
    return {option.opts[0]: option for option in options if counts[_same(option)] >= _SHARED_BY}


def _section(words: str, command: click.Command, shared: dict[str, click.Option]) -> list[str]:
    guide = GUIDES.get(words, Guide())
    options = _options_of(command)
    own = [option for option in options if not _is_shared(option, shared)]
    common = [f"`{option.opts[0]}`" for option in options if _is_shared(option, shared)]
    parts = [f"## `lakelogic {words}`", f"`lakelogic {' '.join([words, *_arguments(command)])}`"]
    parts += [" ".join(text.split()) for text in _help(command).split("\n\n")]
    if guide.page:
        parts.append(f"More about it: [{guide.page.partition('.md')[0]}](../{guide.page}).")
    if own:
        parts.append(_options(own))
    if common:
        parts.append(f"{'Also' if own else 'Options:'} {', '.join(common)}.")
    if guide.examples:
        parts.append("\n".join(("```sh", *guide.examples, "```")))
    return parts


def _options_of(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def _same(option: click.Option) -> tuple[object, ...]:
    return (*option.opts, option.help, option.metavar)


def _is_shared(option: click.Option, shared: dict[str, click.Option]) -> bool:
    return option.opts[0] in shared and _same(shared[option.opts[0]]) == _same(option)


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def _arguments(command: click.Command) -> list[str]:
    shown = []
    for argument in command.params:
        if isinstance(argument, click.Argument):
            name = (argument.name or "").upper() + ("…" if argument.nargs == -1 else "")
            shown.append(name if argument.required else f"[{name}]")
    return shown


def _options(options: list[click.Option]) -> str:
    rows = [(_written(option), _meaning(option)) for option in options]
    return _table(("option", "means"), rows)


def _written(option: click.Option) -> str:
    names = ", ".join(f"`{name}{_value(option)}`" for name in option.opts)
    return names + "".join(f", `{name}`" for name in option.secondary_opts)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if option.metavar:
        return f" {option.metavar}"
    if isinstance(option.type, click.Choice):
        return f" {'|'.join(map(str, option.type.choices))}"
    return f" {'N' if option.type.name.startswith(('integer', 'float')) else 'TEXT'}"


def _meaning(option: click.Option) -> str:
    text = option.help or ""
    if option.required:
        return f"{text} Needed."
    if not option.show_default or not isinstance(option.default, str | int | float) or option.default == "":
        return text
    if option.is_flag:
        return f"{text} By default `{option.opts[0] if option.default else option.secondary_opts[0]}`."
    return f"{text} By default `{option.default}`."


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
