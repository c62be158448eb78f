"""Where the secrets of masks come from, and what is said when they are missing."""

import base64

import pytest

from lakelogic.errors import CredentialError
from lakelogic.privacy.keys import Keys, key_id, load_keys, new_key, new_salt

FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))
FIRST_BASE64 = base64.b64encode(FIRST).decode()


@pytest.mark.parametrize(
    "written",
    [FIRST_BASE64, FIRST_BASE64.rstrip("="), FIRST.hex(), FIRST.hex().upper(), f"  {FIRST.hex()}\n"],
)
def test_a_key_is_read_from_base64_and_from_hex(written):
    assert load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": written}).encryption == ((key_id(FIRST), FIRST),)


def test_url_safe_base64_is_the_same_key():
    key = b"\xff\xfe\xfd" + bytes(range(27)) + b"\xfb\xff"
    written = base64.urlsafe_b64encode(key).decode()
    assert "_" in written
    assert load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": written}).encryption == ((key_id(key), key),)


def test_several_keys_keep_their_order_and_a_repeated_one_counts_once():
    written = f"{SECOND.hex()}, {FIRST_BASE64},{SECOND.hex()}"
    assert load_keys({"encrypt_deterministic"}, {"LAKELOGIC_PII_KEY": written}).encryption == (
        (key_id(SECOND), SECOND),
        (key_id(FIRST), FIRST),
    )


def test_the_key_id_is_the_beginning_of_the_digest_of_the_key():
    # sha256(00 01 … 1f) = 630dcd29…
    assert key_id(FIRST) == "630dcd29"


def test_a_new_key_can_be_used_and_is_never_the_same():
    keys = {new_key() for _ in range(20)}
    assert len(keys) == 20
    assert all(load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": key}).encryption for key in keys)


@pytest.mark.parametrize("strategy", ["encrypt", "encrypt_deterministic"])
@pytest.mark.parametrize("environ", [{}, {"LAKELOGIC_PII_KEY": ""}, {"LAKELOGIC_PII_KEY": "  "}])
def test_a_missing_key_says_the_variable_the_form_and_how_to_make_one(strategy, environ):
    with pytest.raises(CredentialError) as caught:
        load_keys({strategy}, environ)
    text = str(caught.value)
    assert caught.value.exit_code == 2
    assert strategy in text
    assert "LAKELOGIC_PII_KEY" in text
    assert "32 bytes in base64 or hex" in text
    assert "lakelogic keys new" in text


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("not a key!", "neither base64 nor hex"),
        (FIRST.hex()[:-2], "holds 31 bytes, not 32"),
        (base64.b64encode(FIRST + b"x").decode(), "holds 33 bytes, not 32"),
        (f"{FIRST.hex()},", "Key 2 of 2 in LAKELOGIC_PII_KEY is empty"),
        (f"{FIRST.hex()},{SECOND.hex()}zz", "Key 2 of 2 in LAKELOGIC_PII_KEY"),
    ],
)
def test_a_malformed_key_is_refused_and_never_shown(written, complaint):
    with pytest.raises(CredentialError, match=complaint) as caught:
        load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": written})
    chain = f"{caught.value} {caught.value!r} {caught.value.as_dict()} {caught.value.__cause__}"
    for part in written.split(","):
        assert not part or part not in chain


def test_hash_needs_the_salt_and_no_key():
    with pytest.raises(CredentialError, match="LAKELOGIC_PII_SALT"):
        load_keys({"hash"}, {"LAKELOGIC_PII_KEY": FIRST.hex()})
    assert load_keys({"hash"}, {"LAKELOGIC_PII_SALT": "gewürz, a text of many words for tests"}) == Keys(
        salt="gewürz, a text of many words for tests".encode()
    )


@pytest.mark.parametrize("strategies", [set(), {"nullify", "redact", "partial"}])
def test_masks_without_secrets_ask_for_none_and_are_not_stopped_by_a_malformed_one(strategies):
    assert load_keys(strategies, {}) == Keys()
    assert load_keys(strategies, {"LAKELOGIC_PII_KEY": "junk"}) == Keys()


def test_a_key_that_no_mask_needs_is_taken_along_for_the_landed_rows_of_quarantine():
    assert load_keys({"redact"}, {"LAKELOGIC_PII_KEY": FIRST.hex()}).encryption == ((key_id(FIRST), FIRST),)


def test_secrets_are_not_in_the_repr():
    keys = load_keys(
        {"encrypt", "hash"}, {"LAKELOGIC_PII_KEY": FIRST.hex(), "LAKELOGIC_PII_SALT": "a text of many words for tests"}
    )
    assert repr(keys) == "Keys()"


@pytest.mark.parametrize(
    ("salt", "why"),
    [
        ("salt", "shorter than 16"),
        ("0123456789abcde", "shorter than 16"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "repeats itself"),
        ("abcabcabcabcabcabcabca", "repeats itself"),
        ("change-me-change-this!", "is an example"),
        ("my-secret-salt-2026", "is an example"),
        ("aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb", "too few different characters"),
    ],
)
def test_a_salt_that_can_be_guessed_is_refused_and_never_shown(salt, why):
    with pytest.raises(CredentialError, match=why) as caught:
        load_keys({"hash"}, {"LAKELOGIC_PII_SALT": salt})
    assert salt not in str(caught.value).replace("--salt", "")
    assert "lakelogic keys new --salt" in str(caught.value)


@pytest.mark.parametrize("key", [bytes(32), b"ab" * 16, b"abcdefghijklmnop" * 2, bytes([1, 2, 3, 4]) + bytes([5]) * 28])
def test_a_key_that_can_be_guessed_does_not_encrypt_but_decrypts_what_it_once_encrypted(key):
    with pytest.raises(CredentialError, match=r"repeats itself|too few different bytes"):
        load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": key.hex()})
    rotated = load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": f"{FIRST.hex()},{key.hex()}"})
    assert [found for _, found in rotated.encryption] == [FIRST, key]


def test_what_is_made_here_is_strong_enough():
    for _ in range(50):
        found = load_keys({"encrypt", "hash"}, {"LAKELOGIC_PII_KEY": new_key(), "LAKELOGIC_PII_SALT": new_salt()})
        assert found.salt
