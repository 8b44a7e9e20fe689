"""kill -9 at any moment of a night with delivery, then on: the same scores at the server, each once."""

import os
import random

import pytest

from tests.exporters.langfuse.killing import CALLS, night

KILLS = int(os.environ.get("TRACEHOOKS_TEST_KILLS", "2"))


@pytest.mark.parametrize("mode", ["dual", "v4.59"])
def test_killed_at_drawn_times_the_scores_are_those_of_an_uninterrupted_night(mode: str) -> None:
    """langfuse/langfuse#13823: drawn uniformly over an uninterrupted night; the seed is printed."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    whole = night(mode, 0, random.Random(0))
    assert (len(whole.scores), whole.counts) == (CALLS, {"confirmed": CALLS})
    killed = night(mode, KILLS, random.Random(seed), whole.seconds)
    assert killed.scores == whole.scores
    assert killed.counts == {"confirmed": CALLS}
