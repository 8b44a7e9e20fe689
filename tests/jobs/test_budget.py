"""Budgets: never a cent over, whoever sends, and what they cut is counted."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.fake_openai import FakeOpenAI, Reply, chat, raw, status
from tests.jobs import quiz
from tests.stored import NOON, fill, mixed
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import Verdict
from tracehooks.reports.status import status_dict, status_report
from tracehooks.scoring.spending import day_scope, run_scope
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

LATER = NOON.replace(hour=20)
ROOT = Path(__file__).parents[2]
PRICE = {"input": 10, "output": 40}
CLEAN = {"verdicts": [{"statement": "all", "verdict": "no"}], "reason": "polite"}


class Priced:
    """A judge that counts what it charges, in billionths of a dollar; ``seed`` makes its replies differ."""

    def __init__(self, seed: int = 0) -> None:
        self.nanos = self.tokens = self.calls = 0
        self._dice = random.Random(seed)

    def __call__(self, body: dict[str, Any]) -> Reply:
        sent = sum(len(message["content"]) for message in body["messages"])
        tokens_in = self._dice.randrange(sent // 4, sent)
        tokens_out = self._dice.randrange(1, body.get("max_completion_tokens", 200) + 1)
        self.calls += 1
        self.tokens += tokens_in + tokens_out
        self.nanos += (tokens_in * PRICE["input"] + tokens_out * PRICE["output"]) * 1000
        reply = json.loads(chat(CLEAN).body)
        return raw({**reply, "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


def _values(url: str, store: str, budget: dict[str, Any], **judge: Any) -> dict[str, Any]:
    known = {"model": "m", "base_url": url, "api_key": "key-TEST-123", "max_output_tokens": 200}
    return {
        "store": store,
        "judge": {**known, "price": PRICE, "concurrency": 4, **judge},
        "budget": budget,
        "jobs": {"toxicity": {"settle": 0, "window": "all", "sample": {"size": 1000}}},
    }


def _run(store: Store, server: FakeOpenAI, budget: dict[str, Any], **judge: Any) -> RunRecord:
    settings = Settings.model_validate(_values(server.url, store.url, budget, **judge))
    return ToxicityNight(settings=settings, store=store, clock=lambda: LATER).run()


def four_workers(
    folder: Path, runs: Sequence[int], dollars: float, url: str | None = None
) -> list[tuple[int, int, RunRecord]]:
    """Four processes, a night for each seed: of each what was charged, what was counted, and the run.

    Each has a store of its own, a SQLite file, unless the one night is to be at ``url``.
    """
    judges = [Priced(seed) for seed in runs]
    configs, found = [], []
    servers = [FakeOpenAI(judge, keep=False) for judge in judges]
    for seed, server in zip(runs, servers, strict=True):
        server.__enter__()
        where = url or f"sqlite:///{folder}/{seed}.db"
        with open_store(where) as store:
            fill(store, mixed(40, 0))
        config = folder / f"{seed}.yaml"
        config.write_text(json.dumps(_values(server.url, where, {"run": {"dollars": dollars}})))
        configs.append(str(config))
    command = [sys.executable, "-m", "tests.jobs.budget_process", *configs]
    workers = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    try:
        assert [worker.wait(600) for worker in workers] == [0, 0, 0, 0]
    finally:
        for worker in workers:
            worker.kill()
    for seed, judge, server in zip(runs, judges, servers, strict=True):
        server.__exit__(None, None, None)
        with open_store(url or f"sqlite:///{folder}/{seed}.db") as store:
            run = store.runs.latest("toxicity")
            assert run is not None
            found.append((judge.nanos, store.accounts.spent(run_scope(run)).nanos, run))
    return found


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_four_workers_never_spend_a_cent_over(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    """Four processes, one capped night: what the server charged is within the cap, on each database."""
    url = request.getfixturevalue(f"{database}_url")
    for charged, counted, run in four_workers(tmp_path, [1], dollars=0.4, url=url):
        assert charged <= 400_000_000
        assert counted == charged
        assert run.counts["scored"] >= 5
        assert run.counts["unscored"] == {"over_budget": 40 - run.counts["scored"]}
        assert run.verdict is Verdict.INCONCLUSIVE
        assert any(reason.startswith("budget: ") for reason in run.reasons)


def test_a_budget_is_used_up(store: Store) -> None:
    """Requests wait for those under way, which use less than they hold: hardly anything is left over."""
    fill(store, mixed(60, 0))
    judge = Priced()
    with FakeOpenAI(judge) as server:
        run = _run(store, server, {"run": {"dollars": 0.5}})
    worst = 0.1  # one request at the most that it can cost
    assert 500_000_000 - worst * 1e9 <= judge.nanos <= 500_000_000
    assert run.report["spent"]["dollars"] == pytest.approx(judge.nanos / 1e9)
    assert run.report["spent"]["price"] == "judge.price"


def test_tokens_and_calls_have_budgets_too(store: Store) -> None:
    """Seven requests are allowed and seven are sent; the others are over_budget."""
    fill(store, mixed(20, 0))
    with FakeOpenAI(Priced()) as server:
        run = _run(store, server, {"run": {"calls": 7}}, price=None)
        assert server.count == 7
    assert (run.counts["scored"], run.counts["unscored"]) == (7, {"over_budget": 13})
    assert run.report["spent"]["dollars"] is None
    judge = Priced()
    with FakeOpenAI(judge) as server:
        _run(store, server, {"run": {"tokens": 50_000}}, price=None)
    used_before = run.report["spent"]["input_tokens"] + run.report["spent"]["output_tokens"]
    assert 0 < judge.tokens <= 50_000 - used_before


def test_requests_that_are_repeated_count(store: Store) -> None:
    """A 500 may have been charged: it counts at the most that it can cost, and as a call."""
    fill(store, mixed(3, 0))
    with FakeOpenAI(lambda body: status(500)) as server:
        run = _run(store, server, {"run": {"calls": 4}}, attempts=2, concurrency=1)
        assert server.count == 4
    assert sum(run.counts["unscored"].values()) == 3
    assert run.report["spent"]["calls"] == 4
    assert run.report["spent"]["dollars"] > 0


def test_what_a_server_turns_down_costs_nothing(store: Store) -> None:
    """A 400 is no completion: nobody charges for it."""
    fill(store, mixed(3, 0))
    with FakeOpenAI(lambda body: status(400)) as server:
        run = _run(store, server, {"run": {"dollars": 1}})
    assert run.report["spent"]["dollars"] == 0


def test_a_day_has_a_budget_over_all_its_runs(store: Store) -> None:
    """Two runs of a day share it: the second gets what the first left."""
    fill(store, mixed(20, 0))
    budget = {"run": {"calls": 8}, "day": {"calls": 10}}
    with FakeOpenAI(Priced()) as server:
        settings = Settings.model_validate(_values(server.url, store.url, budget))
        night = ToxicityNight(settings=settings, store=store, clock=lambda: LATER)
        first = night.run(NOON - timedelta(hours=1), LATER)
        second = night.run(NOON - timedelta(hours=2), LATER)
        assert server.count == 10
    assert (first.counts["scored"], second.counts["scored"]) == (8, 2)
    assert store.accounts.spent(day_scope(LATER)).calls == 10


def test_without_a_budget_the_money_is_counted_all_the_same(store: Store) -> None:
    """The report says what was spent."""
    fill(store, mixed(10, 0))
    judge = Priced()
    with FakeOpenAI(judge) as server:
        run = _run(store, server, {})
    assert run.report["spent"]["calls"] == 10
    assert run.report["spent"]["dollars"] == pytest.approx(judge.nanos / 1e9)


@pytest.mark.parametrize(
    ("budget", "judge", "key"),
    [
        ({"run": {"dollars": 1}}, {"price": None}, "judge.price"),
        ({"day": {"dollars": 1}}, {"price": None, "model": "my/own"}, "judge.price"),
        ({"run": {"tokens": 1}}, {"price": None, "max_output_tokens": None}, "judge.max_output_tokens"),
        ({"run": {"dollars": 1}}, {"max_output_tokens": None}, "judge.max_output_tokens"),
        ({"run": {"dollars": 0.5}}, {"max_output_tokens": None, "model": "gpt-5"}, "judge.max_output_tokens"),
        ({"day": {"tokens": 100}}, {}, "judge.max_output_tokens"),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused(
    store: Store, budget: dict[str, Any], judge: dict[str, Any], key: str
) -> None:
    """No price, nothing that bounds a reply, no room for one: an error names the key, nothing is asked."""
    with FakeOpenAI([]) as server, pytest.raises(ConfigurationError, match=key):
        _run(store, server, budget, **judge)


def test_a_plan_tells_what_a_run_will_cost(store: Store) -> None:
    """From the usage of the last scores, with a range that the run's true cost lies in."""
    fill(store, mixed(60, 0))
    judge = Priced()
    with FakeOpenAI(judge) as server:
        first = {
            **_values(server.url, store.url, {}),
            "jobs": {"toxicity": {"settle": 0, "sample": {"size": 20}}},
        }
        ToxicityNight(settings=Settings.model_validate(first), store=store, clock=lambda: LATER).run(
            NOON - timedelta(days=1), LATER
        )
        settings = Settings.model_validate(_values(server.url, store.url, {}))
        night = ToxicityNight(settings=settings, store=store, clock=lambda: LATER)
        told, before = night.preview(NOON - timedelta(days=1), LATER).estimate, judge.nanos
        night.run(NOON - timedelta(days=1), LATER)
    assert told is not None
    assert (told.answers, told.based_on) == (40, 20)
    assert told.dollars is not None
    assert told.dollars.low <= (judge.nanos - before) / 1e9 <= told.dollars.high
    assert told.price == "judge.price"


def test_nothing_to_go_by_is_no_estimate(store: Store) -> None:
    """Before the first score nothing is said about tokens."""
    fill(store, mixed(5, 0))
    settings = Settings.model_validate(_values("http://127.0.0.1:9/v1", store.url, {}))
    told = ToxicityNight(settings=settings, store=store, clock=lambda: LATER).preview().estimate
    assert told is not None
    assert (told.answers, told.calls, told.dollars) == (5, None, None)


def test_a_spent_quota_ends_the_run_at_once(store: Store) -> None:
    """insufficient_quota is no rate limit: it is not asked again, and the rest is not attempted."""
    fill(store, mixed(60, 0))
    replies = [chat(CLEAN)] * 20 + [status(429, "insufficient_quota")] * 40
    with FakeOpenAI(replies) as server:
        run = _run(store, server, {}, concurrency=2)
        assert server.count <= 22  # the one, and what was under way
    left = 60 - 20 - run.counts["unscored"]["quota"]
    assert run.counts["unscored"]["not_attempted"] == left
    assert (run.counts["scored"], run.state, run.verdict) == (20, "failed", Verdict.INCONCLUSIVE)
    assert any("quota" in reason for reason in run.reasons)


def test_status_tells_what_was_spent_today(store: Store) -> None:
    """Over all runs of the day, in UTC."""
    fill(store, mixed(5, 0))
    judge = Priced()
    with FakeOpenAI(judge) as server:
        _run(store, server, {})
    told = status_dict(status_report(store, stored=True, now=LATER))["spent_today"]
    assert told == {"calls": 5, "tokens": judge.tokens, "dollars": pytest.approx(judge.nanos / 1e9)}
    assert (
        status_dict(status_report(store, stored=True, now=LATER + timedelta(days=1)))["spent_today"]["calls"]
        == 0
    )


def test_a_noise_run_keeps_to_its_budget_too(store: Store, tmp_path: Path) -> None:
    """The answers that it could not have judged are over_budget, and it decides nothing."""
    quiz.dataset(tmp_path, 3)
    with FakeOpenAI(lambda body: chat({})) as server:
        values = _values(server.url, store.url, {"run": {"calls": 5}})
        settings = quiz.settings(tmp_path).model_copy(
            update={name: getattr(Settings.model_validate(values), name) for name in ("judge", "budget")}
        )
        run = NoiseNight(settings=settings, store=store, clock=lambda: LATER).run()
        assert server.count == 5
    tracehooks.shutdown(2)
    assert run.counts["unscored"]["over_budget"] >= 7
    assert run.verdict is Verdict.INCONCLUSIVE
    assert any(reason.startswith("budget: ") for reason in run.reasons)
