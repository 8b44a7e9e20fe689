"""A replay as an experiment in Langfuse: each answer a row, with the scores of its span.

The span of a replayed call says itself, in Langfuse's words, which experiment and which item of which dataset
it is; repeats are rows of their own. A server of the 3.x generation knows only runs of a dataset, and keeps
one row for each run and item there: so each repeat is a run.

Which replay a span belongs to stands in its metadata, where the driver of replays puts it.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.datasets import LangfuseDatasets
from tracehooks.exporters.langfuse.server import Server
from tracehooks.scoring.source import REPLAY
from tracehooks.tracing import semconv

logger = logging.getLogger("tracehooks")

PREFIX = "langfuse.experiment."
RUN_ITEMS = "/dataset-run-items"
LABELS = ("run", "dataset", "case", "repeat")  # without these a trace is no replay's


@dataclass(frozen=True, slots=True)
class Place:
    """Where one replayed call belongs: ``run`` is the noise run's id, ``repeat`` counts from 0."""

    run: str
    dataset: str
    case: str
    variant: str | None
    repeat: int
    noise_type: str | None = None

    @property
    def experiment_id(self) -> str:
        """16 hex digits, the same for all of a run's calls about one dataset."""
        return experiment_id(self.run, self.dataset)

    @property
    def item_id(self) -> str:
        """The id of the dataset's item, as ``datasets push`` makes it."""
        return f"{self.dataset}:{self.case}" + (f":{self.variant}" if self.variant else "")


def experiment_id(run: str, dataset: str) -> str:
    """First 16 hex digits of sha256 over ``run|dataset``."""
    return hashlib.sha256(f"{run}|{dataset}".encode()).hexdigest()[:16]


def experiment_name(run: str, dataset: str) -> str:
    """What people see."""
    return f"{dataset}, noise run {run}"


def place_of(attributes: Mapping[str, Any]) -> Place | None:
    """The place of an agent's span, one that nothing of ours is above; None when it is no replay's."""
    environment = attributes.get(semconv.ENVIRONMENT)
    if attributes.get(semconv.KIND) != "agent" or semconv.PARENT_AGENT in attributes:
        return None
    if not isinstance(environment, str) or not environment.endswith(REPLAY):
        return None
    try:
        labels = orjson.loads(attributes[semconv.METADATA])
        if not all(labels.get(name) is not None for name in LABELS):
            return None
        repeat = int(labels["repeat"])
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return Place(
        run=str(labels["run"]),
        dataset=str(labels["dataset"]),
        case=str(labels["case"]),
        variant=None if labels.get("variant") is None else str(labels["variant"]),
        repeat=repeat,
        noise_type=None if labels.get("noise_type") is None else str(labels["noise_type"]),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """A dataset as an experiment needs it: its id, None when there is none, and what its items expect."""

    id: str | None
    expected: Mapping[str, Any]

    def item_id(self, place: Place) -> str:
        """The item that ``place`` is about; a case that was made in Langfuse is called like its item."""
        theirs = place.item_id.removeprefix(f"{place.dataset}:")
        return theirs if place.item_id not in self.expected and theirs in self.expected else place.item_id


class Experiments:
    """Makes replays into experiments on the server of ``client``.

    ``unlisted`` counts the calls whose dataset or item Langfuse does not have: `tracehooks datasets push`.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._server = client, Server(client)
        self._datasets: dict[str, _Known] = {}
        self._on_their_way: dict[tuple[int, int], Place] = {}
        self.unlisted = 0

    def attributes(self, span: Any) -> dict[str, Any]:
        """What ``span`` says of its experiment; nothing for a span that is no replay's."""
        place = place_of(span.attributes or {})
        if place is None:
            return {}
        if not self._server.facts().has_experiments:
            self._on_their_way[span.context.trace_id, span.context.span_id] = place
            return {}
        dataset = self._dataset(place.dataset)
        said = {
            "id": place.experiment_id,
            "name": experiment_name(place.run, place.dataset),
            "dataset.id": dataset.id,
            "item.id": dataset.item_id(place),
            "item.root_observation_id": format(span.context.span_id, "016x"),
            "item.expected_output": _written(dataset.expected.get(dataset.item_id(place))),
            "item.metadata": _written(_item_metadata(place)),
        }
        return {PREFIX + name: value for name, value in said.items() if value is not None}

    def sent(self, spans: Sequence[Any]) -> None:
        """Tell an older server which runs the replays among ``spans`` belong to; they have arrived.

        Raises Unreachable when it gives no answer.
        """
        for span in spans:
            key = span.context.trace_id, span.context.span_id
            if (place := self._on_their_way.get(key)) is not None:
                self._add_to_run(place, span.context)
                del self._on_their_way[key]

    def _add_to_run(self, place: Place, context: Any) -> None:
        body = {
            "runName": f"{experiment_name(place.run, place.dataset)}, repeat {place.repeat + 1}",
            "metadata": {"run": place.run, "repeat": place.repeat},
            "datasetItemId": self._dataset(place.dataset).item_id(place),
            "traceId": format(context.trace_id, "032x"),
            "observationId": format(context.span_id, "016x"),
        }
        reply = self._client.post(RUN_ITEMS, body)
        if not reply.ok:
            self._miss(place, reply.words)

    def _dataset(self, name: str) -> _Known:
        if name not in self._datasets:
            datasets = LangfuseDatasets(self._client)
            found = datasets.dataset_id(name)
            items = datasets.items(name) if found is not None else ()
            self._datasets[name] = _Known(
                found, {str(item["id"]): item.get("expectedOutput") for item in items}
            )
            if found is None:
                self._miss(Place("", name, "", None, 0), "404")
        return self._datasets[name]

    def _miss(self, place: Place, words: str) -> None:
        self.unlisted += 1
        if self.unlisted == 1:
            logger.warning(
                "Langfuse lacks the dataset %s or an item of it (%s): `tracehooks datasets push` makes it",
                place.dataset,
                words,
            )


def _item_metadata(place: Place) -> dict[str, Any]:
    found = {
        "case": place.case,
        "variant": place.variant,
        "noise_type": place.noise_type,
        "repeat": place.repeat,
    }
    return {name: value for name, value in found.items() if value is not None}


def _written(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()
