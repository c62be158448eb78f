"""The schema of the ledger, as numbered steps that are applied once, in order, forward only.

A step is frozen the day it is released: what changes later is a new step. `{instant}` and `{json}` stand for
the types that SQLite and PostgreSQL write differently.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic import clock
from lakelogic.errors import LedgerError
from lakelogic.ledger.cells import Dialect
from lakelogic.ledger.database import Connection


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, what it is for, and its statements."""

    number: int
    title: str
    statements: tuple[str, ...]


_TYPES: dict[Dialect, dict[str, str]] = {
    "sqlite": {"instant": "DATETIME", "json": "TEXT"},
    "postgresql": {"instant": "TIMESTAMP WITH TIME ZONE", "json": "JSON"},
}

MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "runs, intents, leases, inputs and batches",
        (
            """
            CREATE TABLE runs (
                run_id TEXT NOT NULL PRIMARY KEY, pipeline_run_id TEXT, batch_id TEXT, dataset TEXT NOT NULL,
                contract TEXT, contract_version TEXT, contract_fingerprint TEXT, layer TEXT, domain TEXT,
                system TEXT, environment TEXT, engine TEXT, engine_version TEXT, status TEXT NOT NULL,
                reason TEXT, error_code TEXT, error_message TEXT, started_at {instant} NOT NULL,
                finished_at {instant}, duration_seconds DOUBLE PRECISION, window_start {instant},
                window_end {instant}, watermark TEXT, counts_source BIGINT, counts_good BIGINT,
                counts_quarantined BIGINT, counts_filtered BIGINT, counts_deduplicated BIGINT,
                counts_expanded BIGINT, quarantine_ratio DOUBLE PRECISION, quality_score DOUBLE PRECISION,
                rule_failures {json}, dataset_rules {json}, service_levels {json}, schema_drift {json},
                files BIGINT, bytes_read BIGINT, bytes_written BIGINT, target TEXT, target_version BIGINT,
                quarantine_target TEXT, quarantine_version BIGINT, estimated_cost DOUBLE PRECISION,
                cost_currency TEXT, lakelogic_version TEXT
            )
            """,
            "CREATE INDEX runs_by_dataset ON runs (dataset, started_at)",
            "CREATE INDEX runs_by_start ON runs (started_at)",
            """
            CREATE TABLE intents (
                dataset TEXT NOT NULL, n BIGINT NOT NULL, batch_id TEXT NOT NULL, target TEXT NOT NULL,
                input {json}, fingerprint TEXT NOT NULL, engine TEXT NOT NULL, created_at {instant} NOT NULL,
                state TEXT NOT NULL CHECK (state IN ('open', 'done', 'abandoned')), PRIMARY KEY (dataset, n)
            )
            """,
            "CREATE TABLE sequences (dataset TEXT NOT NULL PRIMARY KEY, last_n BIGINT NOT NULL)",
            """
            CREATE TABLE leases (
                target TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, token TEXT NOT NULL,
                acquired_at {instant} NOT NULL, expires_at {instant} NOT NULL
            )
            """,
            """
            CREATE TABLE inputs (
                dataset TEXT NOT NULL, path TEXT NOT NULL, size BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,
                batch_id TEXT NOT NULL, recorded_at {instant} NOT NULL, PRIMARY KEY (dataset, path, size, mtime_ns)
            )
            """,
            """
            CREATE TABLE batches (
                batch_id TEXT NOT NULL PRIMARY KEY, dataset TEXT NOT NULL, contract_fingerprint TEXT,
                finished_at {instant} NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL
            )
            """,
        ),
    ),
    Migration(
        2,
        "what people did, and batches that wait for a decision",
        (
            """
            CREATE TABLE acts (
                act_id TEXT NOT NULL PRIMARY KEY, done_at {instant} NOT NULL, act TEXT NOT NULL, dataset TEXT,
                person TEXT, why TEXT, facts {json}
            )
            """,
            "CREATE INDEX acts_by_time ON acts (done_at)",
            """
            CREATE TABLE held (
                run_id TEXT NOT NULL PRIMARY KEY, dataset TEXT NOT NULL, batch_id TEXT NOT NULL, target TEXT NOT NULL,
                held_at {instant} NOT NULL, facts {json},
                state TEXT NOT NULL CHECK (state IN ('waiting', 'released', 'discarded')), decided_at {instant},
                person TEXT, why TEXT
            )
            """,
        ),
    ),
    Migration(3, "the whole account of a run", ("ALTER TABLE runs ADD COLUMN account {json}",)),
    Migration(
        4,
        "work that waits for a worker, what happens while it is done, and who may ask for it",
        (
            """
            CREATE TABLE work (
                work_id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, domain TEXT,
                person TEXT NOT NULL, why TEXT, facts {json}, once TEXT UNIQUE,
                state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
                created_at {instant} NOT NULL, started_at {instant}, finished_at {instant}, expires_at {instant},
                owner TEXT, attempts BIGINT NOT NULL, cancel_asked BIGINT NOT NULL, outcome {json}
            )
            """,
            "CREATE INDEX work_by_time ON work (created_at, work_id)",
            "CREATE INDEX work_by_state ON work (state, created_at)",
            """
            CREATE TABLE happenings (
                seq BIGINT NOT NULL PRIMARY KEY, at {instant} NOT NULL, topic TEXT NOT NULL, work_id TEXT,
                dataset TEXT, kind TEXT NOT NULL, body TEXT, facts {json}
            )
            """,
            "CREATE INDEX happenings_by_work ON happenings (work_id, seq)",
            """
            CREATE TABLE tokens (
                token_id TEXT NOT NULL PRIMARY KEY, person TEXT NOT NULL, hashed TEXT NOT NULL, roles {json},
                created_at {instant} NOT NULL, expires_at {instant}, revoked_at {instant}
            )
            """,
            "CREATE INDEX runs_by_start_and_id ON runs (started_at, run_id)",
        ),
    ),
    Migration(
        5,
        "what was sent elsewhere",
        (
            """
            CREATE TABLE exports (
                export_id TEXT NOT NULL PRIMARY KEY, dataset TEXT NOT NULL, export TEXT NOT NULL, kind TEXT NOT NULL,
                destination TEXT NOT NULL, batch_id TEXT NOT NULL, table_version BIGINT NOT NULL,
                state TEXT NOT NULL CHECK (state IN ('done', 'failed')), started_at {instant} NOT NULL,
                finished_at {instant} NOT NULL, rows_sent BIGINT, bytes_sent BIGINT, attempts BIGINT NOT NULL,
                known_there BIGINT NOT NULL, error_code TEXT, error_message TEXT, run_id TEXT, facts {json}
            )
            """,
            "CREATE INDEX exports_by_dataset ON exports (dataset, export, finished_at)",
        ),
    ),
    Migration(
        6,
        "counts of many runs without reading them",
        ("CREATE INDEX runs_by_facets ON runs (status, dataset, layer, domain, engine, started_at)",),
    ),
    Migration(
        7,
        "what a run has staged, before its first commit",
        ("ALTER TABLE intents ADD COLUMN run_id TEXT", "ALTER TABLE intents ADD COLUMN staged {json}"),
    ),
    Migration(
        8,
        "what is hidden while a contract is broken",
        (
            """
            CREATE TABLE known_columns (
                dataset TEXT NOT NULL PRIMARY KEY, file TEXT NOT NULL, domain TEXT, target TEXT, facts {json},
                seen_at {instant} NOT NULL
            )
            """,
        ),
    ),
    Migration(
        9,
        "what a file held, and up to which version a table was read",
        ("ALTER TABLE inputs ADD COLUMN content TEXT",),
    ),
    Migration(
        10,
        "what a run found, why it failed, and what it said",
        (
            "ALTER TABLE runs ADD COLUMN findings {json}",
            "ALTER TABLE runs ADD COLUMN error {json}",
            """
            CREATE TABLE run_log (
                run_id TEXT NOT NULL, seq BIGINT NOT NULL, at {instant} NOT NULL, kind TEXT NOT NULL, body TEXT,
                PRIMARY KEY (run_id, seq)
            )
            """,
        ),
    ),
    Migration(
        11,
        "progress of a dataset towards each of its targets",
        (
            """
            CREATE TABLE batches_of_targets (
                batch_id TEXT NOT NULL, dataset TEXT NOT NULL, contract_fingerprint TEXT,
                finished_at {instant} NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL,
                PRIMARY KEY (dataset, batch_id)
            )
            """,
            """
            INSERT INTO batches_of_targets (batch_id, dataset, contract_fingerprint, finished_at, run_id, status)
            SELECT batch_id, dataset, contract_fingerprint, finished_at, run_id, status FROM batches
            """,
            "DROP TABLE batches",
            "ALTER TABLE batches_of_targets RENAME TO batches",
            "ALTER TABLE sequences ADD COLUMN head TEXT",
        ),
    ),
    Migration(
        12,
        "files that are called otherwise than when they were read",
        ("ALTER TABLE inputs ADD COLUMN same_as TEXT",),
    ),
)

NEWEST = MIGRATIONS[-1].number


def version(connection: Connection) -> int:
    """The number of the last step this ledger has seen; `MissingTable` where there is no ledger yet."""
    last: int | None = connection.rows("SELECT max(number) AS number FROM lakelogic_migrations")[0]["number"]
    return last or 0


def check(current: int, name: str) -> None:
    """Refuse a ledger that a newer LakeLogic has changed: we would not know what its columns mean."""
    if current > NEWEST:
        raise LedgerError(
            f"The ledger {name} is at version {current}; this LakeLogic knows versions up to {NEWEST}.",
            hint="A newer LakeLogic has written it: use that version here too, or name another ledger "
            "in LAKELOGIC_LEDGER.",
        )


def migrate(connection: Connection, name: str) -> None:
    """Bring the ledger up to date, in the transaction of the caller, who alone may write now."""
    types = _TYPES[connection.dialect]
    connection.run(
        "CREATE TABLE IF NOT EXISTS lakelogic_migrations (number BIGINT NOT NULL PRIMARY KEY, "
        f"title TEXT NOT NULL, applied_at {types['instant']} NOT NULL)"
    )
    current = version(connection)
    check(current, name)
    for migration in MIGRATIONS:
        if migration.number > current:
            for statement in migration.statements:
                connection.run(statement.format(**types))
            connection.run(
                "INSERT INTO lakelogic_migrations (number, title, applied_at) VALUES (:number, :title, :applied_at)",
                number=migration.number,
                title=migration.title,
                applied_at=clock.now(),
            )
