"""``@traced`` in its settings: default, unsampled, disabled, with a mask, with the store, with a hook too."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import tracehooks
from benchmarks.bare import NullExporter, null_provider
from benchmarks.subjects.subject import Subject
from tracehooks.masking import SECRET_PATTERNS, masker

HOOK_RATE = 0.05  # the README's
SETTLE_SECONDS = 60.0


def subject(form: str) -> Subject:
    """``form`` is a key of FORMS."""
    return FORMS[form]()


def _default() -> Subject:
    return _recording({"store": ""})


def _unsampled() -> Subject:
    return _recording({"store": ""}, sampled=False)


def _disabled() -> Subject:
    os.environ["TRACEHOOKS_DISABLED"] = "1"
    return Subject(tracehooks.traced, exporter=None)


def _masked() -> Subject:
    return _recording({"store": ""}, mask=masker(SECRET_PATTERNS))


def _stored() -> Subject:
    return _recording({"store": _store()})


def _hooked() -> Subject:
    hook = tracehooks.ScoringHook(_score, rate=HOOK_RATE)
    return _recording({"store": _store()}, decorate=tracehooks.traced(hooks=[hook]))


def _score(call: tracehooks.AgentCall) -> float:
    return 0.0


def _recording(
    settings: Mapping[str, Any],
    *,
    sampled: bool = True,
    mask: Callable[[str], str] | None = None,
    decorate: Any = tracehooks.traced,
) -> Subject:
    exporter = NullExporter()
    tracehooks.init(settings, tracer_provider=null_provider(exporter, sampled=sampled), mask=mask)
    return Subject(decorate, exporter, settle=_settle, check=_check, is_sampled=sampled)


def _settle() -> None:
    if not tracehooks.flush(SETTLE_SECONDS):
        raise RuntimeError(f"tracehooks did not finish what it had: {tracehooks.stats()}")


def _check() -> None:
    counts = tracehooks.stats()
    if counts["dropped"] or counts["troubles"]:
        raise RuntimeError(f"tracehooks lost something: {counts}")


def _store() -> str:
    return f"sqlite:///{Path(mkdtemp(prefix='tracehooks-bench-')) / 'store.db'}"


FORMS: dict[str, Callable[[], Subject]] = {
    "default": _default,
    "unsampled": _unsampled,
    "disabled": _disabled,
    "masked": _masked,
    "stored": _stored,
    "hooked": _hooked,
}
