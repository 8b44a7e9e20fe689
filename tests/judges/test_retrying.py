"""The retry budget, with the clock and chance held still."""

import email.utils
from typing import Any

import pytest

from tracehooks.judges.completions import CompletionFailed
from tracehooks.judges.retrying import Retry, retry_after
from tracehooks.records import Reason


def failure(reason: Reason = Reason.SERVER_ERROR, **more: Any) -> CompletionFailed:
    return CompletionFailed(reason, "no", **{"retry": True, **more})


def test_waits_double_up_to_a_bound_and_are_scattered() -> None:
    """Each wait is twice the last, shortened at random by up to half, never beyond the longest."""
    still = Retry(attempts=9, random=lambda: 0.0)
    assert [still.pause(failure(), n) for n in range(1, 9)] == [0.25, 0.5, 1, 2, 4, 8, 16, 20]
    shaken = Retry(attempts=9, random=lambda: 1.0)
    assert [shaken.pause(failure(), n) for n in range(1, 4)] == [0.125, 0.25, 0.5]
    assert still.pause(failure(Reason.RATE_LIMITED), 1) == 1.0


def test_the_budget_ends() -> None:
    """open-compass/opencompass#2583: after the last attempt there is no wait, on any path."""
    assert Retry(attempts=3).pause(failure(), 3) is None
    assert Retry(attempts=1).pause(failure(wait=1.0), 1) is None
    assert Retry(attempts=3).pause(failure(retry=False), 1) is None


def test_the_servers_wait_is_obeyed_within_patience() -> None:
    """A wait of two minutes is waited, exactly; a longer one is not worth a slot of the night."""
    assert Retry().pause(failure(wait=120.0), 1) == 120.0
    assert Retry().pause(failure(wait=0.0), 1) == 0.0
    assert Retry().pause(failure(wait=121.0), 1) is None


NOW = 1_790_000_000.0
DATE = email.utils.formatdate(NOW + 30, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": DATE}, 30.0),
        ({"retry-after": DATE, "date": email.utils.formatdate(NOW + 20, usegmt=True)}, 10.0),
        ({"retry-after": email.utils.formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, a date by the server's own clock; what cannot be read was not said."""
    assert retry_after(headers, now=lambda: NOW) == seconds
