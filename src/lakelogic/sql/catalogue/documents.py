"""JSON documents kept as text."""

from __future__ import annotations

from lakelogic.sql.arguments import Signatures
from lakelogic.sql.catalogue.row import Function

FUNCTIONS: tuple[Function, ...] = ()

SIGNATURES: Signatures = {}
