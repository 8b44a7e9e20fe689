"""Which observations are listed: the settings' filters, asked of the server, and checked again here.

A server that does not know a condition gives more rows than were asked for; these are left out here. What an
older listing does not tell of an observation is checked once its trace is read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from tracehooks.scoring.source import REPLAY
from tracehooks.settings import FilterSettings
from tracehooks.store.filters import WILDCARDS

Row = Mapping[str, Any]
Condition = dict[str, Any]

# Langfuse's evaluators and experiments: never an agent at work for somebody. Nobody else's environment may
# begin with langfuse; these are the ones known by name.
EVALUATORS = (
    "langfuse-llm-as-a-judge",
    "langfuse-prompt-experiment",
    "langfuse-evaluation",
    "sdk-experiment",
)
TRACE = "TRACE"  # the type of a row that stands for a whole trace: its name is nobody's
OPERATIONS = ("invoke_agent ", "invoke_workflow ")
UNHEARD = ("GENERATION", "EMBEDDING", "EVENT", "TOOL", "RETRIEVER", "EVALUATOR", "GUARDRAIL")


def apparent_name(name: str) -> str:
    """The agent's name as far as its span's name tells it."""
    for operation in OPERATIONS:
        name = name.removeprefix(operation)
    return name


def is_left_out(environment: Any, asked: Sequence[str]) -> bool:
    """Whether an environment is an evaluator's, an experiment's or a replay's, unless it is ``asked`` for."""
    if not isinstance(environment, str) or environment in asked:
        return False
    return environment.startswith(("langfuse-", "sdk-experiment")) or environment.endswith(REPLAY)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The settings' filters, for one kind of listing: agents, or what is at the top of each trace."""

    filters: FilterSettings

    def conditions(self, *, older: bool = False) -> list[Condition]:
        """What the server is asked; ``older`` is a server whose observations know less of their trace."""
        filters = self.filters
        found = _any_of("environment", filters.environment) or [
            *_any_of("environment", EVALUATORS, but=True),
            _text("environment", "does not contain", REPLAY),
        ]
        found += _any_of("version", filters.version)
        found += _any_of("level", filters.level)
        found += _any_of("userId", filters.user_id)
        found += () if older else _any_of("sessionId", filters.session_id)
        found += _names(filters.name)
        if filters.tags:
            found.append(
                {
                    "type": "arrayOptions",
                    "column": "traceTags",
                    "operator": "any of",
                    "value": [*filters.tags],
                }
            )
        found += [_metadata(key, value) for key, value in filters.metadata.items()]
        return found

    def of_traces(self) -> dict[str, Any]:
        """What a listing of traces is asked: its parameters take one value, and tags must all be there."""
        filters = self.filters
        asked = {
            "userId": filters.user_id,
            "sessionId": filters.session_id,
            "version": filters.version,
            "tags": filters.tags,
        }
        found: dict[str, Any] = {name: values[0] for name, values in asked.items() if len(values) == 1}
        return {**found, "environment": list(filters.environment)} if filters.environment else found

    @property
    def core(self) -> str:
        """The groups of fields that agents are listed with: the fewest where nothing else has to be checked.

        Environments are then checked by the server, and here once a trace is read.
        """
        return "core" if self.check() is None else self.fields

    @property
    def fields(self) -> str:
        """The groups of fields that checking needs."""
        groups = ["core", "basic"]
        groups += ["trace_context"] if self.filters.tags else []
        groups += ["metadata"] if self.filters.metadata else []
        return ",".join(groups)

    def check(self) -> Callable[[Row], bool] | None:
        """A test of one row for all that rows tell; None when nothing is asked."""
        filters = self.filters
        columns = {
            "environment": filters.environment,
            "version": filters.version,
            "level": filters.level,
            "userId": filters.user_id,
            "sessionId": filters.session_id,
        }
        tests = [_in_column(column, frozenset(values)) for column, values in columns.items() if values]
        if filters.name:
            tests.append(lambda row: row.get("type") == TRACE or has_name(row.get("name"), filters.name))
        if filters.tags:
            tests.append(lambda row: "tags" not in row or not set(filters.tags).isdisjoint(row["tags"] or ()))
        if filters.metadata:
            tests.append(
                lambda row: "metadata" not in row or _has_metadata(row["metadata"], filters.metadata)
            )
        return (lambda row: all(test(row) for test in tests)) if tests else None


def has_name(name: Any, patterns: Sequence[str]) -> bool:
    """Whether the agent's name, as far as its span's tells it, is among ``patterns``."""
    return any(fnmatchcase(apparent_name(str(name or "")), pattern) for pattern in patterns)


def encoded(conditions: Iterable[Condition]) -> str:
    """The ``filter`` parameter."""
    return orjson.dumps(list(conditions)).decode()


def of_types(types: Sequence[str], *, but: bool = False) -> Condition:
    """Observations of these types, or of any ``but`` these."""
    return _any_of("type", types, but=but)[0]


def of_traces(trace_ids: Sequence[str]) -> Condition:
    """Observations of these traces."""
    return _any_of("traceId", trace_ids)[0]


def roots() -> Condition:
    """The observations at the top of their traces."""
    return {"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True}


def within(start: str, end: str, column: str = "startTime") -> list[Condition]:
    """Those that started in a window: from inclusive, to exclusive."""
    return [
        {"type": "datetime", "column": column, "operator": sign, "value": value}
        for sign, value in ((">=", start), ("<", end))
    ]


def _text(column: str, operator: str, value: str) -> Condition:
    return {"type": "string", "column": column, "operator": operator, "value": value}


def _any_of(column: str, values: Sequence[str], *, but: bool = False) -> list[Condition]:
    sign = "none of" if but else "any of"
    return (
        [{"type": "stringOptions", "column": column, "operator": sign, "value": [*values]}] if values else []
    )


def _names(patterns: Sequence[str]) -> list[Condition]:
    """The names as they may stand there; of patterns what is in all of them, when there is one."""
    if not patterns:
        return []
    if len(patterns) == 1:
        longest = max(_literals(patterns[0]), key=len, default="")
        return [_text("name", "contains", longest)] if longest else []
    if any(not WILDCARDS.isdisjoint(pattern) for pattern in patterns):
        return []
    return _any_of("name", [prefix + name for name in patterns for prefix in ("", *OPERATIONS)])


def _literals(pattern: str) -> list[str]:
    """The pieces of a shell pattern that stand for themselves."""
    if "[" in pattern:
        return []
    return pattern.replace("?", "*").split("*")


def _metadata(key: str, value: Any) -> Condition:
    return {
        "type": "stringObject",
        "column": "metadata",
        "key": key,
        "operator": "=",
        "value": _written(value),
    }


def _in_column(column: str, values: frozenset[str]) -> Callable[[Row], bool]:
    """A row that does not have the column is not judged by it."""
    return lambda row: column not in row or row[column] in values


def _has_metadata(metadata: Any, wanted: Mapping[str, Any]) -> bool:
    if not isinstance(metadata, Mapping):
        return False
    return all(
        key in metadata and _written(metadata[key]) == _written(value) for key, value in wanted.items()
    )


def _written(value: Any) -> str:
    """A metadata value as the server keeps it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
