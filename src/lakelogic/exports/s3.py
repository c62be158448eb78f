"""Versions of a table as folders of objects in a bucket: multipart for large files, SHA-256 checked by the store.

Through `boto3`, which reads AWS_REGION and AWS_ENDPOINT_URL_S3 as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports import artefacts
from lakelogic.exports.base import Delivered, ExportFile, KeepOn, Shipment
from lakelogic.exports.settings import cleaned

PART_BYTES = 8 * 2**20
_OUTSIDE = frozenset({
    "AccessDenied", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "403",
})  # fmt: skip
_LATER = frozenset({"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "RequestTimeTooSkewed"})


def connect(given: Mapping[str, str]) -> Any:
    """A client of the real library."""
    import boto3
    from botocore.config import Config

    session = boto3.Session(
        aws_access_key_id=given.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=given.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=given.get("AWS_SESSION_TOKEN"),
        profile_name=given.get("AWS_PROFILE") if not given.get("AWS_ACCESS_KEY_ID") else None,
        region_name=given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION"),
    )
    endpoint = given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL")
    config = Config(retries={"mode": "standard", "max_attempts": 4}, connect_timeout=20, read_timeout=60)
    return session.client("s3", endpoint_url=endpoint, config=config)


class S3Export:
    """A prefix of a bucket."""

    format = "parquet"

    def __init__(
        self,
        given: Mapping[str, str],
        target: str,
        open_client: Callable[[Mapping[str, str]], Any] | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        named = target.startswith("s3://")
        bucket, _, prefix = target.removeprefix("s3://").partition("/") if named else ("", "", target)
        self._bucket, self._prefix = bucket or given["S3_ARTIFACT_BUCKET"], prefix.strip("/")
        self._given, self._open, self._part_bytes = given, open_client or connect, part_bytes
        self._client: Any = None

    def deliver(self, shipment: Shipment, keep_on: KeepOn) -> Delivered:
        """Put the version beside the others."""
        try:
            return artefacts.deliver(self, shipment, keep_on)
        except (ExportError, CredentialError):
            raise
        except Exception as error:  # noqa: BLE001 - the library's own errors, told in our words by their kind
            raise self._told(error) from None

    def close(self) -> None:
        """Give back connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def read(self, name: str) -> bytes | None:
        """What lies there."""
        client = self._opened()
        try:
            content: bytes = client.get_object(Bucket=self._bucket, Key=self._key(name))["Body"].read()
        except client.exceptions.NoSuchKey:
            return None
        return content

    def put(self, name: str, part: ExportFile) -> dict[str, Any]:
        """Upload a file, in pieces where it is large; the store refuses a piece whose checksum is another one."""
        from boto3.s3.transfer import TransferConfig

        client, key = self._opened(), self._key(name)
        pieces = TransferConfig(multipart_threshold=self._part_bytes, multipart_chunksize=self._part_bytes)
        extra = {"ChecksumAlgorithm": "SHA256", "Metadata": {"sha256": part.sha256, "rows": str(part.rows)}}
        client.upload_file(part.path, self._bucket, key, ExtraArgs=extra, Config=pieces)
        there = client.head_object(Bucket=self._bucket, Key=key, ChecksumMode="ENABLED")
        if there["ContentLength"] != part.size:
            raise ExportError(f"{part.size} bytes of {name} were sent and {there['ContentLength']} arrived.")
        return {"key": key, "etag": there.get("ETag", "").strip('"'), "checksum": there.get("ChecksumSHA256")}

    def write(self, name: str, content: bytes) -> None:
        """Put a small document."""
        self._opened().put_object(
            Bucket=self._bucket, Key=self._key(name), Body=content, ContentType="application/json",
            ChecksumAlgorithm="SHA256",
        )  # fmt: skip

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _opened(self) -> Any:
        if self._client is None:
            self._client = self._open(self._given)
        return self._client

    def _told(self, error: Exception) -> ExportError | CredentialError:
        # An upload in pieces wraps what the store said.
        cause = error.__context__ if type(error).__name__ == "S3UploadFailedError" and error.__context__ else error
        text, answer = cleaned(cause, self._given), getattr(cause, "response", None)
        response = answer if isinstance(answer, dict) else {}
        code = str(response.get("Error", {}).get("Code", ""))
        status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        kinds = {kind.__name__ for kind in type(cause).__mro__}
        if code in _OUTSIDE or kinds & {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"}:
            return CredentialError(
                f"The bucket `{self._bucket}` does not let us in: {text}",
                hint="Check the key and its secret; it needs s3:ListBucket, s3:GetObject and s3:PutObject there.",
            )
        if code in _LATER or status >= 500 or status == 429 or "HTTPClientError" in kinds or isinstance(cause, OSError):
            return ExportInterrupted(f"The bucket `{self._bucket}` does not answer now: {text}", hint="Send it again.")
        return ExportError(f"The bucket `{self._bucket}` refused it: {text}", hint="Read the message.")
