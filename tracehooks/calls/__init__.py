"""Finished spans to AgentCalls: which spans are calls, and what was said in them."""

from tracehooks.calls.call import agent_call, agent_calls, is_agent_span
from tracehooks.calls.span import SpanEvent, SpanRecord, span_record

__all__ = ["SpanEvent", "SpanRecord", "agent_call", "agent_calls", "is_agent_span", "span_record"]
