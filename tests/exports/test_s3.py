"""S3: the real client against a bucket of our own that checks signatures and checksums."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports.base import ExportFile
from lakelogic.exports.packing import digest
from lakelogic.exports.s3 import S3Export, connect

SPEC = importlib.util.spec_from_file_location("lakelogic_tests_s3", Path(__file__).parents[1] / "servers/s3.py")
assert SPEC is not None
assert SPEC.loader is not None
DOUBLE = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DOUBLE)
FOLDER = "gold/kpis/00000007-bbbbbbbbbbbb"
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def client_of() -> Any:
    """Clients are dear to make: one for each set of settings."""
    made: dict[str, Any] = {}

    def client(given: dict[str, str]) -> Any:
        key = json.dumps(given, sort_keys=True)
        made[key] = made.get(key) or connect({**given, "AWS_EC2_METADATA_DISABLED": "true"})
        return made[key]

    return client


@pytest.fixture(scope="module")
def one_bucket() -> Iterator[Any]:
    with DOUBLE.bucket() as found:
        yield found


@pytest.fixture
def bucket(one_bucket) -> Any:
    fresh = DOUBLE.Bucket()
    for name in ("objects", "headers", "pieces", "asked", "trouble", "aborted"):
        setattr(one_bucket, name, getattr(fresh, name))
    return one_bucket


@pytest.fixture
def export(bucket, client_of):
    def make(target: str = "gold/kpis", **given: str) -> S3Export:
        return S3Export(bucket.settings(**given), target, client_of, part_bytes=5 * MEGABYTE)

    return make


def test_files_come_first_the_manifest_after_them_and_the_pointer_last(bucket, export, shipment, kept):
    sent = shipment("gold/kpis", form="csv")
    assert export().deliver(sent, kept).facts == {"folder": "00000007-bbbbbbbbbbbb", "files": 1}
    assert [one for one in bucket.asked if one.startswith("PUT")] == [
        f"PUT {FOLDER}/part-00000.csv", f"PUT {FOLDER}/manifest.json", "PUT gold/kpis/latest.json",
    ]  # fmt: skip
    assert bucket.objects[f"{FOLDER}/part-00000.csv"] == (
        b'"region","gross_revenue_usd","orders"\n"east",305.09,2\n"we\'st""`",,1\n'
    )
    manifest = json.loads(bucket.objects[f"{FOLDER}/manifest.json"])
    told = manifest["files"][0]
    assert (manifest["rows"], manifest["table_version"], manifest["batch_id"]) == (2, 7, "b" * 64)
    assert told["sha256"] == sent.parts[0].sha256
    assert bucket.headers[f"{FOLDER}/part-00000.csv"]["x-amz-meta-sha256"] == sent.parts[0].sha256
    assert bucket.objects["gold/kpis/latest.json"] == bucket.objects[f"{FOLDER}/manifest.json"]


def test_a_large_file_goes_in_pieces_each_with_its_checksum(bucket, export, shipment, kept, tmp_path):
    large = tmp_path / "part-00000.parquet"
    large.write_bytes(os.urandom(6 * MEGABYTE))
    part = ExportFile(str(large), large.name, 9, large.stat().st_size, digest(large))
    export().deliver(replace(shipment("gold/kpis"), parts=(part,)), kept)
    assert bucket.pieces[f"{FOLDER}/part-00000.parquet"] == 2
    assert bucket.objects[f"{FOLDER}/part-00000.parquet"] == large.read_bytes()


def test_a_batch_whose_manifest_is_there_is_not_sent_twice_and_the_pointer_is_mended(bucket, export, shipment, kept):
    export().deliver(shipment("gold/kpis"), kept)
    del bucket.objects["gold/kpis/latest.json"]
    bucket.asked.clear()
    assert export().deliver(shipment("gold/kpis"), kept).known_there
    assert [one for one in bucket.asked if one.startswith("PUT")] == ["PUT gold/kpis/latest.json"]


def test_files_without_a_manifest_did_not_arrive(bucket, export, shipment, kept):
    bucket.trouble["PUT manifest"] = (400, "InvalidRequest")
    with pytest.raises(ExportError, match="refused it"):
        export().deliver(shipment("gold/kpis"), kept)
    assert "gold/kpis/latest.json" not in bucket.objects
    bucket.trouble.clear()
    assert not export().deliver(shipment("gold/kpis"), kept).known_there


def test_a_bucket_in_the_target_is_used_instead_of_the_variable(bucket, client_of, shipment, kept):
    S3Export(bucket.settings(S3_ARTIFACT_BUCKET="other"), "s3://lab/x", client_of).deliver(shipment("s3://lab/x"), kept)
    assert "x/latest.json" in bucket.objects


def test_a_wrong_key_is_told_without_any_secret(bucket, export, shipment, kept):
    with pytest.raises(CredentialError, match="does not let us in") as told:
        export(AWS_SECRET_ACCESS_KEY="another-secret").deliver(shipment("gold/kpis"), kept)
    assert "another-secret" not in str(told.value)
    assert bucket.objects == {}


@pytest.mark.parametrize(
    ("status", "code", "kind"), [(503, "SlowDown", ExportInterrupted), (400, "EntityTooLarge", ExportError)]
)
def test_an_error_says_whether_trying_again_helps_and_no_secret(
    bucket, export, shipment, kept, monkeypatch, status, code, kind
):
    monkeypatch.setattr("time.sleep", lambda _: None)  # the library's own patience
    bucket.trouble["PUT part-"] = (status, code)
    with pytest.raises(ExportError) as told:
        export().deliver(shipment("gold/kpis"), kept)
    assert type(told.value) is kind
    assert code in told.value.message
    assert DOUBLE.SECRET not in told.value.message
