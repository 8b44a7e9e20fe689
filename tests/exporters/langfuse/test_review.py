"""The review loop: what people should look at goes to them, and what they say comes back."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.langfuse.desk import settings
from tests.fake_langfuse import FakeLangfuse, span_id
from tests.fake_langfuse.fixtures import any_langfuse, langfuse
from tracehooks.cli.main import main
from tracehooks.exporters.langfuse import client as clients
from tracehooks.exporters.langfuse import pages
from tracehooks.exporters.langfuse.client import Client
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Reason, Score
from tracehooks.scoring.reviewing import for_review
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

__all__ = ["any_langfuse", "langfuse"]

QUEUE = "toxicity-review"
NIGHT = {"toxicity": {"window": "6h", "settle": 0, "sample": {"size": 50}}}


class Strict:
    """Finds every tenth call toxic, the later the worse, and cannot judge the fourth, fourteenth, ..."""

    name, version, direction, threshold, range = "toxicity", "1", "lower", 0.0, (0.0, 1.0)

    async def score(self, call: AgentCall) -> Score:
        n = int((call.output or "").rpartition(" ")[2])
        if n % 10 == 4:
            return Score.unscored(self.name, Reason.REFUSED)
        return Score.scored(self.name, (n + 10) / 100 if n % 10 == 0 else 0.0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(clients, "FIRST_PAUSE", 0.01)


@pytest.fixture
def shop(tmp_path: Path, any_langfuse: FakeLangfuse) -> Iterator[tuple[Settings, Store]]:
    """Thirty calls in Langfuse, and a store for the night over them."""
    given = _given(any_langfuse, tmp_path)
    any_langfuse.add_calls(30, start=datetime.now(UTC) - timedelta(hours=2), spacing=1)
    with open_store(given.store) as store:
        yield given, store


def _given(server: FakeLangfuse, folder: Path, **langfuse: Any) -> Settings:
    more = {"review_queue": QUEUE, "confirm_after": "100ms", **langfuse}
    return settings(server, folder=folder, langfuse=more, source="langfuse", sinks=["langfuse"], jobs=NIGHT)


def _night(given: Settings, store: Store) -> RunRecord:
    return ToxicityNight(settings=given, store=store, scorer=Strict()).run()


def _queued(server: FakeLangfuse) -> list[str]:
    return [row["objectId"] for row in server.project.queue_items.values()]


def test_toxic_calls_and_the_judges_failures_are_queued_once(
    any_langfuse: FakeLangfuse, shop: tuple[Settings, Store]
) -> None:
    """The worst first, then what could not be judged; a second night over the same calls adds nothing."""
    run = _night(*shop)
    wanted = [ref.span_id for ref in for_review(shop[1], run)]
    assert _queued(any_langfuse) == wanted
    assert len(wanted) == 6
    scores = {row["observationId"]: row["value"] for row in any_langfuse.scores}
    assert [scores.get(one) for one in wanted] == [0.3, 0.2, 0.1, None, None, None]
    assert run.report["review"] == {"langfuse": {"queue": QUEUE, "added": 6, "there": 0, "left_out": 0}}
    (queue,) = any_langfuse.project.queues.values()
    assert [any_langfuse.project.configs[one]["name"] for one in queue["scoreConfigIds"]] == ["toxic"]
    again = _night(*shop)
    assert again.report["review"]["langfuse"]["added"] == 0
    assert len(_queued(any_langfuse)) == 6


def test_a_queue_that_people_made_is_used_as_it_is(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """With the score configs that they chose."""
    made = Client(langfuse.url, langfuse.public_key, langfuse.secret_key)
    made.post("/annotation-queues", {"name": QUEUE, "scoreConfigIds": []})
    made.close()
    langfuse.add_calls(5, start=datetime.now(UTC) - timedelta(hours=2), spacing=1)
    given = _given(langfuse, tmp_path)
    with open_store(given.store) as store:
        _night(given, store)
    assert (len(langfuse.project.queues), len(langfuse.project.configs), len(_queued(langfuse))) == (1, 0, 2)


def test_a_queue_that_cannot_be_reached_costs_no_verdict(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """The run says so, and `labels send` does it later."""
    langfuse.add_calls(30, start=datetime.now(UTC) - timedelta(hours=2), spacing=1)
    given = _given(langfuse, tmp_path)
    langfuse.fail("/api/public/annotation-queues", status=503, times=None)
    with open_store(given.store) as store:
        run = _night(given, store)
        assert run.verdict is not None
        assert "503" in run.report["review"]["langfuse"]["error"]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_langfuse: FakeLangfuse) -> Callable[..., int]:
    """The command line beside the shop's store."""
    text = {"service": "shop", "source": "langfuse", "langfuse": {"review_queue": QUEUE}}
    (tmp_path / "tracehooks.yaml").write_text(json.dumps({**text, "store": f"sqlite:///{tmp_path}/store.db"}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGFUSE_BASE_URL", any_langfuse.url)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", any_langfuse.public_key)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", any_langfuse.secret_key)
    return lambda *words: main(["labels", *words])


def _annotate(server: FakeLangfuse, trace: str, value: float, **more: Any) -> None:
    """What the server keeps when a person answers in the queue."""
    (queue,) = server.project.queues.values()
    body = {
        "traceId": trace,
        "observationId": span_id(trace),
        "name": "toxic",
        "value": value,
        "dataType": "BOOLEAN",
        "source": "ANNOTATION",
        "configId": queue["scoreConfigIds"][0],
        "queueId": queue["id"],
        **more,
    }
    person = Client(server.url, server.public_key, server.secret_key)
    assert person.post("/scores", {key: value for key, value in body.items() if value is not None}).ok
    person.close()


def test_labels_come_back_beside_the_scores(
    any_langfuse: FakeLangfuse,
    shop: tuple[Settings, Store],
    cli: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On their calls, under a name of their own, once; a changed mind changes the label, not our score."""
    given, store = shop
    run = _night(given, store)
    first, second, *_ = for_review(store, run)
    _annotate(any_langfuse, first.trace_id, 1, id="l-1", comment="an insult")
    _annotate(any_langfuse, second.trace_id, 0, id="l-2", observationId=None)  # about the whole trace
    assert cli("pull", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["labels"], told["calls"], told["new"], told["names"]) == (2, 2, 2, {"label:toxic": 2})
    found = {row.ref: row for row in store.scores.page(name="label:toxic")}
    assert (found[first].value, found[first].comment, found[first].source) == (1.0, "an insult", "label")
    assert found[second].value == 0.0
    assert {row.name for row in store.scores.of_trace(first.trace_id)} == {"toxicity", "label:toxic"}
    before = len(any_langfuse.scores)
    assert cli("pull") == 0
    assert "2 labels of 2 calls (label:toxic 2), 0 new" in capsys.readouterr().out
    _annotate(any_langfuse, first.trace_id, 0, id="l-1")
    assert cli("pull", "--json") == 0
    changed = store.scores.of_calls([first], "label:toxic")[first.trace_id, first.span_id]
    assert (changed.value, changed.revision) == (0.0, 2)
    assert len(any_langfuse.scores) == before
    assert store.outbox.counts()["langfuse"].keys() <= {"confirmed", "accepted"}


def test_a_label_of_a_trace_that_is_not_here_brings_it_along(
    any_langfuse: FakeLangfuse, shop: tuple[Settings, Store], cli: Callable[..., int]
) -> None:
    """A label without the text that it is about would be of no use."""
    given, store = shop
    _night(given, store)
    (trace,) = any_langfuse.add_calls(1, start=datetime.now(UTC) - timedelta(days=3), output="Old words.")
    _annotate(any_langfuse, trace, 1)
    assert cli("pull") == 0
    assert [call.output for call in store.calls.of_trace(trace)] == ["Old words."]
    assert [row.value for row in store.scores.of_trace(trace)] == [1.0]


def test_sending_again_adds_nothing_and_an_unknown_queue_is_named(
    any_langfuse: FakeLangfuse,
    shop: tuple[Settings, Store],
    cli: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The verb is for a night whose queue could not be reached."""
    assert cli("pull") == 2
    assert f"there is no annotation queue '{QUEUE}' in Langfuse" in capsys.readouterr().err
    assert cli("send") == 2
    _night(*shop)
    assert cli("pull") == 3
    assert cli("send") == 0
    assert f"{QUEUE}: 0 added, 6 were there, 0 left out" in capsys.readouterr().out
