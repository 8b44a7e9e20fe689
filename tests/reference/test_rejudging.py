"""Judging stored answers again: by today's judge, without the agent."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from tests.reference.making import PLAN, START, rows
from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.records import AgentCall, Reason, Score
from tracehooks.reference import Conditions, Reference, ReferenceRow
from tracehooks.reference.rejudging import Rejudging, rejudge

VARIANTS = tuple(
    NoiseVariant(id=name, noise_type=name, content=f"{name}?") for name in ("distractors", "misinformation")
)
CASES = tuple(NoiseCase(id=f"q{n}", query="q?", baseline=f"b{n}", variants=VARIANTS) for n in range(3))
DATASET = Dataset(name="help-desk", cases=CASES)


@dataclass
class Judge:
    """Today's scorer; it remembers what it saw."""

    name: str = "noise_sensitivity"
    version: str = "v2"
    direction: str = "higher"
    fails: bool = False
    seen: list[AgentCall] = field(default_factory=list)

    async def score(self, call: AgentCall) -> Score:
        self.seen.append(call)
        if self.fails:
            return Score.unscored(self.name, Reason.TIMEOUT)
        return Score.scored(self.name, 0.5)


def reference(dataset: Dataset = DATASET) -> Reference:
    plan = {**PLAN, "datasets": {dataset.name: dataset.hash}}
    return Reference(
        project="shop",
        conditions=Conditions.of(plan),
        rows=tuple(ReferenceRow(row=row, answer=f"a {row.case} {row.repeat}") for row in rows(repeats=2)),
        runs=("r1",),
        candidates=("r1",),
        blessed_at=START,
        blessed_by="ada",
    )


def again(before: Reference, judge: Judge, *datasets: Dataset) -> Reference:
    conditions = replace(before.conditions, scorer_version=judge.version, judge_model="judge-2027")
    how = Rejudging(scorer=judge, conditions=conditions, by="bob", at=START.replace(day=1), concurrency=2)  # type: ignore[arg-type]
    return asyncio.run(rejudge(before, datasets or (DATASET,), how))


def test_each_stored_answer_is_judged_once_more_under_todays_conditions() -> None:
    """promptfoo/promptfoo#360: every repeat by itself; the answers, runs and variants stay what they were."""
    judge, before = Judge(), reference()
    after = again(before, judge)
    assert len(judge.seen) == len(before.rows) == 12
    assert {row.value for row in after.noise_rows} == {0.5}
    assert [(one.answer, one.row.case, one.row.repeat) for one in after.rows] == [
        (one.answer, one.row.case, one.row.repeat) for one in before.rows
    ]
    seen = {call.output: call for call in judge.seen}["a q1 0"]
    assert (seen.metadata["baseline_response"], seen.metadata["case"]) == ("b1", "q1")
    assert (after.origin, after.parent, after.blessed_by) == ("rejudged", before.id, "bob")
    assert (after.conditions.judge_model, after.conditions.scorer_version) == ("judge-2027", "v2")
    assert after.runs == before.runs


def test_what_has_no_answer_stays_and_what_had_no_score_is_judged() -> None:
    """promptfoo/promptfoo#5849, confident-ai/deepeval#734: a failure is never kept for a score."""
    before = reference()
    silent = replace(
        before.rows[0], answer=None, row=replace(before.rows[0].row, value=None, reason=Reason.NO_TEXT)
    )
    failed = replace(before.rows[1], row=replace(before.rows[1].row, value=None, reason=Reason.TIMEOUT))
    after = again(replace(before, rows=(silent, failed)), Judge())
    assert after.rows[0] == silent
    assert (after.rows[1].row.value, after.rows[1].row.reason) == (0.5, None)


def test_a_judge_that_fails_leaves_rows_without_a_score() -> None:
    """Never the old score under the new conditions."""
    after = again(reference(), Judge(fails=True))
    assert {(row.value, row.reason) for row in after.noise_rows} == {(None, Reason.TIMEOUT)}


def test_a_dataset_that_has_changed_cannot_be_judged_again() -> None:
    """Its answers are to other questions; a part of it that was asked alone is no change."""
    other = replace(DATASET, cases=(replace(CASES[0], query="other?"), *CASES[1:]))
    with pytest.raises(ConfigurationError, match="help-desk is not what the reference was made with"):
        again(reference(), Judge(), other)
    with pytest.raises(ConfigurationError, match=r"not among jobs\.noise\.datasets"):
        again(reference(), Judge(), replace(DATASET, name="other"))
    whole = replace(DATASET, cases=(*CASES, replace(CASES[0], id="q9")))
    assert {row.value for row in again(reference(), Judge(), whole).noise_rows} == {0.5}
