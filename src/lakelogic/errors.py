"""Every exception LakeLogic raises, and the diagnostics a contract error carries.

    LakeLogicError                      code, message, hint, where, retry
    ├── ContractError                   a list of Diagnostic, never only the first
    │   ├── LoadError                   the YAML cannot be read into the models
    │   ├── InheritError                layers around the contract do not fit together
    │   └── CompileError                the document is well formed, its meaning is not
    ├── UsageError                      the command or the call was given something it cannot take
    │   ├── NotFound                    what was named is not there
    │   └── Refused                     whoever asks may not do this
    ├── UnsupportedError                this engine or format cannot; lists what and where asked
    ├── MissingExtra                    an optional package is needed; says the exact pip line
    ├── SourceError        (later)      the source cannot be reached or read
    │   └── CredentialError (never)     a key or secret is missing or wrong
    ├── EngineError                     wraps a native error; keeps it as __cause__
    ├── TableError                      a table cannot be read or written
    │   ├── CommitConflict (later)      somebody else committed first
    │   ├── PlaceRefused   (never)      it would lie inside another one, or around something else
    │   └── FeatureRefused (never)      the table uses something we would damage
    ├── ExportError                     rows cannot be sent elsewhere
    │   └── ExportInterrupted (later)   the other side does not answer now, or is busy
    ├── DataError                       rows that the contract says must stop the run
    ├── GateClosed                      the result exists, publication is withheld
    ├── Blocked            (later)      a lease is held or an upstream is stale
    ├── TimedOut           (later)      a dataset had no more time and was stopped
    ├── LedgerError                     the ledger cannot be read or written
    ├── ReconcileError                  rows do not add up: always a defect, always loud
    └── Defect                          an error that nobody foresaw; keeps it as __cause__

A bad *row* is never an exception: it is a verdict and a reason.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from lakelogic import printable

Retry = Literal["never", "later"]
DEBUG = "LAKELOGIC_DEBUG"  # set: what went wrong is shown with its own words, which may hold values of rows


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a document: file, 1-based line and column, and the key path (`quality.row_rules[0].sql`)."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        place = self.file or "<contract>"
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        return f"{place}  {self.path}".rstrip()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong with a contract: what, where and what to do."""

    code: str
    message: str
    where: Where = Where()
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        lines = [printable.line(str(self.where)), f"  {self.code}  {printable.line(self.message)}"]
        if self.hint:
            lines.append(f"  Hint: {printable.line(self.hint)}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The diagnostic as plain data, for `--json`."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "file": self.where.file,
            "line": self.where.line,
            "column": self.where.column,
            "path": self.where.path,
        }


class LakeLogicError(Exception):
    """The root: `code` is stable and documented, `retry` says whether trying again can help."""

    code: ClassVar[str] = "LL-E000"
    retry: ClassVar[Retry] = "never"
    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, hint: str | None = None, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        text = f"{self.code}  {printable.line(self.message)}"
        if self.where:
            text = f"{printable.line(self.where)}\n  {text}"
        if self.hint:
            text += f"\n  Hint: {printable.line(self.hint)}"
        return text

    def as_dict(self) -> dict[str, object]:
        """The error as plain data, for `--json` and the ledger."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "where": self.where,
            "retry": self.retry,
        }


class ContractError(LakeLogicError):
    """A contract cannot be used; `diagnostics` holds everything that is wrong with it."""

    code = "LL-C000"
    exit_code = 2

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        count = len(self.diagnostics)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the contract")

    def __str__(self) -> str:
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)

    def as_dict(self) -> dict[str, object]:
        """The error with all its diagnostics as plain data."""
        return super().as_dict() | {"diagnostics": [d.as_dict() for d in self.diagnostics]}


class LoadError(ContractError):
    """The YAML cannot be read into the models."""

    code = "LL-C001"


class InheritError(ContractError):
    """Layers around the contract do not fit together."""

    code = "LL-C002"


class CompileError(ContractError):
    """The document is well formed, its meaning is not."""

    code = "LL-C003"


class UsageError(LakeLogicError):
    """A command or a call was given something it cannot take."""

    code = "LL-E001"
    exit_code = 2


class NotFound(UsageError):
    """What was named is not there."""

    code = "LL-E002"


class Refused(UsageError):
    """Whoever asks is not known here, or may not do this."""

    code = "LL-E003"


class UnsupportedError(LakeLogicError):
    """This engine or format cannot do what the contract asks."""

    code = "LL-E010"
    exit_code = 2


class MissingExtra(LakeLogicError):
    """An optional package is needed and not installed."""

    code = "LL-E011"
    exit_code = 2

    def __init__(self, extra: str, what: str) -> None:
        super().__init__(
            f"{what} needs a package that is not installed.",
            hint=f"pip install 'lakelogic[{extra}]'",
        )
        self.extra = extra


class SourceError(LakeLogicError):
    """The source cannot be reached or read."""

    code = "LL-E020"
    retry: ClassVar[Retry] = "later"


class CredentialError(SourceError):
    """A key or secret is missing or wrong: nothing was read."""

    code = "LL-E021"
    retry: ClassVar[Retry] = "never"
    exit_code = 2


class EngineError(LakeLogicError):
    """An engine failed; the native error is the cause."""

    code = "LL-E030"


class TableError(LakeLogicError):
    """A table cannot be read or written."""

    code = "LL-E040"


class CommitConflict(TableError):
    """Somebody else committed first; trying again is safe."""

    code = "LL-E041"
    retry: ClassVar[Retry] = "later"


class Overtaken(CommitConflict):
    """Another run of the dataset has committed since this one began; what it worked out may be there already."""

    code = "LL-E043"


class PlaceRefused(TableError):
    """A table would lie inside another one, or around something else; another place must be chosen."""

    code = "LL-E044"
    exit_code = 2


class FeatureRefused(TableError):
    """The table uses a feature that we would damage by writing."""

    code = "LL-E042"
    exit_code = 2


class ExportError(LakeLogicError):
    """The other side took the request and refused it, or rows do not fit what the export asks."""

    code = "LL-E045"


class ExportInterrupted(ExportError):
    """The other side does not answer now, or is busy; sending the same batch again is safe."""

    code = "LL-E046"
    retry: ClassVar[Retry] = "later"


class DataError(LakeLogicError):
    """Rows that the contract says must stop the run; nothing good was published."""

    code = "LL-E050"
    exit_code = 1


class GateClosed(LakeLogicError):
    """The result exists, publication is withheld."""

    code = "LL-E051"
    exit_code = 1


class Blocked(LakeLogicError):
    """Somebody else holds the lease, or an upstream is stale."""

    code = "LL-E052"
    retry: ClassVar[Retry] = "later"
    exit_code = 5


class TimedOut(LakeLogicError):
    """A dataset took longer than it was given, and its work was stopped; running it again is safe."""

    code = "LL-E053"
    retry: ClassVar[Retry] = "later"


class LedgerError(LakeLogicError):
    """The ledger cannot be read or written."""

    code = "LL-E060"


class ReconcileError(LakeLogicError):
    """Rows do not add up: a defect, and a person must look."""

    code = "LL-E070"
    exit_code = 6


class Defect(LakeLogicError):
    """LakeLogic itself failed in a way that nobody foresaw: please report it."""

    code = "LL-E090"


def trace(error: BaseException) -> str:
    """Where an error came from, its cause first. Its own text may hold values of rows: it is shown only when asked."""
    if os.environ.get(DEBUG):
        return "".join(traceback.format_exception(error)).rstrip()
    lines: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        frames = traceback.extract_tb(cause.__traceback__)
        lines[:0] = [
            *(f"    {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames),
            f"  {type(cause).__name__}",
        ]
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n".join(lines)
