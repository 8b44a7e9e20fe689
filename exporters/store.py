"""Spans into the local store, on the tracing pipeline's background thread."""

import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from sqlalchemy.exc import DBAPIError, OperationalError

from tracehooks.breathing import breathe
from tracehooks.calls import SpanRecord, span_record
from tracehooks.calls.dialects import is_known
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.calls.span import scope_of
from tracehooks.errors import StoreError, TracehooksError
from tracehooks.exporters.awaited import Awaited
from tracehooks.exporters.stored_spans import rest_of
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store
from tracehooks.store.unsent import Place

logger = logging.getLogger("tracehooks")

# a span may be this large as text before its longest values are cut
MAX_SPAN_CHARS = 4_000_000
PREVIEW_CHARS = 100_000
AT_ONCE = 32  # spans in one transaction, which rests in between, and others wait for it
AGAIN = 60.0  # seconds before the same trouble with the store is told again
TRIM_EVERY = 10_000  # spans stored between two looks at how many wait for a backend


class StoreSpanExporter(SpanExporter):
    """Keeps the spans of agents in the store, whoever made them; an application's other spans are ignored.

    The store is opened when the first batch comes. A span that cannot be stored is counted in ``lost`` and
    never takes its batch along; an oversized one is kept with its long values cut. ``stored``, ``ignored``
    and ``lost`` add up to the spans of all batches but those that FAILURE gave back. ``text`` is the setting
    that says where an agent's answer lies.

    After :meth:`await_backends` it notes with each span which backends have not got it yet, until
    :meth:`note_taken` says that they have.
    """

    def __init__(self, url: str, text: str | None = None) -> None:
        self._url = url
        self._text = TextPath.parse(text) if text else None
        self._store: Store | None = None
        self._opening = threading.RLock()
        self._awaited: Awaited | None = None
        self._backends: tuple[str, ...] = ()
        self._untrimmed = 0
        self._shut = False
        self._told, self._told_at = "", 0.0
        self.stored = 0
        self.ignored = 0
        self.lost = 0
        _exporters.add(self)

    @classmethod
    def from_settings(cls, settings: Settings) -> "StoreSpanExporter":
        """The exporter for the store that the settings name."""
        return cls(settings.store, settings.text)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Store ``spans``. FAILURE when none of those that belong here could be stored; never raises."""
        ours = [span for span in spans if is_agents_own(span)]
        stored = 0
        for start in range(0, len(ours), AT_ONCE):
            some = ours[start : start + AT_ONCE]
            records = [record for span in some if (record := _record(span)) is not None]
            stored += self._save(records, self._rests(some))
            breathe()
        if ours and not stored:
            return SpanExportResult.FAILURE
        self.ignored += len(spans) - len(ours)
        self.stored += stored
        self.lost += len(ours) - stored
        return SpanExportResult.SUCCESS

    def note_lost(self, spans: int) -> bool:
        """Note in the store that so many spans never reached it. False when even that could not be done."""
        try:
            self._opened().losses.add(spans)
        except Exception as error:
            logger.warning("the loss of %d spans could not be noted: %s", spans, error)
            return False
        return True

    def await_backends(self, backends: Mapping[str, Mapping[str, Any]]) -> None:
        """From now on note which spans these have not got; for each, what else to keep of this process."""
        self._awaited, self._backends = Awaited(backends), tuple(backends)

    def note_taken(self, backend: str, places: Sequence[Place]) -> None:
        """Note that ``backend`` has these spans, given as (trace id, span id); from any thread. Never raises.

        What could not be noted is sent to the backend a second time, later.
        """
        if self._awaited is None:
            return
        self._awaited.taken(backend, places)
        try:
            self._awaited.settled(backend, self._opened().unsent.taken(backend, places))
        except Exception as error:
            logger.info("it could not be noted that %s has %d spans: %s", backend, len(places), error)

    def renew_locks(self) -> None:
        """In a forked child: another thread of the parent may have held them."""
        self._opening = threading.RLock()
        if self._awaited is not None:
            self._awaited.renew_lock()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing waits here: what was exported is stored."""
        return True

    def shutdown(self) -> None:
        """Close the store. What is exported afterwards is lost, and counted."""
        self._shut = True
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _rests(self, spans: Sequence[ReadableSpan]) -> dict[Place, dict[str, Any]]:
        """What must be noted to send these from the store, if anybody waits for them."""
        if self._awaited is None:
            return {}
        rests = {}
        for span in spans:
            with contextlib.suppress(Exception):  # of an odd span the store has what it has
                rests[_place(span)] = rest_of(span)
        return rests

    def _save(self, records: Sequence[SpanRecord], rests: Mapping[Place, Mapping[str, Any]]) -> int:
        """Store ``records``, together if possible. Returns how many were stored, now or before."""
        if not records:
            return 0
        try:
            self._add(with_named_text(records, self._text), rests)
        except Exception as error:
            if len(records) == 1 or not _is_about_the_data(error):
                self._tell(len(records), error)
                return 0
            return sum(self._save([record], rests) for record in records)
        return len(records)

    def _add(self, records: Sequence[SpanRecord], rests: Mapping[Place, Mapping[str, Any]]) -> None:
        store, awaited = self._opened(), self._awaited
        if awaited is None:
            store.spans.add(records)
            return
        theirs = {place: rests.get(place, {}) for one in records for place in [(one.trace_id, one.span_id)]}
        store.spans.add(records, lambda: awaited.unsent(theirs), this_owner())
        awaited.stored(theirs)
        self._untrimmed += len(records)
        if self._untrimmed >= TRIM_EVERY:
            self._untrimmed = 0
            for backend in self._backends:
                store.unsent.trim(backend)

    def _tell(self, count: int, error: Exception) -> None:
        """Warn, but once a minute of the same: a full disk must not fill the application's log."""
        if str(error) == self._told and monotonic() - self._told_at < AGAIN:
            return
        self._told, self._told_at = str(error), monotonic()
        _warn(count, error)

    def _opened(self) -> Store:
        with self._opening:
            if self._shut:
                raise StoreError("the exporter was shut down before this span came")
            if self._store is None:
                self._store = open_store(self._url)
            return self._store


def is_agents_own(span: ReadableSpan) -> bool:
    """Whether some dialect knows this span as part of an agent's work."""
    breathe()
    try:
        return is_known(scope_of(span), span.attributes or {})
    except Exception as error:
        _warn(1, error)
        return False


def fitted(span: SpanRecord) -> SpanRecord:
    """``span`` itself, or with its long values cut when it is larger than a span may be."""
    if _size(span.attributes) + sum(_size(event.attributes) for event in span.events) <= MAX_SPAN_CHARS:
        return span
    events = tuple(replace(event, attributes=_cut(event.attributes)) for event in span.events)
    return replace(span, attributes=_cut(span.attributes), events=events)


def _size(attributes: Mapping[str, Any]) -> int:
    return sum(len(value) for value in attributes.values() if isinstance(value, str | bytes | list | tuple))


def _cut(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _cut_value(value) for name, value in attributes.items()}


def _cut_value(value: Any) -> Any:
    """A long text as JSON that says that it was cut, how many characters it had, and how it began."""
    if not isinstance(value, str) or len(value) <= PREVIEW_CHARS:
        return value
    preview = value[:PREVIEW_CHARS].encode("utf-8", "replace").decode()
    return orjson.dumps({"truncated": True, "length": len(value), "preview": preview}).decode()


def _place(span: ReadableSpan) -> Place:
    context = span.get_span_context()
    assert context is not None  # only finished spans come here
    return format(context.trace_id, "032x"), format(context.span_id, "016x")


def _record(span: ReadableSpan) -> SpanRecord | None:
    breathe()
    try:
        return fitted(span_record(span))
    except Exception as error:
        _warn(1, error)
        return None


def _warn(count: int, error: Exception) -> None:
    logger.warning("%d spans could not be stored: %s: %s", count, type(error).__name__, error)


def _is_about_the_data(error: Exception) -> bool:
    """Whether some span may be the cause, and not the state of the database."""
    cause = error.__cause__
    if isinstance(error, TracehooksError):
        return isinstance(cause, DBAPIError) and not isinstance(cause, OperationalError)
    return True


_exporters: "weakref.WeakSet[StoreSpanExporter]" = weakref.WeakSet()


def _renew_in_child() -> None:
    for exporter in list(_exporters):
        exporter.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
