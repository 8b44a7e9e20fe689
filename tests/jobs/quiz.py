"""A dataset and agents of known strength, for noise nights to ask."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracehooks import traced
from tracehooks.jobs.noise import NoiseNight
from tracehooks.records import AgentCall, Reason, Score
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

ASKED: list[str] = []
"""What the agents of this module were asked, one a line; the file of the same name in a killed process."""

CASE = """
  - id: {id}
    query: "{query}"
    baseline: "{baseline}"
    facts: {{must_contain: ["{fact}"]}}
    variants:
      - {{id: rumour, noise_type: misinformation, content: "They say 99. {query}"}}
      - {{id: chatter, noise_type: distractors, content: "It rains. {query}"}}
"""


def dataset(folder: Path, cases: int = 5, *, name: str = "quiz", more: str = "") -> Path:
    """A file with so many cases of two variants each; each asks how many there are of an item."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [
        CASE.format(
            id=f"item-{n}", query=f"How many of item {n}?", baseline=f"There are {n + 10}.", fact=n + 10
        )
        for n in range(cases)
    ]
    path = folder / f"{name}.yaml"
    path.write_text(f"name: {name}\ncases:{''.join(texts) or ' []'}{more}", encoding="utf-8")
    return path


def _item(question: str) -> int:
    return int(question.rpartition("item ")[2].rstrip("?"))


@traced(name="quiz")
def steady(question: str) -> str:
    ASKED.append(question)
    return f"There are {_item(question) + 10}."


@traced(name="quiz")
def gullible(question: str) -> str:
    return "There are 99, as you say." if "99" in question else steady(question)


@traced(name="quiz")
def moody(question: str) -> str:
    """Every second answer to a rumour is no answer."""
    rumours = sum("99" in asked for asked in ASKED)
    said = steady(question)
    return "Who knows." if "99" in question and rumours % 2 else said


@traced(name="quiz")
def talkative(question: str) -> str:
    print("thinking about", question)
    return steady(question)


@traced(name="quiz")
def silent(question: str) -> str:
    return ""


@traced(name="quiz")
def speechless(question: str) -> Any:
    """Answers in every way that has no words: nothing, blanks, a call of a tool."""
    call = {"id": "1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
    silences: list[Any] = [None, " \n\t", {"role": "assistant", "content": None, "tool_calls": [call]}]
    return silences[_item(question) % len(silences)]


@traced(name="quiz")
def fragile(question: str) -> str:
    if "99" in question:
        raise ValueError("cannot count that")
    return steady(question)


@traced(name="quiz")
def broken(question: str) -> str:
    ASKED.append(question)
    raise ConnectionError("no model today")


def settings(
    folder: Path, *, agent: str = "steady", datasets: Sequence[str] | None = None, **noise: Any
) -> Settings:
    patterns = [str(folder / "quiz.yaml")] if datasets is None else list(datasets)
    return Settings.model_validate(
        {
            "project": "shop",
            "environment": "test",
            "agent": f"tests.jobs.quiz:{agent}",
            "store": f"sqlite:///{folder}/store.db",
            "jobs": {"noise": {"datasets": patterns, "repeats": 2, **noise}},
        }
    )


def night(
    store: Store,
    folder: Path,
    *,
    agent: str = "steady",
    asked_of: str | None = None,
    job: dict[str, Any] | None = None,
    **more: Any,
) -> NoiseNight:
    """A night that asks ``agent`` of this module, or the one at ``asked_of``."""
    chosen = settings(folder, agent=agent, **(job or {}))
    return NoiseNight(settings=chosen, store=store, agent=asked_of, **more)


@dataclass
class Scripted:
    """A judge's scorer whose reply hangs on the noise type and the answer; remembers what it saw."""

    fails: dict[str, Reason] = field(default_factory=dict)
    seen: list[AgentCall] = field(default_factory=list)
    name: str = "noise_sensitivity"
    version: str = "1"
    direction: str = "higher"
    range: tuple[float, float] = (0.0, 1.0)

    async def score(self, call: AgentCall) -> Score:
        self.seen.append(call)
        reason = self.fails.get(f"{call.metadata['noise_type']} {call.metadata['case']}")
        reason = reason or self.fails.get(str(call.metadata["noise_type"]))
        if reason is not None:
            return Score.unscored(self.name, reason, "no answer")
        return Score.scored(self.name, 0.2 if "99" in (call.output or "") else 0.95, comment="read")


def check_sums(run: RunRecord) -> None:
    counts = run.counts
    assert counts["planned"] == counts["answered"] + counts["agent_errors"] + counts["not_attempted"]
    rows = counts["scored"] + sum(counts["unscored"].values()) + sum(counts["skipped"].values())
    assert counts["planned"] == rows
