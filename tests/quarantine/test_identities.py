"""The identity of a bad row: what it was made of never changes, however many rows there are and whoever wrote them."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lakelogic import names
from lakelogic.plan.nodes import Mask
from lakelogic.privacy.keys import Keys
from lakelogic.privacy.masks import mask_array
from lakelogic.quarantine import canonical as canon
from lakelogic.quarantine.canonical import Shapes, canonical
from lakelogic.quarantine.identity import FEW, Identities, RowIdentities, row_id, staged_rows, texts
from lakelogic.run.publish import digests

PLAN: Any = SimpleNamespace(
    masks=(),
    columns=[
        SimpleNamespace(name=name, on_bad=on_bad)
        for name, on_bad in (("id", True), ("gone", False), ("day", True), ("~raw", True), ("_lakelogic_run_id", True))
    ],
)
NO_KEYS = Keys()


def staged(folder: Path, rows: Sequence[tuple[str | None, str | None]], parts: int = 1, **more: Any) -> list[str]:
    paths = []
    for part in range(parts):
        chosen = slice(part * len(rows) // parts, (part + 1) * len(rows) // parts)
        columns = {names.FILE: [file for file, _ in rows[chosen]], names.RAW_ROW: [text for _, text in rows[chosen]]}
        table = pa.table({**columns, **{name: values[chosen] for name, values in more.items()}})
        table = table.cast(
            pa.schema([f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema])
        )
        paths.append(str(folder / f"part-{part}.parquet"))
        pq.write_table(table, paths[-1], row_group_size=700)
    return paths


def found(paths: Sequence[str], keys: Keys = NO_KEYS) -> list[str]:
    landed = RowIdentities(paths, PLAN, keys)
    ids: list[str] = []
    for batch in staged_rows(paths):
        ids += texts(landed.of(batch, len(ids))).to_pylist()
    return ids


def by_hand(rows: Sequence[tuple[str | None, str]]) -> list[str]:
    """The definition, row by row."""
    seen: Counter[tuple[str, str]] = Counter()
    ids = []
    for file, text in rows:
        try:
            clear = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
            clear.encode()
        except ValueError:
            clear = text
        seen[file or "", clear] += 1
        made = f"{file or ''}\0{clear}\0{seen[file or '', clear]}"
        ids.append(hashlib.sha256(made.encode()).hexdigest()[:32])
    return ids


def test_identities_that_ledgers_and_tables_hold_stay_what_they_are(tmp_path: Path) -> None:
    rows = [
        ("/in/a.csv", '{"id":"1","name":"Zoë"}'),
        ("/in/a.csv", '{"id":"1","name":"Zoë"}'),
        ("/in/b.csv", '{"id": "1", "name": "Zo\\u00eb"}'),
        ("/in/a.csv", '{"id":"1","name":"Zo\\u00eb"}'),
        (None, '{"id":1.50,"id":-0}'),
        ("/in/a.csv", "1;broken"),
        ("/in/a.csv", ""),
    ]
    assert found(staged(tmp_path, rows)) == [
        "74dc406863690749088470b0cedbb340",
        "cefed5d6c77b0695adcdb5ad93f91b4c",
        "5413de7daaa1ef38d0acad8581a57cfe",
        "e7653aa064ced1eea71f34fb26443b33",
        "b1e65ce8b9a7826b439e92809f4edb92",
        "59516d56c982ff575efe9b819f42e2c2",
        "9d1a44d5a5954cf609f3ef299dca5dfa",
    ]
    # A part of a row that is judged again.
    origin = "0123456789abcdef0123456789abcdef"
    assert row_id("", origin, 1).hex() == "61e85c8d55dc0cae4ae5fb72fdc2b53d"
    assert row_id("", origin, 2).hex() == "fa507b5b4af945f66262ee9627b9a5a8"


def test_a_row_that_was_not_kept_is_told_apart_by_what_is_published_of_it(tmp_path: Path) -> None:
    rows = [("/in/a.csv", None), ("/in/a.csv", None), ("/in/a.csv", "1;broken")]
    day = pa.array([date(2024, 2, 29), None, None])
    assert found(staged(tmp_path, rows, id=[1, 2, 3], day=day)) == [
        "f3a5a6e048fe88ad231c17c3ddd6254f",
        "68cccb65656d79ad930d6d8014bacc46",
        by_hand([("/in/a.csv", "1;broken")])[0],
    ]


def some_rows(many: int) -> list[tuple[str | None, str]]:
    """Rows of all kinds, some of them several times, far apart and side by side."""
    draw = random.Random(7)
    made: list[tuple[str | None, str]] = []
    for number in range(many):
        kept = {"id": str(number), "name": draw.choice(["Zoë", 'a "quote"', "tab\t", "\x7f\x01", "\U0001f600", ""])}
        kinds = [json.dumps(kept, ensure_ascii=False, separators=(",", ":"))] * 6
        kinds += [json.dumps(kept), '{"id":1,"amount":1.5}', '{"id":1,"amount":1.50}', '{"id":1,"id":2}', "broken;line"]
        made.append((draw.choice(["/in/a.csv", "/in/b.csv", None]), draw.choice(kinds)))
    return made


@pytest.mark.parametrize("many", [1, 40, FEW + 200, 20_000])
def test_many_rows_have_the_identities_that_they_have_one_by_one(tmp_path: Path, many: int) -> None:
    rows = some_rows(many)
    assert found(staged(tmp_path, rows, parts=3)) == by_hand(rows)


def test_rows_that_are_all_alike_are_counted(tmp_path: Path) -> None:
    rows: list[tuple[str | None, str]] = [("/in/a.csv", '{"id":"1"}')] * (FEW + 200)
    assert found(staged(tmp_path, rows)) == by_hand(rows)


@pytest.mark.parametrize("many", [3, FEW + 200])
def test_sealed_rows_are_the_rows_that_they_hold(tmp_path: Path, many: int) -> None:
    pytest.importorskip("cryptography")
    keys = Keys((("00000001", bytes(32)),), None)
    rows = some_rows(many)
    sealed = mask_array(pa.array([text for _, text in rows]), Mask(names.RAW_ROW, "encrypt"), keys).to_pylist()
    paths = staged(tmp_path, [(file, text) for (file, _), text in zip(rows, sealed, strict=True)])
    assert found(paths, keys) == by_hand(rows)


@pytest.mark.parametrize("many", [0, 1, 5, FEW + 200])
def test_a_set_of_identities_adds_up_and_knows_its_own(many: int) -> None:
    ids = [hashlib.sha256(str(number).encode()).hexdigest()[:32] for number in range(many)]
    half = ids[0][:16] + "0" * 16 if ids else "0" * 32
    known = Identities()
    known.add(ids[: many // 2])
    assert half not in known
    known.add(ids[many // 2 :])
    assert len(known) == many
    assert digests.of_total(known.total) == digests.of_ids(ids)
    assert all(one in known for one in ids)
    assert half not in known
    assert "f" * 32 not in known


def test_identities_that_begin_alike_are_still_two() -> None:
    known = Identities()
    known.add([f"{7:016x}{number:016x}" for number in range(FEW + 5)])
    assert f"{7:016x}{FEW:016x}" in known
    assert f"{7:016x}{FEW + 5:016x}" not in known


KEYS = st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True)
TOKENS = st.one_of(
    st.from_regex(canon._VALUE, fullmatch=True, alphabet=st.characters(exclude_categories=["Cs"])),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
        max_leaves=3,
    ).map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))),
    st.text().map(json.dumps),
    st.from_regex(r"-?[0-9]{1,18}(\.[0-9]{0,18})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(
        ["-0", "-0.0", "0.00001", "1.0", "1.10", "NaN", '"\\/"', '"\\ud83d\\ude00"', '"\\u001F"', '"\\ud800"', '"\t"']
    ),
)
OBJECTS = st.builds(
    lambda keys, values, blank: "{" + f",{blank}".join(f"{k}:{v}" for k, v in zip(keys, values, strict=False)) + "}",
    st.lists(st.text(max_size=2).map(lambda key: json.dumps(key, ensure_ascii=False)), min_size=1, max_size=4),
    st.lists(TOKENS, min_size=4, max_size=4),
    st.sampled_from(["", "", "", " ", "\n"]),
)


def writable(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


@settings(max_examples=400, deadline=None)
@given(st.lists(OBJECTS.filter(writable), min_size=1, max_size=6))
@example(['{"a":"1"}', '{"a":"1","a":"2"}', '{"a":"1"}\n', ' {"a":"1"}', '{"a":"1"}x', '{"a":"1"},{"a":"2"}'])
@example(['{"a":1.5}', '{"a":-0}', '{"a":1e3}', '{"a":0.00001}', '{"a":12345678901234567.5}', '{"a":1.50}', '{"a":01}'])
def test_what_is_recognised_is_canonical(objects: list[str]) -> None:
    shapes = Shapes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(canon, "FEW", 0)
        left = set(shapes.others(pa.array(objects)))
        for row, text in enumerate(objects):
            assert row in left or canonical(text) == text
        assert shapes.canonical(objects) == [canonical(text) for text in objects]


@settings(max_examples=300, deadline=None)
@given(KEYS, st.data())
def test_a_pattern_matches_only_what_is_written_as_it_stands(keys: list[str], data: st.DataObject) -> None:
    written = [json.dumps(key, ensure_ascii=False) for key in keys]
    text = "{" + ",".join(f"{key}:{data.draw(TOKENS)}" for key in written) + "}"
    if writable(text) and pc.match_substring_regex(pa.array([text.encode()]), canon._pattern(keys))[0].as_py():
        assert canonical(text) == text


@pytest.mark.parametrize(
    "value", ['"Zoë \U0001f600"', '"\x7f"', '"\\n\\u001f\\""', "null", "-12", "0", "1.5", "-0.0001", "99.95"]
)
def test_common_values_are_recognised(value: str) -> None:
    texts = [f'{{"k{{}}ey":{value},"Ärger":"{number}"}}' for number in range(canon.FEW + 1)]
    assert len(Shapes().others(pa.array(texts))) == 0


OTHERWISE = [
    "-0", "1e3", "1.50", "1.", "01", "+1", "0.00001", "-0.00001", "1234567890123456.5", "0.1234567890123456789",
    r'"\/"', r'"\u00e9"', r'"\u000a"', r'"\u001F"', r'"\u007f"', r'"\ud83d\ude00"', r'"\ud800"', r'"\x"', '"a""b"', '"\x01"',
    "[ 1]", '{"b":1,"b":2}', '"1","key":"2"', '"1"}', '"1" ',
]  # fmt: skip


@pytest.mark.parametrize("value", OTHERWISE)
def test_what_would_be_written_otherwise_or_not_be_read_is_not_recognised(value: str) -> None:
    text = f'{{"key":{value}}}'
    assert not pc.match_substring_regex(pa.array([text.encode()]), canon._pattern(["key"]))[0].as_py()


def test_rows_of_several_shapes_are_recognised_by_the_first_that_fits() -> None:
    shapes = Shapes()
    texts = [json.dumps({"id": n, **({"b": None} if n % 2 else {})}, separators=(",", ":")) for n in range(2_000)]
    assert shapes.others(pa.array(texts)) == ()
    assert len(shapes._patterns) == 2


@pytest.mark.parametrize(("columns", "recognised"), [(100, True), (200, False)])
def test_wide_rows_are_recognised_unless_the_pattern_would_be_slower(columns: int, recognised: bool) -> None:
    wide = {f"a_column_with_a_name_{number}": str(number) for number in range(columns)}
    texts = [json.dumps({**wide, "a_column_with_a_name_0": n}, separators=(",", ":")) for n in range(canon.FEW + 1)]
    assert (len(Shapes().others(pa.array(texts))) == 0) is recognised
    assert Shapes().canonical(texts) == texts


def test_what_cannot_be_recognised_is_read_and_written() -> None:
    texts = [json.dumps({"id": [number, 1.50]}) for number in range(canon.FEW + 1)]
    assert Shapes().canonical(texts) == [canonical(text) for text in texts]
    deep = "[" * 100_000
    assert canonical(deep) == deep


@pytest.mark.parametrize("foreign", [None, "", "abc", "0" * 31, "0" * 31 + " ", "G" * 32, 7])
def test_what_others_wrote_into_the_column_is_no_identity_of_ours(foreign):
    known = Identities()
    known.add(["0" * 32])
    assert foreign not in known
    assert "0" * 32 in known
