"""Objects of a store: listed, looked at, and read by ranges of one version of them.

An object is known by its key, its size, its time and its etag. A reader asks for the etag once, and every range that it
reads says that it is of that version: an object that is written anew meanwhile is an error, and never half of each.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from lakelogic import clock
from lakelogic.errors import CredentialError, MissingExtra, SourceError
from lakelogic.storage.credentials import StoreLogin, s3_login
from lakelogic.storage.uris import ObjectUri, object_uri

_ATTEMPTS: Final = 6
_READ_AHEAD: Final = 4 << 20
_MAGIC = re.compile(r"[*?\[]")
# What the library says of an answer; the key of an object, which it says too, may hold any figure or word.
_REFUSED = re.compile(r"status code: 40[13]\b|<Code>(AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch)</Code>")
_NO_BUCKET = "<Code>NoSuchBucket</Code>"
_EARLY: Final = timedelta(minutes=5)  # a login is asked for again so long before it ends


@dataclass(frozen=True, slots=True, order=True)
class ObjectInfo:
    """An object as it was when it was looked at."""

    path: str
    size: int
    modified: datetime
    etag: str

    @property
    def version_ns(self) -> int:
        """Its time in nanoseconds, as files have one: below the second, which stores do not tell, stands its etag."""
        return int(self.modified.timestamp()) * 1_000_000_000 + zlib.crc32(self.etag.encode()) % 1_000_000_000


class _Stores:
    """The stores of this process, each opened once, under the login of whoever runs it or one that was handed over."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[StoreLogin, Any]] = {}
        self._given: StoreLogin | None = None

    def adopt(self, login: StoreLogin) -> None:
        """Use this login: that of the process that handed work to this one."""
        if login != self._given:
            self._given = login
            self._opened.clear()

    def of(self, bucket: str) -> Any:
        opened = self._opened.get(bucket)
        if opened is not None and not _ends_soon(opened[0]):
            return opened[1]
        login = self._given or s3_login()
        store = _open(bucket, login)
        self._opened[bucket] = login, store
        return store

    def clear(self) -> None:
        """Forget all of it, such as when the environment has changed."""
        self._opened.clear()
        self._given = None


_stores = _Stores()
adopt_login = _stores.adopt
forget_logins = _stores.clear


def _ends_soon(login: StoreLogin) -> bool:
    return login.expires_at is not None and login.expires_at - clock.now() < _EARLY


def _open(bucket: str, login: StoreLogin) -> Any:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise MissingExtra("objects", "Reading s3://") from error
    config: Any = {
        "access_key_id": login.access_key_id,
        "secret_access_key": login.secret_access_key,
        "region": login.region,
    }
    if login.session_token:
        config["session_token"] = login.session_token
    if login.endpoint:
        config["endpoint"] = login.endpoint
    return S3Store(
        bucket,
        config=config,
        client_options={"allow_http": login.allows_http, "connect_timeout": timedelta(seconds=10)},
        retry_config={"max_retries": _ATTEMPTS, "retry_timeout": timedelta(seconds=60)},
    )


def look(written: str) -> ObjectInfo | None:
    """The object as it is now; None where there is none."""
    uri = object_uri(written)
    with _trouble(uri, quiet=True) as answer:
        import obstore

        answer["info"] = obstore.head(_stores.of(uri.bucket), uri.key)
    meta = answer.get("info")
    return None if meta is None else _info(uri, meta)


def folder(uri: ObjectUri) -> tuple[list[ObjectInfo], list[str]]:
    """What lies directly in a folder, and the keys of the folders in it."""
    import obstore

    with _trouble(uri):
        listing = obstore.list_with_delimiter(_stores.of(uri.bucket), uri.key.rstrip("/") or None)
    return [_info(uri, meta) for meta in listing["objects"]], [str(key) for key in listing["common_prefixes"]]


def below(uri: ObjectUri) -> Iterator[ObjectInfo]:
    """All objects below a folder, as they are asked for."""
    import obstore

    with _trouble(uri):
        for metas in obstore.list(_stores.of(uri.bucket), uri.key.rstrip("/") or None, chunk_size=1_000):
            for meta in metas:
                yield _info(uri, meta)


def matching(uri: ObjectUri, pattern: str) -> Iterator[ObjectInfo]:
    """The objects below a folder whose keys match a pattern; `*` and `?` stay within a part, `**` is any number.

    Only folders that can hold some are listed.
    """
    first, _, rest = pattern.partition("/")
    if first == "**":
        keep = _pattern(pattern)
        yield from (info for info in below(uri) if keep.fullmatch(_inside(uri, info.path)))
        return
    if rest and not _MAGIC.search(first):
        yield from matching(uri.beside(_joined(uri.key, first)), rest)
        return
    (objects, folders), fits = folder(uri), re.compile(_part(first))
    if not rest:
        yield from (info for info in objects if fits.fullmatch(info.path.rpartition("/")[2]))
        return
    for key in folders:
        if fits.fullmatch(key.rstrip("/").rpartition("/")[2]):
            yield from matching(uri.beside(key), rest)


def open_object(written: str) -> io.RawIOBase:
    """The bytes of an object of one version, read as they are asked for."""
    return _ObjectBytes(written)


def etag_of(written: str) -> str:
    """What tells the content of an object."""
    info = look(written)
    if info is None:
        raise SourceError(f"{written} is gone.", hint="Nothing was published; run again.")
    return f"etag {info.etag}"


class _ObjectBytes(io.RawIOBase):
    """Ranges of one version of an object; what is read in order is fetched in pieces of some megabytes."""

    def __init__(self, written: str) -> None:
        super().__init__()
        info = look(written)
        if info is None:
            raise FileNotFoundError(2, "No such object", written)
        self._uri, self._info = object_uri(written), info
        self._at, self._begin, self._held = 0, 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._info.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """How many bytes there are."""
        return self._info.size

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something."""
        wanted = memoryview(buffer).cast("B")
        end = min(self._at + len(wanted), self._info.size)
        if end <= self._at:
            return 0
        if not self._begin <= self._at < self._begin + len(self._held):
            in_order = self._at == self._begin + len(self._held)
            length = max(end - self._at, _READ_AHEAD if in_order else 0)
            self._begin, self._held = self._at, self._fetch(self._at, min(self._at + length, self._info.size))
        start = self._at - self._begin
        piece = self._held[start : start + end - self._at]
        wanted[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _fetch(self, start: int, end: int) -> bytes:
        import obstore

        with _trouble(self._uri):
            answer = obstore.get(
                _stores.of(self._uri.bucket),
                self._uri.key,
                options={"range": (start, end), "if_match": self._info.etag or None},
            )
            return bytes(answer.bytes())
        raise AssertionError("trouble raises")


def _info(uri: ObjectUri, meta: Mapping[str, Any]) -> ObjectInfo:
    path = str(uri.beside(str(meta["path"])))
    return ObjectInfo(path, int(meta["size"]), meta["last_modified"], str(meta["e_tag"] or ""))


def _joined(key: str, part: str) -> str:
    return f"{key.rstrip('/')}/{part}" if key else part


def _inside(uri: ObjectUri, path: str) -> str:
    """The key of an object as seen from a folder."""
    root = str(uri).rstrip("/") + "/"
    return path.removeprefix(root)


def _pattern(pattern: str) -> re.Pattern[str]:
    """A pattern with `**` as a regular expression."""
    parts = ["(?:[^/]+/)*" if part == "**" else _part(part) + "/" for part in pattern.split("/")]
    return re.compile("".join(parts).removesuffix("/"))


def _part(pattern: str) -> str:
    """One part of a key: `*`, `?` and `[…]` as in names of files."""
    text, at = [], 0
    while at < len(pattern):
        sign, at = pattern[at], at + 1
        if sign == "*":
            text.append("[^/]*")
        elif sign == "?":
            text.append("[^/]")
        elif sign == "[" and (end := pattern.find("]", at + 1)) > 0:
            inside = pattern[at:end].replace("\\", "\\\\")
            text.append(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
            at = end + 1
        else:
            text.append(re.escape(sign))
    return "".join(text)


@contextmanager
def _trouble(uri: ObjectUri, *, quiet: bool = False) -> Iterator[dict[str, Any]]:
    """The store's refusals in our words: which place, what, what to do. `quiet`: nothing there is no error."""
    answer: dict[str, Any] = {}
    try:
        from obstore import exceptions
    except ImportError as error:
        raise MissingExtra("objects", "Reading s3://") from error
    try:
        yield answer
    except (exceptions.NotFoundError, FileNotFoundError) as error:
        if _NO_BUCKET in str(error):
            raise _no_bucket(uri) from error
        if not quiet:
            raise SourceError(f"There is no {uri}.", hint="Nothing was published; run again.") from error
    except exceptions.PreconditionError as error:
        raise SourceError(
            f"{uri} was written anew while it was read.", hint="Nothing was published; run again."
        ) from error
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError) as error:
        raise _refused(uri) from error
    except (exceptions.BaseError, OSError) as error:
        text = str(error)
        if _NO_BUCKET in text:
            raise _no_bucket(uri) from error
        if _REFUSED.search(text):
            raise _refused(uri) from error
        raise SourceError(f"{uri} cannot be read: {_first_line(text)}.", hint="Trying again later may do.") from error


def _no_bucket(uri: ObjectUri) -> SourceError:
    return SourceError(
        f"There is no bucket `{uri.bucket}` (or not in this region).",
        hint="Check its name, AWS_REGION and AWS_ENDPOINT_URL.",
    )


def _refused(uri: ObjectUri) -> CredentialError:
    return CredentialError(
        f"{uri}: the store refuses this login, or its permission to list and read there.",
        hint="Nothing was read. Allow s3:ListBucket and s3:GetObject there, or choose another login: "
        "AWS_ACCESS_KEY_ID, AWS_PROFILE, a role.",
    )


def _first_line(text: str) -> str:
    """What a library says, without its own picture of the request."""
    return text.strip().splitlines()[0].split("\n")[0][:200].rstrip(".") if text.strip() else "no reason was given"
