"""The commands that the viewer's pages name."""

import asyncio
from pathlib import Path

import httpx

from tests.reports.nights import night
from tracehooks.store import open_store
from tracehooks.web import make_app


def test_commands_on_a_page_read_the_settings_that_the_viewer_reads(tmp_path: Path) -> None:
    """With another settings file a command without it would look into another store."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        run = night(store).run()

        async def page() -> str:
            asked = httpx.ASGITransport(app=make_app(store, hint=" --config night.yaml"))
            async with httpx.AsyncClient(transport=asked, base_url="http://localhost") as client:
                return (await client.get(f"/runs/{run.id}")).text

        assert f"tracehooks report {run.id} --markdown --config night.yaml" in asyncio.run(page())
