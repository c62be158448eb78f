"""Work waits in the ledger's database until a worker has done it, whoever dies meanwhile; tokens; pages."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakelogic.errors import CommitConflict, NotFound, UsageError
from lakelogic.ledger.access import Tokens
from lakelogic.ledger.ask import RUNS, LedgerQuery, counts, page
from lakelogic.ledger.work import QueuedJob, WorkQueue

LONG = timedelta(seconds=60)


@pytest.fixture
def queue(ledger):
    return WorkQueue(ledger.database)


def test_work_is_done_in_the_order_in_which_it_was_asked_for(queue, stopped):
    first = queue.ask(QueuedJob("run", "orders", "ada", "retail", "nightly", {"engine": "duckdb"}))
    stopped.forward(seconds=1)
    queue.ask(QueuedJob("replay", "orders", "bob"))
    taken = queue.take("worker-1", LONG)
    assert (taken.work_id, taken.facts, taken.state, taken.attempts) == (
        first.work_id,
        {"engine": "duckdb"},
        "running",
        1,
    )
    assert queue.end(taken, "done", {"status": "succeeded"})
    ended = queue.get(first.work_id)
    assert (ended.state, ended.outcome, ended.finished_at) == ("done", {"status": "succeeded"}, stopped.at)
    assert queue.take("worker-1", LONG).kind == "replay"
    assert queue.take("worker-1", LONG) is None


def test_asking_twice_with_one_key_gives_the_same_piece_and_a_stranger_is_refused(queue):
    first = queue.ask(QueuedJob("run", "orders", "ada", once="k"))
    assert queue.ask(QueuedJob("run", "orders", "ada", once="k")).work_id == first.work_id
    with pytest.raises(CommitConflict, match="another request"):
        queue.ask(QueuedJob("replay", "orders", "ada", once="k"))


def test_another_worker_takes_up_what_a_dead_one_left_and_the_dead_one_cannot_end_it(queue, stopped):
    queue.ask(QueuedJob("run", "orders", "ada"))
    left = queue.take("worker-1", LONG)
    assert queue.take("worker-2", LONG) is None
    stopped.forward(seconds=61)
    again = queue.take("worker-2", LONG)
    assert (again.work_id, again.owner, again.attempts) == (left.work_id, "worker-2", 2)
    assert not queue.renew(left, LONG)
    assert not queue.end(left, "done", None)
    assert queue.end(again, "done", None)


def test_what_somebody_asked_for_is_dropped_unless_it_runs_and_nobody_elses_is(queue, stopped):
    queue.ask(QueuedJob("run", "orders", "ada"))
    running = queue.take("worker-1", LONG)
    stopped.forward(seconds=1)
    waiting = queue.ask(QueuedJob("replay", "orders", "ada"))
    other = queue.ask(QueuedJob("run", "orders", "bob"))
    dropped, left = queue.drop("ada")
    assert [one.work_id for one in dropped] == [waiting.work_id]
    assert [one.work_id for one in left] == [running.work_id]
    assert queue.get(waiting.work_id).state == "cancelled"
    assert queue.take("worker-1", LONG).work_id == other.work_id
    assert queue.take("worker-1", LONG) is None


def test_work_that_takes_every_worker_down_is_given_up(queue, stopped):
    asked = queue.ask(QueuedJob("run", "orders", "ada"))
    for number in range(3):
        assert queue.take(f"worker-{number}", LONG) is not None
        stopped.forward(seconds=61)
    assert queue.take("worker-4", LONG) is None
    assert queue.get(asked.work_id).state == "failed"


def test_cancelled_work_never_begins_and_running_work_hears_of_it(queue):
    waiting = queue.ask(QueuedJob("run", "orders", "ada"))
    assert queue.cancel(waiting.work_id).state == "cancelled"
    queue.ask(QueuedJob("run", "orders", "ada"))
    running = queue.take("worker-1", LONG)
    assert queue.renew(running, LONG)
    assert (queue.cancel(running.work_id).state, queue.get(running.work_id).cancel_asked) == ("running", 1)
    assert not queue.renew(running, LONG)
    assert queue.end(running, "cancelled", None)
    with pytest.raises(CommitConflict, match="ended already"):
        queue.cancel(running.work_id)
    with pytest.raises(NotFound):
        queue.get("job-0")


def test_what_happened_is_told_in_order_and_from_where_one_stopped_listening(queue):
    one = queue.ask(QueuedJob("run", "orders", "ada"))
    taken = queue.take("w", LONG)
    queue.happened(taken, "run", "wrote", "Wrote 2 rows", {"rows": 2})
    other = queue.ask(QueuedJob("run", "customers", "ada"))
    assert [(h.seq, h.kind, h.work_id) for h in queue.happenings()] == [
        (1, "waiting", one.work_id), (2, "running", one.work_id), (3, "wrote", one.work_id),
        (4, "waiting", other.work_id),
    ]  # fmt: skip
    assert [h.body for h in queue.happenings(after=2, work_id=one.work_id)] == ["Wrote 2 rows"]
    assert queue.last_seq() == 4


def test_a_token_lets_in_until_it_expires_or_is_revoked_and_only_its_hash_is_kept(ledger, stopped):
    tokens = Tokens(ledger.database)
    text, made = tokens.new("ada", {"retail": "steward"}, stopped.at + timedelta(days=1))
    other, _ = tokens.new("bob", {"*": "admin"})
    assert (tokens.check(text).person, tokens.check(text).roles) == ("ada", {"retail": "steward"})
    for wrong in ("", "x", text[:-1], text + "x", text.replace(made.token_id, "0" * 12), "ll__", "ll_" + "9" * 300):
        assert tokens.check(wrong) is None
    with ledger.database.read() as connection:
        kept = str(connection.rows("SELECT * FROM tokens"))
    assert text.rsplit("_", 1)[-1] not in kept
    stopped.forward(days=2)
    assert tokens.check(text) is None
    tokens.revoke(tokens.check(other).token_id)
    assert tokens.check(other) is None
    assert not tokens.any_valid()
    with pytest.raises(UsageError, match="no role `king`"):
        tokens.new("eve", {"*": "king"})


def test_runs_come_page_by_page_each_once_whatever_they_are_sorted_by(ledger, a_run):
    for number in range(7):
        duration = None if number in (2, 5) else float(number % 3)
        ledger.record(a_run(f"run-{number}", number // 2, duration_seconds=duration, domain="a" if number % 2 else "b"))
    for sort in ("started_at", "duration_seconds"):
        for descending in (True, False):
            seen, after = [], None
            while True:
                question = LedgerQuery(sort, descending, after=after, limit=2)
                found = page(ledger.database, RUNS, question)
                seen += found[:2]
                if len(found) < 3:
                    break
                after = (found[1][sort], found[1]["run_id"])
            assert sorted(run["run_id"] for run in seen) == [f"run-{number}" for number in range(7)]
            assert seen[-1]["duration_seconds"] is None or sort == "started_at"
    only = LedgerQuery("started_at", filters={"domain": ["a"]}, among=("domain", ["a", None]))
    assert [run["run_id"] for run in page(ledger.database, RUNS, only)] == ["run-5", "run-3", "run-1"]
    assert counts(ledger.database, RUNS, only, ["domain"]) == {"domain": {"a": 3}}
    assert page(ledger.database, RUNS, LedgerQuery("started_at", among=("domain", []))) == []
    with pytest.raises(UsageError, match="sorted"):
        page(ledger.database, RUNS, LedgerQuery("account"))
