"""Objects are listed by the rules for files, known by their etag, read by ranges of one version, and refused in words."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from lakelogic.errors import CredentialError, LakeLogicError, SourceError, UnsupportedError, UsageError
from lakelogic.storage import objects
from lakelogic.storage.credentials import StoreLogin
from lakelogic.storage.local import changes, digest, list_files, local_path, look, source_root
from lakelogic.storage.opening import open_raw, size_of
from lakelogic.storage.text_files import open_text
from lakelogic.storage.uris import is_object, object_uri


@pytest.fixture
def store(s3_store: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in s3_store.environ().items():
        monkeypatch.setenv(name, value)
    objects.forget_logins()
    yield s3_store
    objects.forget_logins()


def paths(written: str, file_format: str = "json", pattern: str | None = None) -> list[str]:
    return [
        file.path.removeprefix("s3://lab/") for file in list_files(written, file_format=file_format, pattern=pattern)
    ]


LAKE = (
    "in/a.json", "in/b.json", "in/c.csv", "in/_aside.json", "in/.hidden.json", "in/README.json", "in/empty.json",
    "in/day=1/d.json", "in/day=2/e.json", "in/deep/f.json", "in/deep/er/g.json", "in/_old/h.json", "other/i.json",
)  # fmt: skip


@pytest.fixture
def lake(store: Any) -> Any:
    for key in LAKE:
        store.put("lab", key, "" if "empty" in key else '{"id": 1}\n')
    return store


@pytest.mark.parametrize(
    ("written", "pattern", "expected"),
    [
        # a folder: what lies directly in it, and in its name=value folders
        ("s3://lab/in", None, ["in/a.json", "in/b.json", "in/day=1/d.json", "in/day=2/e.json", "in/empty.json"]),
        ("s3://lab/in/", None, ["in/a.json", "in/b.json", "in/day=1/d.json", "in/day=2/e.json", "in/empty.json"]),
        ("s3a://lab/in/a.json", None, ["in/a.json"]),
        ("s3://lab/in/*.json", None, ["in/a.json", "in/b.json", "in/empty.json"]),
        ("s3://lab/in/*", None, ["in/a.json", "in/b.json", "in/empty.json"]),
        ("s3://lab/in/[ab].json", None, ["in/a.json", "in/b.json"]),
        ("s3://lab/in/[!a].json", None, ["in/b.json"]),
        ("s3://lab/in/?.json", None, ["in/a.json", "in/b.json"]),
        ("s3://lab/in/*/*.json", None, ["in/day=1/d.json", "in/day=2/e.json", "in/deep/f.json"]),
        ("s3://lab/in/day=*/*.json", None, ["in/day=1/d.json", "in/day=2/e.json"]),
        ("s3://lab/in/deep/**/*.json", None, ["in/deep/er/g.json", "in/deep/f.json"]),
        ("s3://lab/*/i.json", None, ["other/i.json"]),
        ("s3://lab/in", "d*/*.json", ["in/day=1/d.json", "in/day=2/e.json", "in/deep/f.json"]),
        ("s3://lab/in/none*.json", None, []),
    ],
)
def test_what_a_source_means_in_a_bucket(lake: Any, written: str, pattern: str | None, expected: list[str]) -> None:
    assert paths(written, pattern=pattern) == expected


def test_folders_mean_the_same_on_disk(lake: Any, tmp_path: Any) -> None:
    for key in LAKE:
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_text("" if "empty" in key else '{"id": 1}\n')
    for rest in (
        "in",
        "in/*.json",
        "in/*",
        "in/*/*.json",
        "in/**/*.json",
        "in/deep/**/*.json",
        "*/i.json",
        "in/n*.json",
    ):
        here = [file.path.removeprefix(f"{tmp_path}/") for file in list_files(f"{tmp_path}/{rest}", file_format="json")]
        assert paths(f"s3://lab/{rest}") == here, rest


def test_listings_come_in_pages_and_only_folders_that_can_matter_are_listed(store: Any) -> None:
    store.most = 10
    for number in range(35):
        store.put("lab", f"in/{number:03}.json", "{}")
        store.put("lab", f"away/{number:03}.json", "{}")
    assert len(paths("s3://lab/in/*.json")) == 35
    assert not any("away" in line for line in store.asked)
    assert store.counts()["LIST"] == 4


ODD = ("in/a b.csv", "in/ä%20ü.csv", "in/100%.csv", "in/a#b+c=d.csv", "in/x&y<z>.csv", "in/q'1'.csv")


def test_keys_may_hold_any_sign(store: Any) -> None:
    for key in ODD:
        store.put("lab", key, f"key\n{key}\n")
    files = list_files("s3://lab/in", file_format="csv")
    assert [file.path for file in files] == sorted(f"s3://lab/{key}" for key in ODD)
    for file in files:
        assert open_text(file.path, {}).read().decode() == f"key\n{file.path.removeprefix('s3://lab/')}\n"
    assert changes(files) == ()


def test_an_object_is_another_one_when_only_its_etag_differs(store: Any) -> None:
    at = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    store.put("lab", "in/a.csv", "a\n1\n", at)
    before = list_files("s3://lab/in", file_format="csv")
    assert before == (look("s3://lab/in/a.csv"),)
    store.put("lab", "in/a.csv", "a\n2\n", at)  # as large, in the same second
    assert changes(before) == ("s3://lab/in/a.csv was written again",)
    assert digest("s3://lab/in/a.csv") == "etag " + store.buckets["lab"]["in/a.csv"].etag
    del store.buckets["lab"]["in/a.csv"]
    assert changes(before) == ("s3://lab/in/a.csv is gone",)


def test_any_range_is_read_and_what_follows_is_read_ahead(store: Any) -> None:
    content = bytes(range(256)) * 40_000  # ten megabytes
    store.put("lab", "in/big.bin", content)
    store.asked.clear()
    with open_raw("s3://lab/in/big.bin") as raw:
        assert size_of("s3://lab/in/big.bin") == len(content)
        raw.seek(-10, io.SEEK_END)
        assert raw.read(100) == content[-10:]
        assert raw.read(1) == b""
        raw.seek(5_000_000)
        assert raw.read(7) == content[5_000_000:5_000_007]
        raw.seek(0)
        assert b"".join(iter(lambda: raw.read(65_536), b"")) == content
    assert store.counts()["GET"] < 10


def test_an_object_that_changes_while_it_is_read_is_an_error(store: Any) -> None:
    store.put("lab", "in/big.csv", b"a" * 9_000_000)
    raw = open_raw("s3://lab/in/big.csv")
    assert raw.read(10) == b"a" * 10
    store.put("lab", "in/big.csv", b"b" * 9_000_000)
    with pytest.raises(SourceError, match="was written anew while it was read"):
        list(iter(lambda: raw.read(1 << 20), b""))


def test_a_store_that_is_busy_is_asked_again(store: Any) -> None:
    store.put("lab", "in/a.csv", "a\n1\n")
    store.trouble = [("LIST", 503, "SlowDown"), ("HEAD", 503, "SlowDown"), ("GET lab/in/a.csv", 500, "InternalError")]
    file = list_files("s3://lab/in/*.csv", file_format="csv")[0]
    assert open_text(file.path, {}).read() == b"a\n1\n"
    assert store.trouble == []


@pytest.mark.parametrize(
    ("written", "error", "words"),
    [
        ("s3://lab/inn", SourceError, "There is no s3://lab/inn"),
        ("s3://lab/inn", SourceError, "did you mean s3://lab/in?"),
        ("s3://lab/in/deeep/x/*.json", SourceError, "did you mean s3://lab/in/deep?"),
        ("s3://nothing/in", SourceError, "There is no bucket `nothing`"),
        ("s3://nothing/in/a.json", SourceError, "There is no bucket `nothing`"),
        ("s3://Lab/in", UsageError, "did you mean s3://lab/in?"),
        ("s3://l/in", UsageError, "the bucket is `l`"),
        ("s3:///in", UsageError, "the bucket is missing"),
        ("s3://lab/in/../other", UsageError, "no `.` and `..`"),
        ("s3://lab//in", UsageError, "empty part"),
        ("s3://key:hush-hush@lab/in", UsageError, "login, a host or a port"),
        ("gs://lab/in", UnsupportedError, "gs:// is not available yet"),
    ],
)
def test_a_place_that_is_wrong_is_told(lake: Any, written: str, error: type[LakeLogicError], words: str) -> None:
    with pytest.raises(error) as raised:
        list_files(written, file_format="json")
    assert words in str(raised.value)
    assert "hush" not in str(raised.value)


def test_a_login_that_may_not_is_told_with_its_place_and_without_its_secret(lake: Any) -> None:
    lake.refuses = "lab"
    for written in ("s3://lab/in", "s3://lab/in/a.json", "s3://lab/in/*.json"):
        with pytest.raises(CredentialError, match="refuses this login") as raised:
            list_files(written, file_format="json")
        assert "s3:ListBucket" in str(raised.value)
        assert lake.environ()["AWS_SECRET_ACCESS_KEY"] not in str(raised.value)


def test_a_wrong_secret_is_one_clear_error(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
    objects.forget_logins()
    with pytest.raises(CredentialError) as raised:
        list_files("s3://lab/in", file_format="json")
    assert "not-the-secret" not in str(raised.value)


def test_without_any_login_nothing_is_asked(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    objects.forget_logins()
    lake.asked.clear()
    with pytest.raises(CredentialError, match="There is no login for S3"):
        list_files("s3://lab/in", file_format="json")
    assert lake.asked == []


def test_a_profile_that_is_not_there_is_told(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    objects.forget_logins()
    with pytest.raises(CredentialError, match="nobodys"):
        list_files("s3://lab/in", file_format="json")


@pytest.mark.parametrize("key", ["in/403.csv", "in/AccessDenied.csv", "in/NoSuchBucket.csv"])
def test_a_word_in_a_key_is_no_refusal(lake: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The library repeats the key in its errors: trouble with 403.csv is not a refused login, and is tried again later."""
    monkeypatch.setattr(objects, "_ATTEMPTS", 0)
    objects.forget_logins()
    lake.put("lab", key, "a\n1\n")
    lake.trouble = [(f"HEAD lab/{key}", 500, "InternalError")]
    with pytest.raises(SourceError) as raised:
        look(f"s3://lab/{key}")
    assert not isinstance(raised.value, CredentialError)
    assert f"s3://lab/{key} cannot be read" in str(raised.value)


def test_a_login_shows_nothing_of_itself() -> None:
    assert "hush" not in repr(StoreLogin("hush-id", "hush-secret", "hush-token"))


def test_targets_are_still_refused() -> None:
    with pytest.raises(UnsupportedError, match="not available yet"):
        local_path("s3://lab/silver/orders")


def test_uris(store: Any) -> None:
    assert is_object("s3://b/x")
    assert is_object("S3A://b/x")
    assert not is_object("/s3/x")
    assert not is_object("file:///x")
    assert str(object_uri("s3a://lab/a b/ü.csv")) == "s3://lab/a b/ü.csv"
    assert source_root("s3://lab/in/*.csv") == "s3://lab/in"
    assert source_root("s3://lab/in/a.csv") == "s3://lab/in"
    assert source_root("s3://lab/in") == "s3://lab/in"
