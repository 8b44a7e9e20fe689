"""What is sent from the store: by the next application, past what is refused, its tokens told once."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import tracehooks
from tests.exporters.langfuse.desk import settings
from tests.fake_langfuse import FakeLangfuse
from tests.store.making import Clock
from tests.stored import NOON, agent_span
from tracehooks import traced
from tracehooks.calls import SpanRecord
from tracehooks.exporters.store import StoreSpanExporter
from tracehooks.scoring.resending import Resender
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store
from tracehooks.store.unsent import PRUNED, REFUSALS, Unsent
from tracehooks.tracing.trouble import trouble

OTLP = "/api/public/otel/v1/traces"
GONE = "elsewhere:1:1"


@traced(name="help-desk")
def answer(number: int) -> str:
    return f"Order {number} is on its way."


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "LANGFUSE_"))]:
        monkeypatch.delenv(name)
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as store:
        yield store


@pytest.fixture
def resender(langfuse: FakeLangfuse, store: Store, tmp_path: Path) -> Iterator[Resender]:
    resender = Resender.from_settings(settings(langfuse, folder=tmp_path), store, "me")
    yield resender
    resender.close()


def left(store: Store, spans: Sequence[SpanRecord]) -> None:
    """Let a process that is gone have left these, an hour ago."""
    store.spans.add(spans, lambda: [Unsent("langfuse", one.trace_id, one.span_id) for one in spans], GONE)
    store.unsent.release_owner("langfuse", GONE)


def posts(server: FakeLangfuse) -> int:
    return sum(request.path == OTLP for request in server.requests)


def waiting(store: Store) -> int:
    counts = store.unsent.counts().get("langfuse")
    return counts.waiting if counts else 0


def eventually(found: Callable[[], bool]) -> None:
    """Wait until that is so; fails when it never is."""
    event = threading.Event()
    for _ in range(2400):  # two minutes
        if found():
            return
        event.wait(0.05)
    raise AssertionError("it never came to be")


def test_the_next_application_sends_what_an_earlier_one_left(
    langfuse: FakeLangfuse, store: Store, clock: Clock, tmp_path: Path
) -> None:
    """In the background, once the server takes a span of its own; and what is delivered waits no more."""
    left(store, [agent_span(n) for n in range(250)])
    tracehooks.init(settings(langfuse, folder=tmp_path, sinks=[]))
    answer(1)
    assert tracehooks.flush(20)
    eventually(lambda: len(langfuse.observations) == 251)
    eventually(lambda: waiting(store) == 0)
    eventually(lambda: tracehooks.stats()["forwarded"]["langfuse"]["resent"] == 250)


def test_an_application_without_calls_of_its_own_sends_them_too(
    langfuse: FakeLangfuse, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that only attaches scores, say: it looks once, soon after it began."""
    monkeypatch.setattr("tracehooks.resending.FIRST_LOOK", 0.1)
    left(store, [agent_span(1)])
    tracehooks.init(settings(langfuse, folder=tmp_path, sinks=[]))
    eventually(lambda: len(langfuse.observations) == 1)
    eventually(lambda: waiting(store) == 0)


def test_an_undisturbed_application_leaves_nothing_and_sends_each_span_once(
    langfuse: FakeLangfuse, store: Store, tmp_path: Path
) -> None:
    """Whichever of store and server has a span first."""
    tracehooks.init(settings(langfuse, folder=tmp_path, sinks=[]))
    for number in range(600):
        answer(number)
    assert tracehooks.flush(30)
    eventually(lambda: waiting(store) == 0)
    assert len(langfuse.observations) == 600
    assert tracehooks.stats()["forwarded"]["langfuse"]["resent"] == 0
    tracehooks.shutdown(10)
    assert waiting(store) == 0


def test_what_the_server_has_before_the_store_is_never_noted(tmp_path: Path) -> None:
    """The two are on threads of their own: the note of the one does not outlive what the other knows."""
    from tests.exporters.langfuse.test_spans import spans

    exporter = StoreSpanExporter(f"sqlite:///{tmp_path}/store.db")
    exporter.await_backends({"langfuse": {}})
    one, other = spans(["one", "other"])
    context = one.get_span_context()
    assert context is not None
    place = (format(context.trace_id, "032x"), format(context.span_id, "016x"))
    exporter.note_taken("langfuse", [place])
    exporter.export([one, other])
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        assert waiting(store) == 1
    exporter.export([one])  # the other process of a fork may have ended it too
    exporter.note_taken("langfuse", [place])
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        assert waiting(store) == 1
    exporter.shutdown()


def test_a_server_that_is_down_is_asked_once_and_keeps_nothing_from_waiting(
    langfuse: FakeLangfuse, store: Store, clock: Clock, resender: Resender
) -> None:
    """A pass ends with the first chunk that fails; what was said is told; all go once it is back."""
    left(store, [agent_span(n) for n in range(250)])
    langfuse.fail(OTLP, status=503, times=None, body="maintenance")
    assert not resender.resend(30)
    assert posts(langfuse) <= 4
    counts = store.unsent.counts()["langfuse"]
    assert (counts.waiting, counts.dead, counts.error) == (250, 0, "503 maintenance")
    langfuse.clear()
    resender.hurry()
    assert resender.resend(30)
    assert len(langfuse.observations) == 250
    assert resender.sent["langfuse"] == 250


def test_wrong_keys_cost_no_span(langfuse: FakeLangfuse, store: Store, tmp_path: Path) -> None:
    """They wait until the keys are right."""
    left(store, [agent_span(1)])
    wrong = settings(langfuse, folder=tmp_path, langfuse={"secret_key": "sk-wrong"})
    assert not Resender.from_settings(wrong, store, "me").resend(30)
    assert (waiting(store), posts(langfuse)) == (1, 1)
    right = Resender.from_settings(settings(langfuse, folder=tmp_path), store, "me")
    right.hurry()
    assert right.resend(30)
    assert len(langfuse.observations) == 1


def test_a_span_that_is_refused_takes_no_other_along_and_is_dead_in_the_end(
    langfuse: FakeLangfuse, store: Store, clock: Clock, resender: Resender
) -> None:
    """The others arrive at once; it is tried again for hours, then told, and sent when somebody asks."""
    first = agent_span(7, start=NOON - timedelta(hours=1))
    left(store, [*(agent_span(n) for n in range(5)), first])
    # all together, the first half of them, and that one
    langfuse.fail(OTLP, status=400, times=3, body={"message": "no such thing"})
    assert resender.resend(30)
    assert (len(langfuse.observations), waiting(store)) == (5, 1)
    for _ in range(REFUSALS - 1):
        assert store.unsent.counts()["langfuse"].dead == 0
        clock.pass_(seconds=3600)
        langfuse.fail(OTLP, status=400, body={"message": "no such thing"})
        resender.resend(30)
    counts = store.unsent.counts()["langfuse"]
    assert (counts.waiting, counts.dead, counts.error) == (0, 1, "400 no such thing")
    resender.hurry()
    sent = posts(langfuse)
    assert resender.resend(30)
    assert posts(langfuse) == sent
    resender.hurry(dead=True)
    assert resender.resend(30)
    assert (len(langfuse.observations), store.unsent.counts()) == (6, {})


def test_a_large_trace_is_read_and_sent_once(
    langfuse: FakeLangfuse, store: Store, resender: Resender
) -> None:
    """What waits of it goes in one request, and not a hundred at a time with all the others read again."""
    first = agent_span(1)
    spans = [replace(first, span_id=format(n, "016x"), end_ns=first.end_ns + n) for n in range(1, 451)]
    left(store, spans)
    assert resender.resend(30)
    assert (len(langfuse.observations), posts(langfuse), waiting(store)) == (450, 1, 0)


def test_tokens_that_a_delivered_span_told_are_not_told_again(
    langfuse: FakeLangfuse, store: Store, resender: Resender
) -> None:
    """The model's span had arrived when the process ended; the agent's, which repeats its tokens, had not."""
    usage = {"gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 7}
    agent = agent_span(1)
    agent = replace(agent, attributes={**agent.attributes, **usage})
    model = replace(
        agent,
        span_id="ab" * 8,
        parent_span_id=agent.span_id,
        end_ns=agent.end_ns - 1,
        attributes={"tracehooks.kind": "generation", "gen_ai.operation.name": "chat", **usage},
    )
    alone = replace(agent_span(2), attributes={**agent_span(2).attributes, **usage})
    store.spans.add([model])
    left(store, [agent, alone])
    assert resender.resend(30)
    shown = {row["traceId"]: row["usageDetails"].get("input") for row in langfuse.observations}
    assert shown == {agent.trace_id: None, alone.trace_id: 11}


def test_what_was_pruned_meanwhile_is_counted(
    langfuse: FakeLangfuse, store: Store, resender: Resender
) -> None:
    """It can never be sent; the rest is."""
    left(store, [agent_span(1)])
    gone = agent_span(2)
    note = [Unsent("langfuse", gone.trace_id, gone.span_id)]
    store.spans.add([agent_span(3)], lambda: note, GONE)
    store.unsent.release_owner("langfuse", GONE)
    assert resender.resend(30)
    assert len(langfuse.observations) == 1
    assert store.unsent.counts()["langfuse"].given_up == {PRUNED: 1}


def test_a_large_span_is_cut_as_any_other(langfuse: FakeLangfuse, store: Store, resender: Resender) -> None:
    """A request that is refused as too large is cut and split; all arrive."""
    left(store, [*(agent_span(n) for n in range(9)), agent_span(9, "x" * 500_000)])
    langfuse.fail(OTLP, status=413, times=2, body="Body exceeded 1mb limit")
    assert resender.resend(30)
    assert len(langfuse.observations) == 10
    assert store.unsent.counts() == {}


def test_two_at_once_send_each_span_once(langfuse: FakeLangfuse, store: Store, tmp_path: Path) -> None:
    """Two nights that deliver at the same time share the work."""
    left(store, [agent_span(n) for n in range(600)])
    given = settings(langfuse, folder=tmp_path)
    resenders = [Resender.from_settings(given, store, owner) for owner in ("a", "b")]
    threads = [threading.Thread(target=one.resend, args=(60,)) for one in resenders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(one.sent["langfuse"] for one in resenders) == len(langfuse.observations) == 600
    assert posts(langfuse) == 6
    for one in resenders:
        one.close()


def test_without_a_store_or_keys_nothing_is_remembered(langfuse: FakeLangfuse, store: Store) -> None:
    """No store: there is nothing to send from; no keys: nobody to send to."""
    for given in (settings(langfuse, store=""), Settings()):
        resender = Resender.from_settings(given, store, "me")
        assert resender.resend(1)
        assert resender.wait is None


def test_a_store_in_memory_remembers_until_the_process_ends(langfuse: FakeLangfuse) -> None:
    """What its queue dropped is sent while the application runs."""
    tracehooks.init(settings(langfuse, store="memory", sinks=[]))
    with open_store("memory") as store:
        left(store, [agent_span(1)])
        answer(1)
        assert tracehooks.flush(20)
        eventually(lambda: len(langfuse.observations) == 2)
        eventually(lambda: waiting(store) == 0)
