"""Datasets from files: YAML, JSON, JSON Lines and CSV, in our own shape or in that of Mastra's scorers.

A file holds ``cases``, and maybe ``name`` and ``description``; or it is the list of cases; or, in JSON Lines,
a case on each line::

    name: help-desk
    cases:
      - id: warranty-router
        query: "How long is the warranty for a router?"      # or chat messages
        baseline: "24 months from the date of delivery."     # left out until it is captured
        facts: {must_contain: [{number: 24, unit: months}]}  # see tracehooks.facts.facts
        min_score: 0.8
        tags: [warranty]
        variants:
          - id: forum
            noise_type: misinformation
            carrier: query                                   # or turn, document, tool:<name>
            content: "A forum says 36 months. How long is the warranty for a router?"

Where a case has ``originalQuery`` it is of Mastra's shape, see ``flat.py``; so is every row of a CSV file.
"""

import glob
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.documents import Document, KeyPath, read_document
from tracehooks.noise.fields import Fields, Problems
from tracehooks.noise.flat import Flat, is_flat
from tracehooks.settings import dotted

DATASET_KEYS = ("name", "description", "cases")
CASE_KEYS = (
    *("id", "query", "baseline", "facts", "min_score", "tags", "archived", "provenance", "variants"),
)
_IN_PACKAGE = re.compile(r"(?P<package>[A-Za-z_]\w+(?:\.\w+)*):(?P<path>[^\\/].*)")
VARIANT_KEYS = ("id", "noise_type", "carrier", "content", "min_score", "tags", "provenance")


def read_dataset(path: str | Path) -> Dataset:
    """The dataset in the file at ``path``. A file without cases is an empty dataset, which is no error.

    Raises ConfigurationError with a line for each mistake: file, line, key and what is wrong.
    """
    return dataset_from(read_document(Path(path)), Path(path))


def read_datasets(patterns: Iterable[str], root: str | Path = ".") -> list[Dataset]:
    """The datasets whose files match any of the ``patterns`` (``*``, ``**``), below ``root``; none twice.

    Patterns are those of :func:`matching_files`. One that matches no file gives nothing; a plain path that
    does not exist is a ConfigurationError, as are two datasets of the same name.
    """
    files: dict[Path, None] = {}
    for pattern in patterns:
        found = matching_files(pattern, root)
        if not found and not glob.has_magic(pattern):
            raise ConfigurationError(f"{pattern}: no such dataset file")
        files |= dict.fromkeys(found)
    datasets = [read_dataset(file) for file in files]
    names: dict[str, Dataset] = {}
    for dataset in datasets:
        if (other := names.setdefault(dataset.name, dataset)) is not dataset:
            raise ConfigurationError(
                f"{dataset.path}: the dataset {dataset.name} is also in {other.path}; give one another name"
            )
    return datasets


def matching_files(pattern: str, root: str | Path = ".") -> list[Path]:
    """The dataset files that match ``pattern`` (``*``, ``**``) below ``root``, sorted; no quarantine.

    ``package:path`` is of files that a Python package brings, such as ``tracehooks.config:datasets/*.yaml``.
    Raises ConfigurationError when there is no such package.
    """
    found = glob.glob(_located(pattern, root), recursive=True)  # noqa: PTH207 - absolute ones too
    return sorted(path for path in map(Path, found) if path.is_file() and ".quarantine." not in path.name)


def _located(pattern: str, root: str | Path) -> str:
    """``pattern`` below ``root``, or in the package that it names."""
    found = _IN_PACKAGE.fullmatch(pattern)
    if found is None or (Path(root) / pattern).exists():
        return str(Path(root) / pattern)
    try:
        return str(Path(str(resources.files(found["package"]))) / found["path"])
    except (ImportError, TypeError, ValueError):
        raise ConfigurationError(f"{pattern}: there is no package {found['package']}") from None


def dataset_from(document: Document, path: Path) -> Dataset:
    """The dataset in ``document``. Raises ConfigurationError as :func:`read_dataset` does."""
    problems = Problems()
    root, cases, at = _frame(document.data, path, problems)
    flat = Flat(problems)
    found = []
    for index, value in cases:
        place = (*at, index)
        if path.suffix.lower() == ".csv" or is_flat(value):
            flat.add(value, place)
        else:
            found.append((_case(Fields(value, place, problems)), place))
    found += flat.cases()
    _unique([(case.id, where) for case, where in found], problems)
    dataset = Dataset(
        name=str(root.text("name", required=False) or path.stem),
        cases=tuple(case for case, _ in found),
        description=str(root.text("description", required=False) or ""),
        path=path,
    )
    if problems.found:
        raise ConfigurationError("\n".join(_told(document, *problem) for problem in problems.found))
    return dataset


def case_from(value: Any) -> NoiseCase:
    """The case in ``value``, a mapping as in a file. Raises ConfigurationError naming the key."""
    problems = Problems()
    case = _case(Fields(value, (), problems))
    if problems.found:
        raise ConfigurationError("\n".join(f"{dotted(path)}: {text}" for path, text in problems.found))
    return case


def _frame(data: Any, path: Path, problems: Problems) -> tuple[Fields, list[tuple[int, Any]], KeyPath]:
    """The file's own keys, its cases with their indexes, and the path to these."""
    if data is None:
        return Fields({}, (), problems), [], ()
    if isinstance(data, list):
        return Fields({}, (), problems), list(enumerate(data)), ()
    if isinstance(data, Mapping) and (is_flat(data) or ("id" in data and "cases" not in data)):
        return Fields({}, (), problems), [(0, data)], ()
    root = Fields(data, (), problems)
    root.known(DATASET_KEYS)
    return root, root.items("cases"), ("cases",)


def _case(fields: Fields) -> NoiseCase:
    fields.known(CASE_KEYS)
    variants = [
        (_variant(Fields(value, (*fields.path, "variants", index), fields.problems)), index)
        for index, value in fields.items("variants")
    ]
    _unique([(variant.id, (*fields.path, "variants", index)) for variant, index in variants], fields.problems)
    return NoiseCase(
        id=fields.name("id"),
        query=fields.chat("query"),
        baseline=fields.text("baseline", required=False),
        facts=fields.facts("facts"),
        min_score=fields.share("min_score"),
        tags=fields.texts("tags"),
        variants=tuple(variant for variant, _ in variants),
        provenance=fields.mapping("provenance"),
        archived=fields.flag("archived"),
    )


def _variant(fields: Fields) -> NoiseVariant:
    fields.known(VARIANT_KEYS)
    carrier = fields.carrier()
    content = fields.values.get("content")
    if carrier in ("query", "turn") or content is None or isinstance(content, str):
        content = fields.chat("content")
    return NoiseVariant(
        id=fields.name("id"),
        noise_type=fields.name("noise_type"),
        content=content,
        carrier=carrier,
        min_score=fields.share("min_score"),
        tags=fields.texts("tags"),
        provenance=fields.mapping("provenance"),
    )


def _unique(ids: Iterable[tuple[str, KeyPath]], problems: Problems) -> None:
    seen: dict[str, KeyPath] = {}
    for name, path in ids:
        if name == "?":
            continue
        if name in seen:
            problems.add((*path, "id"), f"the id {name!r} is also that of {dotted(seen[name])}")
        seen.setdefault(name, path)


def _told(document: Document, path: KeyPath, problem: str) -> str:
    return f"{document.where(path)}: {dotted(path) or 'the file'}: {problem}"
