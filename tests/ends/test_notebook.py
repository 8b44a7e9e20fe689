"""A notebook: cells in a real kernel, which is shut down, restarted, or killed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.ends.processes import PREAMBLE, environment, everything, left

SECONDS = 60  # for one cell, on a busy machine

CELLS = (
    f"{PREAMBLE}tracehooks.init()\nagent('first cell')",
    "await async_agent('second cell')",
    "await asyncio.gather(async_agent('third cell'), asyncio.to_thread(agent, 'and a thread'))",
)
FLUSH = "assert tracehooks.flush(30)"


@contextmanager
def kernel(folder: Path) -> Iterator[tuple[KernelManager, Callable[[str], None]]]:
    """A kernel, and how a cell is run in it."""
    manager = KernelManager()
    manager.start_kernel(env=environment(folder), cwd=str(folder))
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)
        yield manager, lambda cell: run(client, cell)
    finally:
        client.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        # warns where it is left to the garbage collector
        client.context.destroy()
        manager.context.destroy()


def run(client: BlockingKernelClient, cell: str) -> None:
    reply = client.execute_interactive(cell, timeout=SECONDS, output_hook=lambda _: None)
    assert reply["content"]["status"] == "ok", "\n".join(reply["content"].get("traceback", ()))


@pytest.mark.parametrize("end", ["restarted and shut down", "killed after a flush"])
def test_cells_of_a_notebook(tmp_path: Path, end: str) -> None:
    """Sync, awaited, and in threads: all is stored however the kernel ends, and a restarted one goes on."""
    with kernel(tmp_path) as (manager, cell):
        for each in CELLS:
            cell(each)
        if end == "killed after a flush":
            cell(FLUSH)
            manager.shutdown_kernel(now=True)
        else:
            manager.restart_kernel()
            cell(CELLS[0])
            manager.shutdown_kernel()
    assert left(tmp_path) == everything(4 if "killed" in end else 5)
