"""What every process of the matrix does: one traced call with a hook, and one feedback about it."""

import logging
import os
import sys
import time
from typing import Any

import tracehooks
from tracehooks import ScoringHook, traced

logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="LOG %(message)s")

SLOW = float(os.environ.get("ENDS_SLOW", "0.3"))  # seconds: what must be waited for at the end


async def length(call: Any) -> float:
    """The hook's scorer."""
    return float(len(call.output))


def quality(call: Any) -> float:
    """Another, a plain function, which runs in a thread, and takes its time."""
    time.sleep(SLOW)
    return 1.0


@traced(name="agent", hooks=[ScoringHook(length), ScoringHook(quality)])
def agent(question: str) -> str:
    """The agent; its user likes it."""
    tracehooks.attach_score("thumbs", 1.0)
    return f"answer to {question}"


@traced(name="agent", hooks=[ScoringHook(length), ScoringHook(quality)])
async def async_agent(question: str) -> str:
    """The same, async."""
    tracehooks.attach_score("thumbs", 1.0)
    return f"answer to {question}"
