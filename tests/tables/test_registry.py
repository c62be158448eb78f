"""Formats by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lakelogic.errors import MissingExtra, UnsupportedError
from lakelogic.tables import registry


def test_delta_is_found_by_name():
    assert registry.load("delta").name == "delta"


def test_an_unknown_format_says_what_there_is():
    with pytest.raises(UnsupportedError, match="`csv` is not available yet") as error:
        registry.load("csv")
    assert error.value.hint == "Available: delta, iceberg, parquet."


def test_a_missing_package_is_answered_with_its_pip_line(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra) as error:
        registry.load("delta")
    assert error.value.hint == "pip install 'lakelogic[delta]'"


def test_the_registry_itself_loads_no_format():
    code = "import sys, lakelogic.tables.registry, lakelogic.tables.base; sys.exit('deltalake' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
