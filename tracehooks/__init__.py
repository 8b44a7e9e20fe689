"""Trace LLM agents, judge a sample of their calls, and get one verdict that can be trusted."""

from importlib import import_module
from typing import Any

# name -> module that defines it; a name costs its import only when somebody uses it
_HOMES: dict[str, str] = {
    "traced": "tracehooks.tracing.decorator",
    "trace_attributes": "tracehooks.tracing.context",
    "current_trace": "tracehooks.tracing.context",
    "carry_context": "tracehooks.tracing.context",
    "init": "tracehooks.runtime",
    "flush": "tracehooks.runtime",
    "shutdown": "tracehooks.runtime",
    "stats": "tracehooks.runtime",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
