import os
import random
import signal
import subprocess
import threading
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store.making import ALWAYS, START, agent_span, work_item
from tests.store.processes import finish, go, line_of, started
from tracehooks.errors import StoreError
from tracehooks.records import AgentCall
from tracehooks.store import CallKey, Store, StoredScore, WorkItem, open_store
from tracehooks.store import connections as connections_module
from tracehooks.store.database import Database


def number_of(subject: AgentCall | StoredScore | WorkItem) -> int:
    return int(subject.span_id, 16)


@pytest.mark.slow
def test_writers_in_threads_and_processes_lose_nothing(url: str) -> None:
    """8 threads in each of 2 processes write 200 spans and scores each, while a reader pages.

    Arize-ai/phoenix#3949, smicallef/spiderfoot#269, peter-wangxu/persist-queue#175
    """
    with open_store(url) as store, ExitStack() as stack:
        processes = [
            stack.enter_context(started("tests.store.writer", url, first, 8, 200, 25)) for first in (1, 1601)
        ]
        for process in processes:
            assert line_of(process) == "ready"
        go(processes)
        pages = read_while_running(store, processes)
        for process in processes:
            finish(process)
        assert pages > 0
        assert [number_of(call) for call in store.calls.iterate()] == list(range(1, 3201))
        scores = [number_of(score) for score in store.scores.in_window("toxicity", *ALWAYS)]
        assert scores == list(range(1, 3201))
        assert store.outbox.counts() == {"jsonl": {"pending": 3200}}
        assert store.check() == []


def read_while_running(store: Store, processes: "list[subprocess.Popen[str]]") -> int:
    """Page through all calls again and again; each pass is ordered and holds no call twice."""
    passes = 0
    while any(process.poll() is None for process in processes):
        seen: list[CallKey] = [CallKey.of(call) for call in store.calls.iterate()]
        assert seen == sorted(set(seen))
        passes += 1
    return passes


@pytest.mark.slow
def test_a_killed_writer_loses_at_most_what_it_had_not_flushed(url: str) -> None:
    """Sixteen threads in each of four processes, one killed: the store is whole, nothing taken is lost.

    peter-wangxu/persist-queue#175
    """
    with ExitStack() as stack:
        processes = [
            stack.enter_context(started("tests.store.writer", url, first, 16, 40, 8))
            for first in (1, 10_001, 20_001, 30_001)
        ]
        for process in processes:
            assert line_of(process) == "ready"
        go(processes)
        victim, *others = processes
        flushed = [line_of(victim) for _ in range(random.Random().randrange(1, 40))]
        victim.send_signal(signal.SIGKILL)
        assert victim.stdout is not None
        flushed += victim.stdout.read().splitlines()
        for process in others:
            flushed += finish(process).splitlines()
        assert victim.wait() == -signal.SIGKILL
    expected = {number for line in flushed if line.count(" ") == 1 for number in batch_of(line)}
    with open_store(url) as store:
        assert store.check() == []
        calls = {number_of(call) for call in store.calls.iterate()}
        scores = {number_of(score) for score in store.scores.in_window("toxicity", *ALWAYS)}
    assert expected <= calls
    assert expected <= scores
    assert len(calls - expected) <= 16 * 8
    assert len(scores - expected) <= 16 * 8
    assert {number for number in range(10_001, 40_000) if (number - 1) % 10_000 < 640} <= calls & scores


def batch_of(line: str) -> range:
    last, count = map(int, line.split())
    return range(last - count + 1, last + 1)


@pytest.mark.slow
def test_processes_that_claim_share_the_work(url: str) -> None:
    """Each item of a run is claimed and scored by exactly one of four processes."""
    with open_store(url) as store, ExitStack() as stack:
        run = store.runs.open("toxicity", START, START + timedelta(days=1), {})
        store.items.add(run.id, [work_item(number) for number in range(1, 401)])
        processes = [
            stack.enter_context(started("tests.store.claimer", url, run.id, f"owner-{n}")) for n in range(4)
        ]
        for process in processes:
            assert line_of(process) == "ready"
        go(processes)
        shares = [[int(number) for number in finish(process).split()] for process in processes]
        assert sorted(number for share in shares for number in share) == list(range(1, 401))
        assert sum(1 for share in shares if share) > 1
        assert [item.attempts for item in store.items.of_run(run.id)] == [1] * 400
        assert store.items.outcomes(run.id)["scored"] == 400


def test_threads_that_claim_share_the_work(store: Store) -> None:
    """No two threads of one process get the same item."""
    run = store.runs.open("toxicity", START, START + timedelta(days=1), {})
    store.items.add(run.id, [work_item(number) for number in range(1, 201)])
    taken: list[int] = []

    def claim(owner: str) -> None:
        while items := store.items.claim(run.id, owner, 3, timedelta(minutes=1)):
            taken.extend(number_of(item) for item in items)

    threads = [threading.Thread(target=claim, args=(f"owner-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 201))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_in_the_middle_of_a_transaction_refuses(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SQLite's locks cannot be had again in such a child: it says so, and the parent goes on."""
    monkeypatch.setattr(connections_module, "REST_SECONDS", 0.1)
    open_store(sqlite_url).close()
    database, reading, done = Database(sqlite_url), threading.Event(), threading.Event()

    def read_on(connection: object) -> None:
        reading.set()
        done.wait()

    thread = threading.Thread(target=database.read, args=(read_on,))
    thread.start()
    reading.wait()
    pid = os.fork()
    if pid == 0:
        try:
            database.read(lambda connection: None)
        except StoreError as error:
            (tmp_path / "said").write_text(str(error))
        os._exit(0)
    os.waitpid(pid, 0)
    done.set()
    thread.join()
    assert "was forked while its parent used the store" in (tmp_path / "said").read_text()
    assert database.problems() == []
    database.close()
    with open_store(sqlite_url) as store:
        assert store.spans.add([agent_span(1)]) == 1
