"""A span's attributes in Langfuse's words: what it shows as type, input, output, session, usage and so on.

Names: https://langfuse.com/integrations/native/opentelemetry#property-mapping
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from tracehooks.calls.context import DEFAULT_ENVIRONMENT, ENVIRONMENTS
from tracehooks.tracing import semconv

TYPE = "langfuse.observation.type"
INPUT = "langfuse.observation.input"
OUTPUT = "langfuse.observation.output"
LEVEL = "langfuse.observation.level"
STATUS_MESSAGE = "langfuse.observation.status_message"
MODEL = "langfuse.observation.model.name"
USAGE = "langfuse.observation.usage_details"
COST = "langfuse.observation.cost_details"
METADATA = "langfuse.trace.metadata."
TRACE_NAME = "langfuse.trace.name"
TAGS = "langfuse.trace.tags"
ENVIRONMENT = "langfuse.environment"
RELEASE = "langfuse.release"
VERSION = "langfuse.version"
IS_APP_ROOT = "langfuse.internal.is_app_root"

SERVICE_VERSION = "service.version"
RESPONSE_MODEL, REQUEST_MODEL = "gen_ai.response.model", "gen_ai.request.model"
USAGE_PREFIXES = ("gen_ai.usage.", "llm.token_count.", "llm.usage.")
# what Langfuse is told under its own names would otherwise be shown a second time, as metadata
RENAMED = frozenset(
    {
        semconv.INPUT,
        semconv.OUTPUT,
        semconv.TAGS,
        semconv.METADATA,
        semconv.INPUT_MESSAGES,
        semconv.OUTPUT_MESSAGES,
        semconv.INPUT_TOKENS,
        semconv.OUTPUT_TOKENS,
    }
)
LONGEST_ENVIRONMENT = 40


def in_langfuse_words(span: Any, release: str | None = None) -> dict[str, Any]:
    """The attributes of ``span``, a ReadableSpan, as Langfuse is to have them.

    A span of another instrumentation keeps its own, which Langfuse reads by itself; only environment and
    release are added.
    """
    known = dict(span.attributes or {})
    resource = span.resource.attributes if span.resource is not None else {}
    words = _process(known, resource, release)
    if known.get(semconv.KIND) is not None:
        words |= _own(span, known)
        known = {name: value for name, value in known.items() if name not in RENAMED}
    return {**known, **{name: value for name, value in words.items() if value is not None}}


def without_usage(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """``attributes`` with nothing about tokens or cost."""
    return {
        name: value
        for name, value in attributes.items()
        if name not in (USAGE, COST) and not name.startswith(USAGE_PREFIXES)
    }


def tells_usage(attributes: Mapping[str, Any]) -> bool:
    """Whether the span says how many tokens it took, in any dialect."""
    return USAGE in attributes or any(name.startswith(USAGE_PREFIXES) for name in attributes)


@lru_cache(maxsize=1000)
def environment_name(text: str | None) -> str:
    """An environment's name as Langfuse keeps it: of spans and scores alike, so that they stay together.

    It turns a name with other characters than ``a-z0-9_-`` into ``default`` without a word; here they
    become ``-``.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", (text or "").lower()).strip("-")
    while name.startswith("langfuse"):  # which is Langfuse's own
        name = name.removeprefix("langfuse").lstrip("-_")
    return name[:LONGEST_ENVIRONMENT] or DEFAULT_ENVIRONMENT


def _process(known: Mapping[str, Any], resource: Mapping[str, Any], release: str | None) -> dict[str, Any]:
    """What is so for the whole process."""
    named = (source.get(name) for source in (known, resource) for name in (ENVIRONMENT, *ENVIRONMENTS))
    environment = next((str(value) for value in named if value), None)
    release = release or resource.get(SERVICE_VERSION)
    return {
        ENVIRONMENT: environment_name(environment),
        RELEASE: known.get(RELEASE) or (str(release) if release else None),
    }


def _own(span: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(known[semconv.KIND])
    is_outermost = kind == "agent" and semconv.PARENT_AGENT not in known
    failed = span.status.status_code.name == "ERROR"
    return {
        TYPE: kind,
        INPUT: known.get(semconv.INPUT),
        OUTPUT: _text_or_json(known.get(semconv.OUTPUT)),
        TRACE_NAME: known.get(semconv.AGENT_NAME) if is_outermost else None,
        IS_APP_ROOT: True if is_outermost else None,
        TAGS: known.get(semconv.TAGS),
        VERSION: known.get(semconv.AGENT_VERSION) or known.get(semconv.VERSION),
        MODEL: known.get(RESPONSE_MODEL) or known.get(REQUEST_MODEL),
        USAGE: _usage(known),
        LEVEL: "ERROR" if failed else None,
        STATUS_MESSAGE: span.status.description if failed else None,
        **_metadata(known.get(semconv.METADATA)),
    }


def _text_or_json(value: Any) -> Any:
    """A text as itself, anything else as JSON: Langfuse shows the quotes of a JSON string."""
    if isinstance(value, str) and value.startswith('"'):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _usage(known: Mapping[str, Any]) -> str | None:
    tokens = {"input": known.get(semconv.INPUT_TOKENS), "output": known.get(semconv.OUTPUT_TOKENS)}
    found = {name: count for name, count in tokens.items() if count is not None}
    return orjson.dumps(found).decode() if found else None


def _metadata(value: Any) -> dict[str, Any]:
    try:
        found = orjson.loads(value) if isinstance(value, str) else {}
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        METADATA + key: entry if isinstance(entry, str) else orjson.dumps(entry).decode()
        for key, entry in found.items()
    }
