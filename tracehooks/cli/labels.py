"""``tracehooks labels``: what people say about calls, from an annotation queue into the store."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption, RunArgument
from tracehooks.cli.reaching import reaching_langfuse
from tracehooks.cli.session import config_hint, read_settings
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.records import EPOCH, DataType, Score, TraceRef, score_id
from tracehooks.reports.wording import count
from tracehooks.scoring.reviewing import for_review, send_to_review
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, ScoreRecord, Store, open_store

NO_DATA, FAILED = 3, 1
PREFIX = "label:"
SOURCE = "label"
KINDS: dict[str, DataType] = {
    "NUMERIC": "NUMERIC",
    "BOOLEAN": "BOOLEAN",
    "CATEGORICAL": "CATEGORICAL",
    "TEXT": "TEXT",
    "CORRECTION": "CORRECTION",
}

app = verb_app()

QueueOption = Annotated[
    str | None,
    typer.Option("--queue", metavar="NAME", help="An annotation queue; langfuse.review_queue when left out."),
]


@app.callback()
def labels() -> None:
    """Let people look at calls in an annotation queue, and bring back what they say."""


@app.command(
    epilog=examples("tracehooks labels pull", "tracehooks labels pull --queue toxicity-review --json")
)
def pull(queue: QueueOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Bring people's labels back into the store, each beside the score of its call.

    A label called toxic is kept as the score label:toxic, and never sent anywhere. Of several people's words
    about one call the newest counts, and all are in its metadata. Without a queue all labels of the project
    come. Exits 3 when there is none.
    """
    settings = read_settings(config)
    with reaching_langfuse(config_hint(config)):
        found = list(_labels(settings, queue or settings.langfuse.review_queue))
    with open_store(settings.store) as store:
        told = _Keeper(settings, store).keep(found)
    code = 0 if found else NO_DATA
    if as_json:
        output.show_json({**told, "exit_code": code})
    else:
        output.write(_told(told))
    return code


@app.command(epilog=examples("tracehooks labels send", "tracehooks labels send 3294941b5d35"))
def send(run: RunArgument = None, config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Put a run's toxic calls and the judge's failures into the annotation queue; none goes there twice.

    A night does that by itself when langfuse.review_queue names one; this does it again, or for an older run.
    """
    settings = read_settings(config)
    if settings.langfuse.review_queue is None:
        raise ConfigurationError("langfuse.review_queue: names no annotation queue yet; set it to a name")
    with open_store(settings.store) as store:
        chosen = _run(store, run)
        wanted = len(for_review(store, chosen))
        review = (send_to_review(settings, store, chosen.id).report.get("review") or {}) if wanted else {}
    failed = any("error" in one for one in review.values())
    code = FAILED if failed else 0 if wanted else NO_DATA
    if as_json:
        output.show_json({"run": chosen.id, "calls": wanted, "review": review, "exit_code": code})
    elif not wanted:
        output.write(f"Run {chosen.id} has no toxic call, and no failure of a judge.\n")
    for one in review.values() if not as_json and not failed else ():
        output.write(
            f"{one['queue']}: {one['added']} added, {one['there']} were there, {one['left_out']} left out\n"
        )
    return code


def _run(store: Store, run: str | None) -> RunRecord:
    found = store.runs.get(run) if run else store.runs.latest("toxicity")
    if found is None:
        raise ConfigurationError("there is no toxicity run yet; `tracehooks run toxicity` makes one")
    return found


def _labels(settings: Settings, queue: str | None) -> Iterable[Any]:
    from contextlib import closing

    from tracehooks.exporters.langfuse.client import Client
    from tracehooks.exporters.langfuse.review import Review

    with closing(Client.from_settings(settings)) as client:
        review = Review(client)
        queue_id = review.queue_id(queue) if queue else None
        if queue and queue_id is None:
            raise ConfigurationError(f"there is no annotation queue {queue!r} in Langfuse")
        yield from review.labels(queue_id)


class _Keeper:
    """Puts labels beside the calls that they are about."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store

    def keep(self, found: Sequence[Any]) -> dict[str, Any]:
        self._fetch({label.trace_id for label in found})
        by_call: dict[tuple[TraceRef, str], list[Any]] = {}
        homeless = 0
        for label in found:
            ref = self._call_of(label)
            if ref is None:
                homeless += 1
            else:
                by_call.setdefault((ref, PREFIX + label.name), []).append(label)
        records = [
            record for key, some in by_call.items() if (record := self._record(*key, some)) is not None
        ]
        self._store.scores.commit(records, project=self._settings.project, sinks=())
        return {
            "labels": len(found),
            "calls": len({ref for ref, _ in by_call}),
            "names": dict(Counter(name for _, name in by_call)),
            "new": len(records),
            "without_call": homeless,
        }

    def _fetch(self, trace_ids: Iterable[str]) -> None:
        """Bring traces here that the store does not have: a label without its text is of no use."""
        from tracehooks.exporters.langfuse.source import LangfuseSource
        from tracehooks.settings import FilterSettings

        source = LangfuseSource.from_settings(self._settings, self._store, FilterSettings())
        for trace_id in sorted(trace_ids):
            if not self._store.calls.of_trace(trace_id):
                self._store.spans.add(source.spans_of(trace_id))

    def _call_of(self, label: Any) -> TraceRef | None:
        """The call that the label is about: its span's, or the only one of its trace."""
        calls = self._store.calls.of_trace(label.trace_id)
        exact = [call for call in calls if call.span_id == label.span_id]
        chosen = exact or calls
        return chosen[0].ref if len(chosen) == 1 else None

    def _record(self, ref: TraceRef, name: str, some: Sequence[Any]) -> ScoreRecord | None:
        """The newest label as a score; None when it is there already."""
        ordered = sorted(some, key=lambda label: (label.at or EPOCH, label.id))
        newest = ordered[-1]
        told = [
            {"id": one.id, "value": one.value, "author": one.author, "at": one.at, "comment": one.comment}
            for one in ordered
        ]
        known = self._store.scores.get(score_id(self._settings.project, ref.trace_id, ref.span_id, name))
        if (
            known is not None
            and known.value == newest.value
            and _ids(known.metadata.get("labels")) == _ids(told)
        ):
            return None
        score = Score.scored(
            name,
            newest.value,
            comment=newest.comment,
            target=ref,
            data_type=KINDS.get(newest.data_type, "TEXT")
            if isinstance(newest.value, str)
            else _number(newest),
            metadata={"labels": told, "queue": newest.queue, "author": newest.author},
        )
        return ScoreRecord(score=score, source=SOURCE, rescore=True)


def _number(label: Any) -> DataType:
    return "BOOLEAN" if label.data_type == "BOOLEAN" else "NUMERIC"


def _ids(told: Any) -> list[tuple[Any, Any]]:
    return [(one.get("id"), one.get("value")) for one in told or ()]


def _told(told: dict[str, Any]) -> str:
    if not told["labels"]:
        return "Nobody has labelled anything yet.\n"
    names = ", ".join(f"{name} {n}" for name, n in sorted(told["names"].items()))
    line = (
        f"{count(told['labels'], 'label')} of {count(told['calls'], 'call')} ({names}), {told['new']} new\n"
    )
    if told["without_call"]:
        line += f"{count(told['without_call'], 'label')} left out: their traces hold no call, or several\n"
    return line
