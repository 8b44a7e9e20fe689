"""`tracehooks schedule` as a process: it runs nights by itself, answers probes, and stops in order."""

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.cli.shop import Inside, Shop, strict_json
from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.stored import RUDE, mixed
from tracehooks.store import Store
from tracehooks.store.firings import Firing

JOB = 'schedule: "every {}", gate: {{max_rate: 0.2}}'


def _shop(folder: Path, outputs: list[str | None], url: str, more: str = "", every: str = "2s") -> Shop:
    shop = Shop.at(folder, outputs, url=url, job=JOB.format(every))
    file = folder / "tracehooks.yaml"
    file.write_text(file.read_text().replace("window: all", "window: since_last, max_window: 1000d") + more)
    return shop


@contextmanager
def _scheduler(shop: Shop) -> Iterator["subprocess.Popen[str]"]:
    process = shop.start("schedule")
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait(process: "subprocess.Popen[str]", what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 90
    while not (found := what()):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(process.communicate())
        time.sleep(0.1)
    return found


def _finished(store: Store) -> list[Any]:
    return [run for run in store.runs.list() if run.state == "finished"]


def _has_finished(store: Store, wanted: int) -> bool:
    return len(_finished(store)) >= wanted


def _get(address: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(address, timeout=10) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_nights_run_by_themselves_and_sigterm_is_a_normal_end(tmp_path: Path) -> None:
    """viniciuschiele/flask-apscheduler#23: one run a slot, probes are answered, and it ends with 0."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with FakeOpenAI(ToxicWords()) as judge:
        health = f'scheduler: {{health: "127.0.0.1:{port}"}}\n'
        shop = _shop(tmp_path, mixed(60, 0), judge.url, health)
        with shop.store() as store, _scheduler(shop) as process:
            _wait(process, lambda: len(_finished(store)) >= 2)
            assert _get(f"http://127.0.0.1:{port}/live") == (200, {"alive": True})
            code, document = _get(f"http://127.0.0.1:{port}/status")
            assert document["schedules"]["schedulers"] == 1
            assert document["schedules"]["jobs"][0]["job"] == "toxicity"
            assert (code == 200) == (document["exit_code"] == 0)
            assert _get(f"http://127.0.0.1:{port}/nothing")[0] == 404
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=30)
            assert process.returncode == 0, errors
            runs = sorted(_finished(store), key=lambda run: run.window_end)
            assert [run.window_start for run in runs[1:]] == [run.window_end for run in runs[:-1]]
            assert len(judge.requests) == 60
            assert store.schedulers.list() == []
    assert "toxicity is scheduled: next " in errors
    assert "noise is not scheduled: no agent is set" in errors
    assert "PASS" in errors


def _was_there_hours_ago(store: Store) -> None:
    """So that what was due since is run at once."""
    due = datetime.now(UTC) - timedelta(hours=2)
    store.firings.note([Firing(job="toxicity", slot="before", due=due, state="done", noted_at=due)])


def _once(minutes_ago: int) -> str:
    """An interval from 1970 on that was over so many minutes ago, and is over again in half a century."""
    return f"{int(time.time()) - 60 * minutes_ago}s"


def test_sigterm_in_the_middle_marks_the_run_and_the_next_goes_on_with_it(
    tmp_path: Path, inside: Inside
) -> None:
    """A deploy at night: nothing that was answered is asked again, nothing that was not is lost."""
    with FakeOpenAI(ToxicWords(delay=0.3)) as judge:
        shop = _shop(tmp_path, mixed(80, 0), judge.url, "scheduler: {stop_within: 10s}\n", every=_once(10))
        with shop.store() as store:
            _was_there_hours_ago(store)
            with _scheduler(shop) as process:
                _wait(process, lambda: store.overview.counts()["scores"] > 10)
                process.send_signal(signal.SIGTERM)
                _, errors = process.communicate(timeout=30)
                assert process.returncode == 0, errors
            (run,) = store.runs.list()
            assert (run.state, store.items.owners()) == ("interrupted", [])
            done, asked = store.overview.counts()["scores"], len(judge.requests)
            assert inside(shop, "status", "--json").json["runs"][0]["state"] == "interrupted"
            with _scheduler(shop) as process:
                _wait(process, lambda: store.runs.get(run.id).state == "finished")
            assert len(judge.requests) - asked == 80 - done
            assert store.runs.get(run.id).counts["scored"] == 80


def test_what_a_night_found_is_told_once_by_a_command(tmp_path: Path) -> None:
    """agronholm/apscheduler#652: not after one night that fails, but after each that follows it."""
    told = tmp_path / "told.jsonl"
    notify = f'notify: [{{command: ["sh", "-c", "cat >> {told}; echo >> {told}"], about: [fail]}}]\n'
    with FakeOpenAI(ToxicWords()) as judge:
        shop = _shop(tmp_path, [RUDE] * 30, judge.url, notify)
        file = tmp_path / "tracehooks.yaml"
        file.write_text(file.read_text().replace("since_last, max_window: 1000d", "all"))
        with shop.store() as store:
            with _scheduler(shop) as process:
                _wait(process, lambda: told.exists() and store.notices.counts().get("sent"))
            sent = store.notices.counts()["sent"]
            message = json.loads(told.read_text().splitlines()[0])
            assert (message["kind"], message["job"], message["agent"]) == ("fail", "toxicity", None)
            assert message["text"].startswith("shop: toxicity FAILED: toxicity: 30 of 30 scored calls")
            assert f"tracehooks report {message['about']}" in message["text"]
            runs = len(_finished(store))
            assert sent == runs - 1
            assert len(told.read_text().splitlines()) == sent


def test_a_schedule_of_nothing_is_2(tmp_path: Path, inside: Inside) -> None:
    """It does not sit there doing nothing for ever."""
    shop = Shop.at(tmp_path, job="schedule: null")
    result = inside(shop, "schedule")
    assert result.code == 2
    assert "no job has a schedule; set jobs.toxicity.schedule" in result.err


def test_a_store_without_a_scheduler_says_nothing_of_schedules(tmp_path: Path, inside: Inside) -> None:
    """Who runs nights by hand or from cron is not told that they are late; --max-age asks."""
    with FakeOpenAI(ToxicWords()) as judge:
        shop = Shop.at(tmp_path, mixed(60, 0), url=judge.url, job="gate: {max_rate: 0.2}")
        inside(shop, "run", "toxicity")
    assert inside(shop, "status", "--json").json["schedules"] is None
    assert inside(shop, "status", "--max-age", "1h").code == 0
    time.sleep(0.01)
    old = inside(shop, "status", "--max-age", "1ms", "--json")
    assert old.code == 3
    assert strict_json(old.out)["problems"] == [
        "toxicity has not come to its end within the time that is asked for"
    ]
    assert inside(shop, "status", "--max-age", "long").code == 2


def test_a_judge_with_locks_and_a_key_is_made_anew_by_each_process_and_never_stored(tmp_path: Path) -> None:
    """agronholm/apscheduler#933, agronholm/apscheduler#421, agronholm/apscheduler#386."""
    with FakeOpenAI(ToxicWords()) as judge:
        shop = _shop(tmp_path, mixed(20, 0), judge.url)
        with shop.store() as store:
            for wanted in (1, 2):
                with _scheduler(shop) as process:
                    _wait(process, partial(_has_finished, store, wanted))
                    process.send_signal(signal.SIGTERM)
                    _, errors = process.communicate(timeout=30)
                    assert process.returncode == 0, errors
        assert judge.requests[0].headers["authorization"] == "Bearer key-TEST-123"
    for file in tmp_path.glob("store.db*"):
        assert b"key-TEST-123" not in file.read_bytes(), file.name


def test_what_cannot_be_loaded_is_refused_when_it_is_scheduled(tmp_path: Path) -> None:
    """agronholm/apscheduler#386: said at the start, and not at two in the night."""
    for wrong, named in (("sinks: [nowhere]\n", "nowhere"), ("agent: nowhere:answer\n", "nowhere")):
        done = _shop(tmp_path, [], "http://127.0.0.1:9/v1", wrong).tracehooks("schedule")
        assert done.returncode == 2, done.stderr
        assert named in done.stderr
        assert "Traceback" not in done.stderr
