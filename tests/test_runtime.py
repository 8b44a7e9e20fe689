"""init, flush, shutdown and stats of a whole process: exits, forks, a broken store, participants."""

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.tracing.processes import PREAMBLE, run
from tracehooks import runtime, traced
from tracehooks.errors import ConfigurationError
from tracehooks.settings import Settings
from tracehooks.store import open_store
from tracehooks.testing import MemoryExporter


@traced
def agent(question: str = "hi") -> str:
    return question


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    tracehooks.shutdown(2)


def stored(folder: Path) -> list[str]:
    """The outputs of the calls in the store of a script's folder."""
    file = folder / ".tracehooks" / "tracehooks.db"
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with open_store(f"sqlite:///{file}") as store:
        return sorted(str(call.output) for call in store.calls.latest(1000, None, None))


def test_settings_may_come_in_any_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Settings, a mapping, a file by name or path, or whatever file is found."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "other.yaml"
    file.write_text("store: ''\nservice: from-file\n")
    (tmp_path / "tracehooks.yaml").write_text("store: ''\nservice: found\n")
    forms: list[tuple[Any, str]] = [
        (Settings(store="", service="made"), "made"),
        ({"store": "", "service": "mapped"}, "mapped"),
        (str(file), "from-file"),
        (file, "from-file"),
        (None, "found"),
    ]
    for given, service in forms:
        tracehooks.init(given)
        settings = runtime.settings()
        assert settings is not None
        assert settings.service == service
        tracehooks.shutdown()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"stoer": "x"}, "stoer"),
        ({"capture": {"max_bytes": 1}}, "capture.max_bytes"),
        ({"mask": {"patterns": ["("]}}, "mask.patterns"),
        ("/nowhere/tracehooks.yaml", "no such settings file"),
        (7, "not int"),
    ],
)
def test_mistakes_in_settings_are_named(wrong: Any, said: str) -> None:
    """A wrong setting is a ConfigurationError that names it, and nothing is set up."""
    with pytest.raises(ConfigurationError, match=said):
        tracehooks.init(wrong)
    assert runtime.pipeline() is None


@pytest.mark.parametrize("timeout", [None, "5s", True, float("nan"), float("inf")])
@pytest.mark.parametrize("ending", [tracehooks.flush, tracehooks.shutdown])
def test_a_timeout_is_a_number_of_seconds(ending: Callable[[Any], bool], timeout: Any) -> None:
    """Anything else is named, whether there is something to wait for or not."""
    with pytest.raises(ConfigurationError, match="timeout must be a number of seconds, got"):
        ending(timeout)


def test_the_last_spans_of_a_script_are_kept(tmp_path: Path) -> None:
    """langfuse/langfuse-docs#1050: no explicit flush; the script returns, exits, or fails."""
    for n, (end, code) in enumerate([("", 0), ("sys.exit(3)", 3), ("raise KeyError('x')", 1)]):
        folder = tmp_path / str(n)
        folder.mkdir()
        run(f"tracehooks.init()\nagent('a')\n{end}\n", folder, code=code)
        assert stored(folder) == ["a"]


def test_spans_of_exit_handlers_are_kept(tmp_path: Path) -> None:
    """What is traced while the interpreter is on its way out, and a stream collected then, arrives."""
    script = """
    import atexit
    atexit.register(lambda: (agent("late"), tracehooks.flush()))
    tracehooks.init()
    @traced
    def stream():
        yield "a"
        yield "b"
    kept = stream()
    next(kept)
    atexit.register(lambda: agent("later"))
    """
    run(script, tmp_path)
    assert stored(tmp_path)[:2] == ["late", "later"]


FORK = """
tracehooks.init()
agent("parent")
pid = os.fork()
if pid == 0:
    agent("child")
    counts = tracehooks.stats()
    flushed = tracehooks.flush(5)
    os._exit(0 if flushed and counts["ended"] == 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert tracehooks.flush(5)
assert tracehooks.stats()["exported"] == 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("warm", [False, True])
def test_a_forked_child_exports_its_own_spans_only(tmp_path: Path, warm: bool) -> None:
    """open-telemetry/opentelemetry-python#4215, open-telemetry/opentelemetry-python#1567,
    open-telemetry/opentelemetry-python#2349: forked with a span not yet flushed: two spans, one each, soon,
    and a whole database; with the worker and the store in use before, or not."""
    before = "tracehooks.init(); agent('before'); tracehooks.flush()\n" if warm else ""
    script = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n" + before + FORK
    script = script.replace('["exported"] == 1', '["exported"] == 2') if warm else script
    start = time.monotonic()
    run(script, tmp_path)
    assert time.monotonic() - start < 30
    assert stored(tmp_path) == [*(["before"] if warm else []), "child", "parent"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_keep_their_last_spans(tmp_path: Path, method: str) -> None:
    """open-telemetry/opentelemetry-python#4215: nobody flushes in the child, which leaves without atexit."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    (tmp_path / "work.py").write_text(
        "import tracehooks\n"
        "@tracehooks.traced\n"
        "def agent(q):\n"
        "    return q\n"
        "def child(q):\n"
        "    tracehooks.init()\n"
        "    agent(q)\n"
    )
    script = f"""
    import warnings; warnings.simplefilter('ignore', DeprecationWarning)
    sys.path.insert(0, ".")
    import multiprocessing, work
    if __name__ == "__main__":
        tracehooks.init()
        work.agent("parent")
        context = multiprocessing.get_context({method!r})
        children = [context.Process(target=work.child, args=(f"child {{n}}",)) for n in range(2)]
        for child in children: child.start()
        for child in children: child.join(30)
        assert [child.exitcode for child in children] == [0, 0]
    """
    file = tmp_path / "main.py"
    file.write_text(PREAMBLE + textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path) == ["child 0", "child 1", "parent"]


def test_an_executor_of_processes(tmp_path: Path) -> None:
    """A decorated function may run in worker processes, which join the same store."""
    (tmp_path / "work.py").write_text(
        "import tracehooks\n"
        "def start():\n"
        "    tracehooks.init()\n"
        "@tracehooks.traced\n"
        "def agent(q):\n"
        "    return q\n"
    )
    script = """
    sys.path.insert(0, ".")
    import multiprocessing, work
    from concurrent.futures import ProcessPoolExecutor
    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=context, initializer=work.start) as pool:
            assert list(pool.map(work.agent, ["a", "b", "c"])) == ["a", "b", "c"]
    """
    (tmp_path / "main.py").write_text("import sys\n" + textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path) == ["a", "b", "c"]


def test_a_store_that_cannot_be_opened_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """open-telemetry/opentelemetry-python#3309: init and calls go on, the loss is counted and warned of."""
    (tmp_path / "file").write_text("no folder")
    tracehooks.init({"store": f"sqlite:///{tmp_path}/file/x.db"})
    start = time.monotonic()
    assert agent("a") == "a"
    assert time.monotonic() - start < 5
    assert not tracehooks.flush(10)
    counts = tracehooks.stats()
    assert counts["dropped"] == counts["ended"] == 1
    assert any(record.levelname == "WARNING" for record in caplog.records)


def test_a_store_that_is_locked_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    """Another process holding the database only delays the spans."""
    file = tmp_path / "x.db"
    open_store(f"sqlite:///{file}").close()
    tracehooks.init({"store": f"sqlite:///{file}"})
    holder = sqlite3.connect(file, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, holder.rollback).start()
    agent("a")
    assert tracehooks.flush(20)
    holder.close()
    assert tracehooks.stats()["exported"] == 1


class Part:
    """A participant that takes its time."""

    def __init__(self, seconds: float = 0.0, *, fails: bool = False) -> None:
        self.asked: list[str] = []
        self._seconds = seconds
        self._fails = fails

    def flush(self, timeout: float) -> bool:
        self.asked.append("flush")
        if self._fails:
            raise RuntimeError
        time.sleep(min(self._seconds, timeout))
        return self._seconds <= timeout

    def shutdown(self, timeout: float) -> bool:
        self.asked.append("shutdown")
        return self.flush(timeout)

    def stats(self) -> dict[str, Any]:
        if self._fails:
            raise RuntimeError
        return {"triggered": 3, "delivered": 2}


def test_participants_are_flushed_and_counted() -> None:
    """Later parts join: they are asked in order, within one timeout, and their counts come in."""
    tracehooks.init({"store": ""})
    first, second = Part(), Part()
    runtime.join(first)
    runtime.join(second)
    assert tracehooks.flush(5)
    assert tracehooks.stats()["triggered"] == 3
    assert tracehooks.stats()["delivered"] == 2
    assert tracehooks.stats()["scored"] == 0
    assert tracehooks.shutdown(5)
    assert first.asked == second.asked == ["flush", "shutdown", "flush"]
    assert tracehooks.stats()["triggered"] == 3, "the last counts stay"
    tracehooks.init({"store": ""})
    assert tracehooks.stats()["triggered"] == 0


def test_a_slow_participant_does_not_outlast_the_timeout() -> None:
    """cognizant-ai-lab/neuro-san#1217: flush returns False in time, and shutdown as well."""
    tracehooks.init({"store": ""})
    runtime.join(Part(10))
    runtime.join(Part(10))
    start = time.monotonic()
    assert not tracehooks.flush(0.2)
    assert not tracehooks.shutdown(0.2)
    assert time.monotonic() - start < 8


def test_a_failing_participant_is_our_trouble() -> None:
    """The others are still asked, and stats still answer."""
    tracehooks.init({"store": ""})
    good = Part()
    runtime.join(Part(fails=True))
    runtime.join(good)
    assert not tracehooks.flush(1)
    assert good.asked == ["flush"]
    assert tracehooks.stats()["triggered"] == 3


def test_stats_before_and_after() -> None:
    """There are always all counts, and they are zero when nothing ran."""
    tracehooks.init({"store": ""})
    tracehooks.shutdown(1)
    counts = tracehooks.stats()
    names = {"started", "ended", "exported", "dropped", "pending", "triggered", "sampled_out", "scored"}
    assert all(counts[name] == 0 for name in names)
    assert counts["unscored"] == counts["skipped"] == {}
    assert tracehooks.flush(0.1)
    assert tracehooks.shutdown(0.1)


def test_sixteen_threads_of_calls_are_all_in_the_store(tmp_path: Path) -> None:
    """Nothing flushed is lost, and the calls read back are those made."""
    tracehooks.init({"store": f"sqlite:///{tmp_path}/x.db"})
    threads = [threading.Thread(target=lambda k=k: [agent(f"{k}.{n}") for n in range(50)]) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tracehooks.flush(30)
    with open_store(f"sqlite:///{tmp_path}/x.db") as store:
        outputs = {call.output for call in store.calls.latest(1000, None, None)}
    assert outputs == {f"{k}.{n}" for k in range(16) for n in range(50)}


def test_ill_formed_text_is_stored_with_its_batch(tmp_path: Path) -> None:
    """mlflow/mlflow#24123, simonw/llm#546: half a surrogate pair and a huge integer among four good spans:
    five are stored, emoji as they were."""
    tracehooks.init({"store": f"sqlite:///{tmp_path}/x.db"})
    traced(name="odd")(lambda: {"text": "ok \ud83e", "k\ud83e": 2**70})()
    for text in ("a", "b", "c", "\U0001f916"):
        agent(text)
    assert tracehooks.flush(10)
    with open_store(f"sqlite:///{tmp_path}/x.db") as store:
        outputs = sorted(str(call.output) for call in store.calls.latest(10, None, None))
    assert outputs == sorted(["a", "b", "c", "\U0001f916", "ok �"])


def test_the_same_spans_reach_memory_and_store(tmp_path: Path) -> None:
    """What the application's exporter sees and what the store keeps are the same calls."""
    memory = MemoryExporter()
    tracehooks.init({"store": f"sqlite:///{tmp_path}/x.db"}, tracer_provider=memory.provider())
    with tracehooks.trace_attributes(session_id="s", tags=["t"]):
        agent("a")
    assert tracehooks.flush(10)
    with open_store(f"sqlite:///{tmp_path}/x.db") as store:
        assert list(store.calls.latest(10, None, None)) == memory.calls


@pytest.mark.parametrize("mask", ["secrets", 1, ["password"], object()])
def test_a_mask_that_is_no_function_is_refused(mask: Any) -> None:
    """Before anything is recorded without it; the error says what it takes."""
    with pytest.raises(ConfigurationError, match="mask: give a function from str to str"):
        tracehooks.init({"store": ""}, mask=mask)
    assert runtime.pipeline() is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"foo": 1}, "settings: foo: unknown key; known here: project, service,"),
        ({"stoer": "memory"}, "settings: stoer: unknown key; did you mean store?"),
        ({"judge": {"modl": "m"}}, "settings: judge.modl: unknown key; did you mean model?"),
        ({"store": 3}, "settings: store: Input should be a valid string"),
    ],
)
def test_what_is_wrong_in_a_mapping_is_said_as_of_a_file(settings: Any, message: str) -> None:
    """The key, and the keys that there are."""
    with pytest.raises(ConfigurationError) as caught:
        tracehooks.init(settings)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
