"""A changed mask, key or salt is a change of the table: the run is refused, and `remask` hides what is stored."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor, clock
from lakelogic.actions.look.stories import explain_row
from lakelogic.actions.operate.quarantine import Request, export_rows, list_rows, show_rows
from lakelogic.actions.operate.remask import remask
from lakelogic.errors import UsageError
from lakelogic.run.publish import record
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.registry import load

KEYS = [
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A=",
]
SALTS = ["a long salt of one's own, number 1", "another long salt of one's own, no 2"]
TARGET = "lakelogic_warehouse/shop/silver/people"
CANARY = "quetzal.canary@example.org"


def write(masking: str | None, *, key: str = "id", strategy: str = "merge", kind: str = "delta") -> None:
    mask = f", pii: true, masking: {masking}" if masking else ""
    Path("people.yaml").write_text(
        "dataset: people\nsource: {path: in/*.csv}\n"
        f"model: {{fields: [{{name: id, type: int, max: 90}}, {{name: email{mask}}}]}}\n"
        f"materialization: {{strategy: {strategy}, primary_key: [{key}], target_path: shop.silver.people,"
        f" format: {kind}}}\n"
    )


def run(engine: Any) -> Any:
    return DataProcessor("people.yaml", engine).run()


def stored(kind: str = "delta") -> list[Any]:
    return sorted(load(kind).preview(TARGET, 99).column("email").to_pylist(), key=str)


@pytest.fixture
def people(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    Path("in").mkdir()
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEYS[0])
    monkeypatch.setenv("LAKELOGIC_PII_SALT", SALTS[0])

    def land(name: str) -> None:
        Path(f"in/{name}.csv").write_text(f"id,email\n1,{CANARY}\n2,bob@example.org\n99,{CANARY}\n")

    land("a")
    return land


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
@pytest.mark.parametrize("mask", ["redact", "hash", "encrypt", "partial", "nullify"])
@pytest.mark.parametrize("tells", [True, False], ids=["commits tell", "from before"])
def test_a_mask_that_is_added_stops_the_run_until_what_is_stored_is_masked(
    people: Any, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch, kind: str, mask: str, tells: bool
) -> None:
    write(None, kind=kind)
    with monkeypatch.context() as before:
        if not tells:
            before.setattr(record, "remembered", lambda contract, keys: None)
        run(duckdb_engine)
    write(mask, kind=kind)
    people("b")
    with pytest.raises(UsageError, match="lakelogic remask") as refused:
        run(duckdb_engine)
    assert CANARY not in str(refused.value)
    done = remask(Surroundings.here(), "people.yaml")
    assert (done.rows, done.quarantined, done.columns) == (2, 1, ("email",))
    quarantined = load("delta").preview("lakelogic_warehouse/shop/quarantine/silver_people", 99)
    for shown in (str(load(kind).preview(TARGET, 99).to_pylist()), str(quarantined.to_pylist())):
        assert CANARY not in shown
    run(duckdb_engine)
    assert len(stored(kind)) == 2


def test_masking_the_key_of_a_merge_inserts_nobody_again(people: Any, duckdb_engine: Any) -> None:
    write(None, key="email")
    run(duckdb_engine)
    write("hash", key="email")
    people("b")
    with pytest.raises(UsageError, match="was written in clear"):
        run(duckdb_engine)
    remask(Surroundings.here(), "people.yaml")
    run(duckdb_engine)
    assert len(stored()) == 2
    assert all(len(one) == 64 for one in stored())


def test_another_salt_is_refused_and_the_same_one_goes_on(
    people: Any, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("hash", key="email")
    run(duckdb_engine)
    people("b")
    run(duckdb_engine)
    people("c")
    monkeypatch.setenv("LAKELOGIC_PII_SALT", SALTS[1])
    with pytest.raises(UsageError, match="another salt"):
        run(duckdb_engine)
    assert len(stored()) == 2


def test_a_rotated_key_of_a_merge_key_is_refused_and_masked_anew(
    people: Any, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("encrypt_deterministic", key="email")
    run(duckdb_engine)
    before = stored()
    people("b")
    monkeypatch.setenv("LAKELOGIC_PII_KEY", f"{KEYS[1]},{KEYS[0]}")
    with pytest.raises(UsageError, match="another key"):
        run(duckdb_engine)
    remask(Surroundings.here(), "people.yaml")
    assert not set(before) & set(stored())
    run(duckdb_engine)
    assert len(stored()) == 2


def test_a_key_rotates_freely_where_nonces_are_random(
    people: Any, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("encrypt")
    run(duckdb_engine)
    people("b")
    monkeypatch.setenv("LAKELOGIC_PII_KEY", f"{KEYS[1]},{KEYS[0]}")
    assert run(duckdb_engine).status == "succeeded"
    assert len(stored()) == 2


def test_the_command_tells_what_it_did(people: Any, duckdb_engine: Any) -> None:
    from click.testing import CliRunner

    from lakelogic.cli.tables import remask as command

    write(None)
    run(duckdb_engine)
    write("redact")
    done = CliRunner().invoke(command, ["people.yaml"])
    assert done.exit_code == 0, done.output
    assert "shop.silver.people: 2 rows" in done.output
    assert "Masked anew: email" in done.output


def test_bad_rows_from_before_a_mask_are_not_shown(people: Callable[[str], None], duckdb_engine: Any) -> None:
    write(None)
    run(duckdb_engine)
    [row] = list_rows(Surroundings.here(), Request("people.yaml")).rows
    write("hash")
    for act in (
        lambda: show_rows(Surroundings.here(), Request("people.yaml")),
        lambda: export_rows(Surroundings.here(), Request("people.yaml"), "bad.csv"),
        lambda: explain_row(Surroundings.here(), row["row_id"], Request("people.yaml"), "duckdb"),
        lambda: explain_row(Surroundings.here(), row["row_id"], None, "duckdb"),
    ):
        with pytest.raises(UsageError, match="Nothing is shown") as refused:
            act()
        assert CANARY not in str(refused.value)
    assert not Path("bad.csv").exists()
    remask(Surroundings.here(), "people.yaml")
    [shown] = show_rows(Surroundings.here(), Request("people.yaml")).rows
    assert CANARY not in str(shown)
    assert len(shown["email"]) == 64


def upkeep(kind: str, *, trims: bool) -> None:
    """What comes last is a commit that tells of no masks; with `trims` nothing else is left of the log."""
    for place in (TARGET, "lakelogic_warehouse/shop/quarantine/silver_people"):
        tables, root = load(kind if place == TARGET else "delta"), str(Path(place).resolve())
        state = tables.state(root)
        assert state is not None
        n = state.transactions.get("lakelogic:upkeep", 0) + 1
        tables.append(root, [], state.schema, CommitInfo("lakelogic:upkeep", n, {"x": "y"}))
    if trims and kind == "iceberg":
        load(kind).vacuum(str(Path(TARGET).resolve()), clock.now())
    elif trims:
        DeltaTable(TARGET).create_checkpoint()
        for path in sorted(Path(TARGET).glob("_delta_log/*.json"))[:-1]:
            path.unlink()


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_masks_are_remembered_when_upkeep_came_last_or_the_log_is_gone(
    people: Any, duckdb_engine: Any, kind: str, trims: bool
) -> None:
    write("redact", kind=kind)
    run(duckdb_engine)
    upkeep(kind, trims=trims)
    write("hash", kind=kind)
    people("b")
    with pytest.raises(UsageError, match=r"shop\.silver\.people: "):  # of the table, not only of the quarantine
        run(duckdb_engine)


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_that_was_masked_anew_is_so_when_upkeep_came_last(
    people: Any, duckdb_engine: Any, kind: str, trims: bool
) -> None:
    write(None, kind=kind)
    run(duckdb_engine)
    write("hash", kind=kind)
    remask(Surroundings.here(), "people.yaml")
    upkeep(kind, trims=trims)
    people("c")
    assert run(duckdb_engine).status == "succeeded"


def test_without_a_key_rows_that_wait_are_given_up_only_when_that_is_asked_for(
    people: Callable[[str], None], duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    write(None)
    run(duckdb_engine)
    before = stored()
    write("redact")
    monkeypatch.delenv("LAKELOGIC_PII_KEY")
    refused = CliRunner().invoke(cli, ["remask", "people.yaml"])
    assert refused.exit_code != 0
    assert "1 rows that wait" in refused.output
    assert "--forget-landed" in refused.output
    assert stored() == before
    [row] = load("delta").preview("lakelogic_warehouse/shop/quarantine/silver_people", 9).to_pylist()
    assert CANARY in row["_lakelogic_raw"]
    done = CliRunner().invoke(cli, ["remask", "people.yaml", "--forget-landed"])
    assert done.exit_code == 0, done.output
    assert "1 rows that wait in shop.quarantine.silver_people cannot be replayed any more" in done.output
    assert remask(Surroundings.here(), "people.yaml").forgotten == 0  # there is nothing left to give up


def test_with_a_key_rows_that_wait_are_replayed_after_a_remask(people: Any, duckdb_engine: Any) -> None:
    write(None)
    run(duckdb_engine)
    write("redact")
    assert remask(Surroundings.here(), "people.yaml").forgotten == 0
    Path("people.yaml").write_text(Path("people.yaml").read_text().replace("max: 90", "max: 100"))
    assert DataProcessor("people.yaml", duckdb_engine).replay().passed == 1
    assert stored() == ["***"] * 3


def test_no_command_shows_rows_of_a_table_from_before_a_mask(people: Any, duckdb_engine: Any) -> None:
    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    write(None)
    run(duckdb_engine)
    bad = "shop.quarantine.silver_people"
    shows = [
        ("preview", "shop.silver.people"), ("preview", TARGET), ("preview", "shop.silver.people", "--json"),
        ("preview", bad), ("explain", "people.yaml", "--key", "1"),
        ("quarantine", "show", "people"), ("quarantine", "show", bad), ("quarantine", "show", "people.yaml"),
        ("quarantine", "export", "people", "bad.json"),
        ("quarantine", "replay", "people.yaml", "--preview", "--engine", "duckdb"),
    ]  # fmt: skip
    for words in shows[:1] + shows[3:8]:
        assert CANARY in CliRunner().invoke(cli, words).output, words
    write("hash")
    for words in shows:
        refused = CliRunner().invoke(cli, words)
        assert refused.exit_code == 2, (words, refused.output)
        assert "lakelogic remask" in refused.output
        assert CANARY not in refused.output
    assert not Path("bad.json").exists()
    remask(Surroundings.here(), "people.yaml")
    for words in shows:
        shown = CliRunner().invoke(cli, words)
        assert shown.exit_code == 0, (words, shown.output)
        assert CANARY not in shown.output


def test_a_contract_that_cannot_be_read_could_mask_anything(people: Any, duckdb_engine: Any) -> None:
    from lakelogic.actions.look.preview import preview

    write(None)
    run(duckdb_engine)
    assert len(preview(Surroundings.here(), "shop.silver.people").rows) == 2
    Path("people.yaml").write_text("dataset: [people\n")
    with pytest.raises(UsageError, match="nobody can tell what it masks"):
        preview(Surroundings.here(), "shop.silver.people")
    Path("people.yaml").unlink()
    assert len(preview(Surroundings.here(), "shop.silver.people").rows) == 2


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
def test_after_a_remask_upkeep_and_discards_make_no_run_believe_that_rows_are_in_clear(
    people: Any, duckdb_engine: Any, kind: str
) -> None:
    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    write(None, kind=kind, strategy="append")
    for name in ("a", "b", "c"):
        people(name)
        run(duckdb_engine)
    write("hash", kind=kind, strategy="append")
    remask(Surroundings.here(), "people.yaml")
    for words in (
        ("maintain", "people.yaml"),
        ("quarantine", "discard", "people.yaml", "--all", "--reason", "test data"),
    ):
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
    people("d")
    assert run(duckdb_engine).status == "succeeded"
    assert len(stored(kind)) == 8


def avro_blocks(content: bytes) -> list[bytes]:
    """The blocks of an Avro file, unpacked: two numbers stand before each, and the mark at the file's end after it."""
    found = []
    for block in content.split(content[-16:])[1:-1]:
        at = 0
        for _ in range(2):
            while block[at] & 0x80:
                at += 1
            at += 1
        packed = block[at:]
        found.append(zlib.decompress(packed, -15) if b"deflate" in content else packed)
    return found


def held_on_disk(root: str) -> list[str]:
    """The files under a folder that hold the canary: as bytes, or, in Parquet and Avro, behind compression."""
    import pyarrow.parquet as pq

    found = []
    for path in sorted(path for path in Path(root).rglob("*") if path.is_file()):
        texts = [path.read_bytes()]
        if path.suffix == ".parquet":
            texts.append(str(pq.ParquetFile(path).read().to_pylist()).encode())
        elif path.suffix == ".avro":
            texts += avro_blocks(texts[0])
        # Bounds of text are cut off after 16 characters in Iceberg's manifests.
        if any(CANARY[:14].encode() in text for text in texts):
            found.append(str(path))
    return found


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
def test_after_a_remask_upkeep_leaves_no_clear_value_on_the_disk(people: Any, duckdb_engine: Any, kind: str) -> None:
    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    write(None, kind=kind, strategy="append")
    for name in ("a", "b"):  # the canary is the lowest value, which statistics tell
        Path(f"in/{name}.csv").write_text(f"id,email\n1,{CANARY}\n2,zed@example.org\n99,{CANARY}\n")
        run(duckdb_engine)
    assert held_on_disk("lakelogic_warehouse")
    write("hash", kind=kind, strategy="append")
    remask(Surroundings.here(), "people.yaml")
    done = CliRunner().invoke(cli, ["maintain", "people.yaml", "--retention", "0h"])
    assert done.exit_code == 0, done.output
    assert held_on_disk("lakelogic_warehouse") == []
    for word in ("c", "d"):  # nothing is read twice, also when only the tables know what was read
        people(word)
        assert run(duckdb_engine).status == "succeeded"
        for path in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
            path.unlink()
    run(duckdb_engine)
    assert len(stored(kind)) == 8
    assert held_on_disk("lakelogic_warehouse") == []
