"""One listing of a Langfuse-shaped server, in a process of its own: ``ours|theirs URL SIZE``."""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson

from benchmarks.memory import peak_megabytes
from benchmarks.outbox import KEYS
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.filters import RowFilter, encoded, of_types, within
from tracehooks.exporters.langfuse.listings import LISTED
from tracehooks.exporters.langfuse.source import LangfuseSource
from tracehooks.exporters.langfuse.survey import written
from tracehooks.scoring.drawing import DrawRequest
from tracehooks.settings import FilterSettings, Settings

NOW = datetime.now(UTC)
START, END = NOW - timedelta(days=2), NOW + timedelta(days=2)


def ours(url: str, size: int) -> Callable[[], int]:
    """Draws the sample; the function returns how many calls there were."""
    keys = {"base_url": url, "public_key": KEYS[0], "secret_key": KEYS[1]}
    client = Client.from_settings(Settings.model_validate({"project": "bench", "langfuse": keys}))
    source = LangfuseSource(client, "bench")
    source.draw(_request(START, START, size))  # what the server is like is found out once

    def work() -> int:
        drawing = source.draw(_request(START, END, size))
        assert len(drawing.drawn) == min(size, drawing.eligible)
        return drawing.eligible

    return work


def theirs(url: str, size: int) -> Callable[[], int]:
    """Reads the same pages; the function returns how many rows there were."""
    start, end = written(START), written(END)
    fields = RowFilter(FilterSettings()).fields
    span = {"fromStartTime": start, "toStartTime": end}
    conditions = encoded([*within(start, end), of_types(["AGENT"])])
    query: dict[str, Any] = {"fields": fields, **span, "filter": conditions, "type": "AGENT", "limit": LISTED}
    client = httpx.Client(auth=KEYS, base_url=url, timeout=60)
    client.get("/api/public/health")

    def work() -> int:
        rows, cursor = 0, None
        while True:
            place: dict[str, str] = {"cursor": cursor} if cursor else {}
            said = orjson.loads(client.get("/api/public/v2/observations", params={**query, **place}).content)
            rows += len(said["data"])
            cursor = said["meta"].get("cursor")
            if not cursor:
                return rows

    return work


def _request(start: datetime, end: datetime, size: int) -> DrawRequest:
    return DrawRequest(start=start, window_start=start, end=end, settled=END, salt="toxicity", size=size)


def main(way: str, url: str, size: int) -> None:
    """Prints CPU seconds, the growth of the memory's peak, and how many calls were listed."""
    work = {"ours": ours, "theirs": theirs}[way](url, size)
    memory, cpu = peak_megabytes(), time.process_time()
    listed = work()
    cpu = time.process_time() - cpu
    print(json.dumps({"cpu": cpu, "megabytes": peak_megabytes() - memory, "listed": listed}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
