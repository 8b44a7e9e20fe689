"""A store in memory, for hosts without a durable disk: everything works, and what ends with it is told."""

from pathlib import Path

import pytest

from tests.ends.listening import answering_port, closed_port, silent_port
from tests.ends.processes import run
from tests.hooks.distribution import write_distribution

MEMORY = {"TRACEHOOKS_STORE": "memory", "NO_PROXY": "127.0.0.1"}
CALL = "tracehooks.init()\nagent('q')\n"


@pytest.fixture
def sinks(tmp_path: Path) -> dict[str, str]:
    write_distribution(tmp_path / "site", "tracehooks.sinks", {"posting": "tests.ends.sinks:PostingSink"})
    return {**MEMORY, "TRACEHOOKS_SINKS": "[posting]"}


@pytest.mark.parametrize("flush", ["", "assert tracehooks.flush(10)"])
def test_what_a_sink_takes_is_safe_and_nothing_is_said(
    tmp_path: Path, sinks: dict[str, str], flush: str
) -> None:
    """At an explicit flush, or at the exit."""
    with answering_port() as (port, posted):
        ended = run(tmp_path, CALL + flush, more={**sinks, "SINK_PORT": str(port)})
    assert (ended.code, ended.warnings) == (0, []), ended.err
    assert sorted((one["name"], one["value"]) for one in posted) == [
        ("length", 11.0),
        ("quality", 1.0),
        ("thumbs", 1.0),
    ]


def test_what_no_sink_took_is_counted_and_told_once(tmp_path: Path, sinks: dict[str, str]) -> None:
    """At the exit, beside the line about the sink itself."""
    ended = run(tmp_path, CALL, more={**sinks, "SINK_PORT": str(closed_port())})
    assert ended.code == 0
    told = [line for line in ended.warnings if "end with the process" in line]
    assert len(told) == 1
    assert "3 scores" in told[0]


def test_what_a_sink_that_hangs_holds_is_counted_too(tmp_path: Path, sinks: dict[str, str]) -> None:
    """All of it, also what was scored after the sink began to hang."""
    with silent_port() as port:
        body = "tracehooks.init()\nagent('q')\ntracehooks.flush(1)\nagent('q')\nagent('q')\n"
        ended = run(tmp_path, body, more={**sinks, "SINK_PORT": str(port)})
    assert ended.code == 0
    told = [line for line in ended.warnings if "end with the process" in line]
    assert len(told) == 1
    assert "9 scores" in told[0]


def test_without_any_sink_all_scores_end_with_the_process(tmp_path: Path) -> None:
    """It is in the stats, and told at the exit."""
    body = CALL + "assert tracehooks.flush(10)\nprint(tracehooks.stats()['store'])\n"
    ended = run(tmp_path, body, more=MEMORY)
    assert (ended.code, ended.out) == (0, "memory\n"), ended.err
    assert [line for line in ended.warnings if "3 scores" in line]


def test_its_own_process_can_read_it(tmp_path: Path) -> None:
    """And a child of it begins with nothing."""
    body = """
    from tracehooks.store import open_store
    tracehooks.init()
    agent("q")
    assert tracehooks.flush(10)
    with open_store("memory") as store:
        (call,) = store.calls.latest(10)
        assert len({score.name for score in store.scores.of_trace(call.trace_id)}) == 3
    child = os.fork()
    if child == 0:
        agent("child")
        done = tracehooks.flush(10)
        with open_store("memory") as store:
            (call,) = store.calls.latest(10)
            os._exit(0 if done and call.output == "answer to child" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    assert run(tmp_path, body, more=MEMORY).code == 0
    assert not list(tmp_path.glob("*.db"))
