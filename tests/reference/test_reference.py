import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.reference.making import PLAN, START, Runs, rows
from tracehooks.errors import ConfigurationError
from tracehooks.records import Reason
from tracehooks.reference import (
    Conditions,
    Reference,
    ReferenceRow,
    differences,
    read_reference,
    reference_for,
    store_reference,
)
from tracehooks.store import Store

KEY = {"project": "shop", "agent": "support", "score_name": "noise_facts"}


def reference(**more: Any) -> Reference:
    fields: dict[str, Any] = {
        "project": "shop",
        "conditions": Conditions.of(PLAN),
        "rows": tuple(ReferenceRow(row=row, answer="24 months") for row in rows()),
        "runs": ("r1",),
        "candidates": ("r1", "r2"),
        "left_out_because": "r2 ran without its knowledge base",
        "blessed_at": START,
        "blessed_by": "ada",
        "cases": {"help-desk": {"q0": "c0"}},
    }
    return Reference(**fields | more)


def test_a_reference_reads_back_as_it_was_stored_and_the_latest_is_in_force(store: Store) -> None:
    """All of it: rows with answers, conditions, who blessed it and what was left out."""
    assert reference_for(store, **KEY) is None
    first = store_reference(store, reference())
    assert first == replace(reference(), number=1)
    assert reference_for(store, **KEY) == first
    second = store_reference(store, reference(blessed_at=START + timedelta(days=1)))
    assert reference_for(store, **KEY) == second
    assert second.number == 2


def test_a_reference_survives_a_file(store: Store) -> None:
    """Exported as JSON and loaded elsewhere it is the same, with the same id: CI keeps it in git."""
    unscored = ReferenceRow(row=replace(rows()[0], value=None, reason=Reason.TIMEOUT))
    before = reference(rows=(unscored,))
    after = read_reference(json.loads(json.dumps(before.as_dict())))
    assert after == before
    assert after.id == before.id


@pytest.mark.parametrize("document", [{}, {"form": 1}, {"form": 2}, {"form": 1, "rows": 3}, [], None])
def test_what_is_no_reference_is_refused_in_one_sentence(document: Any) -> None:
    """And never read as an empty one."""
    with pytest.raises(ConfigurationError, match="reference"):
        read_reference(document)


def test_a_run_under_the_same_conditions_may_be_compared_whatever_its_agent_version(runs: Runs) -> None:
    """The agent's version is what is tested; so is nothing else."""
    run = runs.add(1, agent_version="2", repeats=5)
    assert differences(reference(), run) == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"datasets": {"help-desk": "bbbb"}}, "dataset hash of help-desk: aaaa in the reference, bbbb"),
        ({"datasets": {}}, "dataset help-desk: not in this run"),
        ({"datasets": {"help-desk": "aaaa", "more": "c"}}, "dataset more: not in the reference"),
        ({"judge_model": "gpt-6"}, "judge model: none in the reference, gpt-6 in this run"),
        ({"prompt_hash": "p2"}, "prompt hash"),
        ({"scorer_version": "v2"}, "scorer version: v1 in the reference, v2 in this run"),
        ({"agent": "sales"}, "agent: support in the reference, sales in this run"),
    ],
)
def test_each_condition_that_differs_is_named(runs: Runs, changed: dict[str, Any], named: str) -> None:
    """MCPJam/inspector#4343, varun29ankuS/shodh-memory#366: a reference knows under what it was made."""
    found = differences(reference(), runs.add(1, **changed))
    assert len(found) == 1
    assert found[0].startswith(named)


def test_repeats_are_those_of_the_variant_with_the_fewest() -> None:
    """A pool is only as deep as where it is shallowest."""
    assert reference().repeats == 3
    assert reference(rows=tuple(ReferenceRow(row=row) for row in rows()[:-1])).repeats == 2
    assert reference(rows=()).repeats == 0
