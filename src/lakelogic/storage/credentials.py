"""Who we are at an object store: resolved once, by the chain that AWS's own tools use, and handed over as values.

Libraries that read objects have chains of their own that differ from one another; none of them is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from lakelogic.errors import CredentialError, MissingExtra

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


@dataclass(frozen=True, slots=True)
class StoreLogin:
    """How a bucket is reached. Nothing of it is shown: not in texts, plans or logs."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    region: str = "us-east-1"
    endpoint: str | None = None
    method: str = ""  # which link of the chain gave it

    @property
    def allows_http(self) -> bool:
        """Whether the endpoint was written without encryption."""
        return self.endpoint is not None and self.endpoint.startswith("http://")


def s3_login(environ: Mapping[str, str] | None = None) -> StoreLogin:
    """The login that AWS's own chain gives: environment, profiles, web identity, container, instance metadata.

    Where there is none, nothing is read: nobody is asked anonymously by accident.
    """
    environ = os.environ if environ is None else environ
    try:
        import botocore.session
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise MissingExtra("objects", "Reading s3://") from error
    try:
        return _login(botocore.session.Session(), environ)
    except BotoCoreError as error:  # a profile that is not there, a file that cannot be read, a role that is refused
        raise CredentialError(
            f"The login for S3 cannot be found out: {str(error).rstrip('.')}.",
            hint="Nothing was read. Look at AWS_PROFILE, ~/.aws and the role that it names.",
        ) from error


def _login(session: Any, environ: Mapping[str, str]) -> StoreLogin:
    credentials = session.get_credentials()
    if credentials is None:
        raise CredentialError(
            "There is no login for S3.",
            hint="Nothing was read. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a "
            "role is given.",
        )
    frozen = credentials.get_frozen_credentials()
    return StoreLogin(
        frozen.access_key,
        frozen.secret_key,
        frozen.token,
        getattr(credentials, "_expiry_time", None),
        session.get_config_variable("region") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        next((environ[name] for name in _ENDPOINTS if environ.get(name)), None) or _configured_endpoint(session),
        str(credentials.method),
    )


def _configured_endpoint(session: Any) -> str | None:
    has_profile = session.profile in session.available_profiles
    endpoint = session.get_scoped_config().get("endpoint_url") if has_profile else None
    return None if endpoint is None else str(endpoint)
