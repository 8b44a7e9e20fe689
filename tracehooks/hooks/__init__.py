"""Scoring hooks: finished spans are judged online, in the background, on a sample of traces.

The thread that ended the span only decides and queues. Each scorer has a lane of its own, a background loop
with bounds on what waits and what runs; one background thread commits, one for each sink delivers. All are
started when first needed, and begun anew after a fork. Whatever a scorer does, the agent does not notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.hooks.hook import ScoringHook, hooks_from
    from tracehooks.hooks.online import Online

__all__ = ["Online", "ScoringHook", "hooks_from"]

_HOMES = {"Online": "online", "ScoringHook": "hook", "hooks_from": "hook"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.hooks' has no attribute {name!r}")
    return getattr(import_module(f"tracehooks.hooks.{_HOMES[name]}"), name)
