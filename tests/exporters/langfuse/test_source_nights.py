"""Toxicity nights on calls that are in Langfuse and not here."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.langfuse.desk import settings
from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.fixtures import any_langfuse, langfuse
from tests.stored import NOON, POLITE, RUDE
from tracehooks.cli.main import main
from tracehooks.exporters.langfuse import client as clients
from tracehooks.exporters.langfuse import pages
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score, Verdict
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

__all__ = ["any_langfuse", "langfuse"]

ROOT = Path(__file__).parents[3]
LISTING = "/api/public/v2/observations"
KILLS = 5


class Judge:
    """Finds RUDE toxic and counts whom it was asked about."""

    name, version, direction, threshold, range = "toxicity", "1", "lower", 0.0, (0.0, 1.0)

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def score(self, call: AgentCall) -> Score:
        self.asked.append(call.trace_id)
        return Score.scored(self.name, 0.8 if RUDE in (call.output or "") else 0.0, comment="judged")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(clients, "FIRST_PAUSE", 0.01)


def _words(i: int) -> str:
    return f"{RUDE if i % 20 == 0 else POLITE} ({i})"


def given(server: FakeLangfuse, folder: Path, **night: Any) -> Settings:
    night = {"window": "6h", "settle": "1m", "gate": {"max_rate": 0.2}, **night}
    return settings(
        server,
        folder=folder,
        langfuse={"confirm_after": "100ms"},
        source="langfuse",
        sinks=["langfuse"],
        jobs={"toxicity": night},
    )


def night(settings: Settings, judge: Judge, now: datetime | None = None) -> tuple[RunRecord, Store]:
    store = open_store(settings.store)
    clock = (lambda: now) if now else (lambda: datetime.now(UTC))
    return ToxicityNight(settings=settings, store=store, scorer=judge, clock=clock).run(), store


def test_a_night_judges_what_it_drew_and_puts_the_scores_there(
    any_langfuse: FakeLangfuse, tmp_path: Path
) -> None:
    """Drawn among all calls of the window, judged by their texts, scored on their spans; counts add up."""
    ids = any_langfuse.add_calls(
        200, start=datetime.now(UTC) - timedelta(hours=2), spacing=1, output=_words, http_root=True
    )
    judge = Judge()
    run, store = night(given(any_langfuse, tmp_path, sample={"size": 60}), judge)
    assert run.counts["discovered"] == 200
    assert run.counts["planned"] == run.counts["scored"] == 60
    assert run.counts["sampled_out"] == 140
    assert len(judge.asked) == len(set(judge.asked)) == 60
    assert set(judge.asked) <= set(ids)
    assert {row["traceId"] for row in any_langfuse.scores} == set(judge.asked)
    assert run.report["toxic"] == sum(RUDE in (call.output or "") for call in store.calls.iterate())
    again, other = night(given(any_langfuse, tmp_path, sample={"size": 60}), judge)
    assert len(judge.asked) == 60
    assert again.report["toxic"] == run.report["toxic"]
    store.close()
    other.close()


def test_what_somebody_else_scored_is_not_judged_again(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Another machine's night over the same project: its scores count here too, looked up in batches,
    ProjectTech4DevAI/kaapi-backend#1022."""
    any_langfuse.add_calls(80, start=datetime.now(UTC) - timedelta(hours=2), spacing=1, output=_words)
    first, second = Judge(), Judge()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    run, store = night(given(any_langfuse, tmp_path / "a"), first)
    store.close()
    before = len(any_langfuse.requests)
    told, store = night(given(any_langfuse, tmp_path / "b"), second)
    reads = [one for one in any_langfuse.requests[before:] if "/scores" in one.path and one.method == "GET"]
    assert (len(first.asked), second.asked) == (80, [])
    assert len(reads) <= 10
    assert (told.counts["already_scored"], told.counts["planned"]) == (80, 0)
    assert (told.verdict, told.report["toxic"]) == (run.verdict, run.report["toxic"])
    assert told.report["rate"] == run.report["rate"]
    store.close()


def test_a_broken_off_listing_is_no_pass(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """The run says how much came, decides nothing and judges nothing; the next night covers it again."""
    any_langfuse.add_calls(1500, start=datetime.now(UTC) - timedelta(hours=2), spacing=0.1, output=_words)
    older = any_langfuse.mode.name == "v3"
    path = "/api/public/observations" if older else LISTING
    any_langfuse.fail(path, status=429, retry_after=0, after=1, times=None)
    judge = Judge()
    job = {"window": "since_last", "sample": {"size": 20}, "gate": {"max_rate": 0.5}}
    run, store = night(given(any_langfuse, tmp_path, **job), judge)
    assert (run.verdict, run.state, judge.asked) == (Verdict.INCONCLUSIVE, "failed", [])
    assert run.report["partial"]["read"] == (100 if older else 1000)
    assert run.report["partial"]["total"] == (1500 if older else None)
    assert run.reasons[0].startswith("partial: fetched 1")
    any_langfuse.clear()
    later, other = night(given(any_langfuse, tmp_path, **job), judge)
    assert (later.verdict, later.counts["discovered"], len(judge.asked)) == (Verdict.PASS, 1500, 20)
    store.close()
    other.close()


def test_a_server_that_is_down_is_inconclusive_and_wrong_keys_are_an_error(
    langfuse: FakeLangfuse, tmp_path: Path, cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Waiting helps with the one and not with the other; the exit codes say so."""
    langfuse.secret_key = "sk-lf-wrong"
    assert cli(langfuse, "run", "toxicity") == 2
    assert "does not take the keys" in capsys.readouterr().err
    langfuse.down()
    assert cli(langfuse, "run", "toxicity", "--json") == 3
    assert json.loads(capsys.readouterr().out)["reasons"][0].startswith("partial: fetched 0 of an unknown")
    assert cli(langfuse, "plan", "toxicity") == 3


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in a folder of its own; takes the server first."""
    (tmp_path / "tracehooks.yaml").write_text(
        "service: shop\nsource: langfuse\njobs: {toxicity: {window: 6h, sample: {size: 5}}}\n"
    )
    monkeypatch.chdir(tmp_path)

    def run(server: FakeLangfuse, *words: str) -> int:
        monkeypatch.setenv("LANGFUSE_BASE_URL", server.url)
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", server.public_key)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", server.secret_key)
        return main(list(words))

    return run


def test_explain_knows_calls_that_were_not_drawn_and_stayed_there(
    any_langfuse: FakeLangfuse, cli: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Drawn or not, too late for the night or unheard of: each has its reason, and its text a place."""
    ids = any_langfuse.add_calls(12, start=datetime.now(UTC) - timedelta(hours=2), spacing=1, output=_words)
    cli(any_langfuse, "run", "toxicity", "--json")
    capsys.readouterr()
    outcomes = []
    for trace in ids:
        assert cli(any_langfuse, "explain", trace, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        outcomes.append(told["calls"][0]["answers"][0]["outcome"])
        assert told["calls"][0]["text_source"] == "langfuse.observation.output"
    assert sorted(set(outcomes)) == ["sampled_out", "scored"]
    assert outcomes.count("scored") == 5
    (late,) = any_langfuse.add_calls(1, start=datetime.now(UTC), output="new")
    assert cli(any_langfuse, "explain", late, "--json") == 0
    assert json.loads(capsys.readouterr().out)["calls"][0]["answers"][0]["outcome"] == "never_seen"
    assert cli(any_langfuse, "explain", "0" * 31 + "1") == 3


def test_a_killed_night_goes_on_and_loses_nothing(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Killed at drawn requests, while it lists, brings texts, judges or delivers; the end is the same."""
    ids = langfuse.add_calls(120, start=NOON, spacing=1, output=_words, generation=True)
    config = tmp_path / "tracehooks.yaml"
    text = {
        "project": "shop",
        "store": f"sqlite:///{tmp_path}/store.db",
        "source": "langfuse",
        "sinks": ["langfuse"],
        "langfuse": {
            "base_url": langfuse.url,
            "public_key": langfuse.public_key,
            "secret_key": langfuse.secret_key,
            "confirm_after": "200ms",
        },
        "jobs": {
            "toxicity": {"window": "12h", "settle": 0, "sample": {"size": 50}, "gate": {"max_rate": 0.2}}
        },
    }
    config.write_text(json.dumps(text))
    command = [sys.executable, "-m", "tests.exporters.langfuse.night_process", str(config)]
    rng = random.Random(20261201)
    for _ in range(KILLS):
        process = subprocess.Popen(command, cwd=ROOT)
        target, end = len(langfuse.requests) + rng.randint(1, 8), time.monotonic() + 60
        while len(langfuse.requests) < target and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    with open_store(text["store"]) as store:  # type: ignore[arg-type]
        run = store.runs.latest("toxicity")
        assert run is not None
        assert (run.state, run.counts["discovered"], run.counts["scored"]) == ("finished", 120, 50)
        assert {row.trace_id for row in store.scores.page()} == {row["traceId"] for row in langfuse.scores}
    assert len(langfuse.scores) == 50
    assert {row["traceId"] for row in langfuse.scores} <= set(ids)
