"""Finished noise runs in a store, as a noise night leaves them, without asking an agent."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.records import AgentCall, Reason, Score, TraceRef
from tracehooks.store import RunRecord, ScoreRecord, Store
from tracehooks.store.replays import Replay

START = datetime(2026, 11, 30, 2, tzinfo=UTC)
PLAN: dict[str, Any] = {
    "agent": "shop",
    "agent_version": "1",
    "datasets": {"shop": "aaaa"},
    "cases": {"shop": {"c0": "1", "c1": "2"}},
    "score_name": "noise_sensitivity",
    "direction": "higher",
    "range": [0.0, 1.0],
    "scorer_version": "v1",
    "judge_model": "judge-2026",
    "prompt_hash": "p1",
    "repeats": 3,
    "gate": {"margin": 0.05, "min_score": 0.7, "min_coverage": 0.9},
}
Value = float | Reason
Values = Mapping[tuple[str, str], Sequence[Value]]
"""(case, noise type) -> the value of each repeat, or the reason why it has none."""
LEASE = timedelta(minutes=1)


def steady(
    value: Value = 0.9, *, cases: int = 8, repeats: int = 3, types: Sequence[str] = ("lies", "typos")
) -> Values:
    """The same value everywhere."""
    return {(f"c{case}", name): [value] * repeats for case in range(cases) for name in types}


def noise_run(store: Store, day: int, values: Values, project: str = "shop", **plan: Any) -> RunRecord:
    """The finished run of this day."""
    at = START + timedelta(days=day)
    run = store.runs.open("noise", at, at, {**PLAN, **plan}, owner="test")
    replays = [
        Replay(
            run_id=run.id,
            agent="shop",
            dataset="shop",
            case=case,
            variant=f"{name}-1",
            repeat=repeat,
            noise_type=name,
        )
        for (case, name), row in values.items()
        for repeat in range(len(row))
    ]
    store.replays.add(replays)
    asked = (
        {one.key: one for one in store.replays.claim(run.id, "test", len(replays) + 1, LEASE)}
        if replays
        else {}
    )
    records = []
    for one in replays:
        value = values[one.case, one.noise_type][one.repeat]
        store.replays.finish([_answered(asked[one.key], value)])
        records.append(_scored(run, one, value, at, str(run.plan["score_name"])))
    store.scores.commit(records, project=project, sinks=())
    return store.runs.update(
        run.id,
        state="finished",
        verdict="pass",
        reasons=("noise: told by the night",),
        counts={"planned": len(replays)},
        started=at,
        ended=at + timedelta(minutes=2),
    )


def _answered(one: Replay, value: Value) -> Replay:
    ref = _ref(one)
    text = "" if value is Reason.NO_TEXT else f"answer of {one.case} worth {value}"
    return replace(one, state="done", trace_id=ref.trace_id, span_id=ref.span_id, answer=text)


def _scored(run: RunRecord, one: Replay, value: Value, at: datetime, name: str) -> ScoreRecord:
    ref = _ref(one)
    call = AgentCall(
        trace_id=ref.trace_id,
        span_id=ref.span_id,
        name="shop",
        start=at,
        end=at,
        output="answer",
        environment="test-replay",
    )
    if isinstance(value, Reason):
        make = Score.skipped if value in (Reason.NO_TEXT, Reason.NOT_APPLICABLE) else Score.unscored
        score = make(name, value, f"Not scored: {value}")
    else:
        score = Score.scored(name, value, comment=f"judged {value}")
    return ScoreRecord(score=score.at(ref), call=call, run_id=run.id)


def _ref(one: Replay) -> TraceRef:
    digest = hashlib.sha256(repr((one.run_id, *one.key)).encode()).hexdigest()
    return TraceRef(digest[:32], digest[32:48])
