"""Who is measured in the reference job: reading and writing alone, hand-written jobs, LakeLogic, and its peers."""

from __future__ import annotations

from dataclasses import dataclass

from bench.harness import Case

ENGINES = ("duckdb", "polars", "spark")
MOST_QUICK = 1_000_000  # rows for which a local session on Spark starts with the quick compiler
# The merge by hand that LakeLogic's is compared with, by engine.
MERGES_BY_HAND = {"duckdb": "delta-rs-by-hand", "polars": "delta-rs-by-hand", "spark": "delta-merge-by-hand"}
FULL_COMPILER = {"LAKELOGIC_SPARK_FAST_START": "0"}


def own(engine: str, rows: int = 0) -> list[Case]:
    """The floor, the job by hand and LakeLogic, on one engine."""
    found = [
        Case("io", engine, f"{engine}_hand", full=False),
        Case("hand", engine, f"{engine}_hand"),
        Case("lakelogic", engine, "lakelogic_job"),
    ]
    if engine == "spark":
        if rows <= MOST_QUICK:
            # For little data local sessions start with the quick compiler; a cluster has the full one.
            found.append(Case("lakelogic-full-compiler", engine, "lakelogic_job", variables=FULL_COMPILER))
        found.append(
            Case("lakelogic-keyed-mask", engine, "lakelogic_job", mask="keyed", variables=FULL_COMPILER),
        )
    return found


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer: its case, where the form that is measured is documented, and what it does not do of the job."""

    case: Case
    documented: str
    leaves: str = ""
    by_hand: str = ""


# What lakelogic 1.84 leaves out on an engine, where it is not the same as on the others.
OLD_LEAVES = {
    "spark": "the digest; the reference join is by hand, because its own compares every order with every customer, "
    "and Spark's search for constraints is off, because planning does not end otherwise; commits no table",
}

PEERS: tuple[Peer, ...] = (
    *(
        Peer(
            Case("lakelogic-1.84", engine, "peer_lakelogic", env="lakelogic-1.84"),
            "https://lakelogic.github.io/LakeLogic/",
            leaves=OLD_LEAVES.get(engine, "the digest; commits no table"),
        )
        for engine in ENGINES
    ),
    Peer(
        Case("dqx", "spark", "peer_dqx", env="dqx"),
        "https://databrickslabs.github.io/dqx/docs/guide/quality_checks_apply/",
        leaves="lineage, digest and writing are by hand; commits no table",
    ),
    Peer(
        Case("spark-expectations", "spark", "peer_spark_expectations", env="spark-expectations"),
        "https://engineering.nike.com/spark-expectations/latest/examples/",
        leaves="the reference join, lineage and digest are by hand; commits no table",
    ),
    Peer(
        Case("great-expectations", "pandas", "peer_great_expectations", env="great-expectations"),
        "https://docs.greatexpectations.io/docs/core/trigger_actions_based_on_results/choose_a_result_format/",
        leaves="splitting rows, lineage, digest and writing are by hand; commits no table",
    ),
    Peer(
        Case("pandera", "polars", "peer_pandera", env="pandera"),
        "https://pandera.readthedocs.io/en/stable/polars.html",
        leaves="the reference join, splitting rows, lineage, digest and writing are by hand; commits no table",
    ),
    Peer(
        Case("soda-core", "duckdb", "peer_soda", env="soda-core"),
        "https://docs.soda.io/soda-documentation/reference/contract-language-reference",
        leaves="everything but counting the rows that break a rule: no split, no reasons by row, nothing written",
    ),
    Peer(
        Case("cuallee", "polars", "peer_cuallee", env="cuallee"),
        "https://canimus.github.io/cuallee/polars/",
        leaves="everything but counting the rows that break a rule: no split, no reasons by row, nothing written",
    ),
    Peer(
        Case("plain-sql", "duckdb", "peer_plain_sql"),
        "https://docs.getdbt.com/docs/build/data-tests#storing-test-failures",
        leaves="one query for each rule; commits no table",
    ),
)
