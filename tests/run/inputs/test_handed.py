"""Rows that were handed in are a batch by their owner's name for them, or by the run that took them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakelogic.contract.reading.load import load
from lakelogic.privacy.keys import Keys
from lakelogic.run.inputs.handed import admit_handed, pin_handed
from lakelogic.run.phases import ListedRun, grown
from lakelogic.run.request import ContractRequest
from lakelogic.run.state.progress import nowhere
from lakelogic.run.steps.open import begin


def listed(batch: str | None, **document: Any) -> ListedRun:
    loaded = load({"dataset": "orders", "source": {"path": "x.csv"}, "model": {"fields": []}, **document})
    request = ContractRequest(loaded, None, None, None, batch=batch)  # type: ignore[arg-type]
    return grown(ListedRun, begin(request), keys=Keys(), places=None, progress=nowhere("orders"))


def test_a_name_stands_for_the_same_rows_whatever_the_contract_says_by_now() -> None:
    one, two = listed("monday"), listed("monday", primary_key=["id"])
    assert one.fingerprint != two.fingerprint
    assert pin_handed(one).batch_id == pin_handed(two).batch_id
    assert pin_handed(listed("tuesday")).batch_id != pin_handed(one).batch_id


def test_rows_without_a_name_are_of_their_run() -> None:
    run = listed(None)
    assert pin_handed(run).identity == {"run": run.run_id}
    assert pin_handed(run).batch_id != pin_handed(replace(run, run_id="another")).batch_id


def test_rows_that_are_only_judged_are_always_taken() -> None:
    run = pin_handed(listed("monday"))
    assert admit_handed(run) is run
