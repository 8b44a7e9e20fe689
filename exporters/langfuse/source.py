"""``source: langfuse``: the night's calls from a Langfuse project, whoever traced them.

The unit is the outermost agent call of a trace, found by the same function as everywhere. Of a window only
the listing is read (see ``survey.py``); the traces of the calls that are drawn come into the store, as spans,
so that they are at hand for the judge, a resumed run and ``explain``, and a killed run loses nothing.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

from tracehooks.calls import SpanRecord
from tracehooks.calls.named_text import TextPath
from tracehooks.errors import InvalidScoreError, PartialReadError
from tracehooks.exporters.langfuse.candidates import Candidate, Reservoir
from tracehooks.exporters.langfuse.client import Client, Unreachable
from tracehooks.exporters.langfuse.columns import Row
from tracehooks.exporters.langfuse.expanding import Expander
from tracehooks.exporters.langfuse.filters import RowFilter, is_left_out
from tracehooks.exporters.langfuse.listings import Listings
from tracehooks.exporters.langfuse.pages import Pages
from tracehooks.exporters.langfuse.reading import read_scores
from tracehooks.exporters.langfuse.server import Server, ServerFacts, ServerProblem, WrongKeys
from tracehooks.exporters.langfuse.survey import Survey
from tracehooks.exporters.langfuse.traces import Traces
from tracehooks.judges.untraced import untraced
from tracehooks.masking import masker
from tracehooks.records import AgentCall, Score, TraceRef, score_id
from tracehooks.sampling import Drawn, equal_shares
from tracehooks.scoring.drawing import Drawing, DrawRequest, Keep
from tracehooks.scoring.heads import CallHead
from tracehooks.settings import FilterSettings, Settings
from tracehooks.store import CallFilter, Store

logger = logging.getLogger("tracehooks")

LISTED = 1000  # rows a page of a listing without texts
SLICE = timedelta(hours=1)  # of a window that is handed over whole
MORE = 8  # times as many candidates when those that were kept held too few calls


class LangfuseSource:
    """The outermost agent calls of a Langfuse project that pass the filters.

    Calls of Langfuse's own evaluators and experiments and of our replays are left out, and so are those whose
    ids are not OpenTelemetry's: nothing could be attached to them.
    """

    def __init__(
        self,
        client: Client,
        project: str,
        filters: FilterSettings | None = None,
        *,
        text: str | None = None,
        mask: Sequence[str] = (),
    ) -> None:
        self._filters = filters or FilterSettings()
        self._rows = RowFilter(self._filters)
        self._call_filter = CallFilter(**self._filters.model_dump())
        self._client = client
        self._pages = Pages(client)
        self._server = Server(client)
        self._project = project
        self._text = TextPath.parse(text) if text else None
        self._mask = masker(mask) if mask else None

    @classmethod
    def from_settings(cls, settings: Settings, store: Store, filters: FilterSettings) -> "LangfuseSource":
        """The source for the settings' project. Raises ConfigurationError when a key is missing."""
        client = Client.from_settings(settings)
        return cls(client, settings.project, filters, text=settings.text, mask=settings.mask.patterns)

    def calls(self, start: datetime, end: datetime) -> Iterator[AgentCall]:
        """Every finished call with ``start <= call.start < end``, ordered by (start, trace, span).

        Raises PartialReadError when the server gives up half-way.
        """
        now = datetime.now(UTC)
        while start < end:
            until = min(start + SLICE, end)
            request = DrawRequest(start=start, window_start=start, end=until, settled=now, salt="")
            yield from sorted(
                self._slice(request), key=lambda call: (call.start, call.trace_id, call.span_id)
            )
            start = until

    def _slice(self, request: DrawRequest) -> list[AgentCall]:
        with closing(self._client):
            return [
                call
                for _, _, candidates in self._survey(request, None).strata()
                for expanded in self._expander().expanded(candidates, request)
                for call in expanded.calls
            ]

    def draw(self, request: DrawRequest, keep: Keep | None = None) -> Drawing:
        """Draw a sample; see :class:`tracehooks.scoring.drawing.DrawingSource`."""
        with closing(self._client):  # which opens its connections again when they are needed
            return self._draw(request, keep)

    def _draw(self, request: DrawRequest, keep: Keep | None) -> Drawing:
        most = None if request.size is None else request.size + request.size // 4 + 100
        while True:
            survey = self._survey(request, most)
            drawing = Drawing(late=survey.late, deferred=survey.deferred, listed=survey.listed)
            strata = list(survey.strata())
            if keep is None:
                self._preview(strata, request, drawing)
                return drawing
            if self._fill(strata, request, drawing, keep) or most is None:
                return drawing
            most *= MORE

    def known_scores(self, refs: Sequence[TraceRef], name: str) -> dict[TraceRef, Score]:
        """The scores called ``name`` of these calls that the server has, by their ids, in batches."""
        ids = {score_id(self._project, ref.trace_id, ref.span_id, name): ref for ref in refs}
        try:
            with untraced(), closing(self._client):
                rows = read_scores(self._client, self._facts(), list(ids))
        except (ServerProblem, Unreachable) as error:
            raise PartialReadError("scores", read=0, total=len(ids), why=str(error)) from None
        found = {ids[key]: _score(name, ids[key], row) for key, row in rows.items()}
        return {ref: score for ref, score in found.items() if score is not None}

    def spans_of(self, trace_id: str) -> list[SpanRecord]:
        """The spans of one trace; none when the server does not know it."""
        with closing(self._client):
            return [span for _, spans in self._traces().read([trace_id], None) for span in spans]

    def _survey(self, request: DrawRequest, most: int | None) -> Survey:
        survey = Survey(
            request, self._rows.check(), lambda value: is_left_out(value, self._filters.environment), most
        )
        older = not self._facts().has_experiments
        listings = Listings(self._pages, self._rows, older)
        survey.take_agents(listings.agents(request))
        survey.take_tops(listings.tops(request))
        if survey.unaddressable:
            logger.warning(
                "%d calls in Langfuse are left out: their ids are not OpenTelemetry's", survey.unaddressable
            )
        return survey

    def _preview(
        self,
        strata: Sequence[tuple[str, Reservoir, list[Candidate]]],
        request: DrawRequest,
        drawing: Drawing,
    ) -> None:
        """What would be drawn if every candidate turned out to be one call."""
        shares = _shares(strata, request)
        for name, reservoir, candidates in strata:
            loud = [each.head for each in candidates if not each.quiet][: shares[name]]
            drawing.eligible += reservoir.eligible
            drawing.drawn += _drawn(loud, name, reservoir.eligible, request)

    def _fill(
        self,
        strata: Sequence[tuple[str, Reservoir, list[Candidate]]],
        request: DrawRequest,
        drawing: Drawing,
        keep: Keep,
    ) -> bool:
        """Read the traces with the smallest keys until they hold enough calls. False when more are needed."""
        shares, waiting = _shares(strata, request), set[int]()
        for name, reservoir, candidates in strata:
            found: list[CallHead] = []
            eligible = reservoir.eligible
            for expanded in self._expander().expanded(candidates, request):
                eligible += len(expanded.calls) - expanded.counted
                drawing.deferred += expanded.deferred
                waiting |= expanded.waiting
                if expanded.calls:
                    keep(expanded.spans)
                found += [CallHead(call.trace_id, call.span_id, call.name) for call in expanded.calls]
                if (share := shares[name]) is not None and len(found) >= share:
                    break
            else:
                if reservoir.was_cut and request.size is not None:
                    return False
            drawing.eligible += eligible
            drawing.drawn += _drawn(found[: shares[name]], name, eligible, request)
        if waiting:
            drawing.listed = type(drawing.listed)("Q", (key for key in drawing.listed if key not in waiting))
        return True

    def _facts(self) -> ServerFacts:
        """What the server is like. Raises PartialReadError when it gives no answer."""
        try:
            with untraced():
                return self._server.facts()
        except WrongKeys:
            raise
        except (ServerProblem, Unreachable) as error:
            raise PartialReadError("calls", read=0, total=None, why=str(error)) from None

    def _expander(self) -> Expander:
        return Expander(self._traces(), self._call_filter)

    def _traces(self) -> Traces:
        return Traces(self._pages, not self._facts().has_experiments, self._mask, self._text)


def _score(name: str, ref: TraceRef, row: Row) -> Score | None:
    """A score as the server shows it; None for one that is not of the kind that we make."""
    metadata, value = row.get("metadata"), row.get("value")
    if value is None or isinstance(value, bool):
        return None
    try:
        return Score.scored(
            name,
            float(value) if isinstance(value, int) else value,
            comment=row.get("comment") or "",
            target=ref,
            data_type=row.get("dataType") or "NUMERIC",
            metadata=metadata if isinstance(metadata, dict) else {},
        )
    except (InvalidScoreError, TypeError):
        return None


def _shares(
    strata: Sequence[tuple[str, Reservoir, list[Candidate]]], request: DrawRequest
) -> dict[str, int | None]:
    """How many calls each stratum is drawn from; None for all that there are."""
    if request.size is None:
        return {name: None for name, _, _ in strata}
    sizes = {name: reservoir.eligible for name, reservoir, _ in strata}
    if not request.stratified:
        return dict.fromkeys(sizes, request.size)
    return {**equal_shares(sizes, request.size)}


def _drawn(
    heads: Sequence[CallHead], stratum: str, eligible: int, request: DrawRequest
) -> list[Drawn[CallHead]]:
    probability = request.rate if request.rate is not None else min(1.0, len(heads) / max(1, eligible))
    return [Drawn(head, probability, stratum) for head in heads]
