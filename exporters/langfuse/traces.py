"""Whole traces of a Langfuse server, as spans: many in one request, or one by one on an older one."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from tracehooks.calls import SpanRecord
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.errors import PartialReadError
from tracehooks.exporters.langfuse.filters import encoded, of_traces, within
from tracehooks.exporters.langfuse.observations import EXPANDED, Mask, span_records
from tracehooks.exporters.langfuse.pages import Pages
from tracehooks.exporters.langfuse.survey import written

TOGETHER = 25  # traces in one request
AT_ONCE = 4  # requests, where each trace needs its own
ROWS = 100  # with texts; a response may have 5 MB
FIELDS = "core,basic,time,io,metadata,trace_context"
ABOVE = timedelta(days=1)  # how long before its agent a trace may have begun
FOREVER = "9999-01-01T00:00:00.000Z"
OF_THE_TRACE = ("userId", "sessionId", "tags", "release", "version", "environment")

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Traces:
    """Reads traces. ``older`` servers have no v2/observations; ``mask`` is applied to every text."""

    pages: Pages
    older: bool
    mask: Mask | None = None
    text: TextPath | None = None

    def read(
        self, trace_ids: Sequence[str], since: datetime | None
    ) -> Iterator[tuple[Rows, list[SpanRecord]]]:
        """The observations of each trace, and the spans that they were; ``since``: when the first call began.

        A trace that is no longer there has none. Raises PartialReadError.
        """
        for rows in self._one_by_one(trace_ids) if self.older else self._together(trace_ids, since):
            yield rows, with_named_text(span_records(rows, mask=self.mask), self.text)

    def _together(self, trace_ids: Sequence[str], since: datetime | None) -> Iterator[Rows]:
        conditions = [of_traces(trace_ids)]
        if since is not None:
            conditions += within(written(since - ABOVE), FOREVER)
        query = {"fields": FIELDS, "expandMetadata": EXPANDED, "filter": encoded(conditions)}
        if len(trace_ids) == 1:
            query["traceId"] = trace_ids[0]
        if since is not None:
            query["fromStartTime"] = written(since - ABOVE)
        found: dict[str, Rows] = {trace_id: [] for trace_id in trace_ids}
        for page in self.pages.by_cursor("/v2/observations", query, limit=ROWS, what="observations"):
            for row in page:
                if (rows := found.get(row["traceId"])) is not None:
                    rows.append(row)
        yield from found.values()

    def _one_by_one(self, trace_ids: Sequence[str]) -> Iterator[Rows]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="tracehooks-traces") as pool:
            yield from pool.map(self._alone, trace_ids)

    def _alone(self, trace_id: str) -> Rows:
        trace = self.pages.one(f"/traces/{quote(trace_id)}", what="traces")
        if trace is None:
            return []
        shared = {name: trace[name] for name in OF_THE_TRACE if trace.get(name)}
        rows = trace.get("observations")
        if not isinstance(rows, list):
            raise PartialReadError("observations", read=0, total=None, why="a trace came without them")
        return [{**shared, **{key: value for key, value in row.items() if value is not None}} for row in rows]
