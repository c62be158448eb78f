"""URIs of objects: which texts are such, and their bucket and key."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lakelogic.errors import UnsupportedError, UsageError

# What each scheme is called where it is read. `s3a` is Hadoop's name for the same places.
_SCHEMES = {"s3": "s3", "s3a": "s3"}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class ObjectUri:
    """An object, or the beginning of the keys of several. The key is as the store has it: nothing in it is escaped."""

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    def beside(self, key: str) -> ObjectUri:
        """Another key of the bucket."""
        return ObjectUri(self.scheme, self.bucket, key)


def is_object(written: str) -> bool:
    """Whether a path is written as the URI of an object, in a store that we read."""
    return written.partition("://")[0].lower() in _SCHEMES and "://" in written


def object_uri(written: str) -> ObjectUri:
    """The bucket and key of a URI, or what is wrong with it. One place has one spelling: `s3a://` becomes `s3://`."""
    scheme, separator, rest = written.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        schemes = ", ".join(f"{name}://" for name in _SCHEMES)
        raise UnsupportedError(
            f"`{written}`: {scheme}:// is not available yet.", hint=f"Use a local path, or {schemes}."
        )
    bucket, _, key = rest.partition("/")
    if "@" in bucket or ":" in bucket:
        # Whatever stands there may be a secret, so it is not repeated.
        raise UsageError(
            f"A bucket's name is expected after {scheme}://, and there is a login, a host or a port.",
            hint=f"Write {scheme}://BUCKET/KEY; the endpoint is told by AWS_ENDPOINT_URL, keys by the environment.",
        )
    if not _BUCKET.fullmatch(bucket):
        why = "is missing" if not bucket else f"is `{bucket}`"
        lower = f"did you mean {scheme}://{bucket.lower()}/{key}? " if _BUCKET.fullmatch(bucket.lower()) else ""
        raise UsageError(
            f"`{written}`: the bucket {why}.",
            hint=f"{lower}A bucket is 3 to 63 lower-case letters, digits, dots and hyphens.",
        )
    if any(part in (".", "..") for part in key.split("/")):
        raise UsageError(f"`{written}`: keys know no `.` and `..`.", hint="Write the whole key.")
    if "//" in key or key.startswith("/"):
        raise UsageError(f"`{written}` has an empty part between two slashes.", hint="Write one slash.")
    return ObjectUri(_SCHEMES[scheme.lower()], bucket, key)
