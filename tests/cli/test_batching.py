"""Batches on the command line: what `run` says of one that is on its way, and what comes of it."""

import socket
from pathlib import Path

import pytest

from tests.cli.shop import Inside, Shop
from tests.fake_openai import Batches, FakeOpenAI, ToxicWords
from tests.stored import mixed

PRICE = "price: {input: 10, output: 40}"


def test_a_run_waits_for_its_batch_and_resume_collects_it(
    tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 while it waits, and nobody is told; then the verdict, and what was saved, in every form."""
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        assert server.batches is not None
        shop = Shop.at(tmp_path, mixed(20, 0), url=server.url, job="batch: 12h, gate: {max_rate: 0.5}")
        config = tmp_path / "tracehooks.yaml"
        told = tmp_path / "told"
        notify = f'notify: [{{command: ["sh", "-c", "cat >> {told}"], fails: 1}}]\n'
        text = config.read_text().replace("attempts: 1", f"attempts: 1, {PRICE}")
        config.write_text(text.replace("max_rate: 0.5", "max_rate: 0.0") + notify)
        waiting = inside(shop, "run", "toxicity", "--notify")
        assert waiting.code == 3
        assert "WAITING" in waiting.out
        assert "waiting for 19 answers" in waiting.out
        assert "tracehooks resume" in waiting.out
        assert inside(shop, "gate").code == 3
        with shop.store() as store:
            (run,) = store.runs.list()
            item = next(item for item in store.items.of_run(run.id) if item.state != "done")
        assert "waits for its batch" in " ".join(inside(shop, "explain", item.trace_id).out.split())
        assert "in files" in " ".join(inside(shop, "plan", "toxicity", "--egress").out.split())
        status = inside(shop, "status", "--json").json
        assert (status["exit_code"], status["runs"][0]["state"]) == (3, "waiting")
        assert inside(shop, "resume").code == 3
        server.batches.finish(ToxicWords())
        assert not told.exists()
        done = inside(shop, "resume", "--notify")
        assert done.code == 3
        assert told.read_text(encoding="utf-8").count('"kind": "inconclusive"') == 1
        assert "19 judged by batch, 1 live; saved $0.0171 (48%)" in " ".join(done.out.split())
        batch = inside(shop, "report", "--json").json["figures"]["batch"]
        assert (batch["judged"], batch["live"], batch["waiting"]) == (19, 1, False)
        assert batch["saved_dollars"] == pytest.approx(0.0171)
        page = tmp_path / "report.html"
        assert inside(shop, "report", "--html", str(page)).code == 0
        assert "19 judged by batch" in page.read_text(encoding="utf-8")
        plan = inside(shop, "plan", "toxicity")
        assert plan.code == 0


def test_resume_begins_with_a_run_that_was_killed_with_its_batch(tmp_path: Path, inside: Inside) -> None:
    """A later run waits for what that batch brings; nobody but `resume` would fetch it."""
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        assert server.batches is not None
        shop = Shop.at(tmp_path, mixed(20, 0), url=server.url, job="batch: 12h, gate: {max_rate: 0.5}")
        assert inside(shop, "run", "toxicity").code == 3
        with shop.store() as store:
            (first,) = store.runs.list()
            dead = f"{socket.gethostname()}:2147483646:1"
            store.runs.update(first.id, state="running", report={}, owner=dead)
        assert inside(shop, "run", "toxicity", "--json").json["state"] == "waiting"
        server.batches.finish(ToxicWords())
        assert inside(shop, "resume", "--json").json["run"] == first.id
        second = inside(shop, "resume", "--json").json
        assert (second["run"] != first.id, second["state"]) == (True, "finished")
        assert (len(server.batches.made), server.count) == (1, 1)
