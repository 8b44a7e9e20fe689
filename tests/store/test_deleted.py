"""A store file that is deleted or replaced while it is open: noticed, told once, and stored anew."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tracehooks
from tests.store.making import agent_span, trace_id
from tracehooks import traced
from tracehooks.store import Store, open_store
from tracehooks.tracing.trouble import trouble

PLACE = "keeping the store"


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "folder" / "store.db"


def whole(path: Path) -> None:
    for part in path.parent.iterdir():
        part.unlink()


def folder(path: Path) -> None:
    whole(path)
    path.parent.rmdir()


def replaced(path: Path) -> None:
    """By another store, as who restores a copy does."""
    whole(path)
    other = path.with_name("other.db")
    open_store(f"sqlite:///{other}").close()
    other.replace(path)


@pytest.mark.parametrize("lose", [Path.unlink, whole, folder, replaced])
def test_what_comes_after_is_stored(
    path: Path, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the write-ahead log stays behind; by each who has the store open, and told once."""
    url = f"sqlite:///{path}"
    with open_store(url) as one, open_store(url) as two:
        assert one.spans.add([agent_span(1)]) == two.spans.add([agent_span(2)]) == 1
        lose(path)
        assert one.spans.add([agent_span(3)]) == 1
        assert two.spans.add([agent_span(4)]) == 1
        with open_store(url) as fresh:
            assert {n for n in range(5) if fresh.spans.of_trace(trace_id(n))} == {3, 4}
            assert {n for n in range(5) if one.spans.of_trace(trace_id(n))} == {3, 4}
            assert fresh.check() == []
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    what = f"{path} was deleted or replaced; going on with what is there"
    assert told == [f"tracehooks: {PLACE} failed: {what}"]
    assert trouble.counts == {PLACE: 2}


def test_a_running_process_goes_on_in_a_new_file(path: Path) -> None:
    """With the next flush, and ``stats`` counts it."""

    @traced
    def agent(question: str) -> str:
        return f"answer to {question}"

    tracehooks.init({"store": f"sqlite:///{path}"})
    agent("before")
    assert tracehooks.flush(20)
    whole(path)
    agent("after")
    assert tracehooks.flush(20)
    assert tracehooks.stats()["troubles"] == {PLACE: 1}
    with open_store(f"sqlite:///{path}") as store:
        assert outputs(store) == ["answer to after"]


def outputs(store: Store) -> list[str | None]:
    return [call.output for call in store.calls.latest()]
