"""What people did and decided is remembered: acts, and batches that wait behind a closed gate."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.ledger.records import Act, Held


def held_at(stopped, run_id="run-1", target="/wh/orders", dataset="orders"):
    return Held(run_id, dataset, "batch-1", target, stopped.at, {"counts": {"good": 2}, "files": [["a", 2]]})


def test_an_act_is_found_again_with_its_time_its_person_and_its_reason(ledger, stopped):
    ledger.tell(Act("reveal", "orders", "ada", "ticket 7", {"rows": ["r1"]}))
    stopped.forward(seconds=1)
    ledger.tell(Act("discard", "customers", "bob", "test data"))
    newest, oldest = ledger.acts()
    assert (newest.act, newest.dataset, newest.person, newest.why) == ("discard", "customers", "bob", "test data")
    assert oldest.facts == {"rows": ["r1"]}
    assert newest.done_at == stopped.at
    assert [act.person for act in ledger.acts("orders")] == ["ada"]


def test_a_held_batch_comes_back_as_it_was_and_remembers_the_decision(ledger, stopped):
    held = held_at(stopped)
    ledger.hold(held)
    assert ledger.held("run-1") == held
    ledger.decide(replace(held, state="released", person="ada", why="looked at it"))
    decided = ledger.held("run-1")
    assert (decided.state, decided.person, decided.why, decided.decided_at) == (
        "released", "ada", "looked at it", stopped.at,
    )  # fmt: skip
    assert ledger.held("run-2") is None


def test_a_batch_takes_the_place_of_those_that_it_follows_and_of_no_other(ledger, stopped):
    ledger.hold(held_at(stopped))
    ledger.hold(held_at(stopped, "run-elsewhere"))
    ledger.hold(held_at(stopped, "run-2"), ("run-1",))
    assert (ledger.held("run-1").state, ledger.held("run-1").why) == ("discarded", "followed by run-2")
    assert ledger.held("run-elsewhere").state == "waiting"
    assert ledger.held("run-2").state == "waiting"
