"""Who may write to a target: one at a time, and nobody for ever."""

from datetime import timedelta

import pytest

from lakelogic.errors import Blocked

TARGET = "catalog.silver.customers"
TTL = timedelta(seconds=60)


def test_a_held_target_says_who_holds_it_since_when_and_until_when(ledger, stopped):
    ledger.acquire(TARGET, "host-1 pid 17", TTL)
    stopped.forward(seconds=59)
    with pytest.raises(Blocked) as caught:
        ledger.acquire(TARGET, "host-2 pid 4", TTL)
    assert caught.value.exit_code == 5
    assert "`catalog.silver.customers` is being written by host-1 pid 17 since 2026-03-28 12:00:01 UTC" in str(
        caught.value
    )
    assert "expires at 2026-03-28 12:01:01 UTC" in str(caught.value)


def test_targets_do_not_block_one_another(ledger):
    ledger.acquire(TARGET, "a", TTL)
    ledger.acquire("catalog.silver.orders", "b", TTL)


def test_the_same_owner_does_not_get_a_target_twice(ledger):
    ledger.acquire(TARGET, "a", TTL)
    with pytest.raises(Blocked):
        ledger.acquire(TARGET, "a", TTL)


def test_an_expired_lease_is_taken_over_and_its_old_owner_learns_it(ledger, stopped):
    old = ledger.acquire(TARGET, "the dead", TTL)
    stopped.forward(seconds=60)
    new = ledger.acquire(TARGET, "the living", TTL)
    assert ledger.lease(TARGET) == new
    with pytest.raises(Blocked, match="is lost: the living has held it since 2026-03-28 12:01:01 UTC"):
        ledger.renew(old, TTL)
    assert ledger.release(old) is False
    assert ledger.lease(TARGET) == new


def test_a_renewed_lease_lasts_longer_from_now_on(ledger, stopped):
    lease = ledger.acquire(TARGET, "a", TTL)
    stopped.forward(seconds=50)
    lease = ledger.renew(lease, TTL)
    stopped.forward(seconds=50)
    with pytest.raises(Blocked):
        ledger.acquire(TARGET, "b", TTL)
    assert lease.acquired_at < lease.expires_at == ledger.lease(TARGET).expires_at


def test_a_late_renewal_counts_while_nobody_has_taken_over(ledger, stopped):
    lease = ledger.acquire(TARGET, "a", TTL)
    stopped.forward(seconds=500)
    assert ledger.renew(lease, TTL).expires_at == stopped.at + TTL


def test_a_released_target_is_free_at_once(ledger, stopped):
    lease = ledger.acquire(TARGET, "a", TTL)
    assert ledger.release(lease) is True
    assert ledger.lease(TARGET) is None
    ledger.acquire(TARGET, "b", TTL)
    with pytest.raises(Blocked, match="is lost: b has held it"):
        ledger.renew(lease, TTL)
