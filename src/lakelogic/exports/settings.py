"""What an export needs to be known here: variables of the environment, or a secret that holds the same as JSON.

Without them an export is *not configured*: nothing is sent, and nothing fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from lakelogic.contract.governance import Export
from lakelogic.errors import CredentialError

# Export → the variables without which it is off; one of several ways is enough.
WAYS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "snowflake": (
        ("SNOWFLAKE_ACCOUNT", "SNOWFLAKE_USER", "SNOWFLAKE_PASSWORD"),
        ("SNOWFLAKE_ACCOUNT", "SNOWFLAKE_USER", "SNOWFLAKE_PRIVATE_KEY_PATH"),
    ),
    "databricks": (
        ("DATABRICKS_HOST", "DATABRICKS_TOKEN"),
        ("DATABRICKS_HOST", "DATABRICKS_CLIENT_ID", "DATABRICKS_CLIENT_SECRET"),
        ("DATABRICKS_HOST", "DATABRICKS_CONFIG_PROFILE"),
    ),
    "s3": (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "S3_ARTIFACT_BUCKET"), ("AWS_PROFILE", "S3_ARTIFACT_BUCKET")),
    "files": ((),),
}
# Values of these never appear in an error, a log or a report.
SECRETS: Final = (
    "SNOWFLAKE_PASSWORD", "SNOWFLAKE_PRIVATE_KEY_PASSPHRASE", "DATABRICKS_TOKEN", "DATABRICKS_CLIENT_SECRET",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID",
)  # fmt: skip
_BUCKET = "S3_ARTIFACT_BUCKET"


def missing(kind: str, given: Mapping[str, str], target: str = "") -> list[str]:
    """The variables that the nearest way still lacks; none where the export is configured."""
    needless = {_BUCKET} if target.startswith("s3://") else set()
    ways = [[name for name in way if name not in needless] for way in WAYS[kind]]
    lacking = [[name for name in way if not given.get(name)] for way in ways]
    # The way of which most is there; of several, the first.
    nearest = max(range(len(ways)), key=lambda at: (not lacking[at], len(ways[at]) - len(lacking[at])))
    return lacking[nearest]


def settings_of(export: Export, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of an export: those of its `connection`, or the environment. A reference that leads nowhere is none.

    The secret is a JSON object with the names of the variables: `{"SNOWFLAKE_ACCOUNT": …}`.
    """
    reference = export.connection
    if reference is None:
        return environ
    if reference.provider != "env":
        raise CredentialError(
            f"The connection of the export `{export.called}` is no reference to a variable.",
            hint="Write `connection: env:NAME`; the variable holds a JSON object of settings.",
        )
    text = environ.get(reference.name)
    if not text:
        return {}
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    if not isinstance(settings, dict) or not all(isinstance(value, str) for value in settings.values()):
        raise CredentialError(
            f"What {reference} holds is not a JSON object of texts.",
            hint='Write {"SNOWFLAKE_ACCOUNT": "…", …}, with the names of the environment variables.',
        )
    return settings


def cleaned(text: object, given: Mapping[str, str]) -> str:
    """What a library says, in one line and without any of our secrets."""
    said = " ".join(str(text).split())
    for name in SECRETS:
        if (value := given.get(name)) and len(value) > 3:
            said = said.replace(value, "***")
    return said[:1_000] or "no reason was given"
