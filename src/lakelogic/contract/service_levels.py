"""What a dataset promises: freshness, volume, completeness, and when it arrives."""

from datetime import timedelta
from typing import Any, ClassVar, Literal

from lakelogic.contract.base import Duration, Key, Number, Section, Text, Whole
from lakelogic.contract.durations import duration


class Freshness(Section):
    """How old the newest data may be."""

    PURPOSE: ClassVar[str] = "How old the newest data may be."
    SHORT: ClassVar[Any] = Duration

    threshold: Duration = Key(description="`24h`, `7 days`, `P7D`.")
    field: Text | None = Key(None, description="The field that tells the age; by default the time of the run.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain age: `"24h"`."""
        return {"threshold": value}

    @property
    def age(self) -> timedelta:
        """The threshold as a length of time."""
        return duration(self.threshold)


class RowCount(Section):
    """How many rows a run brings."""

    PURPOSE: ClassVar[str] = "How many rows a run brings."

    min_rows: Whole | None = Key(None, description="Fewest rows.")
    max_rows: Whole | None = Key(None, description="Most rows.")


class Completeness(Section):
    """What share of values is present."""

    PURPOSE: ClassVar[str] = "What share of values is present."
    SHORT: ClassVar[Any] = Number

    threshold: Number = Key(description="The smallest allowed share, 0 to 1.")
    fields: tuple[Text, ...] = Key((), description="The fields measured; by default the required ones.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain share: `0.99`."""
        return {"threshold": value}


class Availability(Section):
    """What share of runs succeeds."""

    PURPOSE: ClassVar[str] = "What share of runs succeeds."
    SHORT: ClassVar[Any] = Number

    threshold: Number = Key(description="The smallest allowed share, 0 to 1.")
    lookback_runs: Whole | None = Key(None, description="Over how many runs.")

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain share: `0.99`."""
        return {"threshold": value}


class Anomaly(Section):
    """When a count is unusual compared with earlier runs."""

    PURPOSE: ClassVar[str] = "When a count is unusual."

    method: Text | None = Key(None, description="How unusual is measured.")
    lookback_runs: Whole | None = Key(None, description="Compared with how many runs.")
    min_ratio: Number | None = Key(None, description="Smallest allowed ratio to the usual count.")
    max_ratio: Number | None = Key(None, description="Largest allowed ratio to the usual count.")


class Arrival(Section):
    """When the data must have arrived."""

    PURPOSE: ClassVar[str] = "When the data must have arrived."

    cron: Text | None = Key(None, description="When runs are due.")
    by: Text | None = Key(None, description="The time of day by which they are done.")


class ServiceLevels(Section):
    """What a dataset promises; evaluated after every run."""

    PURPOSE: ClassVar[str] = "What the dataset promises."

    freshness_hours: Number | None = Key(None, description="The newest data is at most so many hours old.")
    freshness: Freshness | None = Key(None, description="The same, with a field.")
    availability: Availability | None = Key(None, description="What share of runs succeeds.")
    completeness: Completeness | None = Key(None, description="What share of values is present.")
    row_count: RowCount | None = Key(None, description="How many rows a run brings.")
    anomaly: Anomaly | None = Key(None, description="When a count is unusual.")
    schedule: Arrival | None = Key(None, description="When the data must have arrived.")
    on_breach: Literal["record", "fail"] = Key("record", description="`fail`: a breach fails the run.")

    @property
    def freshness_age(self) -> timedelta | None:
        """The promised age, whichever way it was written; None when none is promised."""
        if self.freshness is not None:
            return self.freshness.age
        return timedelta(hours=self.freshness_hours) if self.freshness_hours is not None else None
