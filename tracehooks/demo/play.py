"""Playing the stored messages through the traced agent."""

from collections.abc import Callable
from dataclasses import dataclass

from tracehooks import trace_attributes
from tracehooks.demo.agent import answer, stream
from tracehooks.demo.data import Message, messages
from tracehooks.settings import Settings

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """An answer that a good night finds. ``message`` is its id, which the call's metadata holds too."""

    message: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What was played: how many calls, how many of them without text, and the answers known to be bad."""

    calls: int
    silent: int
    bad: tuple[BadAnswer, ...]


def run(settings: Settings, *, on_progress: Progress | None = None, limit: int | None = None) -> DemoResult:
    """Play the stored messages, or the first ``limit`` of them, through the agent.

    Call :func:`tracehooks.init` before, and :func:`tracehooks.flush` after. Chat messages are streamed and
    e-mails answered at once. Each call carries its session, user, a tag for the channel, and the message's
    id as metadata. ``on_progress`` is called with (calls done, calls in all) after each.
    """
    played = messages()[:limit]
    answers = []
    for number, message in enumerate(played, start=1):
        answers.append(_play(message, settings.service))
        if on_progress is not None:
            on_progress(number, len(played))
    bad = tuple(
        BadAnswer(message.id, message.text, text)
        for message, text in zip(played, answers, strict=True)
        if message.expect == "bad"
    )
    return DemoResult(calls=len(answers), silent=sum(not text for text in answers), bad=bad)


def _play(message: Message, service: str) -> str:
    with trace_attributes(
        session_id=f"{service}-{message.session}",  # sessions of several services may share a project
        user_id=message.user,
        tags=[message.channel],
        metadata={"message": message.id},
    ):
        return "".join(stream(message.text)) if message.channel == "chat" else answer(message.text)
