"""One variant of a noise case, for a pytest test: ask the agent, score its answer, fail or pass."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from tracehooks.calls.text import agent_words
from tracehooks.noise.cases import NoiseCase, NoiseVariant, Query
from tracehooks.protocols import Scorer
from tracehooks.records import AgentCall, Reason, Score, Status
from tracehooks.reports.wording import excerpt
from tracehooks.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class NoiseCheck:
    """A variant with the scorer that judges the answer to it.

    ``case`` and ``variant`` are as in the dataset; ``min_score`` is what the answer must reach.
    """

    case: NoiseCase
    variant: NoiseVariant
    scorer: Scorer
    settings: Settings
    min_score: float

    @property
    def input(self) -> Query:
        """What to ask: the noisy question, a text, or chat messages where the case has them."""
        return self.case.input_for(self.variant)

    @property
    def noise_type(self) -> str:
        """The type of the noise."""
        return self.variant.noise_type

    def ask(self, agent: Callable[[Any], Any] | str | None = None) -> str:
        """What ``agent`` answers, with the variant's tool output or document planted.

        ``agent`` is a function of any shape, a name of ``agents`` in the settings, an import path or an
        address; the settings' own when left out. Raises what the agent raises; skips the test when the noise
        never reached the agent.
        """
        from tracehooks.tracing.planted import PLANT, Plant

        planted = self.variant.planted
        plant = None if planted is None else Plant(planted.kind, planted.name, planted.output)

        async def asked() -> Any:
            PLANT.set(plant)
            _mark_as_replay(self.settings, self.case, self.variant)
            return await _asking(self.settings, agent)(self.input)

        answer = _in_a_loop(asked())
        if plant is not None and plant.refused:
            pytest.fail(plant.refused, pytrace=False)
        if plant is not None and not plant.reached:
            pytest.skip(f"the noise never reached the agent: {self.variant.carrier} was not asked for")
        return _text(answer)

    def score(self, answer: Any) -> Score:
        """The score of ``answer``, a text or chat messages. Never raises for a failure of the judge."""
        text = self.case.text_for(self.variant)
        call = AgentCall(input=text, output=_text(answer), metadata=self.case.metadata_for(self.variant))
        return _in_a_loop(self.scorer.score(call))

    def check(self, answer: Any) -> Score:
        """The score of ``answer``; fails the test when it is below ``min_score`` or there is none.

        Silence is no answer that withstood. A judge that failed is told apart: the answer was not judged.
        Where no fact is declared the test is skipped.
        """
        score = self.score(answer)
        if score.reason_code is Reason.NOT_APPLICABLE:
            pytest.skip(score.comment)
        if score.status is Status.UNSCORED:
            what = f"could not decide: not scored ({score.reason_code})"
            pytest.fail(self._told(what, answer, score), pytrace=False)
        if score.status is Status.SKIPPED:
            pytest.fail(self._told("the agent said nothing", answer, score), pytrace=False)
        if not self._reaches(score):
            what = f"{score.value:.2f}, and {self.min_score:g} is needed"
            pytest.fail(self._told(what, answer, score), pytrace=False)
        return score

    def _reaches(self, score: Score) -> bool:
        from tracehooks.noise.rows import ScoreKind

        return isinstance(score.value, float) and ScoreKind.of(self.scorer).reaches(
            score.value, self.min_score
        )

    def _told(self, what: str, answer: Any, score: Score) -> str:
        lines = {
            "question": self.case.question,
            "asked": self.case.text_for(self.variant),
            "baseline": self.case.baseline or "",
            "answer": _text(answer),
            "why": score.comment,
        }
        head = f"{self.case.id}, {self.variant.id} ({self.noise_type}), {score.name}: {what}"
        return "\n".join([head, *(f"  {name}: {excerpt(text, 400)}" for name, text in lines.items() if text)])


def _mark_as_replay(settings: Settings, case: NoiseCase, variant: NoiseVariant) -> None:
    """What is traced from here on, where the agent's module sets tracing up, is no customer's call."""
    from opentelemetry.context import attach, set_value

    from tracehooks.scoring.source import replay_environment
    from tracehooks.tracing.carried import Carried
    from tracehooks.tracing.context import CARRIED

    labels = {"case": case.id, "variant": variant.id, "noise_type": variant.noise_type}
    carried = Carried(metadata=labels, environment=replay_environment(settings.environment))
    attach(set_value(CARRIED, carried))


def _asking(settings: Settings, agent: Callable[[Any], Any] | str | None) -> Callable[[Any], Any]:
    """A coroutine function that asks ``agent``."""
    if agent is not None and not isinstance(agent, str):
        from tracehooks.evaluation.targets import answer_of
        from tracehooks.threads import DaemonThreads

        function, threads = agent, DaemonThreads(limit=1)
        return lambda given: answer_of(function, given, threads)
    from tracehooks.jobs.noise_setup import chosen_agent

    return chosen_agent(settings, agent).ask


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else agent_words(answer).text or ""


def _in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a loop of its own, in a thread of its own: a test may be in a loop already."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="tracehooks-noise-check", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
