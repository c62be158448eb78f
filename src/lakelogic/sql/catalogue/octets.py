"""Bytes of text: hashes, and text forms of bytes."""

from __future__ import annotations

from lakelogic.sql.arguments import Args, Builder, Signatures, constant, constant_text, refuse
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import number, text
from lakelogic.sql.expressions import Call, Expression, Literal, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import BIGINT, BINARY, INT, STRING

_OF_BYTES = "Lower-case hex of a hash of the UTF-8 bytes of a text, or of bytes."
FUNCTIONS = (
    scalar("md5", "hashes", "md5(s)", _OF_BYTES, ("md5('a')", "0cc175b9c0f1b6a831c399e269772661"), ("md5(unhex('61'))", "0cc175b9c0f1b6a831c399e269772661")),
    scalar("sha1", "hashes", "sha1(s); sha(s)", _OF_BYTES, ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"), ("sha(NULL)", None)),
    scalar("sha224", "hashes", "sha2(s, 224)", _OF_BYTES, ("sha2('abc', 224)", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"), ("sha2(NULL, 224)", None)),
    scalar("sha256", "hashes", "sha2(s, 256); sha2(s, 0); sha256(s)", _OF_BYTES,
       ("sha2('a', 256)", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"), ("sha2('', 0)", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")),
    scalar("sha384", "hashes", "sha2(s, 384)", _OF_BYTES,
       ("sha2('abc', 384)", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"), ("sha2(NULL, 384)", None)),
    scalar("sha512", "hashes", "sha2(s, 512)", _OF_BYTES,
       ("sha2('abc', 512)", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
       ("sha2(NULL, 512)", None)),
    scalar("crc32", "hashes", "crc32(s)", "The checksum CRC-32 of the bytes, as bigint.", ("crc32('abc')", 891568578), ("crc32('')", 0)),
    scalar("octet_length", "bytes", "octet_length(s); length(bytes)", "How many bytes: those of UTF-8 for a text, as int.", ("octet_length('aé😀')", 7), ("length(unhex('6100'))", 2)),
    composed("bit_length", "bytes", "bit_length(s)", "Eight times the bytes, as int.", ("bit_length('é')", 16), ("bit_length('')", 0)),
    scalar("hex", "bytes", "hex(s)", "Upper-case hex of the UTF-8 bytes of a text, or of bytes.", ("hex('é')", "C3A9"), ("hex('')", "")),
    scalar("hex_number", "bytes", "hex(n)", "Upper-case hex of a whole number, without leading zeros; a negative one as 64 bits.", ("hex(255)", "FF"), ("hex(-1)", "FFFFFFFFFFFFFFFF"), ("hex(0)", "0")),
    scalar("unhex", "bytes", "unhex(s)", "The bytes that hex digits stand for, a zero before the first if their number is odd; NULL for anything else.", ("unhex('C3a9')", b"\xc3\xa9"), ("unhex('F')", b"\x0f"), ("unhex('xy')", None), ("unhex('')", b"")),
    scalar("bin", "bytes", "bin(n)", "Binary digits of a whole number, without leading zeros; a negative one as 64 bits.", ("bin(5)", "101"), ("bin(0)", "0"), ("bin(-1)", "1" * 64)),
    scalar("base64", "bytes", "base64(s)", "Base64 of the UTF-8 bytes of a text, or of bytes, on one line.", ("base64('héllo')", "aMOpbGxv"), ("base64('')", "")),
    scalar("unbase64", "bytes", "unbase64(s)", "The bytes of base64 text with its padding; NULL for anything else.", ("unbase64('YWI=')", b"ab"), ("unbase64('YWI')", None), ("unbase64('Y W')", None)),
    composed("encode", "bytes", "encode(s, 'UTF-8')", "The bytes of a text; UTF-8 only.", ("encode('é', 'UTF-8')", b"\xc3\xa9"), ("encode(NULL, 'utf-8')", None)),
    composed("decode_bytes", "bytes", "decode(bytes, 'UTF-8')", "The text of bytes; UTF-8 only, NULL when they are not.", ("decode(unhex('C3A9'), 'UTF-8')", "é"), ("decode(unhex('FF'), 'UTF-8')", None)),
    scalar("url_encode", "bytes", "url_encode(s)", "As in a form: letters, digits and `.-*_` stay, a space becomes `+`, other bytes `%XX`.", ("url_encode('a b~é')", "a+b%7E%C3%A9"), ("url_encode('x.-*_')", "x.-*_")),
    scalar("url_decode", "bytes", "url_decode(s); try_url_decode(s)", "The text behind url_encode; NULL when it is broken or no UTF-8.", ("url_decode('a+b%7E%C3%A9')", "a b~é"), ("url_decode('%zz')", None), ("url_decode('%FF')", None)),
)  # fmt: skip


def octets(value: Expression) -> Expression:
    """Bytes as they are, anything else as text."""
    return value if value.type.kind == "binary" else text(value)


def _of_bytes(name: str) -> Builder:
    return lambda a: Call(name, (octets(a[0]),), STRING)


def _sha2(a: Args) -> Expression:
    bits = constant(a[1], "sha2's length")
    if bits not in (0, 224, 256, 384, 512):
        raise refuse(BAD_ARGUMENTS, f"sha2 has no length {bits}.", "write sha2(x, 256), or 224, 384, 512")
    return Call(f"sha{bits or 256}", (octets(a[0]),), STRING)


def _hex(a: Args) -> Expression:
    value = a[0]
    if value.type.is_integer:
        return Call("hex_number", (convert(value, BIGINT),), STRING)
    if value.type.is_number:
        raise refuse(BAD_TYPES, f"hex takes whole numbers, text or bytes, not {value.type}.")
    return Call("hex", (octets(value),), STRING)


def _bin(a: Args) -> Expression:
    return Call("bin", (convert(number(a[0], "bin"), BIGINT),), STRING)


def charset(value: Expression) -> None:
    """Refuse every charset but UTF-8."""
    name = str(constant_text(value, "the charset").value)
    if name.upper().replace("-", "") != "UTF8":
        raise refuse(BAD_ARGUMENTS, f"The charset `{name}` is not portable.", "UTF-8 is")


def _encode(a: Args) -> Expression:
    charset(a[1])
    return convert(text(a[0]), BINARY)


def _octet_length(a: Args) -> Expression:
    return Call("octet_length", (octets(a[0]),), INT)


def _bit_length(a: Args) -> Expression:
    bits = Call("multiply", (convert(_octet_length(a), BIGINT), Literal(8, BIGINT)), BIGINT)
    return convert(bits, INT)


SIGNATURES: Signatures = {
    "md5": (1, 1, _of_bytes("md5")),
    "sha1": (1, 1, _of_bytes("sha1")),
    "sha": (1, 1, _of_bytes("sha1")),
    "sha256": (1, 1, _of_bytes("sha256")),
    "sha2": (2, 2, _sha2),
    "crc32": (1, 1, lambda a: Call("crc32", (octets(a[0]),), BIGINT)),
    "octet_length": (1, 1, _octet_length),
    "bit_length": (1, 1, _bit_length),
    "hex": (1, 1, _hex),
    "unhex": (1, 1, lambda a: Call("unhex", (text(a[0]),), BINARY)),
    "bin": (1, 1, _bin),
    "base64": (1, 1, _of_bytes("base64")),
    "unbase64": (1, 1, lambda a: Call("unbase64", (text(a[0]),), BINARY)),
    "encode": (2, 2, _encode),
    "url_encode": (1, 1, lambda a: Call("url_encode", (text(a[0]),), STRING)),
    "url_decode": (1, 1, lambda a: Call("url_decode", (text(a[0]),), STRING)),
    "try_url_decode": (1, 1, lambda a: Call("url_decode", (text(a[0]),), STRING)),
}
