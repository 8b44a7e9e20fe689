"""Dataset files and Langfuse datasets kept in step.

Each case is an item, its clean question, and so is each variant of it: what an experiment is about. The ids
are stable: ``dataset:case`` and ``dataset:case:variant``; a case that was made in Langfuse keeps its item's.
A server reads a text that is JSON as what it says, so such a text is sent as the JSON of a text. Archived
items are not listed, and what was archived there is archived here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from tracehooks.calls.text import agent_words, user_words
from tracehooks.errors import ConfigurationError, TracehooksError
from tracehooks.exporters.langfuse.client import Client, Reply
from tracehooks.exporters.langfuse.pages import Pages
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.emitting import case_document
from tracehooks.noise.reading import case_from

MARK = "tracehooks"  # the key in an item's metadata under which all is that its input and output do not say
ITEM_ID = "langfuse_item"  # in a case's provenance: the id of the item that it came from
ACTIVE, ARCHIVED = "ACTIVE", "ARCHIVED"

Item = Mapping[str, Any]


@dataclass(slots=True)
class Pushed:
    """What a push did, by item ids. ``changed_back``: those that the server gives back as something else."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    unchanged: int = 0
    changed_back: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pulled:
    """A dataset as the server has it.

    ``foreign`` of its ``items`` are no case of ours and became one; ``empty`` ask nothing and were left out.
    """

    dataset: Dataset
    items: int
    foreign: int
    empty: int


class LangfuseDatasets:
    """The datasets of one project."""

    def __init__(self, client: Client) -> None:
        self._client, self._pages = client, Pages(client)

    def push(self, dataset: Dataset) -> Pushed:
        """Make the Langfuse dataset of this name what the file says; made when there is none.

        Items of ours that the file no longer has are archived. Raises TracehooksError when the server takes
        one for wrong, PartialReadError when it cannot be read whole.
        """
        with closing(self._client):
            self._made(self._client.post("/v2/datasets", _head(dataset)), dataset.name)
            there = {str(item["id"]): item for item in self.items(dataset.name)}
            wanted = {
                str(item["id"]): item for case in dataset.cases for item in items_of(dataset.name, case)
            }
            done = Pushed()
            for key, item in wanted.items():
                self._put(item, there.get(key), done)
            for key in there.keys() - wanted.keys():
                if _is_ours(dataset.name, there[key]):
                    self._archive(dataset.name, key, done)
            self._check(dataset.name, wanted, done)
            return done

    def pull(self, name: str, known: Dataset | None = None) -> Pulled:
        """The Langfuse dataset called ``name``. Cases that are archived there are left out, or marked so.

        ``known`` is what the file has: what was never pushed stays as it is. Raises ConfigurationError when
        there is no such dataset.
        """
        with closing(self._client):
            reply = self._client.get(f"/v2/datasets/{quote(name, safe='')}")
            if reply.status == 404:
                raise ConfigurationError(
                    f"there is no dataset {name!r} in Langfuse; `tracehooks datasets push` makes one"
                )
            head = self._made(reply, name)
            listed = list(self.items(name))
            items = [item for item in listed if _asks(item)]
            cases = list(_cases(name, items))
            if known is not None:
                cases = self._beside(name, cases, known)
        return Pulled(
            Dataset(name=name, cases=tuple(cases), description=head.get("description") or ""),
            items=len(listed),
            foreign=sum(not _is_ours(name, item) for item in items),
            empty=len(listed) - len(items),
        )

    def names(self) -> list[str]:
        """The names of all datasets there are."""
        with closing(self._client):
            return [str(row["name"]) for page in self._pages.by_number("/v2/datasets", {}) for row in page]

    def dataset_id(self, name: str) -> str | None:
        """The id of the dataset called ``name``; None when there is none."""
        reply = self._client.get(f"/v2/datasets/{quote(name, safe='')}")
        said = reply.json()
        return str(said["id"]) if reply.ok and isinstance(said, dict) and "id" in said else None

    def items(self, name: str) -> Iterator[Item]:
        """All active items, oldest first, each once."""
        pages = list(self._pages.by_number("/dataset-items", {"datasetName": name}, what="dataset items"))
        rows = {str(row["id"]): row for page in pages for row in page}
        return iter(sorted(rows.values(), key=lambda row: (str(row.get("createdAt")), str(row["id"]))))

    def _put(self, item: Item, there: Item | None, done: Pushed) -> None:
        if there is None and item["status"] == ARCHIVED:  # it is, or it never was there
            done.unchanged += 1
            return
        if there is not None and item["status"] == ACTIVE and _same(item, there):
            done.unchanged += 1
            return
        self._made(self._client.post("/dataset-items", _sent(item)), str(item["id"]))
        kind = (
            done.archived if item["status"] == ARCHIVED else done.created if there is None else done.updated
        )
        kind.append(str(item["id"]))

    def _archive(self, name: str, key: str, done: Pushed) -> None:
        self._made(
            self._client.post("/dataset-items", {"datasetName": name, "id": key, "status": ARCHIVED}), key
        )
        done.archived.append(key)

    def _check(self, name: str, wanted: Mapping[str, Item], done: Pushed) -> None:
        """Read back what was sent."""
        if not (done.created or done.updated):
            return
        there = {str(item["id"]): item for item in self.items(name)}
        sent = (*done.created, *done.updated)
        done.changed_back = [key for key in sent if key not in there or not _same(wanted[key], there[key])]

    def _beside(self, name: str, cases: list[NoiseCase], known: Dataset) -> list[NoiseCase]:
        """The pulled cases in the file's order, with those that the server does not list."""
        pulled = {case.id: case for case in cases}
        found = []
        for case in known.cases:
            if case.id in pulled:
                found.append(_kept_provenance(case, pulled.pop(case.id)))
            elif not case.archived and self._is_archived(item_id(name, case)):
                found.append(replace(case, archived=True))
            else:
                found.append(case)
        return [*found, *pulled.values()]

    def _is_archived(self, key: str) -> bool:
        said = self._client.get(f"/dataset-items/{quote(key, safe='')}").json()
        return isinstance(said, dict) and said.get("status") == ARCHIVED

    def _made(self, reply: Reply, what: str) -> Item:
        said = reply.json()
        if not reply.ok or not isinstance(said, dict):
            raise TracehooksError(f"Langfuse does not take {what}: {reply.words}")
        return said


def item_id(dataset: str, case: NoiseCase, variant: NoiseVariant | None = None) -> str:
    """The id of the item of a case, or of one of its variants."""
    key = str(case.provenance.get(ITEM_ID) or f"{dataset}:{case.id}")
    return key if variant is None else f"{key}:{variant.id}"


def items_of(dataset: str, case: NoiseCase) -> Iterator[Item]:
    """The items of ``case``: its clean question, and each variant."""
    status = ARCHIVED if case.archived else ACTIVE
    document = {
        key: value for key, value in case_document(replace(case, archived=False)).items() if key != "variants"
    }
    base = {"datasetName": dataset, "expectedOutput": case.baseline, "status": status}
    yield {
        **base,
        "id": item_id(dataset, case),
        "input": case.query,
        "metadata": {MARK: _without(document, "query", "baseline"), **_shown(case.tags)},
    }
    for place, variant in enumerate(case.variants):
        whole = case_document(replace(case, variants=(variant,)))["variants"][0]
        yield {
            **base,
            "id": item_id(dataset, case, variant),
            "input": case.input_for(variant),
            "metadata": {
                MARK: {"case": case.id, "place": place, "variant": whole},
                "case": case.id,
                "noise_type": variant.noise_type,
                "carrier": variant.carrier,
                **_shown(variant.tags),
            },
        }


def _cases(dataset: str, items: Sequence[Item]) -> Iterator[NoiseCase]:
    """The cases in ``items``, with their variants."""
    variants: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for item in items:
        ours = _mark(item)
        if "variant" in ours:
            variant = dict(ours["variant"])
            if variant.get("carrier", "query") == "query":
                variant["content"] = _query(item.get("input"))
            variants.setdefault(str(ours.get("case")), []).append((int(ours.get("place") or 0), variant))
    for item in items:
        if "variant" not in (ours := _mark(item)):
            case = _case(dataset, item, ours)
            found = sorted(variants.get(case.id, ()), key=lambda each: each[0])
            document = {**case_document(case), "variants": [variant for _, variant in found]}
            yield case_from(document)


def _case(dataset: str, item: Item, ours: Mapping[str, Any]) -> NoiseCase:
    key = str(item["id"])
    document = {"id": key, **ours, "query": _query(item.get("input"))}
    expected = item.get("expectedOutput")
    if expected is not None and (baseline := _answer(expected)).strip():
        document["baseline"] = baseline
    case = case_from(document)
    if key == f"{dataset}:{case.id}":
        return case
    return replace(case, provenance={**case.provenance, ITEM_ID: key})


def _asks(item: Item) -> bool:
    query = _query(item.get("input")) if item.get("input") is not None else ""
    return bool(query.strip() if isinstance(query, str) else query)


def _query(value: Any) -> Any:
    """What an agent is asked: a text or chat messages, whatever form the item's input has."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value):
        return value
    return user_words(value).text or _compact(value)


def _answer(value: Any) -> str:
    return value if isinstance(value, str) else agent_words(value).text or _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _mark(item: Item) -> Mapping[str, Any]:
    metadata = item.get("metadata")
    found = metadata.get(MARK) if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _is_ours(dataset: str, item: Item) -> bool:
    return bool(_mark(item)) or str(item["id"]).startswith(f"{dataset}:")


def _same(item: Item, there: Item) -> bool:
    """Whether the server's item says the same; one that was made there says it in a form of its own."""
    if not _mark(there) and not str(there["id"]).startswith(f"{item['datasetName']}:"):
        expected = there.get("expectedOutput")
        answer = None if expected is None else _answer(expected)
        return (_query(there.get("input")), answer) == (item["input"], item["expectedOutput"])
    keys = ("input", "expectedOutput", "metadata")
    return all(_plain(item[key]) == _plain(there.get(key)) for key in keys)


def _sent(item: Item) -> dict[str, Any]:
    """The item for the server; texts that it would read as JSON are sent as the JSON of a text."""
    encoded = {key: _as_text(item[key]) for key in ("input", "expectedOutput") if item[key] is not None}
    return {**item, **encoded}


def _as_text(value: Any) -> Any:
    if not isinstance(value, str):
        return _plain(value)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """``value`` as it is after a journey through JSON."""
    return json.loads(json.dumps(value, default=str))


def _without(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}


def _shown(tags: Sequence[str]) -> dict[str, Any]:
    return {"tags": list(tags)} if tags else {}


def _head(dataset: Dataset) -> dict[str, Any]:
    return {"name": dataset.name, **({"description": dataset.description} if dataset.description else {})}


def _kept_provenance(old: NoiseCase, new: NoiseCase) -> NoiseCase:
    return replace(new, provenance={**old.provenance, **new.provenance})
