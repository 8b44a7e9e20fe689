"""Trace LLM agents, judge a sample of their calls, and get one verdict that can be trusted."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.evaluation import evaluate
    from tracehooks.feedback import attach_score
    from tracehooks.hooks.hook import ScoringHook
    from tracehooks.records import AgentCall, Score, TraceRef
    from tracehooks.runtime import flush, init, shutdown, stats
    from tracehooks.settings import Settings
    from tracehooks.tracing.carry import carry_context
    from tracehooks.tracing.context import current_trace, trace_attributes
    from tracehooks.tracing.decorator import traced

__all__ = [
    "AgentCall",
    "Score",
    "ScoringHook",
    "Settings",
    "TraceRef",
    "attach_score",
    "carry_context",
    "current_trace",
    "evaluate",
    "flush",
    "init",
    "shutdown",
    "stats",
    "trace_attributes",
    "traced",
]

# the module of each name: a name costs its import only when somebody uses it
_HOMES = {
    "AgentCall": "records",
    "Score": "records",
    "ScoringHook": "hooks.hook",
    "Settings": "settings",
    "TraceRef": "records",
    "attach_score": "feedback",
    "carry_context": "tracing.carry",
    "current_trace": "tracing.context",
    "evaluate": "evaluation",
    "flush": "runtime",
    "init": "runtime",
    "shutdown": "runtime",
    "stats": "runtime",
    "trace_attributes": "tracing.context",
    "traced": "tracing.decorator",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks' has no attribute {name!r}")
    value = getattr(import_module(f"tracehooks.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
