"""The page shows what was measured, and says so where nothing was."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest


def spread(median: float, least: float | None = None, most: float | None = None) -> dict[str, float]:
    return {"median": median, "least": least or median, "most": most or median, "count": 3}


def engines(**ratios: float) -> dict[str, Any]:
    against = {"hand": spread(ratios["hand"]), "io": spread(ratios["io"])}
    return {"engines": {"10000000/parquet/duckdb": {"ratios": {"warm": {"lakelogic": against}}}}}


def goal(key: str) -> Any:
    from bench.goals import GOALS

    return next(one for one in GOALS if one.key == key)


@pytest.mark.parametrize(
    ("found", "said"), [(1.05, "reached"), (1.2, "missed by less than the noise"), (2.0, "missed: ")]
)
def test_a_goal_is_reached_or_missed(found, said):
    one = goal("duckdb-hand")
    assert one.verdict(one.read(engines(hand=found, io=2.0))).startswith(said)


def test_a_goal_to_be_faster_is_missed_by_small_figures():
    one = goal("dqx")
    assert one.verdict(spread(2.3)) == "reached"
    assert one.verdict(spread(1.1)).startswith("missed: ")


def test_what_was_not_measured_is_not_invented():
    import json

    from bench.goals import GOALS, REASONS
    from bench.page import NOT_YET, goals

    told = [one for one in GOALS if one.unmeasured in json.loads(REASONS.read_text())]
    assert all(one.read({}) is None for one in GOALS)
    assert goals({}).count(f"| {NOT_YET} |  | {NOT_YET} |") == len(GOALS) - len(told)
    assert goals({}).count(f"| {NOT_YET} |  | no figure: ") == len(told)


def merged() -> dict[str, Any]:
    """Figures of a merge of 10 %: LakeLogic on two engines, both merges by hand."""
    cpu = {"lakelogic-duckdb": 6.0, "lakelogic-spark": 21.0, "delta-rs-by-hand": 5.0, "delta-merge-by-hand": 20.0}
    cases = {
        case: {"cold": {"cpu": spread(one), "wall": spread(one), "peak_mb": {"total": spread(500)}}, "load": spread(0)}
        for case, one in cpu.items()
    }
    ratios = {
        case: {base: spread(cpu[case] / cpu[base]) for base in cpu if base.endswith("by-hand") and base != case}
        for case in cpu
    }
    about = {"measured": "today", "commit": "abc", "machine": {"cores": 2}}
    return {"merge": {"10000000-merge-10%": {"cases": cases, "ratios": {"warm": ratios}, "about": about}}}


@pytest.mark.parametrize(
    ("key", "found"), [("merge-10-duckdb", 1.2), ("merge-10-spark", 1.05), ("merge-10-polars", None)]
)
def test_a_merge_is_compared_with_the_one_by_hand_of_its_own_engine(key, found):
    read = goal(key).read(merged())
    assert (read and read["median"]) == found


@pytest.mark.parametrize("changes", ["merge-1", "merge-10", "scd2-5"])
def test_there_is_a_goal_for_changes_on_each_engine(changes):
    assert [goal(f"{changes}-{engine}").bound for engine in ("duckdb", "polars", "spark")] == [1.1, 1.1, 1.1]


def test_goals_look_for_merges_under_the_names_of_their_records(tmp_path, monkeypatch):
    from bench.harness import Store
    from bench.results import summarise

    monkeypatch.setenv("LAKELOGIC_BENCH", str(tmp_path))
    store = Store("any")
    one = {"wall": 1.0, "bytes_read": 0, "bytes_written": 0, "peak": {"total": 1}, "files": 0, "told": {}}
    for case, cpu in (("lakelogic-spark", 3.0), ("delta-merge-by-hand", 2.0)):
        times = [{**one, "cpu": 9.0}, {**one, "cpu": cpu}]
        store.put(f"merge/10000000-scd2-5%/{case}/0", {"load": 1.0, "versions": {}, "times": times})
    assert goal("scd2-5-spark").read({"merge": summarise(store, "merge")})["median"] == 1.5


def test_the_page_says_which_merges_are_compared():
    from bench.page import others

    told = others(merged())
    assert "| lakelogic-duckdb | 6.00 (6.00–6.00) | 6.0 (6.0–6.0) | 500 | 1.20 (1.20–1.20) × delta-rs-by-hand |" in told
    assert "500 | 1.05 (1.05–1.05) × delta-merge-by-hand |" in told
    assert "| delta-rs-by-hand | 5.00 (5.00–5.00) | 5.0 (5.0–5.0) | 500 |  |" in told


def test_a_refused_case_stands_in_the_table_without_figures():
    from bench.page import case_rows

    group = {"cases": {"dqx": {"refused": "3 bad rows are missing"}}, "ratios": {"warm": {}, "cold": {}}}
    assert case_rows(group, ("io", "hand")) == [
        ["dqx", "**refused by the parity gate**: 3 bad rows are missing", *[""] * 7]
    ]


def test_pictures_are_whole_and_show_their_figures():
    from bench.plots import bars, lines

    drawn = bars("CPU <s>", [("io", "io", spread(1.0, 0.9, 1.2)), ("hand", "hand", spread(2.5))], " s")
    texts = [one.text for one in ElementTree.fromstring(drawn).iter() if one.text and one.text.strip()]
    assert {"CPU <s>", "io", "hand", "1.00 s", "2.50 s"} <= set(texts)
    names = [
        one.text for one in ElementTree.fromstring(lines("Rules", {"spark": [(1, 1.0), (200, 3.0)]}, "rules")).iter()
    ]
    assert "spark" in names


@pytest.mark.parametrize(
    ("records", "reads"), [(1_100_000, 1.0), (2_062_000, 1.0), (2_100_000, 2.0), (3_062_000, 2.96)]
)
def test_reads_of_the_source_are_told_from_the_records_that_spark_read(records, reads):
    warm = {"spark_records": records, "good_rows": 962_000}
    figures = {"engines": {"1000000/parquet/spark": {"cases": {"lakelogic": {"warm": warm}}}}}
    assert goal("reads").read(figures)["median"] == reads


def test_what_is_done_by_hand_for_a_peer_is_told_for_the_engine_where_it_is():
    from bench.cases import PEERS

    leaves = {peer.case.engine: peer.leaves for peer in PEERS if peer.case.name == "lakelogic-1.84"}
    assert leaves["duckdb"] == leaves["polars"] == "the digest; commits no table"
    assert "the reference join is by hand" in leaves["spark"]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "spark"])
def test_only_on_spark_the_old_contract_joins_by_hand(engine, tmp_path):
    from bench.reference import NAMES
    from bench.subjects.peer_lakelogic import contract

    made = contract({"engine": engine, "customers": "customers.parquet"}, tmp_path)
    own = [rule for rule in made["quality"]["row_rules"] if "referential_integrity" in rule]
    names = [
        next(iter(rule.values()))["name"] if len(rule) == 1 else rule["name"] for rule in made["quality"]["row_rules"]
    ]
    assert ("transformations" in made, len(own)) == ((True, 0) if engine == "spark" else (False, 1))
    assert names == list(NAMES)


def test_peers_on_engines_that_are_not_ours_are_measured_too(orders, monkeypatch):
    from bench import data, parts

    seen: list[str] = []
    made = orders(2_000)
    monkeypatch.setattr(data, "ensure", lambda _: made)
    monkeypatch.setattr(parts, "_is_installed", lambda _: True)
    monkeypatch.setattr(parts, "interleaved", lambda cases, *_, **__: seen.extend(case.name for case in cases))
    monkeypatch.setattr(parts.results, "save", lambda *_: None)
    parts.peers(parts.Wanted((2_000,), ("duckdb",), ("parquet",), 1, parts.Store("none")))
    assert "great-expectations" in seen
