"""The service keeps to its own OpenAPI document: a small walk; `make test-api` is the long one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/walk_api.py"


def test_made_up_requests_get_answers_that_the_document_knows_and_never_a_defect(serve, monkeypatch):
    spec = importlib.util.spec_from_file_location("walk_api", SCRIPT)
    walk_api = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "walk_api", walk_api)
    spec.loader.exec_module(walk_api)
    app = serve(burst=10**9).app
    statuses, wrong = walk_api.walk(app, 40, seed=7, every=12)
    assert wrong == []
    assert sum(statuses.values()) >= 40
    assert "500" not in statuses
