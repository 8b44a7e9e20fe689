"""Judging by the provider's Batch API: the same verdicts, once submitted, whatever happens in between."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import Batches, FakeOpenAI, Reply, ToxicWords, chat, raw, status
from tests.fake_openai.toxic import FAILURES, block
from tests.stored import NOON, agent_span, fill, mixed
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.jobs.windows import ResolvedWindow
from tracehooks.judges.openai import OpenAIJudge
from tracehooks.judges.terms import Need
from tracehooks.records import Verdict
from tracehooks.scorers import ToxicityScorer
from tracehooks.scoring import Window
from tracehooks.scoring.spending import run_scope
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

CALLS = 40
EVENING = NOON.replace(hour=20)
PRICE = {"input": 10, "output": 40}
# no connection breaks in a batch, and nothing hangs; a spent quota is asked about again
ELSEWHERE = ("timeout", "unreachable", "not_json", "quota")


class Judge(ToxicWords):
    """Fails for some of the texts, each always in the same way; corrected, it stays as it is."""

    def fails(self, response: str) -> str | None:
        found = super().fails(response)
        return None if found in ELSEWHERE else found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


def _settings(server: FakeOpenAI, batch: str | None = "12h", **more: Any) -> Settings:
    judge = {"model": "m", "base_url": server.url, "api_key": "k", "concurrency": 4, "attempts": 1}
    job = {"settle": 0, "window": "all", "sample": {"size": 1000}, "batch": batch}
    known = {"max_output_tokens": 200, "price": PRICE, **more.pop("judge", {})}
    return Settings.model_validate(
        {"project": "shop", "judge": {**judge, **known}, "jobs": {"toxicity": job}, **more}
    )


def _night(store: Store, settings: Settings, hours: float = 0.0, **more: Any) -> ToxicityNight:
    now = EVENING + timedelta(hours=hours)
    return ToxicityNight(settings=settings, store=store, clock=lambda: now, **more)


def _told(store: Store, run: RunRecord) -> dict[str, tuple[Any, ...]]:
    """What was found of each call: all that a score says of it."""
    found = {}
    for item in store.items.of_run(run.id):
        (score,) = store.scores.of_calls([item.ref], "toxicity").values()
        found[item.trace_id] = (score.status, score.value, score.reason_code, score.comment)
    return found


def _adds_up(run: RunRecord) -> bool:
    counts = run.counts
    unscored, skipped = sum(counts["unscored"].values()), sum(counts["skipped"].values())
    return bool(counts["planned"] == counts["scored"] + unscored + skipped)


def _batches(server: FakeOpenAI) -> Batches:
    assert server.batches is not None
    return server.batches


def test_verdicts_are_those_of_live_requests(store: Store, tmp_path: Path) -> None:
    """The same texts, the same judge, failures of every kind among them: scores, reasons, counts, gate."""
    judge = Judge(failing=0.4)
    outputs = [*mixed(CALLS, 8), None]
    fill(store, outputs)
    with FakeOpenAI(judge, batches=Batches(strays=True)) as server:
        settings = _settings(server)
        waiting = _night(store, settings).run()
        assert (waiting.waiting, waiting.verdict) == (True, None)
        _batches(server).finish(judge)
        batched = _night(store, settings, 2).resume(waiting)
    with open_store(f"sqlite:///{tmp_path}/live.db") as other, FakeOpenAI(judge) as server:
        fill(other, outputs)
        live = _night(other, _settings(server, None)).run()
        assert _told(store, batched) == _told(other, live)
    assert len({reason for _, _, reason, _ in _told(store, batched).values()}) > 6
    assert (batched.state, batched.verdict, batched.counts) == (live.state, live.verdict, live.counts)
    assert batched.report["rate"] == live.report["rate"]
    assert _adds_up(batched)


def test_an_error_while_a_batch_is_out_gives_nothing_up(store: Store) -> None:
    """The run waits and says what happened; a later process has the batch made, once."""

    def fails(text: str) -> None:
        if text.startswith("sending"):
            raise OSError("no space left on device")

    fill(store, mixed(CALLS, 8))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        with pytest.raises(OSError):
            _night(store, _settings(server), stage=fails).run()
        (waiting,) = store.runs.list()
        assert waiting.waiting
        assert "OSError: no space left on device" in waiting.reasons[1]
        waiting = _night(store, _settings(server), 1).resume(waiting)
        assert (waiting.waiting, len(_batches(server).made)) == (True, 1)
        _batches(server).finish(ToxicWords())
        run = _night(store, _settings(server), 2).resume(waiting)
        assert (run.state, len(_batches(server).made)) == ("finished", 1)
    assert _adds_up(run)


def test_the_report_says_what_was_saved(store: Store) -> None:
    """One call live, the others by batch at half of the price; what was charged is what is counted."""
    fill(store, mixed(CALLS, 8))
    with FakeOpenAI(ToxicWords(), batches=Batches(strays=True)) as server:
        waiting = _night(store, _settings(server)).run()
        assert server.count == 1
        _batches(server).finish(ToxicWords())
        run = _night(store, _settings(server), 1).resume(waiting)
        assert server.count == 1
        assert set(_batches(server).deleted) == set(_batches(server).files)
    one = (100 * 10 + 20 * 40) / 1e6
    found = run.report["batch"]
    assert (found["requests"], found["answered"], found["failed"], found["ignored"]) == (39, 39, 0, 2)
    assert (found["judged"], found["live"], found["status"]) == (39, 1, ["completed"])
    assert found["saved_dollars"] == pytest.approx(39 * one / 2)
    assert found["saved_share"] == pytest.approx(39 / 80)
    assert run.report["spent"]["dollars"] == pytest.approx(one + 39 * one / 2)
    assert run.report["spent"]["calls"] == 40
    assert store.accounts.spent(run_scope(run)).tokens == 40 * 120
    assert run.verdict is Verdict.FAIL


def test_requests_are_named_by_their_calls(store: Store) -> None:
    """The custom id is the call's trace and span and a number; the batch and its file bear our own id."""
    fill(store, mixed(3, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        run = _night(store, _settings(server)).run()
        (batch,) = store.batches.of_run(run.id)
        items = store.items.of_run(run.id)
        wanted = {f"{item.trace_id}-{item.span_id}-0" for item in items if item.state != "done"}
        assert {request["custom_id"] for request in _batches(server).requests()} == wanted
        (made,) = _batches(server).made.values()
        assert made["metadata"] == {"tracehooks_batch": batch.id, "tracehooks_run": run.id}
        assert _batches(server).files[made["input_file_id"]]["filename"] == f"tracehooks-{batch.id}.jsonl"


@pytest.mark.parametrize("how", ["expired", "completed"])
def test_what_a_batch_did_not_answer_goes_live(store: Store, how: str) -> None:
    """It expired with half of the output, or says that it is complete and is not."""
    fill(store, mixed(CALLS, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        waiting = _night(store, _settings(server)).run()
        _batches(server).finish(ToxicWords(), how=how, most=20)
        run = _night(store, _settings(server), 1).resume(waiting)
        assert server.count == CALLS - 20
    assert (run.report["batch"]["judged"], run.report["batch"]["live"]) == (20, 20)
    assert (run.counts["scored"], run.state) == (CALLS, "finished")
    assert run.report["spent"]["dollars"] == pytest.approx((20 + 20 / 2) * 1.8e-3)


def test_at_the_deadline_the_batch_is_stopped_and_the_rest_goes_live(store: Store) -> None:
    """Not before: it waits while the server is at it; then what it has counts, nothing is paid twice."""
    fill(store, mixed(CALLS, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        run = _night(store, _settings(server)).run()
        run = _night(store, _settings(server), 11.9).resume(run)
        assert (run.waiting, server.count) == (True, 1)
        run = _night(store, _settings(server), 12).resume(run)
        assert (run.waiting, server.count) == (True, 1)
        assert [batch["status"] for batch in _batches(server).made.values()] == ["cancelling"]
        _batches(server).finish(ToxicWords(), how="cancelled", most=30)
        run = _night(store, _settings(server), 12.1).resume(run)
        assert server.count == CALLS - 30
    assert (run.state, run.counts["scored"], run.report["batch"]["judged"]) == ("finished", CALLS, 30)


def test_a_batch_that_never_ends_is_given_up(store: Store) -> None:
    """A while after the deadline all goes live, and its requests are charged in full, for they may be."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        run = _night(store, _settings(server)).run()
        for hours in (12, 12.5):
            run = _night(store, _settings(server), hours).resume(run)
        assert server.count == 10
    assert (run.state, run.counts["scored"], run.report["batch"]["status"]) == ("finished", 10, ["unknown"])
    assert "still cancelling" in run.report["batch"]["reason"]
    assert run.report["spent"]["dollars"] > 9 * 200 * 40 / 2e6


@pytest.mark.parametrize(
    ("batches", "why"),
    [
        (None, "no Batch API"),
        (Batches(refused=status(404, "not_found")), "no Batch API"),
        (Batches(refused=status(400, "billing", message="no batches for you")), "no batches for you"),
    ],
)
def test_without_batches_a_night_is_judged_live_and_says_why(
    store: Store, batches: Batches | None, why: str
) -> None:
    """In one go, at the price of live requests."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=batches) as server:
        run = _night(store, _settings(server)).run()
        assert server.count == 10
    assert (run.state, run.counts["scored"]) == ("finished", 10)
    assert why in run.report["batch"]["reason"]
    assert run.report["spent"]["dollars"] == pytest.approx(10 * 1.8e-3)


def test_a_batch_that_fails_its_validation_goes_live(store: Store) -> None:
    """openai/openai-python#1643: nothing was executed, nothing is charged, and the report says why."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches(complaint="line 1 is no JSON")) as server:
        waiting = _night(store, _settings(server)).run()
        run = _night(store, _settings(server), 1).resume(waiting)
        assert server.count == 10
    assert "line 1 is no JSON" in run.report["batch"]["reason"]
    assert run.report["spent"]["dollars"] == pytest.approx(10 * 1.8e-3)


@pytest.mark.parametrize("marked", [True, False])
def test_a_lost_reply_makes_no_second_batch(store: Store, marked: bool) -> None:
    """ogx-ai/ogx#3144: it was made and the connection broke; it is looked for, by its marks or its file."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches(lost=1, marked=marked)) as server:
        waiting = _night(store, _settings(server)).run()
        assert waiting.waiting
        _batches(server).finish(ToxicWords())
        run = _night(store, _settings(server), 1).resume(waiting)
        assert (len(_batches(server).made), server.count) == (1, 1)
    assert run.report["batch"]["judged"] == 9


def test_the_deleted_files_of_earlier_batches_do_not_hide_a_later_one(store: Store) -> None:
    """On a server without metadata files are looked at; that of a batch collected before is no more."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches(marked=False)) as server:
        settings, batches = _settings(server), _batches(server)
        waiting = _night(store, settings).run()
        batches.finish(ToxicWords())
        _night(store, settings, 1).resume(waiting)
        batches.lost = 1
        again = _night(store, settings, 2, rescore=True).run()
        batches.finish(ToxicWords())
        run = _night(store, settings, 3).resume(again)
        assert (len(batches.made), server.count) == (2, 2)
    assert run.report["batch"]["judged"] == 9


def test_a_spent_quota_makes_no_batch(store: Store) -> None:
    """The call that is judged live before says so, and the run ends; resumed, it makes one."""
    fill(store, mixed(10, 0))
    with FakeOpenAI([status(429, "insufficient_quota")], batches=Batches()) as server:
        run = _night(store, _settings(server)).run()
        assert (run.state, run.waiting, server.count) == ("failed", False, 1)
        assert not _batches(server).files
    assert run.counts["unscored"] == {"quota": 1, "not_attempted": 9}
    assert "quota" in run.reasons[1]
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        assert _night(store, _settings(server), 1).resume(run).waiting
        assert len(_batches(server).requests()) == 8


def test_turned_off_meanwhile_a_batch_is_still_waited_for(store: Store) -> None:
    """What is in it was asked and will be paid for: to ask it live would pay for it twice."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        first = _night(store, _settings(server)).run()
        window = first.window_start, first.window_end
        again = _night(store, _settings(server, None), 1).run(*window)
        assert (again.id, again.waiting, server.count) == (first.id, True, 1)
        _batches(server).finish(ToxicWords())
        run = _night(store, _settings(server, None), 2).run(*window)
        assert (len(_batches(server).made), server.count) == (1, 1)
    assert run.report["batch"]["judged"] == 9
    assert (run.state, run.counts["scored"]) == ("finished", 10)


def test_without_its_judge_a_waiting_run_begins_anew(store: Store) -> None:
    """What the pre-screen finds has another name: the verdict is over all calls by it, not over the rest."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        waiting = _night(store, _settings(server)).run()
        settings = _settings(server, judge={"model": None})
        run = _night(store, settings, 1).resume(waiting)
    assert (run.id, run.state, run.plan["score_name"]) == (waiting.id, "finished", "toxicity_prescreen")
    assert (run.plan["judge_model"], run.counts["scored"], run.report["rate"]["n"]) == (None, 10, 10)
    assert _adds_up(run)


def test_broken_off_while_a_batch_is_made_up_nothing_of_it_stays_reserved(store: Store) -> None:
    """Ctrl-C before anything is sent: resumed, the run has its budget, and makes its batch."""
    fill(store, mixed(10, 0))
    reserved: list[Any] = []

    class Broken(OpenAIJudge):
        def need_of(self, body: Any, content: bytes) -> Need:
            reserved.append(content)
            if len(reserved) == 6:
                raise KeyboardInterrupt
            return super().need_of(body, content)

    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = _settings(server, budget={"run": {"calls": 10}})
        judge = Broken("m", server.url, "k", max_output_tokens=200)
        with pytest.raises(KeyboardInterrupt):
            _night(store, settings, scorer=ToxicityScorer(judge)).run()
        (run,) = store.runs.list()
        assert store.accounts.spent(run_scope(run)).calls == 1
        assert _night(store, settings, 1).resume(run).waiting
        assert len(_batches(server).requests()) == 8


def test_no_live_request_waits_for_what_a_batch_holds(store: Store) -> None:
    """A batch holds most of the day's budget: the next run is told at once that there is no room."""
    fill(store, mixed(40, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        budget = {"day": {"dollars": 0.1}}
        assert _night(store, _settings(server, budget=budget)).run().waiting
        live = _night(store, _settings(server, None, budget=budget), rescore=True)
        run = live.run(NOON - timedelta(hours=1), EVENING)
    assert run.state == "finished"
    assert run.counts["unscored"]["over_budget"] > 0
    assert _adds_up(run)


def test_error_lines_that_a_live_request_would_repeat_are_asked_again(store: Store) -> None:
    """openai/openai-openapi#302: a 500 is no result, a 400 is one, as live; both lie in the response.

    A quota that was spent then may be filled up by now.
    """
    fill(store, mixed(10, 0))
    texts: list[str] = []

    def failing(body: dict[str, Any]) -> Reply:
        texts.append(block(body["messages"], "response"))
        quota, good = status(429, "insufficient_quota"), chat(ToxicWords().verdict(""))
        return [status(500), status(400, "content_filter"), quota, good][len(texts) % 4]

    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        waiting = _night(store, _settings(server)).run()
        _batches(server).finish(failing)
        run = _night(store, _settings(server), 1).resume(waiting)
        assert server.count == 1 + 4
    assert run.counts["unscored"] == {"content_filtered": 3}
    assert (run.counts["scored"], run.report["batch"]["judged"], run.report["batch"]["failed"]) == (7, 5, 7)
    assert _adds_up(run)


def test_a_malformed_answer_is_corrected_live(store: Store) -> None:
    """As a live one is, in the conversation that was begun in the batch."""
    fill(store, mixed(2, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        waiting = _night(store, _settings(server)).run()
        _batches(server).finish(lambda body: FAILURES["malformed"])
        run = _night(store, _settings(server), 1).resume(waiting)
        asked = server.requests[-1].body["messages"]
        (sent,) = _batches(server).requests()
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]
    assert asked[:2] == sent["body"]["messages"]
    assert run.counts["scored"] == 2


def test_another_prompt_is_another_question(store: Store) -> None:
    """An answer to what nobody asks any more, as after an upgrade in between, is not used."""
    fill(store, mixed(5, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        waiting = _night(store, _settings(server)).run()
        _batches(server).finish(ToxicWords())
        run = _night(store, _settings(server, judge={"mask": "none"}), 1).resume(waiting)
        assert server.count == 5
    assert (run.report["batch"]["answered"], run.report["batch"]["judged"]) == (4, 0)


def test_the_form_that_a_server_takes_is_known_before_the_batch(store: Store) -> None:
    """One that refuses JSON schemas is asked for less in all of its requests."""
    fill(store, mixed(5, 0))
    with FakeOpenAI(ToxicWords(), refuses=("json_schema",), batches=Batches()) as server:
        _night(store, _settings(server)).run()
        forms = {request["body"]["response_format"]["type"] for request in _batches(server).requests()}
    assert forms == {"json_object"}


def test_what_another_run_was_told_is_not_asked(store: Store) -> None:
    """A batch's answers are remembered, and what is remembered goes into no batch."""
    _same_questions(store, NOON, 0)
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = _settings(server)
        waiting = _night(store, settings).run()
        _batches(server).finish(ToxicWords())
        _night(store, settings, 1).resume(waiting)
        _same_questions(store, NOON + timedelta(hours=1), 100)
        second = _night(store, settings).run(NOON + timedelta(minutes=30), EVENING)
        assert (len(_batches(server).made), server.count) == (1, 1)
    assert (second.state, second.counts["scored"], second.report["pass"]["cached"]) == ("finished", 10, 10)
    assert second.report["batch"]["reason"] == "there was nothing to ask"


def _same_questions(store: Store, start: datetime, first: int) -> None:
    """Ten calls with ids of their own, from ``first`` on, that say what such calls always say."""
    for n, text in enumerate(mixed(10, 2)):
        span = agent_span(first + n, text, start=start)
        store.spans.add([replace(span, attributes={**span.attributes, "tracehooks.input": '"Where?"'})])


def test_a_budget_is_never_exceeded(store: Store) -> None:
    """What does not fit into it at once is asked live after the batch is settled, and then it is spent."""
    fill(store, mixed(CALLS, 0))
    worst = 200 * 40 / 1e6
    charged = 0.0

    def judge(body: dict[str, Any]) -> Reply:
        nonlocal charged
        sent = len(json.dumps(body)) // 2
        charged += (sent * 10 + 150 * 40) / 1e6 / (2 if in_batch else 1)
        reply = json.loads(chat(ToxicWords().verdict("fine")).body)
        return raw({**reply, "usage": {"prompt_tokens": sent, "completion_tokens": 150}})

    in_batch = False
    with FakeOpenAI(judge, batches=Batches()) as server:
        settings = _settings(server, budget={"run": {"dollars": 0.5}})
        waiting = _night(store, settings).run()
        posted = len(_batches(server).requests())
        assert 1 < posted < CALLS - 1
        held = posted * worst / 2
        assert held < 0.5
        in_batch = True
        _batches(server).finish(judge)
        in_batch = False
        run = _night(store, settings, 1).resume(waiting)
    assert charged <= 0.5
    assert run.report["spent"]["dollars"] == pytest.approx(charged)
    assert run.report["batch"]["judged"] == posted
    assert run.report["batch"]["live"] > 1
    assert run.counts["unscored"]["over_budget"] == CALLS - run.counts["scored"]
    assert _adds_up(run)


def test_a_day_of_waiting_does_not_ask_at_every_turn(store: Store) -> None:
    """A scheduler comes by often; the server is asked once a minute."""
    fill(store, mixed(5, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = _settings(server)
        window = _night(store, settings).run()
        resolved = ResolvedWindow(Window(window.window_start, window.window_end))
        for seconds in (5, 20, 35, 61, 70, 90, 122):
            found = _night(store, settings, seconds / 3600).attempt(resolved)
            assert found is not None
            assert found.waiting
        assert _batches(server).looks == 2
        _batches(server).finish(ToxicWords())
        run = _night(store, settings, 1).attempt(resolved)
    assert run is not None
    assert run.state == "finished"


def test_a_plan_gives_the_price_in_a_batch(store: Store) -> None:
    """Half of what the same calls cost live."""
    fill(store, mixed(10, 0))
    with FakeOpenAI(ToxicWords()) as server:
        _night(store, _settings(server, None)).run(NOON - timedelta(hours=1), EVENING)
        fill(store, mixed(20, 0), start=NOON + timedelta(minutes=5))
        live = _night(store, _settings(server, None)).preview().estimate
        batched = _night(store, _settings(server)).preview().estimate
    assert live is not None
    assert batched is not None
    assert live.dollars is not None
    assert batched.dollars is not None
    assert batched.dollars.expected == pytest.approx(live.dollars.expected / 2)
    assert batched.price == "judge.price, 50% of it in a batch"


def test_what_is_in_a_batch_of_another_run_is_in_no_second_one(store: Store) -> None:
    """Begun again over other times while the first one waits, a run waits too, and takes over the results."""
    fill(store, mixed(10, 2))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = _settings(server)
        first = _night(store, settings).run()
        second = _night(store, settings, 1).run()
        assert second.id != first.id
        assert (second.waiting, len(_batches(server).made), server.count) == (True, 1, 1)
        assert "another run" in second.reasons[0]
        _batches(server).finish(ToxicWords())
        assert _night(store, settings, 2).resume(second).waiting
        first = _night(store, settings, 2).resume(first)
        second = _night(store, settings, 2).resume(second)
        assert (len(_batches(server).made), server.count) == (1, 1)
    assert (first.state, second.state) == ("finished", "finished")
    assert (second.counts["scored"], second.report["toxic"]) == (9, 2)
    assert second.counts["planned"] + second.counts["already_scored"] == 10
    assert _adds_up(second)


def test_rescoring_a_window_makes_a_batch_of_its_own(store: Store) -> None:
    """The answers of the first are not taken for new ones."""
    fill(store, mixed(5, 0))
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = _settings(server)
        waiting = _night(store, settings).run(NOON - timedelta(hours=1), EVENING)
        _batches(server).finish(ToxicWords())
        _night(store, settings, 1).resume(waiting)
        again = _night(store, settings, 2, rescore=True).run(NOON - timedelta(hours=1), EVENING)
        assert again.waiting
        _batches(server).finish(ToxicWords(words=("order",)))
        run = _night(store, settings, 3).resume(again)
        assert len(_batches(server).made) == 2
    assert run.report["toxic"] >= 4
