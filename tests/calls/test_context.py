"""What a call's spans and process say about it beside its text."""

from typing import Any

import pytest

from tests.calls.making import native, span
from tracehooks.calls import SpanEvent, agent_calls
from tracehooks.records import AgentCall


def only(*spans: object) -> AgentCall:
    (call,) = agent_calls(spans)  # type: ignore[arg-type]
    return call


def test_session_user_tags_and_metadata_come_from_the_span_and_those_above_it() -> None:
    """What was said nearest to the call counts; tags and metadata add up."""
    root = native(
        "root",
        kind="chain",
        attributes={
            "session.id": "s-0",
            "user.id": "u-1",
            "tracehooks.tags": ["beta", "eu"],
            "tracehooks.metadata": '{"plan":"free","region":"eu"}',
        },
    )
    agent = native(
        "a",
        "root",
        attributes={
            "gen_ai.agent.name": "support",
            "gen_ai.agent.version": "7",
            "session.id": "s-1",
            "tracehooks.tags": ("gold", "beta"),
            "tracehooks.metadata": '{"plan":"pro"}',
        },
    )
    call = only(root, agent)
    assert (call.name, call.version, call.session_id, call.user_id) == ("support", "7", "s-1", "u-1")
    assert call.tags == ("gold", "beta", "eu")
    assert call.metadata == {"plan": "pro", "region": "eu"}


@pytest.mark.parametrize(
    ("attributes", "resource", "expected"),
    [
        ({}, {}, "default"),
        ({}, {"deployment.environment": "old"}, "old"),
        ({}, {"deployment.environment": "old", "deployment.environment.name": "new"}, "new"),
        ({}, {"langfuse.environment": "staging"}, "staging"),
        ({"deployment.environment.name": "span"}, {"deployment.environment.name": "process"}, "span"),
        ({"deployment.environment.name": ""}, {"deployment.environment.name": "process"}, "process"),
    ],
)
def test_the_environment_comes_from_the_span_else_from_the_process(
    attributes: dict[str, str], resource: dict[str, str], expected: str
) -> None:
    """The newer name counts before the older; without any it is default."""
    assert only(native("a", attributes=attributes, resource=resource)).environment == expected


def test_a_made_up_service_is_none() -> None:
    """OpenTelemetry's unknown_service is no name; a service's version serves where the agent has none."""
    assert only(native("a", resource={"service.name": "unknown_service:python"})).service is None
    call = only(native("a", resource={"service.name": "shop", "service.version": "1.2"}))
    assert (call.service, call.version) == ("shop", "1.2")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"status": "ok", "status_message": "fine"}, None),
        ({"status": "unset", "attributes": {"error.type": "ValueError"}}, None),
        ({"status": "error", "status_message": "ValueError: no"}, "ValueError: no"),
        ({"status": "error", "attributes": {"error.type": "KeyError"}}, "KeyError"),
        (
            {"status": "error", "status_message": "no", "attributes": {"error.type": "KeyError"}},
            "KeyError: no",
        ),
        ({"status": "error"}, "error"),
    ],
)
def test_the_error_says_type_and_message_where_they_are_known(more: dict[str, Any], expected: str) -> None:
    """Only a span whose status is error has failed."""
    assert only(native("a", **more)).error == expected


def test_the_error_is_taken_from_the_exception_event_where_the_status_is_silent() -> None:
    """Instrumentations that only record the exception are understood too."""
    event = SpanEvent(name="exception", attributes={"exception.type": "E", "exception.message": "went wrong"})
    assert only(native("a", status="error", events=(event,))).error == "E: went wrong"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("invoke_agent support", "support"),
        ("Crew_1dafdcd0-b795-419c-aac0-3d1b38180029.kickoff", "Crew.kickoff"),
        ("support run", "support run"),
    ],
)
def test_a_call_is_named_by_its_span_where_the_agent_has_no_name(name: str, expected: str) -> None:
    """Without the operation and without random ids, so that names can be filtered by."""
    attributes = {"gen_ai.operation.name": "invoke_agent"}
    assert only(span("a", attributes=attributes, named=name)).name == expected


def test_tags_and_metadata_are_read_in_every_form() -> None:
    """A list, JSON of a list, words with commas; a JSON object, or attributes below a prefix."""
    call = only(
        span(
            "a",
            attributes={
                "langfuse.observation.type": "agent",
                "langfuse.trace.tags": '["x","y"]',
                "langsmith.span.tags": "z, x",
                "langfuse.trace.metadata.plan": '"pro"',
                "langfuse.observation.metadata.limits": '{"n":1}',
                "traceloop.association.properties.chain": 3,
                "metadata": "not json",
            },
        )
    )
    assert call.tags == ("x", "y", "z")
    assert call.metadata == {"plan": "pro", "limits": {"n": 1}, "chain": 3}
