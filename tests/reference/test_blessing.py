from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.reference.making import START, Runs
from tracehooks.errors import ConfigurationError
from tracehooks.records import Reason
from tracehooks.reference import Reference, reference_for
from tracehooks.reference.blessing import Blessing, bless
from tracehooks.store import RunRecord

KEY = {"project": "shop", "agent": "support", "score_name": "noise_facts"}


def blessed(runs: Runs, *chosen: RunRecord, day: int = 9, **more: Any) -> Reference:
    blessing = Blessing(project="shop", by="ada", at=START + timedelta(days=day), **more)
    return bless(runs.store, chosen, blessing, runs.rows_of)


def test_runs_that_add_up_to_nine_repeats_become_the_reference(runs: Runs) -> None:
    """All comparable runs are pooled, their repeats counted through, with who, when and under what."""
    made = [runs.add(day) for day in (1, 2, 3)]
    found = blessed(runs)
    assert found.runs == found.candidates == tuple(run.id for run in made)
    assert found.repeats == 9
    assert sorted(row.repeat for row in found.noise_rows if row.case == "q0") == sorted([*range(9)] * 2)
    assert (found.blessed_by, found.blessed_at) == ("ada", START + timedelta(days=9))
    assert found.conditions.datasets == {"help-desk": "aaaa"}
    assert found.cases == {"help-desk": {"q0": "c"}}
    assert {row.answer for row in found.rows} == {"24 months"}
    assert reference_for(runs.store, **KEY) == found


def test_one_run_of_nine_repeats_is_enough(runs: Runs) -> None:
    """Three of three or one of nine: it is the answers that count."""
    assert blessed(runs, runs.add(1, repeats=9)).repeats == 9


def test_fewer_than_nine_repeats_are_said_and_need_a_yes(runs: Runs) -> None:
    """A shallow reference cannot tell, so nobody gets one by accident."""
    run = runs.add(1)
    with pytest.raises(ConfigurationError, match=r"3 answers to each variant, .* needs 9; .*--fewer"):
        blessed(runs, run)
    assert reference_for(runs.store, **KEY) is None
    assert blessed(runs, run, fewer=True).repeats == 3


def test_runs_of_another_project_in_the_store_are_not_pooled(runs: Runs) -> None:
    """Two projects may share a store and an agent's name: neither's answers speak for the other."""
    own = runs.add(1, repeats=9, project="shop")
    other = runs.add(2, 0.2, repeats=9, project="bank")
    found = blessed(runs)
    assert found.runs == found.candidates == (own.id,)
    with pytest.raises(ConfigurationError, match=f"run {other.id} is of the project 'bank'.*'shop'"):
        blessed(runs, other)


def test_a_run_whose_judge_its_canaries_doubt_is_pooled_only_by_name(runs: Runs) -> None:
    """What a swapped judge said must not become what all later runs are held against by itself."""
    good, doubted = runs.add(1, repeats=9), runs.add(2, 0.2, repeats=9)
    runs.store.runs.update(doubted.id, report={"canaries": {"reason": "canaries: another judge"}})
    found = blessed(runs)
    assert found.runs == found.candidates == (good.id,)
    with pytest.raises(ConfigurationError, match="a judge that its canaries doubt"):
        blessed(runs)
    assert blessed(runs, doubted).runs == (doubted.id,)


def test_the_best_of_several_is_refused(runs: Runs) -> None:
    """Blessing one of two comparable runs needs a reason, which stays with the reference."""
    bad, good = runs.add(1, 0.5, repeats=9), runs.add(2, repeats=9)
    for reason in (None, "  "):
        with pytest.raises(ConfigurationError, match=f"left out.*{bad.id}.*--left-out-because"):
            blessed(runs, good, left_out_because=reason)
    found = blessed(runs, good, left_out_because="the search index was down")
    assert (found.runs, found.left_out) == ((good.id,), (bad.id,))
    assert len(found.candidates) == 2
    assert found.left_out_because == "the search index was down"


def test_candidates_are_counted_from_the_last_blessing_on_and_only_under_like_conditions(runs: Runs) -> None:
    """Another dataset, judge or agent version is another matter; so is what was blessed before."""
    blessed(runs, runs.add(1, repeats=9), day=2)
    others: list[dict[str, Any]] = [{"agent_version": "2"}, {"judge_model": "gpt-6"}, {"datasets": {}}]
    for day, other in enumerate(others, start=3):
        runs.add(day, **other)
    run = runs.add(12, repeats=9)
    found = blessed(runs, run, day=13)
    assert found.candidates == (run.id,)
    assert found.number == 2
    assert [record.number for record in runs.store.references.history(project="shop")] == [2, 1]


def test_runs_under_different_conditions_are_not_pooled(runs: Runs) -> None:
    """It says what differs."""
    first = runs.add(1)
    changes: tuple[tuple[int, dict[str, Any], str], ...] = (
        (4, {"scorer_version": "v2"}, "scorer version: v1"),
        (5, {"agent_version": "2"}, "agent version"),
    )
    for day, other, named in changes:
        with pytest.raises(ConfigurationError, match=f"cannot be pooled: {named}"):
            blessed(runs, first, runs.add(day, **other))


def test_a_run_of_which_most_rows_have_no_score_is_no_reference(runs: Runs) -> None:
    """A judge's outage must not become what others are measured by."""
    run = runs.add(1, repeats=9)
    rows = runs.rows[run.id]
    runs.rows[run.id] = [
        replace(one, row=replace(one.row, value=None, reason=Reason.TIMEOUT)) if index % 5 else one
        for index, one in enumerate(rows)
    ]
    told = f"only 11 of 54 rows have a score.*the others are of {run.id}: `tracehooks resume RUN` judges"
    with pytest.raises(ConfigurationError, match=told):
        blessed(runs, run)


def test_only_finished_noise_runs_can_be_blessed(runs: Runs) -> None:
    """And it says so when there is none, or none that is new."""
    with pytest.raises(ConfigurationError, match="no finished noise run"):
        blessed(runs)
    run = runs.add(1, repeats=9)
    half = runs.store.runs.update(runs.add(2).id, state="interrupted")
    with pytest.raises(ConfigurationError, match=r"no finished noise run .*interrupted"):
        blessed(runs, half)
    assert blessed(runs, day=3).runs == (run.id,)
    with pytest.raises(ConfigurationError, match="blessed already"):
        blessed(runs, day=4)


def test_a_run_of_a_part_is_blessed_only_by_its_name(runs: Runs) -> None:
    """Else the last run that happened to be filtered would push the whole reference aside."""
    part: dict[str, Any] = {"datasets": {"help-desk": "part"}, "filters": {"types": ["casing"]}}
    first = runs.add(1, repeats=9, **part)
    with pytest.raises(ConfigurationError, match=f"only a part.*reference bless {first.id}"):
        blessed(runs)
    whole = runs.add(2, repeats=9)
    runs.add(3, repeats=9, **part)
    assert blessed(runs).runs == (whole.id,)
    assert blessed(runs, first, left_out_because="the later one of the part").runs == (first.id,)
