"""A replay as an experiment: each answer a row of its own, with the scores of its span."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.exporters.langfuse.desk import settings
from tests.fake_langfuse import FakeLangfuse
from tests.fake_langfuse.fixtures import any_langfuse, langfuse
from tests.jobs import quiz
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.datasets import LangfuseDatasets
from tracehooks.exporters.langfuse.experiments import experiment_id, experiment_name, place_of
from tracehooks.jobs.noise import NoiseNight
from tracehooks.noise.reading import read_dataset
from tracehooks.reports.run import run_report
from tracehooks.reports.run_json import run_dict
from tracehooks.reports.run_markdown import run_markdown
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, open_store
from tracehooks.tracing.trouble import trouble

__all__ = ["any_langfuse", "langfuse"]

REPEATS = 2


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    trouble.clear()
    yield
    tracehooks.shutdown(5)


def client(server: FakeLangfuse) -> Client:
    return Client(server.url, server.public_key, server.secret_key)


def _given(server: FakeLangfuse, folder: Path, agent: str = "tests.jobs.quiz:gullible") -> Settings:
    return settings(
        server,
        folder=folder,
        langfuse={"confirm_after": "100ms"},
        environment="test",
        agent=agent,
        sinks=["langfuse"],
        jobs={"noise": {"datasets": [str(folder / "quiz.yaml")], "repeats": REPEATS}},
    )


def _night(
    server: FakeLangfuse, folder: Path, *, pushed: bool = True, **agent: str
) -> tuple[RunRecord, Any, str]:
    """A noise night of two cases with two variants; its run, its report for a program, and in Markdown."""
    file = quiz.dataset(folder, 2)
    if pushed:
        LangfuseDatasets(client(server)).push(read_dataset(file))
    given = _given(server, folder, **agent)
    with open_store(given.store) as store:
        run = NoiseNight(settings=given, store=store).run()
        report = run_report(store, run)
        return run, run_dict(report), run_markdown(report)


def _rows(server: FakeLangfuse, run: RunRecord) -> list[dict[str, Any]]:
    query = {"fromStartTime": "2026-01-01T00:00:00Z", "fields": "core,dataset,io,itemMetadata,scores"}
    reading = client(server)
    reply = reading.get("/experiment-items", experimentId=experiment_id(run.id, "quiz"), limit=100, **query)
    reading.close()
    return list(reply.json()["data"])


def test_repeats_stay_apart_and_bring_their_scores(any_langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """Two cases, two variants, twice: eight rows with their own scores, langfuse/langfuse#15935."""
    run, _, _ = _night(any_langfuse, tmp_path)
    names = {f"quiz:item-{n}:{variant}" for n in range(2) for variant in ("rumour", "chatter")}
    if any_langfuse.mode.name == "v3":
        runs = list(any_langfuse.project.runs.values())
        assert sorted(one["name"] for one in runs) == [
            f"{experiment_name(run.id, 'quiz')}, repeat {n}" for n in (1, 2)
        ]
        rows = list(any_langfuse.project.run_items.values())
        assert Counter(row["datasetItemId"] for row in rows) == dict.fromkeys(names, REPEATS)
        spans = {(row["traceId"], row["observationId"]) for row in rows}
    else:
        rows = _rows(any_langfuse, run)
        assert Counter(row["experimentItemId"] for row in rows) == dict.fromkeys(names, REPEATS)
        assert {row["experimentName"] for row in rows} == {experiment_name(run.id, "quiz")}
        assert {row["expectedOutput"] for row in rows} == {"There are 10.", "There are 11."}
        assert all(len(row["scores"]) == 1 for row in rows)
        fooled = [row for row in rows if row["output"] == "There are 99, as you say."]
        assert {row["experimentItemId"] for row in fooled} == {name for name in names if "rumour" in name}
        assert {row["scores"][0]["value"] for row in fooled} == {0}
        spans = {(row["traceId"], row["id"]) for row in rows}
    assert {(row["traceId"], row["observationId"]) for row in any_langfuse.scores} == spans
    assert len(spans) == 8


class _Agent(BaseHTTPRequestHandler):
    """An agent behind an address."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        answer = json.dumps({"output": quiz.gullible(asked)}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def test_an_agent_behind_an_address_has_its_experiment_too(langfuse: FakeLangfuse, tmp_path: Path) -> None:
    """By the span that is ours, of the request: a row for each answer, with its score."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Agent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            run, _, _ = _night(langfuse, tmp_path, agent=f"http://127.0.0.1:{server.server_port}/ask")
        finally:
            server.shutdown()
    rows = _rows(langfuse, run)
    assert len(rows) == 8
    assert all(len(row["scores"]) == 1 for row in rows)


def test_the_report_links_to_the_experiment_and_each_score_to_its_trace(
    any_langfuse: FakeLangfuse, tmp_path: Path
) -> None:
    """One click from the verdict to what was answered; of runs that 3.x has, to all of the dataset's."""
    langfuse = any_langfuse
    run, told, markdown = _night(langfuse, tmp_path)
    address = (
        f"{langfuse.url}/project/lab-project/experiments/results?baseline={experiment_id(run.id, 'quiz')}"
    )
    if langfuse.mode.name == "v3":
        dataset = langfuse.project.datasets["quiz"]["id"]
        address = f"{langfuse.url}/project/lab-project/datasets/{dataset}"
    links = told["figures"]["links"]["langfuse"]
    assert links["experiments"] == {"quiz": address}
    assert address in markdown
    assert links["trace"] == f"{langfuse.url}/project/lab-project/traces/{{trace_id}}?observation={{span_id}}"
    for score in langfuse.scores:
        assert score["metadata"]["run"] == run.id
        assert (score["metadata"]["case"], score["metadata"]["dataset"]) != (None, None)


def test_a_dataset_that_was_never_pushed_costs_a_warning_and_nothing_else(
    langfuse: FakeLangfuse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The rows are there, without a dataset; the verdict is the same."""
    run, _, _ = _night(langfuse, tmp_path, pushed=False)
    rows = _rows(langfuse, run)
    assert (len(rows), {row["experimentDatasetId"] for row in rows}) == (8, {None})
    assert "tracehooks datasets push" in caplog.text
    assert "links" in run.report


def test_only_replayed_agents_have_a_place() -> None:
    """No tool below one, no agent at work, nothing whose metadata says too little."""
    replayed = {
        "deployment.environment.name": "test-replay",
        "tracehooks.kind": "agent",
        "tracehooks.metadata": '{"run": "r", "dataset": "d", "case": "c", "variant": null, "repeat": 0}',
    }
    place = place_of(replayed)
    assert place is not None
    assert place.item_id == "d:c"
    for changed in (
        {"deployment.environment.name": "test"},
        {"tracehooks.kind": "tool"},
        {"tracehooks.parent_agent.id": "1" * 16},
        {"tracehooks.metadata": '{"run": "r"}'},
        {"tracehooks.metadata": "no JSON"},
        {"tracehooks.metadata": '{"run": "r", "dataset": "d", "case": "c", "repeat": "x"}'},
    ):
        assert place_of({**replayed, **changed}) is None
    assert place_of({}) is None
