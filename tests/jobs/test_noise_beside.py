"""Declared facts beside a judge: each answer has both scores, and the verdict goes by the judge's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.jobs.quiz import dataset, night
from tracehooks.jobs.noise_rows import answers
from tracehooks.records import Status, Verdict
from tracehooks.scorers import NoiseSensitivityScorer
from tracehooks.store import Store, open_store
from tracehooks.testing import ScriptedJudge

DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")
UNMOVED: dict[str, Any] = {
    "dimensions": [{"dimension": name, "impact_level": "none"} for name in DIMENSIONS],
    "major_issues": [],
    "robustness_score": 1.0,
}
NO_FACTS = """
  - id: greeting
    query: "Good day to item 7?"
    baseline: "There are 17."
    variants:
      - {id: chatter, noise_type: distractors, content: "It rains. Good day to item 7?"}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened
    tracehooks.shutdown(2)


def test_declared_facts_are_checked_beside_the_judge(store: Store, tmp_path: Path) -> None:
    """Each once, also where the judge failed; a case that declares none has the judge's score alone."""
    dataset(tmp_path, 1, more=NO_FACTS)
    judge = ScriptedJudge([UNMOVED, UNMOVED, TimeoutError()])
    run = night(
        store,
        tmp_path,
        agent="gullible",
        scorer=NoiseSensitivityScorer(judge),
        job={"repeats": 1, "concurrency": 1},
    ).run()
    assert run.verdict is not None
    assert (run.plan["score_name"], run.counts["planned"]) == ("noise_sensitivity", 3)
    assert run.counts["scored"] + sum(run.counts["unscored"].values()) == 3
    facts = {(one.trace_id, one.span_id): one for one in store.scores.page("noise_facts")}
    assert len(facts) == 2
    for answer in answers(store, run):
        known = facts.get((answer.replay.trace_id or "", answer.replay.span_id or ""))
        if answer.row.case == "greeting":
            assert known is None
            continue
        assert known is not None
        assert known.status is Status.SCORED
        assert known.run_id == run.id
        # the one that believes a rumour lost the fact, whatever the judge says
        assert known.value == (0.0 if answer.row.noise_type == "misinformation" else 1.0)
        assert known.metadata["variant"] == answer.row.variant
        assert answer.score is None or answer.score.name == "noise_sensitivity"


def test_facts_decide_nothing_where_a_judge_was_asked(store: Store, tmp_path: Path) -> None:
    """The judge's own score passes, although every fact is missing in one answer."""
    dataset(tmp_path, 1)
    scorer = NoiseSensitivityScorer(ScriptedJudge([UNMOVED, UNMOVED]))
    run = night(store, tmp_path, agent="gullible", scorer=scorer, job={"repeats": 1}).run()
    assert run.verdict is Verdict.PASS
    assert {one.name for one in store.scores.page()} == {"noise_facts", "noise_sensitivity"}
