"""Whose provider: the application's is never replaced, ours stays private, no span is lost between."""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

import tracehooks
from tests.tracing.processes import run
from tests.tracing.spans import attributes, only
from tracehooks import traced
from tracehooks.errors import ConfigurationError
from tracehooks.store import open_store
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.provider import door


@traced
def agent(question: str = "hi") -> str:
    return question


def stored(folder: Path) -> list[str]:
    """The names of the spans in the store of a script's folder."""
    with open_store(f"sqlite:///{folder}/.tracehooks/tracehooks.db") as store:
        first, last = store.calls.span_of_time() or (None, None)
        assert first is not None
        assert last is not None
        return [call.name for call in store.calls.latest(100, None, None)]


APPLICATION = """
e1 = MemoryExporter()
provider = e1.provider()
"""
SET = "otel.set_tracer_provider(provider)\n"
INIT = "tracehooks.init(); tracehooks.init()\n"
CALLS = """
with otel.get_tracer("app").start_as_current_span("http"):
    agent("a")
agent("b")
assert otel.get_tracer_provider() is provider
assert tracehooks.flush()
assert tracehooks.stats()["exported"] == 2, tracehooks.stats()
print(sorted(span.name for span in e1.spans))
"""


@pytest.mark.parametrize(
    "script", [APPLICATION + SET + INIT, APPLICATION + INIT + SET], ids=["app first", "init first"]
)
def test_the_applications_provider_is_joined_not_replaced(tmp_path: Path, script: str) -> None:
    """langfuse/langfuse#6885, pydantic/logfire#1622, ProjectTech4DevAI/kaapi-backend#1078: whoever is first,
    each traced call is in our store once and in the application's exporter once; its own spans are not in
    ours, the global provider is still its own, and nobody warns of overriding."""
    assert run(script + CALLS, tmp_path) == "['agent', 'agent', 'http']\n"
    assert stored(tmp_path) == ["agent", "agent"]


FOREIGN = """
attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "theirs"}
with otel.get_tracer("app").start_as_current_span("theirs", attributes=attributes):
    pass
assert tracehooks.flush()
"""


@pytest.mark.parametrize(
    "script", [APPLICATION + SET + INIT, APPLICATION + INIT + SET], ids=["app first", "init first"]
)
def test_others_agents_are_seen_whoever_is_first_although_nothing_is_decorated(
    tmp_path: Path, script: str
) -> None:
    """An application that only its instrumentation traces may set its provider after init()."""
    run(script + FOREIGN, tmp_path)
    assert stored(tmp_path) == ["theirs"]


def test_calls_before_and_after_the_application_sets_its_provider(tmp_path: Path) -> None:
    """A call made while our provider was private is kept, and so is one begun then and ended later."""
    script = """
    tracehooks.init()
    agent("before")
    @traced(name="across")
    def across():
        yield "a"
        yield "b"
    stream = across()
    next(stream)
    e1 = MemoryExporter()
    otel.set_tracer_provider(e1.provider())
    agent("after")
    assert list(stream) == ["b"]
    assert tracehooks.flush()
    assert tracehooks.stats()["exported"] == 3, tracehooks.stats()
    print([span.name for span in e1.spans])
    """
    assert run(script, tmp_path) == "['agent']\n"
    assert sorted(stored(tmp_path)) == ["across", "agent", "agent"]


def test_alone_our_provider_is_private(tmp_path: Path) -> None:
    """Without a provider of the application's the global one stays unset."""
    script = """
    tracehooks.init()
    agent()
    assert isinstance(otel.get_tracer_provider(), otel.ProxyTracerProvider)
    with otel.get_tracer("app").start_as_current_span("http") as span:
        assert not span.is_recording()
    """
    run(script, tmp_path)
    assert stored(tmp_path) == ["agent"]


@pytest.mark.parametrize("first", [True, False])
def test_the_global_provider_is_set_only_on_request(tmp_path: Path, first: bool) -> None:
    """``set_global`` makes ours the global one, unless the application has one."""
    setting = "" if first else "otel.set_tracer_provider(provider)"
    script = f"""
    provider = TracerProvider()
    {setting}
    tracehooks.init(set_global=True)
    agent()
    print(otel.get_tracer_provider() is provider, type(otel.get_tracer_provider()).__name__)
    """
    assert run(script, tmp_path) == f"{not first} TracerProvider\n"
    assert stored(tmp_path) == ["agent"]


def test_without_init_the_applications_provider_is_used(tmp_path: Path) -> None:
    """Decorated functions record to whatever the application has, now or later, and to no store."""
    script = """
    agent("unrecorded")
    assert next((lambda: (yield 1))()) == 1
    e1 = MemoryExporter()
    otel.set_tracer_provider(e1.provider())
    agent("recorded")
    print([span.name for span in e1.spans], tracehooks.stats()["ended"])
    """
    assert run(script, tmp_path) == "['agent'] 0\n"
    assert list(tmp_path.iterdir()) == []


def test_the_sdk_may_be_disabled(tmp_path: Path) -> None:
    """OTEL_SDK_DISABLED is honoured: functions run, nothing is recorded."""
    script = "tracehooks.init(); print(agent('x'), tracehooks.stats()['started'])"
    assert run(script, tmp_path, OTEL_SDK_DISABLED="true") == "x 0\n"


def test_a_given_provider_is_used_although_there_is_a_global_one(tmp_path: Path) -> None:
    """``tracer_provider`` wins, and the global one hears nothing."""
    script = """
    e1, e2 = MemoryExporter(), MemoryExporter()
    otel.set_tracer_provider(e1.provider())
    tracehooks.init(tracer_provider=e2.provider())
    agent()
    print(len(e1.spans), len(e2.spans))
    """
    assert run(script, tmp_path) == "0 1\n"


def test_initialising_twice_records_once() -> None:
    """The same again, or nothing new, changes nothing."""
    memory = MemoryExporter()
    provider = memory.provider()
    for _ in range(3):
        tracehooks.init({"store": ""}, tracer_provider=provider)
        tracehooks.init()
    before = tracehooks.runtime.pipeline()
    agent()
    assert tracehooks.runtime.pipeline() is before
    assert len(memory.spans) == 1
    assert tracehooks.stats()["ended"] == 1


def test_switching_provider_mask_and_settings() -> None:
    """What is explicitly different takes over from the next call on; a first provider gets no more."""
    one, two = MemoryExporter(), MemoryExporter()
    tracehooks.init({"store": ""}, tracer_provider=one.provider())
    agent("a")
    tracehooks.init(tracer_provider=two.provider())
    agent("b")
    tracehooks.init(mask=lambda text: "***")
    agent("c")
    tracehooks.init({"store": "", "capture": {"max_bytes": 64}})
    agent("d" * 100)
    assert [call.output for call in one.calls] == ["a"]
    assert [call.output for call in two.calls][:2] == ["b", "***"]
    settings = tracehooks.runtime.settings()
    assert settings is not None
    assert settings.capture.max_bytes == 64


def test_calls_that_are_open_while_switching_are_kept(tmp_path: Path) -> None:
    """What began before a second init is recorded by the one that is there at its end."""
    tracehooks.init({"store": f"sqlite:///{tmp_path}/one.db"})
    across = traced(name="across")(lambda: iter("ab"))()
    next(across)
    tracehooks.init({"store": f"sqlite:///{tmp_path}/two.db"})
    assert list(across) == ["b"]
    assert tracehooks.flush()
    with open_store(f"sqlite:///{tmp_path}/two.db") as store:
        assert [call.output for call in store.calls.latest(10, None, None)] == ["ab"]


def test_after_shutdown_nothing_is_recorded_and_init_starts_anew() -> None:
    """A provider that was joined stays silent; joined again, it has one processor of ours, not two."""
    memory = MemoryExporter()
    provider = memory.provider()
    tracehooks.init({"store": ""}, tracer_provider=provider)
    agent()
    assert tracehooks.shutdown()
    agent()
    tracehooks.init({"store": ""}, tracer_provider=provider)
    agent()
    assert len(memory.spans) == 2
    assert tracehooks.stats()["ended"] == 1


@pytest.mark.parametrize("wrong", [object(), "provider"])
def test_a_provider_that_takes_no_processors_is_refused(wrong: Any) -> None:
    """What cannot work says so when set up."""
    with pytest.raises(ConfigurationError, match="takes no span processors"):
        tracehooks.init({"store": ""}, tracer_provider=wrong)
    assert door.recording is None


def test_a_private_provider_names_service_and_environment(tmp_path: Path) -> None:
    """The resource of our own provider says which service and environment the spans are of."""
    script = """
    heard = []
    tracehooks.init({"service": "bot", "environment": "staging"})
    tracehooks.runtime.pipeline().listen(lambda span, full, hooks: heard.append(span))
    agent()
    found = heard[0].resource.attributes
    print(found["service.name"], found["deployment.environment.name"])
    """
    assert run(script, tmp_path) == "bot staging\n"
    with open_store(f"sqlite:///{tmp_path}/.tracehooks/tracehooks.db") as store:
        (call,) = store.calls.latest(1, None, None)
    assert (call.service, call.environment) == ("bot", "staging")


@pytest.mark.parametrize("named", [True, False])
def test_a_joined_provider_keeps_its_environment(named: bool) -> None:
    """Where the application's resource names no environment, the span does; else the resource's counts."""
    memory = MemoryExporter()
    resource = Resource({"deployment.environment": "theirs"} if named else {})
    tracehooks.init({"store": "", "environment": "ours"}, tracer_provider=memory.provider(resource=resource))
    agent()
    assert attributes(only(memory)).get("deployment.environment.name") == (None if named else "ours")
    assert memory.calls[0].environment == ("theirs" if named else "ours")


def test_a_closed_provider_of_the_application_loses_nothing_of_ours() -> None:
    """The application may shut its provider down; what comes later is still counted and exported."""
    memory = MemoryExporter()
    provider: TracerProvider = memory.provider()
    tracehooks.init({"store": ""}, tracer_provider=provider)
    agent()
    provider.shutdown()
    agent()
    assert tracehooks.stats()["ended"] == 2


def test_importing_is_cheap(tmp_path: Path) -> None:
    """``from tracehooks import traced`` loads none of the heavy libraries, and decorating neither."""
    import subprocess
    import sys

    script = """
import sys
from tracehooks import traced, trace_attributes, current_trace, carry_context
@traced
def agent(q): return q
assert agent("a") == "a"
heavy = {"pydantic", "opentelemetry.sdk", "openai", "langfuse", "apscheduler", "sqlalchemy", "numpy", "yaml"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr
