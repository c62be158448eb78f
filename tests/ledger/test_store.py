"""What a ledger remembers, the same on SQLite and PostgreSQL."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lakelogic.errors import UsageError
from lakelogic.ledger import input_files
from lakelogic.ledger.records import InputFile, Intent, RunRecord
from lakelogic.ledger.store import Ledger, open_ledger

DATASET = "silver_crm_customers"
FILES = [InputFile("/landing/a.json", 120, 1_774_699_200_123_456_789), InputFile("/landing/b.json", 0, 1)]


def intent(batch_id="batch-1", n=1, **values):
    given = {"dataset": DATASET, "target": "catalog.silver.customers", "input": {"files": ["/landing/a.json"]}}
    return Intent(batch_id=batch_id, n=n, fingerprint="f1", engine="duckdb 2.0", **(given | values))


def test_a_run_comes_back_as_it_was_told(ledger):
    run = RunRecord(
        run_id="run-20260328T120001-5f3a9c",
        pipeline_run_id="pipe-1",
        batch_id="batch-1",
        dataset=DATASET,
        contract="customers",
        contract_version="1.2.0",
        contract_fingerprint="f1",
        layer="silver",
        domain="sales",
        system="crm",
        environment="dev",
        engine="duckdb",
        engine_version="2.0.1",
        status="gated",
        reason="unique cus_id",
        error_code="LL-E051",
        error_message="Straße „geschlossen“ 🌍\nsecond line",
        started_at=datetime(2026, 3, 28, 12, 0, 1, 123456, tzinfo=UTC),
        finished_at=datetime(2026, 3, 28, 14, 0, 2, tzinfo=timezone(timedelta(hours=2))),
        duration_seconds=0.876544,
        window_start=datetime(1970, 1, 1, tzinfo=UTC),
        window_end=datetime(9999, 12, 31, tzinfo=UTC),
        watermark="2026-03-28T11:59:59",
        counts_source=4,
        counts_good=2,
        counts_quarantined=2,
        counts_filtered=0,
        counts_deduplicated=0,
        counts_expanded=2**40,
        quarantine_ratio=0.5,
        quality_score=1 / 3,
        rule_failures=[{"name": "email_valid", "failed": 1, "severity": "error"}],
        dataset_rules=[],
        service_levels={"freshness": {"passed": True, "hours": 0.5}},
        schema_drift={},
        files=1,
        bytes_read=2**40,
        bytes_written=0,
        target="catalog.silver.customers",
        target_version=0,
        quarantine_target="catalog.quarantine.silver_customers",
        quarantine_version=3,
        estimated_cost=0.01,
        cost_currency="EUR",
        lakelogic_version="0.1.0",
        account={"read": 4, "good": 2},
    )
    ledger.record(run)
    found = ledger.run(run.run_id)
    assert found == run
    assert found.finished_at.tzinfo is UTC


def test_what_is_not_known_stays_unknown(ledger, a_run):
    ledger.record(a_run())
    assert ledger.run("run-1") == a_run()


def test_text_that_a_database_cannot_hold_does_not_break_the_record_of_a_failure(ledger, a_run):
    ledger.record(a_run(status="failed", error_message="nul \0, half \ud83d, é", rule_failures={"value": float("nan")}))
    found = ledger.run("run-1")
    assert found.error_message == "nul ?, half ?, é"
    assert found.rule_failures == {"value": None}


def test_a_run_without_time_zone_or_with_an_unknown_status_is_refused(a_run):
    with pytest.raises(ValueError, match="finished_at of a run must have a time zone"):
        a_run(finished_at=datetime(2026, 3, 28))  # noqa: DTZ001
    with pytest.raises(ValueError, match="`success` is not the status of a run"):
        a_run(status="success")


def test_the_numbers_of_commits_only_grow(ledger):
    assert [ledger.next_n(DATASET), ledger.next_n(DATASET)] == [1, 2]
    assert ledger.next_n(DATASET, at_least=10) == 10
    assert ledger.next_n(DATASET, at_least=3) == 11
    assert ledger.next_n("another") == 1


def test_the_numbers_of_commits_go_on_where_the_tables_are_after_a_ledger_was_lost(ledger):
    assert ledger.next_n(DATASET, at_least=42) == 42


def test_an_intent_is_open_until_its_batch_is_finished(ledger, a_run, stopped):
    assert ledger.open_intent(DATASET) is None
    begun = ledger.begin(intent())
    assert begun.created_at == stopped.at
    assert ledger.open_intent(DATASET) == begun
    assert ledger.open_intent("another") is None
    ledger.finish(a_run(), FILES, "batch-1")
    assert ledger.open_intent(DATASET) is None


def test_a_failed_run_leaves_its_intent_open_for_the_next_one(ledger, a_run):
    ledger.begin(intent())
    ledger.record(a_run(status="failed"))
    assert ledger.open_intent(DATASET).batch_id == "batch-1"


def test_a_new_intent_abandons_the_one_before(ledger):
    ledger.begin(intent("batch-1", 1))
    ledger.begin(intent("batch-2", 2))
    assert ledger.open_intent(DATASET).batch_id == "batch-2"
    ledger.abandon(intent("batch-2", 2))
    assert ledger.open_intent(DATASET) is None


def test_the_same_batch_can_be_begun_again_with_another_number(ledger, a_run):
    ledger.begin(intent("batch-1", 1))
    ledger.finish(a_run("run-1", status="gated"), [], "batch-1")
    assert not ledger.batch_done("batch-1", DATASET)
    ledger.begin(intent("batch-1", 2))
    ledger.finish(a_run("run-2", 1), FILES, "batch-1")
    assert ledger.batch_done("batch-1", DATASET)


def test_a_finished_batch_is_remembered_with_its_run_and_the_files_it_read(ledger, a_run):
    ledger.begin(intent())
    ledger.finish(a_run(watermark="9"), FILES, "batch-1")
    assert ledger.batch_done("batch-1", DATASET)
    assert not ledger.batch_done("batch-2", DATASET)
    assert ledger.run("run-1").batch_id == "batch-1"
    assert ledger.seen(DATASET) == {("/landing/a.json", 120, 1_774_699_200_123_456_789), ("/landing/b.json", 0, 1)}
    assert ledger.seen("another") == set()
    assert ledger.watermark(DATASET) == "9"


def test_finishing_twice_is_finishing_once(ledger, a_run):
    ledger.begin(intent())
    ledger.finish(a_run(), [*FILES, *FILES], "batch-1")
    ledger.finish(a_run(), FILES, "batch-1")
    assert len(ledger.runs()) == 1
    assert len(ledger.seen(DATASET)) == 2


def test_a_run_of_another_batch_is_refused(ledger, a_run):
    with pytest.raises(ValueError, match="another batch"):
        ledger.finish(a_run(batch_id="batch-2"), [], "batch-1")


def test_many_files_and_files_whose_names_are_not_text_are_remembered_exactly(ledger, a_run):
    odd = ["/landing/caf\udce9.csv", "/landing/café.csv", "bytes:2f", "/landing/%s;'--.csv", "bytes:é"]
    files = [InputFile(f"/landing/{n}.json", n, n) for n in range(3_000)] + [InputFile(path, 1, 1) for path in odd]
    ledger.finish(a_run(), files, "batch-1")
    assert ledger.seen(DATASET) == {(file.path, file.size, file.mtime_ns) for file in files}


@pytest.mark.parametrize(
    ("part", "step"),
    [(Ledger, "_put_run"), (input_files, "forget"), (input_files, "put"), (Ledger, "_close_intents")],
)
def test_finish_is_all_or_nothing(ledger, a_run, monkeypatch, part, step):
    ledger.begin(intent())
    original = getattr(part, step)

    def does_its_part_and_then_fails(*arguments):
        original(*arguments)
        raise OSError("the lights went out")

    monkeypatch.setattr(part, step, staticmethod(does_its_part_and_then_fails))
    with pytest.raises(OSError, match="lights"):
        ledger.finish(a_run(), FILES, "batch-1")
    monkeypatch.undo()
    assert ledger.runs() == []
    assert ledger.seen(DATASET) == set()
    assert not ledger.batch_done("batch-1", DATASET)
    assert ledger.open_intent(DATASET).state == "open"
    ledger.finish(a_run(), FILES, "batch-1")
    assert ledger.batch_done("batch-1", DATASET)


def test_runs_are_listed_newest_first_and_can_be_chosen(ledger, a_run):
    ledger.record(a_run("run-a", 1, layer="bronze", dataset="bronze_crm_customers"))
    ledger.record(a_run("run-b", 2, layer="silver"))
    ledger.record(a_run("run-c", 3, layer="silver", status="failed"))
    ledger.record(a_run("run-d", 3, layer="silver", status="no_new_data"))

    def ids(**choice):
        return [run.run_id for run in ledger.runs(**choice)]

    assert ids() == ["run-d", "run-c", "run-b", "run-a"]
    assert ids(limit=2) == ["run-d", "run-c"]
    assert ids(limit=None) == ["run-d", "run-c", "run-b", "run-a"]
    assert ids(dataset=DATASET) == ["run-d", "run-c", "run-b"]
    assert ids(status="failed") == ["run-c"]
    assert ids(layer="bronze") == ["run-a"]
    assert ids(layer="silver", status="succeeded") == ["run-b"]
    assert ids(dataset="nothing") == []
    # An instant is an instant, whatever zone it is written in.
    assert ids(before=datetime(2026, 3, 28, 14, 2, tzinfo=timezone(timedelta(hours=2)))) == ["run-a"]


def test_the_last_published_run_is_not_a_failed_one(ledger, a_run):
    assert ledger.last_published(DATASET) is None
    assert ledger.watermark(DATASET) is None
    ledger.finish(a_run("run-a", 1, watermark="1"), [], "batch-1")
    ledger.finish(a_run("run-b", 2), [], "batch-2")
    ledger.record(a_run("run-c", 3, status="failed", watermark="3"))
    ledger.finish(a_run("run-d", 4, status="gated", watermark="4"), [], "batch-4")
    assert ledger.last_published(DATASET).run_id == "run-b"
    assert ledger.published(DATASET).run_id == "run-b"
    assert ledger.watermark(DATASET) == "1"


def test_a_run_is_found_by_the_beginning_of_its_id(ledger, a_run):
    for run_id in ("run-20260328-aa", "run-20260328-ab", "run-20260329-aa", "run-2026"):
        ledger.record(a_run(run_id))
    assert ledger.run("run-20260329").run_id == "run-20260329-aa"
    assert ledger.run("run-2026").run_id == "run-2026"
    with pytest.raises(UsageError, match="Several runs begin with `run-20260328`: run-20260328-aa, run-20260328-ab"):
        ledger.run("run-20260328")
    for unknown in ("run-3", "RUN-20260329", "run_20260329", "%", ""):
        with pytest.raises(UsageError, match="There is no run"):
            ledger.run(unknown)


def test_a_ledger_remembers_when_it_is_opened_again(place, a_run):
    with open_ledger(place) as first:
        first.finish(a_run(), FILES, "batch-1")
        first.next_n(DATASET)
    with open_ledger(place) as second:
        assert second.run("run-1").dataset == DATASET
        assert second.next_n(DATASET) == 2


def test_a_ledger_can_live_in_memory(a_run):
    with open_ledger("sqlite://") as ledger:
        ledger.record(a_run())
        assert ledger.run("run-1").run_id == "run-1"


def test_a_run_that_published_stays_published_when_only_the_answer_was_lost(ledger, a_run):
    done = a_run(status="succeeded")
    ledger.finish(done, (), "b1")
    ledger.record(replace(done, batch_id="b1", status="failed", error_message="the answer was lost"))
    assert ledger.run(done.run_id).status == "succeeded"


def test_names_that_stand_for_no_row_are_forgotten(ledger, a_run):
    def learn(path, same_as):
        ledger.learn(DATASET, [InputFile(path, 1, 1, "x", "batch-1", same_as)])

    def known():
        return {path: file.same_as for path, file in ledger.inputs(DATASET).items()}

    ledger.finish(a_run(), [InputFile("a", 1, 1, "x"), InputFile("k", 2, 2)], "batch-1", DATASET)
    learn("b", "a")
    learn("c", "a")  # the last name counts
    assert known() == {"a": None, "c": "a", "k": None}
    assert len(ledger.seen(DATASET)) == 2
    ledger.finish(a_run("run-2"), [InputFile("c", 3, 3)], "batch-2", DATASET, replaced={"a"})
    assert known() == {"c": None, "k": None}
    learn("d", "c")
    ledger.finish(a_run("run-3"), [InputFile("c", 4, 4)], "batch-3", DATASET)  # another file under the name
    assert known() == {"c": None, "k": None}
    ledger.finish(a_run("run-4"), [InputFile("z", 5, 5)], "batch-4", DATASET, replaced=None)
    assert known() == {"z": None}
