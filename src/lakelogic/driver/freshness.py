"""Whether what a dataset needs is fresh enough: used, used within its grace and told, or too old.

A contract asks for it with `upstream_policy`, `upstream_grace_hours`, or `max_age` of one of its `upstream_sources`. An
upstream may be as old as the contract says, else as it promises itself; its age counts from when rows of it were last
published.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from lakelogic import clock
from lakelogic.contract.document import Contract
from lakelogic.contract.durations import duration
from lakelogic.contract.governance import UpstreamSource
from lakelogic.driver.admission import Admitted
from lakelogic.driver.estate import Estate
from lakelogic.driver.outcome import outcome
from lakelogic.driver.registry import Member
from lakelogic.engines.base import Engine
from lakelogic.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Demand:
    """How old an upstream may be, how much more is tolerated, and whether a dataset waits for it beyond that."""

    limit: timedelta
    grace: timedelta
    holds_back: bool = True

    def verdict(self, upstream: str, age: timedelta | None) -> tuple[bool, str | None]:
        """Whether the upstream may be used, and what must be told of it."""
        if age is not None and age <= self.limit:
            return True, None
        if age is None:
            reason = f"`{upstream}` was never published and must be at most {_hours(self.limit)} old"
            return not self.holds_back, reason
        reason = f"`{upstream}` is {_hours(age)} old and must be at most {_hours(self.limit)}"
        if age <= self.limit + self.grace:
            return True, f"used although {reason}: within its grace of {_hours(self.grace)}"
        if not self.holds_back:
            return True, f"used although {reason}: it is not required"
        return False, f"{reason}{f', with a grace of {_hours(self.grace)}' if self.grace else ''}"


def _hours(time: timedelta) -> str:
    seconds = time.total_seconds()
    return f"{seconds:.3g} s" if 0 < seconds < 60 else f"{seconds / 3600:.3g} h"


def demands(contract: Contract, upstreams: dict[str, timedelta | None]) -> dict[str, Demand]:
    """What a contract demands of each upstream; `upstreams` maps them to what they promise themselves."""
    written = {source.dataset: source for source in contract.upstream_sources}
    asks = contract.upstream_policy is not None or contract.upstream_grace_hours is not None
    by_name = {}
    for name, promised in upstreams.items():
        own = written.get(name) or UpstreamSource.model_validate({"dataset": name})
        limit = duration(own.max_age) if own.max_age else promised
        if limit is None or not (asks or own.max_age or own.grace):
            continue
        grace = duration(own.grace) if own.grace else timedelta(hours=float(contract.upstream_grace_hours or 0))
        by_name[name] = Demand(limit, grace, own.required is not False)
    return by_name


@dataclass(frozen=True, slots=True)
class FreshnessCheck:
    """Asks the ledger how old the upstreams of a dataset are."""

    estate: Estate
    ledger: Ledger

    def __call__(self, member: Member, _: Engine) -> Admitted:
        """Held back over an upstream that is too old; otherwise what is told of those that are older than promised."""
        graph = self.estate.graph
        needed = [*graph.upstreams(member.dataset)]
        needed += [edge.upstream for edge in graph.unknown if edge.downstream == member.dataset]
        promised = {name: self._promise(name) for name in needed}
        notes = []
        for name, demand in demands(member.loaded.contract, promised).items():
            may, reason = demand.verdict(name, self._age(name))
            if not may:
                return Admitted(outcome(member, "held_back", reason or "", exit_code=5))
            notes += [reason] if reason else []
        return Admitted(notes=tuple(notes))

    def _promise(self, dataset: str) -> timedelta | None:
        member = self.estate.graph.members.get(dataset)
        return member.loaded.contract.service_levels.freshness_age if member is not None else None

    def _age(self, dataset: str) -> timedelta | None:
        last = self.ledger.last_published(dataset)
        return None if last is None else clock.now() - (last.finished_at or last.started_at)
