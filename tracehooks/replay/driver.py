"""The driver of replays: asks an agent many questions at once, each call traced in an environment of its own.

The environment is that of the settings with ``-replay`` behind it; the toxicity night leaves it out (see
``tracehooks.scoring.source``). What an agent raises, and a call that takes too long, is a reply with its
``error``; nobody is asked to judge it, and nothing else stops for it.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context, attach, get_current

from tracehooks import runtime
from tracehooks.calls import SpanRecord, agent_calls
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.calls.text import agent_words
from tracehooks.errors import ConfigurationError
from tracehooks.evaluation.linking import ItemTrace, Linking, linking
from tracehooks.posts import plain_words
from tracehooks.records import AgentCall, Reason
from tracehooks.replay.agents import Agent
from tracehooks.replay.asks import Ask
from tracehooks.scoring.source import replay_environment
from tracehooks.tracing.carried import Carried
from tracehooks.tracing.context import CARRIED, HERE, SPAN
from tracehooks.tracing.decorator import is_disabled
from tracehooks.tracing.planted import PLANT, REPLAYING, Plant
from tracehooks.tracing.provider import door

if TYPE_CHECKING:
    from tracehooks.settings import Settings

FLUSH_SECONDS = 30.0
MAX_ERROR_CHARS = 2000
NEVER_REACHED = "noise never reached the agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of one ask.

    ``answer`` is the agent's text, None when it said nothing, or failed: then ``error`` is ``Type: message``.
    ``call`` is its finished call, ``spans`` all of its trace that had ended; without them when it left none.
    ``reason`` says why there can be no score whatever a judge would say, ``detail`` the same in words:
    ``not_attempted`` where the agent failed, left no trace, or could not be given the document;
    ``not_applicable`` where the noise never reached it.
    """

    ask: Ask
    answer: str | None = None
    call: AgentCall | None = None
    spans: tuple[SpanRecord, ...] = ()
    error: str | None = None
    reason: Reason | None = None
    detail: str = ""


@contextmanager
def driving(settings: "Settings", agent: Agent) -> Iterator["Driver"]:
    """A driver for ``agent`` while the block runs; tracing is set up for it where nobody has before.

    Raises ConfigurationError when tracing is switched off: scores go onto the traces of the replay.
    """
    if is_disabled():
        raise ConfigurationError(
            "TRACEHOOKS_DISABLED is set, and the scores of a replay go onto its traces: unset it"
        )
    is_ours = runtime.pipeline() is None
    if is_ours:
        runtime.init(settings.model_copy(update={"hooks": ()}))  # a replay is judged by its own scorer
    try:
        with linking() as links:
            assert links is not None
            text = TextPath.parse(settings.text) if settings.text else None
            yield Driver(agent, links, replay_environment(settings.environment), text)
    finally:
        runtime.shutdown(FLUSH_SECONDS) if is_ours else runtime.flush(FLUSH_SECONDS)


async def replay(
    asks: Iterable[Ask],
    driver: "Driver",
    *,
    concurrency: int = 8,
    on_reply: Callable[[Reply], None] = lambda reply: None,
) -> list[Reply]:
    """Ask them all, at most ``concurrency`` at once; the replies in the order of the asks.

    ``on_reply`` is called with each as it comes.
    """
    slots = asyncio.Semaphore(concurrency)

    async def one(ask: Ask) -> Reply:
        async with slots:
            reply = await driver.ask(ask)
        on_reply(reply)
        return reply

    return list(await asyncio.gather(*(one(ask) for ask in asks)))


class Driver:
    """Asks one agent, and finds the trace of each call. Made by :func:`driving`."""

    def __init__(self, agent: Agent, links: Linking, environment: str, text: TextPath | None = None) -> None:
        self.agent, self.environment = agent, environment
        self._text = text
        self._links = links

    async def ask(self, ask: Ask, run: str = "") -> Reply:
        """Ask once. ``run`` is the id of the run, for the trace. Raises only CancelledError."""
        if ask.planted is not None and not self.agent.plantable:
            detail = f"{NEVER_REACHED}: nothing can be planted in an agent behind an address"
            return Reply(ask=ask, reason=Reason.NOT_APPLICABLE, detail=detail)
        trace = self._links.new_item()
        plant = None if ask.planted is None else Plant(ask.planted.kind, ask.planted.name, ask.planted.output)
        try:
            # a task of its own, so that nothing of the call's context stays behind
            output, error = await asyncio.create_task(self._asked(ask, trace, plant, run))
        finally:
            self._links.forget(trace)
        return _reply(ask, trace, plant, output, error, self._text)

    async def _asked(
        self, ask: Ask, trace: ItemTrace, plant: Plant | None, run: str
    ) -> tuple[Any, str | None]:
        metadata = {**({"run": run} if run else {}), **ask.labels}
        trace.enter()
        context: dict[str, Any] = {
            key: get_current()[key] for key in get_current() if key not in (SPAN, HERE)
        }
        attach(Context({**context, CARRIED: Carried(metadata=metadata, environment=self.environment)}))
        PLANT.set(plant)
        REPLAYING.set(True)
        try:
            return await self.agent.ask(ask.input), None
        except Exception as error:
            return None, _told(error)


def _told(error: Exception) -> str:
    """How the agent failed, masked as everything that is recorded, and not endless."""
    text = f"{type(error).__name__}: {plain_words(str(error), MAX_ERROR_CHARS)}".rstrip(": ")
    recording = door.recording or door.find()
    return text[:MAX_ERROR_CHARS] if recording is None else recording.capture.text(text, MAX_ERROR_CHARS)


def _reply(
    ask: Ask,
    trace: ItemTrace,
    plant: Plant | None,
    output: Any,
    error: str | None,
    text: TextPath | None = None,
) -> Reply:
    call, spans = trace.call(), tuple(with_named_text(trace.records(), text))
    if call is not None and text is not None:  # as the store will read it
        call = next((one for one in agent_calls(spans) if one.span_id == call.span_id), call)
    answer = agent_words(output).text if call is None or not call.has_text else call.output
    reason, detail = _unscorable(plant, call, error)
    return Reply(
        ask=ask,
        answer=None if error is not None else answer,
        call=call,
        spans=spans,
        error=error,
        reason=reason,
        detail=detail,
    )


def _unscorable(plant: Plant | None, call: AgentCall | None, error: str | None) -> tuple[Reason | None, str]:
    """Why no judge need be asked, if so."""
    if error is not None:
        return Reason.NOT_ATTEMPTED, f"the agent failed, so there is nothing to judge: {error}"
    if plant is not None and plant.refused:
        return Reason.NOT_ATTEMPTED, plant.refused
    if plant is not None and not plant.reached:
        what = f"the tool {plant.name} was not called" if plant.kind == "tool" else "no retriever was called"
        return Reason.NOT_APPLICABLE, f"{NEVER_REACHED}: {what}"
    if call is None:
        return Reason.NOT_ATTEMPTED, "the agent's call left no finished span to put a score on"
    return None, ""


def first_error(replies: Sequence[Reply]) -> str | None:
    """How the first of the replies that failed did so."""
    return next((reply.error for reply in replies if reply.error is not None), None)
