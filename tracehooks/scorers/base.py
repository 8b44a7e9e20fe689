"""What judged scorers share: they never raise, run on bare texts too, and their scores say how they came."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from importlib import resources
from typing import Any, TypeVar

from tracehooks.calls.text import agent_words, user_words
from tracehooks.errors import ConfigurationError, RunningLoopError
from tracehooks.protocols import Answer, Judge
from tracehooks.records import NOWHERE, AgentCall, Direction, Reason, Score

logger = logging.getLogger("tracehooks")

T = TypeVar("T")


class JudgedScorer:
    """A scorer that asks a judge. A subclass says what to ask and what the answer is worth: ``_scored``.

    ``name`` is the name of its scores, ``direction`` which way is better, ``range`` the values they can
    have, ``threshold`` the value beyond which a call counts as bad, ``version`` a hash that changes whenever
    the same call might be scored otherwise.
    """

    name: str
    direction: Direction
    range: tuple[float, float]
    threshold: float
    version: str

    def __init__(self, judge: Judge) -> None:
        if not callable(getattr(judge, "ask", None)):
            raise ConfigurationError(f"judge must have an async method ask(question), got {judge!r}")
        self.judge = judge

    async def score(self, call: AgentCall) -> Score:
        """Score ``call``. Never raises: a failure of ours is a Score that is unscored as ``scorer_error``."""
        target = None if call.ref == NOWHERE else call.ref
        try:
            score = await self._scored(call)
        except Exception as error:
            logger.error("%s failed on trace %s: %s", self.name, call.trace_id, error, exc_info=True)
            comment = f"Not scored (scorer_error): {type(error).__name__}: {error}"
            score = Score.unscored(self.name, Reason.SCORER_ERROR, comment)
        return score if target is None else score.at(target)

    async def _scored(self, call: AgentCall) -> Score:
        raise NotImplementedError(f"{type(self).__name__} does not say how to score")

    def _unscored(self, answer: Answer, call: AgentCall) -> Score:
        """The score of an answer that has no value."""
        reason = answer.reason or Reason.SCORER_ERROR
        tried = f", after {answer.attempts} attempts" if answer.attempts > 1 else ""
        return Score.unscored(
            self.name,
            reason,
            f"Not scored ({reason}): {(answer.detail or 'the judge gave no reason').rstrip('.')}{tried}.",
            metadata=self._provenance(answer, call, analysis=None),
        )

    def _provenance(self, answer: Answer, call: AgentCall, **more: Any) -> dict[str, Any]:
        """Where a score comes from: what was asked and answered, by whom, and what it cost."""
        return {
            "scorer_version": self.version,
            "judge_model": answer.model,
            "prompt": [dict(message) for message in answer.prompt],
            "raw": answer.raw,
            "usage": {
                "input_tokens": answer.usage.input_tokens,
                "output_tokens": answer.usage.output_tokens,
            },
            "attempts": answer.attempts,
            "truncated": call.truncated,
            **({"cached": True} if answer.cached else {}),
            **({"batched": True} if answer.batched else {}),
            **more,
        }


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], instead: str) -> T:
    """Run the coroutine that ``make`` makes, to its end.

    Raises RunningLoopError at once when an event loop is running here, naming ``instead``, the call to await.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    raise RunningLoopError(
        f"an event loop is running here: use `await {instead}` in place of the blocking call"
    )


def said_by_agent(value: Any) -> str | None:
    """The agent's own text in ``value``, a text or chat messages; None when it said nothing."""
    return value if value is None or isinstance(value, str) else agent_words(value).text


def said_by_user(value: Any) -> str | None:
    """The user's text in ``value``, a text or chat messages; None when there is none."""
    return value if value is None or isinstance(value, str) else user_words(value).text


def prompt_text(name: str) -> str:
    """The instructions in ``config/prompts/<name>.md``."""
    return (resources.files("tracehooks.config") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def version_of(judge: Judge, instructions: str, options: Mapping[str, Any]) -> str:
    """The version of a judged scorer: 12 hex digits over its prompt, its judge's model and all options."""
    model = getattr(judge, "model", None) or type(judge).__qualname__
    parts = [instructions, model, dict(getattr(judge, "options", {})), dict(options)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:12]


def checked_number(value: Any, name: str, low: float, high: float = float("inf")) -> float:
    """``value`` as a finite float within ``low..high``. Raises ConfigurationError naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        bounds = f"at least {low:g}" if high == float("inf") else f"within {low:g} to {high:g}"
        raise ConfigurationError(f"{name} must be a number {bounds}, got {value!r}")
    if value == float("inf"):
        raise ConfigurationError(f"{name} must be finite, got {value!r}")
    return float(value)


def options_from(settings: Any, name: str, known: frozenset[str]) -> dict[str, Any]:
    """The options under ``scorers.<name>`` in the settings. Raises ConfigurationError for an unknown one."""
    options = dict(settings.scorers.get(name, {}))
    for key in options:
        if key not in known:
            raise ConfigurationError(
                f"scorers.{name}.{key}: unknown key; known here: {', '.join(sorted(known))}"
            )
    return options


def rounded(value: float) -> float:
    """``value`` to two decimals, halves up: what the published scorers do (Python's round() is not)."""
    return int((value + 2**-52) * 100 + 0.5) / 100


def shortened(text: str, most: int) -> str:
    """``text`` on one line, cut to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema that strict servers take: all keys required, no others allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
