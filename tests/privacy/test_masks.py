"""What every mask makes of a value, and that encrypted values come back."""

import base64
import hashlib
import hmac
import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakelogic.errors import CredentialError, EngineError
from lakelogic.plan.nodes import Mask
from lakelogic.privacy import masks as masks_module
from lakelogic.privacy.keys import Keys, key_id
from lakelogic.privacy.masks import apply_masks, mask_array, reveal_array, reveal_text
from lakelogic.privacy.partial import check_format

OLD, NEW = bytes(range(32)), bytes(range(100, 132))
KEYS = Keys(encryption=((key_id(NEW), NEW), (key_id(OLD), OLD)), salt=b"salt")
OLD_KEYS = Keys(encryption=((key_id(OLD), OLD),))
STRANGE_KEYS = Keys(encryption=((key_id(b"x" * 32), b"x" * 32),))

# Made once with the ciphers alone, outside this code.
GCM_VECTOR = "2666b75ba09da376fd2df2a5d2861507d0b8a0c9df03e8860aa4517d227710"
SIV_VECTOR = "1968fd6fc2a2e525c413acdf4ba16d1c06a1a003426971e54c6fd4da34ba8f"

texts = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])))


def masked(strategy, values, keys=KEYS, format_=None, **more):
    result = mask_array(pa.array(values, pa.string()), Mask("email", strategy, format_), keys, **more)
    assert result.type == pa.string()
    return result.to_pylist()


def test_nullify_leaves_nothing():
    assert masked("nullify", ["a", None, ""]) == [None, None, None]


def test_redact_says_only_that_there_was_a_value():
    assert masked("redact", ["a", None, ""]) == ["***", None, "***"]


def test_hash_is_the_known_hmac_in_lower_case_hex():
    # RFC 4231, test case 2.
    keys = Keys(salt=b"Jefe")
    assert masked("hash", ["what do ya want for nothing?"], keys) == [
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ]


@pytest.mark.parametrize("salt", [b"s", b"x" * 64, b"y" * 65, b"z" * 200])
def test_hash_is_hmac_for_every_length_of_salt(salt):
    values = ["", "ada@example.com", "Grüße 🌍"]
    assert masked("hash", values, Keys(salt=salt)) == [
        hmac.new(salt, value.encode(), hashlib.sha256).hexdigest() for value in values
    ]


def test_encrypt_is_the_known_vector_at_a_fixed_nonce():
    # AES-256-GCM of "ada@example.com", key 00…1f, nonce 000102…0b, no additional data.
    keys = Keys(encryption=((key_id(OLD), OLD),))
    value = masked("encrypt", ["ada@example.com"], keys, nonces=lambda n: bytes(range(n)))[0]
    sealed = base64.b64decode(value.removeprefix("enc:"), validate=True)
    assert sealed[:5].hex() == "01630dcd29"
    assert sealed[5:17] == bytes(range(12))
    assert sealed[17:].hex() == GCM_VECTOR
    assert reveal_text(value, keys) == "ada@example.com"


def test_encrypt_deterministic_is_the_known_vector():
    value = masked("encrypt_deterministic", ["ada@example.com"], OLD_KEYS)[0]
    sealed = base64.b64decode(value.removeprefix("enc:"), validate=True)
    assert sealed[:5].hex() == "02630dcd29"
    assert sealed[5:].hex() == SIV_VECTOR


def test_encrypt_takes_a_new_nonce_for_every_value():
    values = masked("encrypt", ["same"] * 50)
    assert len(set(values)) == 50
    assert {reveal_text(value, KEYS) for value in values} == {"same"}


def test_nonces_do_not_repeat_over_slices(monkeypatch):
    monkeypatch.setattr(masks_module, "SLICE", 7)
    values = masked("encrypt", ["same", None] * 20)
    assert values[1::2] == [None] * 20
    assert len(set(values[::2])) == 20


@given(texts, st.sampled_from(["encrypt", "encrypt_deterministic"]))
def test_encrypted_text_comes_back_whatever_it_is(values, strategy):
    hidden = masked(strategy, values)
    assert [value is None for value in hidden] == [value is None for value in values]
    assert all(value.startswith("enc:") for value in hidden if value is not None)
    assert reveal_array(pa.array(hidden, pa.string()), KEYS).to_pylist() == values


@given(texts)
def test_deterministic_encryption_is_equal_exactly_for_equal_texts(values):
    hidden = masked("encrypt_deterministic", values)
    assert hidden == masked("encrypt_deterministic", values)
    assert len(set(hidden)) == len(set(values))


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["encrypt", "encrypt_deterministic"]))
def test_a_value_stays_hidden_from_another_key(value, strategy):
    hidden = masked(strategy, [value])[0]
    assert reveal_text(hidden, STRANGE_KEYS) == hidden
    assert reveal_text(hidden, Keys()) == hidden


def test_another_key_under_the_same_id_does_not_open_a_value():
    hidden = masked("encrypt", ["ada"], OLD_KEYS)[0]
    liar = Keys(encryption=((key_id(OLD), NEW),))
    assert reveal_text(hidden, liar) == hidden
    both = Keys(encryption=((key_id(OLD), NEW), (key_id(OLD), OLD)))
    assert reveal_text(hidden, both) == "ada"


@given(st.data(), st.sampled_from(["encrypt", "encrypt_deterministic"]))
def test_a_tampered_value_is_left_as_it_is(data, strategy):
    sealed = bytearray(base64.b64decode(masked(strategy, ["ada@example.com"])[0][4:]))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    tampered = "enc:" + base64.b64encode(bytes(sealed)).decode()
    assert reveal_text(tampered, KEYS) == tampered


@given(st.integers(0, 60))
def test_a_cut_value_is_left_as_it_is(length):
    cut = masked("encrypt", ["ada@example.com"])[0][:length]
    assert reveal_text(cut, KEYS) == cut


@pytest.mark.parametrize("text", ["", "enc:", "enc:AA==", "enc:!!", "enc:é", "ada", "ENC:AAAA"])
def test_text_that_is_not_encrypted_is_left_as_it_is(text):
    assert reveal_text(text, KEYS) == text


def test_values_of_an_old_key_still_open_after_rotation_and_new_ones_use_the_first_key():
    old, new = masked("encrypt", ["ada"], OLD_KEYS)[0], masked("encrypt", ["ada"], KEYS)[0]
    assert base64.b64decode(new[4:])[1:5].hex() == key_id(NEW)
    assert reveal_array(pa.array([old, new, None, "clear"]), KEYS).to_pylist() == ["ada", "ada", None, "clear"]
    assert reveal_array(pa.array([old, new]), OLD_KEYS).to_pylist() == ["ada", new]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("john@example.com", "j***@example.com"),
        ("j@example.com", "j***@example.com"),
        ("4111111111111234", "***1234"),
        ("12345678", "***5678"),
        ("1234567", "***"),
        ("", "***"),
        ("not_an_email", "***mail"),
        ("two@at@example.com", "***.com"),
        ("a@localhost", "***host"),
        ("straße-münchen", "***chen"),
    ],
)
def test_partial_without_a_format(value, shown):
    assert masked("partial", [value, None]) == [shown, None]


@pytest.mark.parametrize(
    ("format_", "value", "shown"),
    [
        ("{first2}***", "abcdef", "ab***"),
        ("{first2}***", "ab", "***"),
        ("XX-{last4}", "123-45-6789", "XX-6789"),
        ("{first2}..{last2}", "abcde", "ab..de"),
        ("{first2}..{last2}", "abcd", "***"),
        ("{first1}@{domain}", "john@example.com", "j@example.com"),
        ("{last2}@{domain}", "john@example.com", "hn@example.com"),
        ("{first1}@{domain}", "no domain", "***"),
        ("*@{domain}", "j@example.com", "*@example.com"),
        (r"\1{first1}\g<0>", "abc", r"\1a\g<0>"),
    ],
)
def test_partial_with_a_format_never_shows_the_whole_text(format_, value, shown):
    assert check_format(format_) is None
    assert masked("partial", [value], format_=format_) == [shown]


@pytest.mark.parametrize(
    ("format_", "complaint"),
    [
        ("{first0}", "`{first0}` is not a placeholder"),
        ("{first10}", "`{first10}` is not a placeholder"),
        ("{Last4}", "`{Last4}` is not a placeholder"),
        ("{}", "`{}` is not a placeholder"),
        ("{first1", "without its partner"),
        ("last4}", "without its partner"),
        ("XXX", "has no placeholder"),
        ("", "has no placeholder"),
        ("{last1}{last2}", "twice"),
        ("{domain}{domain}", "twice"),
    ],
)
def test_a_format_that_means_nothing_is_refused(format_, complaint):
    assert complaint in check_format(format_)
    with pytest.raises(EngineError, match="email"):
        masked("partial", ["abc"], format_=format_)


@pytest.mark.parametrize("strategy", ["Hash", "tokenize", ""])
def test_an_unknown_mask_never_lets_clear_text_through(strategy):
    with pytest.raises(EngineError, match="is not a mask"):
        masked(strategy, ["clear"])


@pytest.mark.parametrize("strategy", ["hash", "encrypt", "encrypt_deterministic"])
def test_a_keyed_mask_without_its_secret_makes_nothing(strategy):
    with pytest.raises(CredentialError, match="LAKELOGIC_PII"):
        masked(strategy, ["clear"], Keys())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("strategy", ["nullify", "redact", "hash", "partial", "encrypt", "encrypt_deterministic"])
def test_the_text_type_stays_and_chunks_and_dictionaries_are_taken(strategy, kind):
    mask = Mask("email", strategy)
    chunked = pa.chunked_array([pa.array(["aaaaaaaaaa"], kind), pa.array([None, "b"], kind), pa.array([], kind)], kind)
    result = mask_array(chunked, mask, KEYS)
    assert isinstance(result, pa.Array)
    assert result.type == kind
    assert result[1].as_py() is None
    assert len(result) == 3
    if kind == pa.string():
        encoded = chunked.combine_chunks().dictionary_encode()
        assert mask_array(encoded, mask, KEYS).type == kind
        assert len(mask_array(encoded, mask, KEYS)) == 3
    assert mask_array(pa.array([], kind), mask, KEYS).to_pylist() == []
    assert mask_array(pa.nulls(2), mask, KEYS).to_pylist() == [None, None]


def test_a_column_that_is_not_text_is_a_defect():
    with pytest.raises(EngineError, match="`email` reached its mask as int64"):
        mask_array(pa.array([1]), Mask("email", "hash"), KEYS)


def test_masks_replace_their_columns_and_keep_the_rest_of_the_batch():
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("email", pa.string(), nullable=False), ("name", "string")])
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1, 2]), pa.array(["a@x.io", "b@x.io"]), pa.array(["Ada", None])], schema=schema
    )
    result = apply_masks(batch, [Mask("email", "nullify"), Mask("name", "redact")], KEYS)
    assert result.to_pydict() == {"id": [1, 2], "email": [None, None], "name": ["***", None]}
    assert result.schema.field("email").nullable


def test_a_mask_whose_column_is_missing_is_a_defect_and_not_ignored():
    batch = pa.RecordBatch.from_pydict({"Email": ["a@x.io"]})
    with pytest.raises(EngineError, match="`email` is to be masked"):
        apply_masks(batch, [Mask("email", "redact")], KEYS)


def test_keys_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(KEYS)) == KEYS
