"""A store in memory: for hosts without a durable disk."""

import os
import threading
from pathlib import Path

import pytest

from tests.store.making import ALWAYS, agent_span, scored, unscored
from tracehooks.errors import ConfigurationError
from tracehooks.store import open_store


def test_all_who_open_it_share_it_until_the_last_has_closed_it() -> None:
    """The exporter writes what the hooks and the application read."""
    one, other = open_store("memory"), open_store("memory")
    one.spans.add([agent_span(1)])
    one.close()
    one.close()
    assert other.calls.count(*ALWAYS) == 1
    assert other.url == "memory"
    other.close()
    with open_store("memory") as fresh:
        assert fresh.calls.count(*ALWAYS) == 0


def test_threads_share_it() -> None:
    """Writers and readers take turns on the one connection there is."""
    with open_store("memory") as store:
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for n in range(20):
                    store.spans.add([agent_span(number * 100 + n)])
                    store.calls.count(*ALWAYS)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert store.calls.count(*ALWAYS) == 120


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_begins_with_an_empty_one_and_the_parent_keeps_its_own() -> None:
    """What the parent has is the parent's to deliver: open-telemetry/opentelemetry-python#2349."""
    with open_store("memory") as store:
        store.spans.add([agent_span(1)])
        child = os.fork()
        if child == 0:
            try:
                empty = store.calls.count(*ALWAYS) == 0
                store.spans.add([agent_span(2), agent_span(3)])
                os._exit(0 if empty and store.calls.count(*ALWAYS) == 2 else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.calls.count(*ALWAYS) == 1


def test_it_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one of that name."""
    monkeypatch.chdir(tmp_path)
    with open_store("memory") as store:
        store.scores.commit([scored(1)], project="p", sinks=["s"])
        assert store.check() == []
    assert list(tmp_path.iterdir()) == []


def test_sqlites_own_words_for_it_are_refused_with_a_hint() -> None:
    """Each connection would have a database of its own."""
    with pytest.raises(ConfigurationError, match="or give memory"):
        open_store("sqlite:///:memory:")


def test_a_sink_may_ask_for_results_without_a_value() -> None:
    """Others get what is scored, and nothing else."""
    with open_store("memory") as store:
        records = [scored(1), unscored(2)]
        store.scores.commit(records, project="p", sinks=["all", "some"], all_results=["all"])
        assert store.outbox.counts() == {"all": {"pending": 2}, "some": {"pending": 1}}
        assert (store.outbox.waiting("all", "me"), store.outbox.waiting("some", "me")) == (2, 1)
