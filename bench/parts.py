"""The parts of a measurement that do the reference job: engines, peers, and the number of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import cases, data, environments, results
from bench.harness import Case, Store, interleaved, say
from bench.reference import COLUMNS, COUNTRIES


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: sizes, engines, formats, rounds; where records are kept."""

    rows: tuple[int, ...]
    engines: tuple[str, ...]
    formats: tuple[str, ...]
    rounds: int
    store: Store
    only: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        """Whether a case was asked for; all are where none is named."""
        return not self.only or name in self.only


def times_for(rows: int) -> int:
    """How often a process does the job: once cold, then warm; a large input warms up within one time."""
    return 3 if rows <= 1_000_000 else 2


def engines(wanted: Wanted) -> None:
    """Reading and writing alone, the job by hand, LakeLogic: on each engine, size and format."""
    for rows in wanted.rows:
        for kind in wanted.formats:
            made = data.ensure(rows, tuple({"parquet", kind}))
            for engine in wanted.engines:
                chosen = [case for case in cases.own(engine, rows) if wanted.wants(case.name)]
                if kind != "parquet":
                    chosen = [case for case in chosen if case.name in ("io", "hand", "lakelogic")]
                interleaved(
                    chosen, made, kind, rounds=wanted.rounds, times=times_for(rows), store=wanted.store, part="engines"
                )
                results.save("engines", results.summarise(wanted.store, "engines"))


def peers(wanted: Wanted) -> None:
    """Peers, beside LakeLogic and the job by hand on the same engine."""
    for rows in wanted.rows:
        made = data.ensure(rows)
        for engine in (*wanted.engines, "pandas"):
            beside = [case for case in cases.own(engine) if case.name in ("hand", "lakelogic")]
            if engine == "spark":
                # Peers have the full compiler of Java too, as everybody has on a cluster.
                beside = [replace(case, variables=cases.FULL_COMPILER) for case in beside]
            beside = beside if engine in cases.ENGINES else []
            chosen = [peer.case for peer in cases.PEERS if peer.case.engine == engine and wanted.wants(peer.case.name)]
            chosen = [case for case in chosen if case.env is None or _is_installed(case.env)]
            if chosen:
                interleaved(
                    [*beside, *chosen], made, "parquet",
                    rounds=wanted.rounds, times=times_for(rows), store=wanted.store, part="peers",
                )  # fmt: skip
                found = results.summarise(wanted.store, "peers")
                results.save("peers", found)


def _is_installed(env: str) -> bool:
    say(f"environment {env}")
    ready = environments.build(env)
    if not ready:
        say(f"  cannot be installed: {environments.why_not(env)}")
    return ready


def many_rules(count: int) -> list[dict[str, Any]]:
    """So many rules over the orders, of five kinds; the first one is the only one that rows break."""
    known = ", ".join(f"'{country}'" for country in COUNTRIES)
    found = [{"name": "country_known", "category": "validity", "sql": f"country IN ({known})"}]
    kinds = (
        "amount >= -{}",
        "discount <= amount + {} + 100",
        "order_id <> -{}",
        "length(note) <= 1000 + {}",
        "country <> 'Z{}'",
    )
    for at in range(1, count):
        found.append({"name": f"rule_{at}", "sql": kinds[at % len(kinds)].format(at)})
    return found


def rules_contract(source: Path, count: int) -> dict[str, Any]:
    """A contract with so many rules, and nothing else."""
    return {
        "dataset": "orders",
        "source": {"path": str(source)},
        "model": {"fields": [{"name": name, "type": kind} for name, kind in COLUMNS.items()]},
        "quality": {"row_rules": many_rules(count)},
        "quarantine": {"target": "bench.quarantine.orders"},
        "materialization": {"strategy": "append", "target_path": "bench.silver.orders"},
    }


def rules(wanted: Wanted, counts: Sequence[int] = (1, 10, 50, 200)) -> None:
    """What the number of rules costs, on each engine."""
    for rows in wanted.rows:
        made = data.ensure(rows)
        for engine in wanted.engines:
            chosen = [
                Case(
                    f"rules-{count}", engine, "lakelogic_job", mask="none",
                    job={"contract": rules_contract(made.pattern("parquet"), count), "asked": ["country_known"]},
                    variables=cases.FULL_COMPILER if engine == "spark" else {},
                )
                for count in counts
            ]  # fmt: skip
            interleaved(
                chosen, made, "parquet", rounds=wanted.rounds, times=times_for(rows), store=wanted.store, part="rules"
            )
            results.save("rules", results.summarise(wanted.store, "rules"))
