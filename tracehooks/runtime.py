"""The process's one set-up: ``init``, ``flush``, ``shutdown``, ``stats``.

Parts that hold work of their own (online scoring, delivery) join with :func:`join`: they are flushed and shut
down in the order in which they joined, after the spans, within one timeout, and their counts come into
``stats()``. At the end of the process (see ``tracehooks.ends``) everything is flushed, for five seconds at
most.
"""

import contextlib
import math
import os
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from tracehooks.calls.dialects import is_known
from tracehooks.calls.span import scope_of
from tracehooks.ends import Ends
from tracehooks.errors import ConfigurationError, TracehooksError
from tracehooks.forwarding import Forwarding, forwarding
from tracehooks.hooks.online import COMMIT_INTERVAL, NO_COUNTS, Online
from tracehooks.tracing.pipeline import INTERVAL, Pipeline, is_ours
from tracehooks.tracing.provider import door
from tracehooks.tracing.trouble import trouble
from tracehooks.worker import when_starting, when_waking

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from tracehooks.settings import Settings
    from tracehooks.tracing.export import SpanExporter

EXPORTERS = "tracehooks.exporters"
EXIT_TIMEOUT = 5.0
PROMPT_INTERVAL = 0.05  # seconds that spans and results wait where the process may end without asking us


class Participant(Protocol):
    """A part of the running product that has something to finish."""

    def flush(self, timeout: float) -> bool:
        """Finish what is there; False when ``timeout`` seconds were not enough or something was lost."""

    def shutdown(self, timeout: float) -> bool:
        """Finish and stop."""

    def stats(self) -> Mapping[str, Any]:
        """Its counts, under names that no other part uses."""


class _Runtime:
    """What ``init`` set up."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pipeline: Pipeline | None = None
        self.settings: Settings | None = None
        self.provider: TracerProvider | None = None
        self.mask: Callable[[str], str] | None = None
        self.online: Online | None = None
        self.forwarding: Forwarding | None = None
        self.participants: list[Participant] = []
        self.ended: tuple[Pipeline, list[Participant]] | None = None  # by shutdown, for its last counts

    def renew_lock(self) -> None:
        self.lock = threading.RLock()


_runtime = _Runtime()


def init(
    settings: "Settings | Mapping[str, Any] | str | Path | None" = None,
    tracer_provider: "TracerProvider | None" = None,
    mask: Callable[[str], str] | None = None,
    set_global: bool = False,
) -> None:
    """Start recording traced calls into the local store.

    ``settings``: a Settings, a mapping of its keys, a file, or None for the file that is found (see
    ``tracehooks.settings``). Spans come from ``tracer_provider``, else from the application's global one, now
    or once it is set, else from a private one; ``set_global`` makes that the global one if the application
    has none. ``mask`` is applied to every text before it is recorded, after the patterns of the settings.

    Calling it again is safe: with nothing new it does nothing, with other settings, another provider or
    another mask it flushes and goes on with those. Raises ConfigurationError for what is wrong in them; a
    store that cannot be opened is one warning, and spans are counted as dropped.
    """
    if mask is not None and not callable(mask):
        raise ConfigurationError(f"mask: give a function from str to str, not {mask!r}")
    with _runtime.lock:
        chosen = _settings(settings)
        if _runtime.pipeline is not None and not _is_new(chosen, tracer_provider, mask):
            return
        chosen = chosen or _runtime.settings or _settings_from_file()
        _open(chosen, tracer_provider or _runtime.provider, mask or _runtime.mask, set_global)


def flush(timeout: float = 5.0) -> bool:
    """Wait until everything is delivered, for ``timeout`` seconds at most. True only if everything was.

    Raises ConfigurationError for a ``timeout`` that is no number of seconds.
    """
    deadline = monotonic() + _seconds(timeout)
    done = _runtime.pipeline is None or _runtime.pipeline.flush(timeout)
    for participant in list(_runtime.participants):
        done = _ask("flush", participant.flush, deadline) and done
    return done


def shutdown(timeout: float = 5.0) -> bool:
    """Deliver what is there and stop recording. ``init()`` starts anew."""
    deadline = monotonic() + _seconds(timeout)
    with _runtime.lock:
        pipeline, participants = _runtime.pipeline, list(_runtime.participants)
        door.close()
        _runtime.pipeline = _runtime.settings = _runtime.provider = _runtime.mask = _runtime.online = None
        _runtime.forwarding = None
        _runtime.participants.clear()
        if pipeline is not None:
            _runtime.ended = pipeline, participants
    done = pipeline is None or pipeline.flush(timeout)
    for participant in participants:
        done = _ask("shutdown", participant.shutdown, deadline) and done
    if pipeline is not None:
        done = pipeline.close(max(0.0, deadline - monotonic())) and done
    return done


def stats() -> dict[str, Any]:
    """Counts of this process since ``init()``, which add up.

    Of spans: ``exported + dropped_spans + pending_spans == ended``. Of scoring hooks, each call counted once
    a hook: ``triggered == sampled_out + dropped_scores + scored + unscored + skipped + pending_scores``,
    those that are by reason summed. ``dropped`` and ``pending`` are the sums of both.
    ``troubles`` are our own failures by place. ``by_scorer`` has the counts of hooks for each scorer,
    ``feedback`` those of attached scores, ``undelivered`` what waited for each sink when delivery
    last looked (at each pass, and at a flush), ``forwarded`` those of the spans for each backend beside the
    store. ``store`` is the kind of the store: what is in ``memory`` ends with the
    process. After a shutdown they are its last counts.
    """
    ended_pipeline, ended = _runtime.ended or (None, [])
    pipeline = _runtime.pipeline or ended_pipeline or Pipeline()
    recording = door.recording or (door.find() if _runtime.pipeline is not None else None)
    counts: dict[str, Any] = {**pipeline.stats(), "troubles": trouble.counts}
    masking = recording.capture.mask if recording is not None else None
    counts["store"] = "" if _runtime.settings is None else _runtime.settings.store.partition(":")[0]
    counts["mask_failures"] = 0 if masking is None else masking.failures
    counts.update(NO_COUNTS, pending=counts["pending"], dropped=counts["dropped"])
    for participant in list(_runtime.participants) or ended:
        with contextlib.suppress(Exception):
            counts.update(participant.stats())
    scores_dropped = counts.setdefault("dropped_scores", {})
    counts["dropped_spans"] = counts["dropped"]
    counts["dropped"] += sum(scores_dropped.values())
    counts["pending_spans"] = counts["pending"]
    counts["pending"] += counts.setdefault("pending_scores", 0)
    return counts


def join(participant: Participant) -> None:
    """Let ``participant`` take part in flush, shutdown and stats until the next shutdown."""
    with _runtime.lock:
        _runtime.participants.append(participant)


def pipeline() -> Pipeline | None:
    """The running pipeline, whose ``listen`` tells of finished spans; None before ``init()``."""
    return _runtime.pipeline


def online() -> Online:
    """Online scoring; begins with the settings that are found when ``init()`` was not called yet."""
    with _runtime.lock:
        if _runtime.online is None:
            init()
        assert _runtime.online is not None
        return _runtime.online


def settings() -> "Settings | None":
    """The settings in use; None before ``init()``."""
    return _runtime.settings


def belongs_here(span: Any) -> bool:
    """Whether a finished span is part of an agent's work; an application's other spans are not ours."""
    return is_ours(span) or is_known(scope_of(span), span.attributes or {})


def _is_new(settings: "Settings | None", provider: Any, mask: Any) -> bool:
    return (
        (settings is not None and settings != _runtime.settings)
        or (provider is not None and provider is not _runtime.provider)
        or (mask is not None and mask is not _runtime.mask and mask != _runtime.mask)
    )


def _settings(given: Any) -> "Settings | None":
    if given is None:
        return None
    from tracehooks.settings import Settings, load_settings

    if isinstance(given, Settings):
        return given
    if isinstance(given, str | Path):
        return load_settings(given)
    if isinstance(given, Mapping):
        return _validated(given)
    raise ConfigurationError(f"settings: give Settings, a mapping or a file, not {type(given).__name__}")


def _validated(given: Mapping[str, Any]) -> "Settings":
    from pydantic import ValidationError

    from tracehooks.settings import Settings
    from tracehooks.settings.loading import explained

    try:
        return Settings.model_validate(dict(given))
    except ValidationError as error:
        raise ConfigurationError(explained(error)) from None


def _settings_from_file() -> "Settings":
    from tracehooks.settings import load_settings

    return load_settings()


def _open(
    settings: "Settings",
    provider: "TracerProvider | None",
    mask: Callable[[str], str] | None,
    set_global: bool,
) -> None:
    before, online_before = _runtime.pipeline, _runtime.online
    ends.watch()
    interval = PROMPT_INTERVAL if ends.is_abrupt else INTERVAL
    exporters = _exporters(settings)
    pipeline = Pipeline(exporters, keep=belongs_here, interval=interval)
    online = Online(settings, interval=min(interval, COMMIT_INTERVAL))
    hooked = not settings.hooks
    pipeline.listen(online.on_span, online.on_start, online.on_other, online.on_refused, hooked_only=hooked)
    further = forwarding(settings, private=provider is None, beside=exporters)
    if further is not None:
        pipeline.listen(further.on_span, on_refused=further.on_span)
    door.open(
        pipeline,
        provider=provider,
        mask=_whole_mask(settings, mask),
        max_bytes=settings.capture.max_bytes,
        service=settings.service,
        environment=None if settings.environment == "default" else settings.environment,
        set_global=set_global,
    )
    _runtime.pipeline, _runtime.settings, _runtime.ended = pipeline, settings, None
    _runtime.provider, _runtime.mask = provider, mask
    _runtime.online = online
    _runtime.participants.append(online)
    _forward_to(further)
    if before is not None:
        before.close(EXIT_TIMEOUT)
    if online_before is not None:
        _runtime.participants.remove(online_before)
        online_before.shutdown(EXIT_TIMEOUT)
    if ends.is_abrupt:
        online.warm_up()


def _exporters(settings: "Settings") -> "list[SpanExporter]":
    """The store's exporter; none when the setting ``store`` is empty."""
    if not settings.store:
        return []
    for entry in entry_points(group=EXPORTERS, name="store"):
        try:
            return [entry.load().from_settings(settings)]
        except ConfigurationError:
            raise
        except (TracehooksError, ImportError, OSError) as error:
            trouble("opening the store", error)
    return []


def _forward_to(further: Forwarding | None) -> None:
    before, _runtime.forwarding = _runtime.forwarding, further
    if before is not None:
        _runtime.participants.remove(before)
        before.shutdown(EXIT_TIMEOUT)
    if further is not None:
        _runtime.participants.append(further)


def _whole_mask(settings: "Settings", mask: Callable[[str], str] | None) -> Callable[[str], str] | None:
    if not settings.mask.patterns:
        return mask
    from tracehooks.masking import masker

    by_pattern = masker(settings.mask.patterns)
    return by_pattern if mask is None else lambda text: mask(by_pattern(text))


def _seconds(timeout: float) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout < math.inf:
        raise ConfigurationError(f"timeout must be a number of seconds, got {timeout!r}")
    return timeout


def _ask(what: str, function: Callable[[float], bool], deadline: float) -> bool:
    try:
        return bool(function(max(0.0, deadline - monotonic())))
    except Exception as error:
        trouble(what, error)
        return False


def _finish(timeout: float) -> None:
    """What is done at the end of the process; what is lost is told."""
    deadline = monotonic() + timeout
    if _runtime.forwarding is not None:
        _runtime.forwarding.hurry()
    done = _runtime.pipeline is None or _runtime.pipeline.flush(timeout)
    for participant in list(_runtime.participants):
        finish = getattr(participant, "finish", participant.flush)
        done = _ask("finishing", finish, deadline) and done
    lost = stats()["pending"]
    if lost and not done:
        trouble("finishing", f"{lost} spans and scores were not finished in time and are lost")


ends = Ends(_finish, EXIT_TIMEOUT)
when_starting(ends.watch_again)
when_waking(ends.stay_awake)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_runtime.renew_lock)
