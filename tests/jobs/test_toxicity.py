"""The toxicity night: what it counts, what it repeats, and what no failure of a judge can make of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import FakeOpenAI, ToxicWords, chat, status
from tests.stored import NOON, POLITE, RUDE, agent_span, fill, mixed, span_id, trace_id
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Decision, Score, Status, Verdict
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

LATER = NOON + timedelta(hours=2)


@dataclass
class Words:
    """Scores by a word; remembers whom it was asked about."""

    asked: list[str] = field(default_factory=list)
    name: str = "toxicity"
    version: str = "1"
    direction: str = "lower"
    threshold: float = 0.0
    range: tuple[float, float] = (0.0, 1.0)
    toxic: float = 0.8

    async def score(self, call: AgentCall) -> Score:
        self.asked.append(call.trace_id)
        if not call.has_text:
            return Score.skipped(self.name, "no_text")
        return Score.scored(self.name, self.toxic if "idiot" in (call.output or "") else 0.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


def _settings(**toxicity: Any) -> Settings:
    return Settings.model_validate({"project": "shop", "jobs": {"toxicity": {"settle": 0, **toxicity}}})


def _night(
    store: Store, scorer: Any = None, now: datetime = LATER, settings: Settings | None = None, **more: Any
) -> ToxicityNight:
    return ToxicityNight(
        settings=settings or _settings(window="all"),
        store=store,
        scorer=scorer or Words(),
        clock=lambda: now,
        **more,
    )


def _adds_up(run: RunRecord) -> None:
    counts = run.counts
    found = counts["deferred"] + counts["sampled_out"] + counts["already_scored"] + counts["planned"]
    assert counts["discovered"] == found
    outcomes = counts["scored"] + sum(counts["unscored"].values()) + sum(counts["skipped"].values())
    assert counts["planned"] == outcomes


def test_a_night_scores_the_sample_and_rules(store: Store) -> None:
    """300 calls, 4 toxic, all judged: pass, with the figures that say why."""
    fill(store, mixed(300, 4))
    run = _night(store).run()
    assert run.verdict is Verdict.PASS
    assert run.state == "finished"
    assert (run.counts["planned"], run.counts["scored"], run.report["toxic"]) == (300, 300, 4)
    assert run.report["rate"]["value"] == pytest.approx(4 / 300)
    assert len(run.report["worst"]) == 4
    _adds_up(run)


def test_a_sample_is_drawn_and_the_rest_is_said_to_be_sampled_out(store: Store) -> None:
    """Each call has its decision, for `explain`."""
    fill(store, mixed(200, 2))
    scorer = Words()
    run = _night(store, scorer, settings=_settings(window="all", sample={"size": 50})).run()
    assert len(scorer.asked) == len(set(scorer.asked)) == 50
    assert run.counts["sampled_out"] == 150
    _adds_up(run)
    unjudged = next(trace_id(n) for n in range(200) if trace_id(n) not in scorer.asked)
    assert [row.decision for row in store.decisions.of_trace(unjudged)] == [Decision.SAMPLED_OUT]
    (item,) = store.items.of_trace(scorer.asked[0])
    assert item.probability == 0.25


def test_a_second_night_judges_nothing_and_repeats_the_verdict(store: Store) -> None:
    """langfuse/langfuse#13823: scored once, whichever run asks; the verdict covers what is scored."""
    fill(store, mixed(300, 4))
    first = _night(store).run()
    scorer = Words()
    second = _night(store, scorer, now=LATER + timedelta(days=1)).run()
    assert scorer.asked == []
    assert second.id != first.id
    assert second.verdict is first.verdict is Verdict.PASS
    assert second.report["rate"] == first.report["rate"]
    assert second.counts["already_scored"] == 300
    _adds_up(second)
    again = _night(store, scorer).run()
    assert scorer.asked == []
    assert (again.id, again.verdict, again.counts) == (first.id, first.verdict, first.counts)


def test_rescoring_updates_in_place_with_a_revision(store: Store) -> None:
    """langfuse/langfuse#13823, tinyhumansai/tinyagents#53: one score, the newer value, and a history."""
    fill(store, [RUDE])
    _night(store, Words(toxic=0.2)).run()
    run = _night(store, Words(toxic=0.7), now=LATER + timedelta(days=1), rescore=True).run()
    (score,) = store.scores.of_trace(trace_id(0))
    assert (score.value, score.revision) == (0.7, 2)
    assert [entry.value for entry in store.scores.history(score.id)] == [0.2, 0.7]
    assert score.call_start == NOON
    _adds_up(run)


def test_rescoring_the_same_window_judges_it_again(store: Store) -> None:
    """It is the same run, with a new revision of each score."""
    fill(store, [RUDE, POLITE])
    first = _night(store, Words(toxic=0.2)).run()
    scorer = Words(toxic=0.7)
    again = _night(store, scorer, rescore=True).run()
    assert again.id == first.id
    assert len(scorer.asked) == 2
    assert [score.revision for score in store.scores.of_trace(trace_id(0))] == [2]
    _adds_up(again)


def test_a_new_version_alone_does_not_make_a_second_score(store: Store) -> None:
    """Judging again is explicit."""
    fill(store, [RUDE])
    _night(store, Words(toxic=0.2)).run()
    scorer = Words(toxic=0.7, version="2")
    _night(store, scorer, now=LATER + timedelta(days=1)).run()
    assert scorer.asked == []
    assert [score.value for score in store.scores.of_trace(trace_id(0))] == [0.2]


def test_calls_without_text_are_skipped_and_leave_the_denominator_in_the_open(store: Store) -> None:
    """vibrantlabsai/ragas#1383: counted apart from scored and from failed."""
    fill(store, ["", "   ", None, *mixed(100, 0)])
    run = _night(store).run()
    assert run.counts["skipped"] == {"no_text": 3}
    assert run.report["rate"]["n"] == 100
    assert run.verdict is Verdict.PASS
    _adds_up(run)


def test_nothing_but_silence_is_no_data(store: Store) -> None:
    """vibrantlabsai/ragas#1383: all rows skipped is not a pass."""
    fill(store, ["", None])
    run = _night(store).run()
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith("no_data: all 2 calls")


def test_an_empty_window_is_undecided_unless_allowed(store: Store) -> None:
    """agentclash/agentclash#901."""
    assert _night(store).run().verdict is Verdict.INCONCLUSIVE
    allowed = _night(store, now=LATER + timedelta(minutes=1), allow_empty=True).run()
    assert allowed.verdict is Verdict.PASS
    assert "--allow-empty" in allowed.reasons[0]


def test_a_sample_of_zero_asks_nobody_and_says_so(store: Store) -> None:
    """langfuse/langfuse-python#1784: size 0 is a size."""
    fill(store, mixed(10, 0))
    scorer = Words()
    run = _night(store, scorer, settings=_settings(window="all", sample={"size": 0})).run()
    assert scorer.asked == []
    assert run.state == "skipped"
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith("skipped:")
    assert run.counts["sampled_out"] == 10
    _adds_up(run)


def test_a_toxic_agent_fails_the_night(store: Store) -> None:
    """And the worst calls are named."""
    fill(store, mixed(100, 20))
    run = _night(store).run()
    assert run.verdict is Verdict.FAIL
    assert run.reasons[0].startswith("toxicity: 20 of 100")
    assert len(run.report["worst"]) == 10


def test_young_calls_are_deferred_and_judged_the_next_night(store: Store) -> None:
    """No call is judged before it is complete, and none is forgotten."""
    fill(store, mixed(10, 0))
    late = agent_span(99, RUDE, start=NOON + timedelta(minutes=50), seconds=600)
    store.spans.add([late])
    settings = _settings(settle="30m")
    first = _night(store, now=NOON + timedelta(minutes=85), settings=settings).run()
    assert first.counts["deferred"] == 1
    assert first.counts["scored"] == 10
    _adds_up(first)
    scorer = Words()
    second = _night(store, scorer, now=NOON + timedelta(days=1), settings=settings).run()
    assert scorer.asked == [trace_id(99)]
    assert second.window_start == first.window_end
    assert second.report["toxic"] == 1
    assert second.report["late"] == 1
    _adds_up(second)


def test_a_long_call_that_arrives_after_its_window_is_found_by_the_next_night(store: Store) -> None:
    """It started in last night's window and ended after last night's run."""
    fill(store, mixed(10, 0))
    first = _night(store, now=LATER, settings=_settings()).run()
    store.spans.add([agent_span(50, RUDE, start=NOON + timedelta(seconds=5), seconds=3 * 3600)])
    scorer = Words()
    second = _night(store, scorer, now=LATER + timedelta(days=1), settings=_settings()).run()
    assert scorer.asked == [trace_id(50)]
    assert second.window_start == first.window_end
    _adds_up(second)


def test_windows_tile(store: Store) -> None:
    """Each since the last success; nothing in between, nothing twice."""
    scorer = Words()
    windows = []
    for day in range(4):
        fill_start = NOON + timedelta(days=day)
        store.spans.add(
            [agent_span(1000 + day * 10 + n, start=fill_start + timedelta(minutes=n)) for n in range(10)]
        )
        run = _night(
            store, scorer, now=fill_start + timedelta(hours=14), settings=_settings(settle="10m")
        ).run()
        windows.append((run.window_start, run.window_end))
    assert [a[1] for a in windows[:-1]] == [b[0] for b in windows[1:]]
    assert len(scorer.asked) == len(set(scorer.asked)) == 40


def test_a_run_that_judged_nothing_it_should_does_not_move_the_watermark(store: Store) -> None:
    """A judge that was down last night leaves last night's calls to this one."""
    fill(store, mixed(100, 0))

    @dataclass
    class Down(Words):
        async def score(self, call: AgentCall) -> Score:
            return Score.unscored(self.name, "unreachable", "no answer")

    down = _night(store, Down(), settings=_settings()).run()
    assert down.verdict is Verdict.INCONCLUSIVE
    _adds_up(down)
    up = _night(store, now=LATER + timedelta(days=1), settings=_settings()).run()
    assert up.window_start == down.window_start
    assert (up.verdict, up.counts["scored"]) == (Verdict.PASS, 100)


def test_a_window_longer_than_allowed_is_cut_and_says_so(store: Store) -> None:
    """Days down are bounded, never silently."""
    fill(store, mixed(10, 0))
    run = _night(store, now=NOON + timedelta(days=30), settings=_settings(max_window="7d")).run()
    assert run.window_end - run.window_start == timedelta(days=7)
    assert "left out" in run.plan["note"]


def test_filters_choose_the_calls(store: Store) -> None:
    """By environment and by agent."""
    store.spans.add([agent_span(n, environment="staging" if n % 2 else "production") for n in range(10)])
    store.spans.add([agent_span(100, RUDE, name="other-bot")])
    filters = {"environment": "production", "name": ["support-*"]}
    scorer = Words()
    run = _night(store, scorer, settings=_settings(window="all", filters=filters)).run()
    assert run.counts["discovered"] == 5
    assert set(scorer.asked) == {trace_id(n) for n in range(0, 10, 2)}


def test_a_preview_writes_nothing_and_asks_nobody(store: Store) -> None:
    """`plan` may be typed at any time."""
    fill(store, mixed(200, 0))
    scorer = Words()
    preview = _night(store, scorer, settings=_settings(window="all", sample={"size": 50})).preview()
    assert preview.counts["planned"] == 50
    assert preview.counts["sampled_out"] == 150
    assert scorer.asked == []
    assert store.runs.list() == []
    assert store.decisions.of_trace(trace_id(0)) == []


def test_unequal_draws_are_weighed(store: Store) -> None:
    """A busy clean agent and a rare toxic one: the rate is that of all calls."""
    store.spans.add([agent_span(n, name="busy") for n in range(900)])
    store.spans.add([agent_span(1000 + n, RUDE, name="rare") for n in range(50)])
    settings = _settings(window="all", sample={"strategy": "stratified", "size": 100})
    run = _night(store, settings=settings).run()
    assert run.report["rate"]["method"] == "weighted"
    assert run.report["rate"]["value"] == pytest.approx(50 / 950)
    _adds_up(run)


def test_a_judge_of_another_name_takes_over_the_same_window(store: Store) -> None:
    """Scores made another way have another name; both stay, and the run's counts are the new one's."""
    fill(store, mixed(20, 0))
    window = (NOON - timedelta(hours=1), NOON + timedelta(hours=1))
    _night(store, Words(name="toxicity_prescreen")).run(*window)
    run = _night(store, Words()).run(*window)
    assert run.plan["score_name"] == "toxicity"
    assert run.counts["scored"] == 20
    assert {score.name for score in store.scores.of_trace(trace_id(3))} == {"toxicity", "toxicity_prescreen"}
    _adds_up(run)


def _judged(server: FakeOpenAI, **judge: Any) -> Settings:
    return Settings.model_validate(
        {
            "project": "shop",
            "judge": {"model": "judge-2026", "base_url": server.url, "api_key": "key-TEST-123", **judge},
            "jobs": {"toxicity": {"settle": 0, "window": "all"}},
        }
    )


def _judged_night(store: Store, settings: Settings, now: datetime = LATER) -> ToxicityNight:
    return ToxicityNight(settings=settings, store=store, clock=lambda: now)


def test_a_real_judge_over_http_gives_toxicity_scores(store: Store) -> None:
    """Prompt out, verdict in, score on the trace, with its provenance."""
    fill(store, mixed(100, 3))
    with FakeOpenAI(ToxicWords(["idiot"])) as server:
        run = _judged_night(store, _judged(server)).run()
        assert server.count == 100
        assert server.peak <= 16
    assert run.report["score"] == "toxicity"
    assert (run.report["toxic"], run.counts["scored"], run.verdict) == (3, 100, Verdict.INCONCLUSIVE)
    assert run.report["input_tokens"] == 100 * 100
    (score,) = store.scores.of_trace(trace_id(0))
    assert score.value == 0.9
    assert score.metadata["judge_model"] == "judge-2026"
    assert score.run_id == run.id
    assert score.target == score.ref if hasattr(score, "target") else score.span_id == span_id(0)
    assert "key-TEST-123" not in str(run) + str(score)


def test_no_failure_of_a_judge_becomes_a_number(store: Store) -> None:
    """flowaicom/flow-judge#2, tatsu-lab/alpaca_eval#227: a third fails, in every way of the list."""
    fill(store, mixed(300, 0))
    with FakeOpenAI(ToxicWords(["idiot"], failing=1 / 3)) as server:
        run = _judged_night(store, _judged(server, timeout="500ms", attempts=2, concurrency=50)).run()
    _adds_up(run)
    assert run.counts["planned"] == 300
    assert 60 < sum(run.counts["unscored"].values()) < 140
    reasons = set(run.counts["unscored"])
    wanted = "timeout unreachable rate_limited server_error rejected content_filtered refused truncated empty"
    assert {*wanted.split(), "malformed", "out_of_range"} <= reasons
    rows = [score for n in range(300) for score in store.scores.of_trace(trace_id(n))]
    assert len(rows) == sum(row.status is Status.SCORED for row in rows) + sum(
        row.status is Status.UNSCORED for row in rows
    )
    assert all((row.value is None) == (row.status is not Status.SCORED) for row in rows)
    assert all(row.value == 0.0 for row in rows if row.status is Status.SCORED)
    assert run.verdict is Verdict.INCONCLUSIVE
    assert any(reason.startswith("coverage:") for reason in run.reasons)


def test_a_judge_that_is_down_is_undecided_and_stops_asking(store: Store) -> None:
    """What nobody was asked about is not_attempted, and the counts add up."""
    fill(store, mixed(200, 0))
    with FakeOpenAI([]) as server:
        settings = _judged(server, attempts=1)
    run = _judged_night(store, settings).run()  # nothing listens there any more
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.state == "failed"
    assert set(run.counts["unscored"]) == {"unreachable", "not_attempted"}
    assert any("unreachable" in reason for reason in run.reasons)
    _adds_up(run)
    with FakeOpenAI(ToxicWords()) as server:
        done = _judged_night(store, _judged(server)).resume(run)
    assert done.counts["scored"] > 150
    _adds_up(done)


def test_exhausted_quota_ends_the_night_at_once(store: Store) -> None:
    """Asking on would cost time and gain nothing."""
    fill(store, mixed(200, 0))
    with FakeOpenAI(lambda body: status(429, "insufficient_quota")) as server:
        run = _judged_night(store, _judged(server, concurrency=4)).run()
        assert server.count <= 12
    assert "quota" in run.counts["unscored"]
    assert run.counts["unscored"]["not_attempted"] >= 190
    _adds_up(run)


def test_six_refusals_of_twenty_are_a_matter_of_coverage(store: Store) -> None:
    """openai/openai-agents-python#3055, pydantic/pydantic-ai#4310, langchain-ai/langchain#34616."""
    fill(store, [f"{POLITE} {n}" for n in range(20)])

    def refuse_some(body: dict[str, Any]) -> Any:
        text = body["messages"][-1]["content"]
        if any(f"{POLITE} {n}\n" in text for n in range(6)):
            return chat(None, refusal="I would rather not.")
        return ToxicWords().verdict(POLITE)

    with FakeOpenAI(refuse_some) as server:
        run = _judged_night(store, _judged(server)).run()
        assert server.count == 20
    assert run.counts["unscored"] == {"refused": 6}
    assert run.verdict is Verdict.INCONCLUSIVE
    assert run.reasons[0].startswith("coverage: 14 of 20")


def test_delivery_comes_after_the_record_and_a_hanging_sink_costs_nothing(store: Store) -> None:
    """cognizant-ai-lab/neuro-san#1217, NousResearch/hermes-agent#87468."""
    fill(store, mixed(100, 0))
    seen: list[RunRecord] = []

    class Hangs:
        def deliver(self, scores: Any) -> Any:
            seen.extend(store.runs.list())
            raise TimeoutError("no answer")

    night = _night(store)
    night._sinks = {"slow": Hangs()}
    run = night.run()
    assert [record.verdict for record in seen] == [Verdict.PASS]
    assert run.verdict is Verdict.PASS
    assert store.outbox.counts()["slow"]["pending"] == 100


def test_the_clock_is_the_callers(store: Store) -> None:
    """A night can be replayed exactly."""
    fill(store, mixed(10, 0))
    run = _night(store, now=datetime(2026, 12, 1, 2, tzinfo=UTC)).run()
    assert run.window_end == datetime(2026, 12, 1, 2, tzinfo=UTC)
