"""Write docs/performance.md and its pictures from bench/results/*.json. Only what was measured is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import plots
from bench.cases import MERGES_BY_HAND, PEERS
from bench.environments import PACKAGES
from bench.goals import GOALS, MILLION, Figures
from bench.results import FOLDER

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"
NOT_YET = "not measured yet"
BUSY = 1.0  # processes that wanted a core beside ours

HEAD = """# Performance

This page is generated: `make bench` measures a million rows on each engine in a quarter of an hour, `make bench-full`
ten million, CSV, peers and everything else in hours, and both write it again from `bench/results/*.json`.

**The job.** Orders of 12 columns are read, judged by 12 row rules (3 × not null, `LIKE`, a regular expression, a
range, 2 × accepted values, 2 × one column against another, a length, a reference table of 100,000 rows), the e-mail of
good rows is replaced by its SHA-256, three columns of lineage are added, good rows and bad rows (3.8 %, with the
reasons and categories of each) are written and committed to two Delta tables, and the ids are shown to be unique.

**How.** *io* is reading and writing alone, *hand* is the same job written by hand for the engine in the fastest form
we know, *lakelogic* is a contract of some forty lines. Each runs in a process of its own, in turn with the others;
figures are medians, with the least and the most in brackets. CPU seconds of the whole tree of processes (Python and
Java) are the main figure, because machines are shared; differences below 15 % are ties. *Cold* is the first time in a
process, starting it included, *warm* the last of several times in it. All write with the same compression on one
engine. *Read* and *written* are the bytes that went through system calls; what a library maps into memory is not in it.

**Only right results count.** The generator plants the faults, so it is known which rows are bad and why. Good rows,
bad rows and the reasons of each bad row must be equal as multisets, or no figure is shown.
"""

MERGES = """Changes are merged into a Delta table by its key (1 % and 10 % of its rows, a tenth of them new), or kept as
a history (`scd2`, 5 %). *delta-rs-by-hand* is `merge` of delta-rs, *delta-merge-by-hand* Spark's `MERGE INTO`;
LakeLogic on Spark is compared with the latter, on DuckDB and Polars with the former. All write the same columns, three
of lineage and for a history a surrogate key and a number among them. What a process loads the first time is not in the
figures. The contract's columns, and the times of a history, must be equal as multisets afterwards.
"""


def load() -> Figures:
    """All figures, by part and group."""
    return {file.stem: json.loads(file.read_text())["groups"] for file in sorted(FOLDER.glob("*.json"))}


def shown(spread: dict[str, float] | None, digits: int = 2, unit: str = "") -> str:
    """A median with its spread."""
    if not spread:
        return NOT_YET
    middle = f"{spread['median']:,.{digits}f}{unit}"
    if spread["count"] == 1:
        return f"{middle} (once)"
    return f"{middle} ({spread['least']:,.{digits}f}–{spread['most']:,.{digits}f})"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def picture(name: str, drawn: str, words: str) -> str:
    """Save a picture, and the line that shows it."""
    (PICTURES / f"bench-{name}.svg").write_text(drawn)
    return f"![{words}](pictures/bench-{name}.svg)\n"


def goals(figures: Figures) -> str:
    """Each goal with what was measured."""
    rows = []
    for goal in GOALS:
        found = goal.read(figures)
        bound = f"{'≤' if goal.below else '≥'} {goal.bound:g}{goal.unit}"
        measured = NOT_YET if found is None else f"{found['median']:.2f}{goal.unit}"
        spread = "" if found is None else f"{found['least']:.2f}–{found['most']:.2f}, {found['count']} ×"
        rows.append([goal.what, bound, measured, spread, goal.verdict(found)])
    return "## Where we want to be\n\n" + table(
        ["CPU, unless something else is said", "goal", "measured", "spread", "verdict"], rows
    )


ORDER = ("io", "hand", "lakelogic", "lakelogic-full-compiler", "lakelogic-keyed-mask")


def _ordered(cases: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(cases.items(), key=lambda item: (ORDER.index(item[0]) if item[0] in ORDER else 99, item[0]))


def case_rows(group: dict[str, Any], bases: tuple[str, ...]) -> list[list[str]]:
    """A line of figures for each case of a group."""
    rows = []
    for case, figures in _ordered(group["cases"]):
        if "refused" in figures or "failed" in figures:
            rows.append([case, _trouble(figures), *[""] * (5 + len(bases))])
            continue
        warm, cold = figures.get("warm", {}), figures["cold"]
        against = ["1" if case == base else shown(group["ratios"]["warm"].get(case, {}).get(base)) for base in bases]
        peak = warm or cold
        rows.append(
            [
                case, shown(warm.get("cpu")), shown(cold["cpu"]), shown(warm.get("wall"), 1),
                f"{peak['peak_mb']['total']['median']:,.0f}",
                f"{peak['bytes_read']['median']:,.0f} / {peak['bytes_written']['median']:,.0f}",
                str(peak["files"] or ""), *against,
            ]
        )  # fmt: skip
    return rows


def _trouble(one: dict[str, Any]) -> str:
    word = "refused by the parity gate" if "refused" in one else "failed"
    return f"**{word}**: {_short(one.get('refused') or one.get('failed'))}"


def _short(text: str | None) -> str:
    line = (text or "").strip().splitlines()[-1] if (text or "").strip() else "no word"
    return line[:160].replace("|", "\\|")


COLUMNS = ["", "CPU s, warm", "CPU s, cold", "wall s, warm", "peak MB", "MB read / written", "files"]


def _title(group: str) -> str:
    rows, kind, engine = group.split("/")
    names = {"duckdb": "DuckDB", "polars": "Polars", "spark": "Spark", "pandas": "pandas"}
    return f"{names.get(engine, engine)}, {int(rows):,} rows, {kind}"


def _loads(group: dict[str, Any]) -> str:
    loads = [one["load"]["median"] for one in group["cases"].values() if "load" in one]
    about = group["about"]
    said = f"Measured {about['measured']} at commit `{about['commit']}`"
    if loads and max(loads) > BUSY:
        load, cores = sum(loads) / len(loads), about["machine"]["cores"]
        said += f"; **the machine was busy**: other work kept its load at about {load:.0f} on {cores} cores"
    return said + ".\n"


def engines(figures: Figures) -> str:
    """The reference job on each engine."""
    found = figures.get("engines", {})
    if not found:
        return f"## The reference job\n\n{NOT_YET}\n"
    parts = ["## The reference job\n"]
    for name in sorted(found, key=lambda name: (-int(name.split("/")[0]), name)):
        group = found[name]
        parts += [
            f"### {_title(name)}\n",
            table([*COLUMNS, "× io", "× hand"], case_rows(group, ("io", "hand"))),
            _facts(group),
        ]
        bars = [
            (case, case.partition("-")[0], one["warm"]["cpu"])
            for case, one in _ordered(group["cases"])
            if "warm" in one
        ]
        if bars:
            drawn = plots.bars(f"CPU seconds, warm: {_title(name)}", bars, " s")
            parts.append(picture(f"engines-{name.replace('/', '-')}", drawn, f"CPU seconds, {_title(name)}"))
        parts.append(_loads(group))
    return "\n".join(parts)


def _facts(group: dict[str, Any]) -> str:
    told = []
    for case, one in _ordered(group["cases"]):
        warm = one.get("warm", {})
        if "spark_jobs" in warm:
            read = f"{warm['spark_records']:,} records and {warm['spark_bytes'] / 1e6:,.0f} MB read from files"
            told.append(f"{case}: {warm['spark_jobs']} Spark jobs, {read}")
    return "".join(f"- {line}\n" for line in told)


def peers(figures: Figures) -> str:
    """Peers, with what they leave out."""
    rows: list[list[str]] = []
    found = figures.get("peers", {})
    bars: list[tuple[str, str, dict[str, float]]] = []
    for peer in PEERS:
        case = peer.case
        groups = [(name, group) for name, group in found.items() if name == f"{MILLION}/{case.engine}"]
        line = [f"[{case.name}]({peer.documented})", case.engine]
        figure = next((group["cases"][case.name] for _, group in groups if case.name in group["cases"]), None)
        if figure is None:
            rows.append([*line, *[NOT_YET, "", "", ""], peer.leaves])
        elif "cold" not in figure:
            word = "refused by the parity gate" if "refused" in figure else "failed"
            rows.append(
                [*line, f"{word}: {_short(figure.get('refused') or figure.get('failed'))}", "", "", "", peer.leaves]
            )
        else:
            ratios = next(group for _, group in groups if case.name in group["cases"])["ratios"]["warm"].get(
                case.name, {}
            )
            last = figure.get("warm", figure["cold"])
            rows.append(
                [
                    *line, shown(last["cpu"]),
                    *(shown(ratios.get(base)) if ratios else "" for base in ("lakelogic", "hand")),
                    f"{last['peak_mb']['total']['median']:,.0f}", peer.leaves,
                ]
            )  # fmt: skip
            if "lakelogic" in ratios:
                bars.append((f"{case.name}, {case.engine}", "peer", ratios["lakelogic"]))
    heads = [
        "peer, and where its form is documented",
        "engine",
        "CPU s, warm",
        "× ours",
        "× hand",
        "peak MB",
        "what it leaves out",
    ]
    parts = [
        "## Peers\n",
        "Each in an environment of its own, in the best form that its documentation shows, beside LakeLogic and the "
        "job by hand; a million rows of Parquet. Peers write Parquet and commit no table. On Spark all have the full "
        "compiler of Java, as they would on a cluster.\n",
    ]
    parts.append(table(heads, rows))
    if bars:
        parts.append(picture("peers", plots.bars("CPU of peers as a multiple of ours", bars, "×"), "CPU of peers"))
    for _, group in sorted(found.items())[:1]:
        parts.append(_loads(group))
    return "\n".join(
        [*parts, "Versions: " + "; ".join(f"{name}: {' '.join(said)}" for name, said in PACKAGES.items()) + ".\n"]
    )


def rules(figures: Figures) -> str:
    """What the number of rules costs."""
    found = figures.get("rules", {})
    if not found:
        return f"## Number of rules\n\n{NOT_YET}\n"
    parts, series, rows = ["## Number of rules\n"], {}, []
    for name, group in sorted(found.items()):
        cases = {int(case.partition("-")[2]): one for case, one in group["cases"].items() if "warm" in one}
        series[name.rsplit("/", 1)[1]] = [(count, one["warm"]["cpu"]["median"]) for count, one in sorted(cases.items())]
        rows.append(
            [
                _title(name),
                *(shown(cases[count]["warm"]["cpu"]) if count in cases else NOT_YET for count in (1, 10, 50, 200)),
            ]
        )
    parts.append(table(["CPU s, warm", "1 rule", "10", "50", "200"], rows))
    if any(series.values()):
        drawn = plots.lines("CPU seconds by number of rules", {k: v for k, v in series.items() if v}, "rules")
        parts.append(picture("rules", drawn, "CPU seconds by number of rules"))
    parts.append(_loads(next(iter(found.values()))))
    return "\n".join(parts)


def others(figures: Figures) -> str:
    """Start-up, merges, incremental runs and memory: a line for each case."""
    titles = {
        "start": "Start-up", "merge": "Changes into a large table", "incremental": "Incremental runs",
        "memory": "More data than memory", "explode": "Rows that explode",
    }  # fmt: skip
    parts = []
    for part, title in titles.items():
        parts.append(f"## {title}\n")
        if part not in figures:
            parts.append(f"{NOT_YET}\n")
            continue
        merging = part == "merge"
        heads = ["", "", "CPU s", "wall s", "peak MB", *(["× by hand"] if merging else [])]
        rows = []
        for name, group in sorted(figures[part].items()):
            for case, one in sorted(group["cases"].items()):
                if "cold" not in one:
                    rows.append([name, case, _trouble(one), *[""] * (len(heads) - 3)])
                    continue
                # A merge is measured alone, so that what it loads the first time is not its cost.
                cold = one.get("warm", one["cold"]) if merging else one["cold"]
                rows.append(
                    [
                        name, case, shown(cold["cpu"]), shown(cold["wall"], 1),
                        f"{cold['peak_mb']['total']['median']:,.0f}", *([_by_hand(group, case)] if merging else []),
                    ]
                )  # fmt: skip
        if merging:
            parts.append(MERGES)
        parts += [table(heads, rows), _loads(next(iter(figures[part].values())))]
    return "\n".join(parts)


def _by_hand(group: dict[str, Any], case: str) -> str:
    """LakeLogic's merge against the one by hand, and against which; nothing for those by hand."""
    base = MERGES_BY_HAND.get(case.removeprefix("lakelogic-"))
    if base is None:
        return ""
    found = group["ratios"]["warm"].get(case, {}).get(base)
    return f"{shown(found)} × {base}" if found else NOT_YET


def machines(figures: Figures) -> str:
    """What was measured on."""
    found = {
        json.dumps(group["about"]["machine"], sort_keys=True)
        for groups in figures.values()
        for group in groups.values()
    }
    lines = ["## The machine\n"]
    for text in sorted(found):
        one = json.loads(text)
        libraries = ", ".join(f"{name} {version}" for name, version in one["libraries"].items())
        lines.append(
            f"- {one['processor']}, {one['cores']} cores, {one['memory_gb']} GB; {one['system']}; "
            f"Python {one['python']}; {one['java']}; {libraries}"
        )
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    figures = load()
    parts = [HEAD, goals(figures), engines(figures), peers(figures), rules(figures), others(figures), machines(figures)]
    PAGE.write_text("\n".join(part.rstrip() + "\n" for part in parts))
