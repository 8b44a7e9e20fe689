"""What users need in their own tests: a judge that follows a script, and spans kept in memory."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracehooks.calls import agent_calls, span_record
from tracehooks.judges.asking import BaseJudge
from tracehooks.judges.completions import Completion, CompletionFailed, Messages
from tracehooks.judges.failures import failure_of
from tracehooks.protocols import Answer, Question
from tracehooks.records import AgentCall, Reason

Reply = Mapping[str, Any] | str | BaseException | Completion
_NONE_LEFT = object()


class Asked(str):
    """A prompt as one text, its messages in their order. ``messages`` has them apart, with their roles."""

    messages: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def of(cls, messages: Messages) -> "Asked":
        """The text of ``messages``."""
        text = cls("\n\n".join(message["content"] for message in messages))
        text.messages = tuple(messages)
        return text


class ScriptedJudge(BaseJudge):
    """A judge that gives ``replies`` in order, for tests that need no model.

    A mapping is sent as JSON, a text as it is, an exception is raised as the failure it stands for
    (TimeoutError, ConnectionError, those of openai), a Completion can carry a refusal or a finish reason.
    Instead of a list, a function from the Question to a reply. ``calls`` holds the prompts asked, one text a
    request, and ``questions`` the questions::

        judge = ScriptedJudge([{"verdicts": [{"verdict": "no"}]}, TimeoutError()])
        score = ToxicityScorer(judge).run_sync(output="Good morning!")
        assert score.value == 0.0 and "Good morning!" in judge.calls[0]

    A malformed reply is followed by one correction, which takes the next reply; when none is left the judge
    insists on its malformed one. A new question with no reply left is unscored, as ``scorer_error``.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[Question], Reply],
        *,
        model: str = "scripted",
        mask: str | Sequence[str] = "secrets",
    ) -> None:
        super().__init__(mask=mask)
        self.model: str = model
        self.calls: list[Asked] = []
        self.questions: list[Question] = []
        self._function = replies if callable(replies) else None
        self._replies: Iterator[Any] = iter(()) if callable(replies) else iter(replies)

    async def ask(self, question: Question) -> Answer:
        """Answer ``question`` by the script; the reply is checked like any judge's."""
        self.questions.append(question)
        return await BaseJudge.ask(self._for(question), question)

    def _for(self, question: Question) -> "ScriptedJudge":
        """The judge of one question: this one, or one whose replies come from the function."""
        function = self._function
        if function is None:
            return self
        one = copy.copy(self)
        one._replies = iter(lambda: function(question), _NONE_LEFT)
        return one

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        said = [message["content"] for message in messages if message["role"] == "assistant"]
        reply = next(self._replies, said[-1] if said else _NONE_LEFT)
        if reply is _NONE_LEFT:
            detail = f"ScriptedJudge has no reply left: all {len(self.calls)} were given. Script one more."
            raise CompletionFailed(Reason.SCORER_ERROR, detail, attempts=0)
        self.calls.append(Asked.of(messages))
        return _played(reply, self.model)


def _played(reply: Any, model: str) -> Completion:
    if isinstance(reply, type) and issubclass(reply, BaseException):
        reply = reply()
    if isinstance(reply, Exception):
        raise failure_of(reply) from None
    if isinstance(reply, BaseException):
        raise reply
    if isinstance(reply, Completion):
        return reply
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return Completion(text=text, model=model, finish_reason="stop")


class MemoryExporter(InMemorySpanExporter):
    """Keeps finished spans in memory, for tests of traced code that need no store::

        exporter = MemoryExporter()
        tracehooks.init({"store": ""}, tracer_provider=exporter.provider())
        answer("Where is my parcel?")
        assert exporter.calls[0].output == "On its way."

    ``clear()`` forgets them. It is an OpenTelemetry span exporter, so any provider takes it.
    """

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The finished spans, in the order in which they ended."""
        return self.get_finished_spans()

    @property
    def calls(self) -> list[AgentCall]:
        """The outermost agent calls among them, by their start."""
        return agent_calls(span_record(span) for span in self.spans)

    def provider(self, **options: Any) -> TracerProvider:
        """A tracer provider that exports here, each span as it ends; ``options`` are TracerProvider's."""
        provider = TracerProvider(**{"shutdown_on_exit": False, **options})
        provider.add_span_processor(SimpleSpanProcessor(self))
        return provider
