"""Replay: questions asked of an agent again, with noise in them, each call traced where no night looks.

``agents`` loads who is asked, ``asks`` says what to ask, ``driver`` asks it, ``work`` does so for a run in
the store, ``rows`` reads a run's answers and scores back.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.replay.agents import Agent, AgentTimeout, load_agent
    from tracehooks.replay.asks import Ask, asks_of, clean_asks
    from tracehooks.replay.driver import Driver, Reply, driving, replay
    from tracehooks.replay.rows import answers, noise_rows
    from tracehooks.replay.work import ReplayWork

__all__ = [
    "Agent",
    "AgentTimeout",
    "Ask",
    "Driver",
    "ReplayWork",
    "Reply",
    "answers",
    "asks_of",
    "clean_asks",
    "driving",
    "load_agent",
    "noise_rows",
    "replay",
]

_HOMES = {
    "Agent": "agents",
    "AgentTimeout": "agents",
    "Ask": "asks",
    "Driver": "driver",
    "ReplayWork": "work",
    "Reply": "driver",
    "answers": "rows",
    "asks_of": "asks",
    "clean_asks": "asks",
    "driving": "driver",
    "load_agent": "agents",
    "noise_rows": "rows",
    "replay": "driver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.replay' has no attribute {name!r}")
    return getattr(import_module(f"tracehooks.replay.{_HOMES[name]}"), name)
