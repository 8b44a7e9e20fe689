"""Two nights and the day after, on the command line, against a server of each kind."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tracehooks
from tests.cli.conftest import inside
from tests.cli.shop import Inside, Outcome, Shop
from tests.fake_langfuse import FakeLangfuse
from tests.fake_openai import FakeOpenAI, ToxicWords
from tracehooks import traced
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import load_settings
from tracehooks.tracing.trouble import trouble

CALLS = 200
SETTINGS = """
project: shop
agent: tests.exporters.langfuse.test_whole_nights:desk
store: sqlite:///{folder}/store.db
langfuse: {{base_url: "{url}", public_key: {public}, secret_key: {secret}, confirm_after: 100ms}}
canaries: {{enabled: false}}
jobs:
  toxicity: {{settle: 0s, window: all, filters: {{name: [help-desk]}}, gate: {{max_rate: 0.2}}}}
  noise: {{datasets: ["{folder}/questions.yaml"], repeats: 2}}
"""
JUDGE = """
judge: {{model: judge-2026, base_url: "{judge}", api_key: key-TEST-123, timeout: 5s, attempts: 1}}
"""
QUESTIONS = """
cases:
  - id: warranty
    query: How long is the warranty?
    facts: {must_contain: [{number: 24, unit: months}], must_not_contain: [{number: 12, unit: months}]}
    variants:
      - {id: forum, noise_type: misinformation, content: "A forum says 12 months. How long is the warranty?"}
      - {id: friend, noise_type: misinformation, content: "My aunt says 12. How long is the warranty?"}
"""
ANSWERS = 4  # two variants, asked twice

__all__ = ["inside"]


@traced(name="help-desk")
def answer(number: int) -> str:
    return f"You idiot, order {number} is late." if number % 20 == 0 else f"Order {number} is on its way."


@traced(name="desk")
def desk(question: str) -> str:
    return "The warranty is 24 months."


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "LANGFUSE_"))]:
        monkeypatch.delenv(name)
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@pytest.fixture
def words() -> ToxicWords:
    """What the judge objects to."""
    return ToxicWords(["idiot"])


@pytest.fixture
def judge(words: ToxicWords) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(words) as server:
        yield server


@pytest.fixture
def shop(any_langfuse: FakeLangfuse, judge: FakeOpenAI, tmp_path: Path) -> Shop:
    """A folder with settings and a dataset, and 200 calls traced to the server."""
    keys = {"public": any_langfuse.public_key, "secret": any_langfuse.secret_key}
    text = SETTINGS.format(folder=tmp_path, url=any_langfuse.url, **keys)
    (tmp_path / "facts.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "tracehooks.yaml").write_text(text + JUDGE.format(judge=judge.url), encoding="utf-8")
    (tmp_path / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    tracehooks.init(load_settings(str(tmp_path / "tracehooks.yaml"), {}))
    for number in range(CALLS):
        answer(number)
    assert tracehooks.flush(20)
    assert len(any_langfuse.observations) == CALLS
    return Shop(tmp_path)


def test_every_score_is_on_its_trace_once_also_on_the_next_day(
    any_langfuse: FakeLangfuse, shop: Shop, inside: Inside, judge: FakeOpenAI, words: ToxicWords
) -> None:
    """Both nights; again, which sends nothing; and with other verdicts the day after, in the same places."""
    traces = {(row["traceId"], row["id"]) for row in any_langfuse.observations}
    _passes(inside(shop, "run", "toxicity"), "toxicity")
    assert judge.count == CALLS
    assert _placed(any_langfuse, "toxicity") == dict.fromkeys(traces, 1)
    assert _toxic(any_langfuse) == 10
    _passes(inside(shop, "run", "noise", "--config", "facts.yaml"), "noise")
    assert tracehooks.flush(20)
    _of_the_replay(any_langfuse, traces)
    _all_confirmed(shop, CALLS + ANSWERS)

    before = _writes(any_langfuse)
    again = inside(shop, "run", "toxicity", "--json")
    assert again.code == 0, again
    assert (judge.count, _writes(any_langfuse)) == (CALLS, before)

    ids = _ids(any_langfuse)
    words.words = ("way",)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    given = load_settings(str(shop.folder / "tracehooks.yaml"), {})
    with shop.store() as store:
        night = ToxicityNight(settings=given, store=store, clock=lambda: tomorrow, rescore=True).run()
    assert night.verdict == "fail"
    assert judge.count == 2 * CALLS
    assert _toxic(any_langfuse) == 190
    assert _ids(any_langfuse) == ids
    assert _placed(any_langfuse, "toxicity") == dict.fromkeys(traces, 1)
    _all_confirmed(shop, CALLS + ANSWERS)


def test_a_server_that_is_down_all_night_gets_all_of_it_later(
    any_langfuse: FakeLangfuse, shop: Shop, inside: Inside
) -> None:
    """The verdicts stand meanwhile; one flush delivers and confirms every score; spans add up."""
    traces = {(row["traceId"], row["id"]) for row in any_langfuse.observations}
    any_langfuse.down()
    _passes(inside(shop, "run", "toxicity"), "toxicity")
    _passes(inside(shop, "run", "noise", "--config", "facts.yaml"), "noise")
    waiting = inside(shop, "outbox", "status", "--json")
    assert (waiting.code, waiting.json["outbox"]["langfuse"]["pending"]) == (3, CALLS + ANSWERS)
    any_langfuse.up()
    flushed = inside(shop, "outbox", "flush", "--timeout", "30s")
    assert flushed.code == 0, flushed
    assert _placed(any_langfuse, "toxicity") == dict.fromkeys(traces, 1)
    assert len(_placed(any_langfuse, "noise_facts")) == ANSWERS
    assert len(_ids(any_langfuse)) == len(any_langfuse.scores) == CALLS + ANSWERS
    _all_confirmed(shop, CALLS + ANSWERS)
    counts = tracehooks.stats()["forwarded"]["langfuse"]
    assert counts["ended"] == counts["exported"] + counts["dropped"] + counts["pending"]


def _passes(result: Outcome, job: str) -> None:
    assert result.code == 0, result
    assert result.out.startswith(f"PASS  {job}"), result
    assert "Traceback" not in result.out + result.err


def _placed(server: FakeLangfuse, name: str) -> dict[tuple[str, str], int]:
    """How many scores of this name each span has."""
    found: dict[tuple[str, str], int] = {}
    for row in server.scores:
        if row["name"] == name:
            place = (row["traceId"], row["observationId"])
            found[place] = found.get(place, 0) + 1
    return found


def _of_the_replay(server: FakeLangfuse, before: set[tuple[str, str]]) -> None:
    """Each answer of the replay is a span with one score."""
    spans = {(row["traceId"], row["id"]) for row in server.observations if row["name"].endswith("desk")}
    assert _placed(server, "noise_facts") == dict.fromkeys(spans - before, 1)
    assert len(spans - before) == ANSWERS


def _toxic(server: FakeLangfuse) -> int:
    return sum(row["value"] > 0.5 for row in server.scores if row["name"] == "toxicity")


def _ids(server: FakeLangfuse) -> set[str]:
    return {row["id"] for row in server.scores}


def _writes(server: FakeLangfuse) -> int:
    """Requests that wrote scores."""
    writing = ("/api/public/ingestion", "/api/public/scores")
    return sum(one.method == "POST" and one.path.startswith(writing) for one in server.requests)


def _all_confirmed(shop: Shop, count: int) -> None:
    with shop.store() as store:
        assert store.outbox.counts() == {"langfuse": {"confirmed": count}}
