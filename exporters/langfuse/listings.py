"""The two listings that a window is told from, as each generation of servers gives them; newest first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tracehooks.exporters.langfuse.filters import TRACE, UNHEARD, RowFilter, encoded, of_types, roots, within
from tracehooks.exporters.langfuse.observations import AGENT
from tracehooks.exporters.langfuse.pages import Pages, Refused
from tracehooks.exporters.langfuse.survey import written
from tracehooks.scoring.drawing import DrawRequest

Row = Mapping[str, Any]

LISTED = 1000  # rows a page of a listing without texts
BAD_REQUEST = 400


@dataclass(frozen=True, slots=True)
class Listings:
    """Lists a project. ``older`` servers have no v2/observations."""

    pages: Pages
    rows: RowFilter
    older: bool

    def agents(self, request: DrawRequest) -> Iterator[Sequence[Row]]:
        """The observations typed as agents, at any depth."""
        if self.older:
            yield from self._older_agents(request)
            return
        fields = self.rows.fields if request.stratified else self.rows.core
        yield from self._listing(request, fields, [of_types([AGENT])], type=AGENT)

    def tops(self, request: DrawRequest) -> Iterator[Sequence[Row]]:
        """What is at the top of each trace, and not typed as an agent."""
        if self.older:
            yield from self._older_tops(request)
            return
        unheard = [AGENT, *(each for each in UNHEARD if each != "GENERATION")]
        conditions = [roots(), of_types(unheard, but=True)]
        yield from self._listing(request, self.rows.fields, conditions, isRootObservation="true")

    def _listing(
        self, request: DrawRequest, fields: str, conditions: list[dict[str, Any]], **more: str
    ) -> Iterator[list[Any]]:
        start, end = written(request.start), written(request.end)
        query = {
            "fields": fields,
            "fromStartTime": start,
            "toStartTime": end,
            "filter": encoded([*within(start, end), *conditions, *self.rows.conditions()]),
            **more,
        }
        if self.rows.filters.metadata:
            query["expandMetadata"] = ",".join(self.rows.filters.metadata)
        return self.pages.by_cursor("/v2/observations", query, limit=LISTED, what="calls")

    def _older_agents(self, request: DrawRequest) -> Iterator[Sequence[Row]]:
        """Agents of a 3.x server; one from before there was that type has none."""
        start, end = written(request.start), written(request.end)
        conditions = [*within(start, end), of_types([AGENT]), *self.rows.conditions(older=True)]
        query = {
            "type": AGENT,
            "fromStartTime": start,
            "toStartTime": end,
            "filter": encoded(conditions),
        }
        try:
            yield from self.pages.by_number("/observations", query, what="calls")
        except Refused as refused:
            if refused.status != 400:
                raise

    def _older_tops(self, request: DrawRequest) -> Iterator[Sequence[Row]]:
        """The traces of a 3.x server, each as the one observation at its top."""
        start, end = written(request.start), written(request.end)
        query = {
            "fields": "core,metrics",
            "fromTimestamp": start,
            "toTimestamp": end,
            "orderBy": "timestamp.desc",
            **self.rows.of_traces(),
        }
        for page in self.pages.by_number("/traces", query, what="traces"):
            yield [_as_top(trace) for trace in page]


def _as_top(trace: Row) -> Row:
    """A trace of the older listing as an observation, under a number that no observation has."""
    start = datetime.fromisoformat(trace["timestamp"])
    latency = trace.get("latency") or 0
    return {
        "id": str(trace["id"])[:16],
        "traceId": trace["id"],
        "name": trace.get("name"),
        "type": TRACE,
        "startTime": written(start),
        "endTime": written(start + timedelta(seconds=max(0.0, float(latency)))),
        "environment": trace.get("environment"),
        "userId": trace.get("userId"),
        "sessionId": trace.get("sessionId"),
        "tags": trace.get("tags"),
        "version": trace.get("version"),
        "isRootObservation": True,
        "parentObservationId": None,
    }
