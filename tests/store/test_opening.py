import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.store.making import Clock, agent_span, trace_id
from tests.store.processes import finish, go, line_of, started
from tracehooks.errors import ConfigurationError, StoreError
from tracehooks.store import Store, engines, open_store, sqlite_file


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("tracehooks.db", "is not a database url; give sqlite:///"),
        ("", "is not a database url"),
        ("mysql://root:geheim@host/db", "mysql is not supported; give sqlite:///"),
        ("postgresql://me:geheim@host:port/db", "'postgresql:...' is not a database url"),
        ("sqlite://", "a SQLite store is a file"),
        ("sqlite:///:memory:", "a SQLite store is a file"),
    ],
)
def test_a_bad_url_is_a_configuration_error(url: str, message: str) -> None:
    """The sentence says what to give instead, and never shows a password."""
    with pytest.raises(ConfigurationError, match=r"^store: ") as caught:
        open_store(url)
    assert message in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_an_unreachable_server_is_a_store_error() -> None:
    """One sentence, the password hidden."""
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        open_store("postgresql://me:geheim@127.0.0.1:9/db")
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_of_our_own_is_kept_out_of_git(tmp_path: Path) -> None:
    """`git add .` takes no conversations along; folders of others, or made before, are left alone."""
    (tmp_path / "there/.tracehooks").mkdir(parents=True)
    for folder in (".tracehooks", "data", "there/.tracehooks"):
        open_store(f"sqlite:///{tmp_path}/{folder}/store.db").close()
    assert (tmp_path / ".tracehooks/.gitignore").read_text() == "*\n"
    assert len(list(tmp_path.rglob(".gitignore"))) == 1


def test_the_folder_is_made_and_the_path_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means the folder in which the store was opened, wherever the program goes later."""
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///.tracehooks/deep/store.db") as store:
        monkeypatch.chdir("/")
        store.spans.add([agent_span(1)])
        threads = [threading.Thread(target=store.calls.count) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.url == f"sqlite:///{tmp_path}/.tracehooks/deep/store.db"
    assert (tmp_path / ".tracehooks/deep/store.db").is_file()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"not a database, " * 100), "is not a SQLite database; move it away"),
        (lambda path: path.mkdir(), "cannot be opened; check that the path is a file"),
    ],
)
def test_an_unusable_file_is_a_store_error(tmp_path: Path, make: object, message: str) -> None:
    """One sentence that names the file and the next step."""
    path = tmp_path / "store.db"
    make(path)  # type: ignore[operator]
    with pytest.raises(StoreError, match=message) as caught:
        open_store(f"sqlite:///{path}")
    assert str(path) in str(caught.value)


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    """A file in the way of the folder is named."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"the folder of the store .* cannot be made"):
        open_store(f"sqlite:///{tmp_path}/file/store.db")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    """It is told from ours, and not a byte of it changes."""
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE customers (id)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"is a database of another program .*'customers'.* name another file"
    ):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_told_apart(sqlite_url: str) -> None:
    """Whether found when opened or later: a sentence, and the check says that the file is not whole."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with open_store(sqlite_url) as store:
        store.spans.add([agent_span(number) for number in range(1, 600)])
        assert store.check() == []
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = os.urandom(len(content) - 4096 * 4)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged; move it away"):
        _use(sqlite_url)


def _use(url: str) -> None:
    with open_store(url) as store:
        assert store.check() != []
        list(store.calls.iterate())


def test_a_closed_store_says_so(store: Store) -> None:
    """Closing twice is fine, using it afterwards is a StoreError."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        store.calls.count()


def test_many_processes_open_a_new_store_at_once(url: str) -> None:
    """The schema is made once, and every opener can use it."""
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(started("tests.store.opener", url, n)) for n in range(1, 5)]
        assert [line_of(process) for process in processes] == ["ready"] * 4
        go(processes)
        for process in processes:
            finish(process)
    with open_store(url) as store:
        assert store.calls.count() == 4
        assert store.check() == []


@contextlib.contextmanager
def writing(sqlite_url: str) -> Iterator[sqlite3.Connection]:
    """Another client in the middle of a write transaction."""
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def test_readers_do_not_wait_for_a_writer(sqlite_url: str) -> None:
    """A store can be opened and read while another process writes."""
    with open_store(sqlite_url) as store:
        store.spans.add([agent_span(1)])
        with writing(sqlite_url) as connection:
            connection.execute("DELETE FROM calls")
            with open_store(sqlite_url) as reader:
                assert reader.calls.count() == 1
                assert reader.runs.list() == []


def test_a_lock_that_stays_is_a_store_error(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer waits for its turn as long as is patient, then says what to do."""
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.3)
    with open_store(sqlite_url) as store:
        with writing(sqlite_url), pytest.raises(StoreError, match=r"stayed locked .* stop the process"):
            store.spans.add([agent_span(1)])
        assert store.spans.add([agent_span(1)]) == 1


def test_a_writer_waits_longer_than_the_database_does(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that lasts longer than SQLite itself would wait costs time, and no spans."""
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    with open_store(sqlite_url) as store, writing(sqlite_url) as connection:
        thread = threading.Thread(target=store.spans.add, args=([agent_span(1)],))
        thread.start()
        thread.join(0.6)
        assert thread.is_alive()
        connection.rollback()
        thread.join()
        assert store.calls.count() == 1


def test_a_forked_child_and_its_parent_both_store(url: str) -> None:
    """After a fork each has connections of its own, whatever the parent's were doing.

    open-telemetry/opentelemetry-python#4215
    """
    script = """
import os, sys, threading
from tests.store.making import agent_span
from tracehooks.store import open_store
store = open_store(sys.argv[1])
store.spans.add([agent_span(1)])
done = threading.Event()
def busy():
    number = 1000
    while not done.is_set():
        number += 1
        store.spans.add([agent_span(number)])
thread = threading.Thread(target=busy)
thread.start()
children = []
for child in range(2, 6):
    pid = os.fork()
    if pid == 0:
        store.spans.add([agent_span(child)])
        assert store.calls.of_trace(f"{1:032x}")
        store.close()
        os._exit(0)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
done.set()
thread.join()
store.spans.add([agent_span(6)])
assert store.check() == []
store.close()
print(codes)
"""
    # since 3.12 Python itself warns of forks beside threads
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[0, 0, 0, 0]", "")
    with open_store(url) as store:
        assert all(store.calls.of_trace(trace_id(number)) for number in range(1, 7))


def test_a_store_that_was_not_closed_warns_of_nothing(sqlite_url: str) -> None:
    """A program that forgets to close ends quietly, with warnings as errors."""
    script = """
import gc, sys
from tests.store.making import agent_span
from tracehooks.store import open_store
open_store(sys.argv[1]).spans.add([agent_span(1)])
gc.collect()
kept = open_store(sys.argv[1])
assert kept.calls.count() == 1
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", script, sqlite_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_package_loads_no_database_library() -> None:
    """SQLAlchemy is paid for when a store is opened, not by every agent."""
    script = "import sys, tracehooks.store; tracehooks.store.CallFilter(); print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_shared_postgres_schema_is_left_alone(postgres_url: str, clock: Clock) -> None:
    """Tables of another program beside ours stay; ours come into the schema that the url names."""
    engine = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE customers (id int)"))
    with open_store(postgres_url, clock=clock) as store:
        assert store.spans.add([agent_span(1)]) == 1
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT count(*) FROM customers")) == 0
    engine.dispose()
