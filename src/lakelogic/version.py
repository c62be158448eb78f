"""The version of LakeLogic, as the package says and the ledger records."""

VERSION = "0.1.0"
