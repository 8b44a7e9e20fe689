"""Writing datasets back so that a review shows what was added and nothing else.

A case is appended, variants are inserted after those that are there, a baseline is set in its place;
comments, quotes, blank lines and line ends stay as they are. Files are replaced in one step. What was
written is read again before it counts.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.documents import parsed
from tracehooks.noise.emitting import as_json, as_yaml, case_document, file_document, variant_document
from tracehooks.noise.inserting import CannotInsertError, composed, item_of, with_item, with_value
from tracehooks.noise.reading import dataset_from, read_dataset

_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


def write_dataset(dataset: Dataset, path: str | Path) -> Dataset:
    """Write a whole dataset to a new file, YAML or JSON Lines by its name's end; the dataset as it is there.

    Raises ConfigurationError when the file exists or is of another kind.
    """
    path = Path(path)
    if path.exists():
        raise ConfigurationError(f"{path}: exists already; nothing is overwritten")
    suffix = _writable(path)
    if suffix in _LINES:
        text = "".join(as_json(case_document(case)) + "\n" for case in dataset.cases)
    else:
        text = as_yaml(file_document(dataset.name, dataset.description, dataset.cases))
    return _write(path, text, replace(dataset, path=path))


def append_case(path: str | Path, case: NoiseCase) -> Dataset:
    """Add ``case`` at the end of the file at ``path``, which is made when it does not exist.

    Returns the dataset as it is then. Raises ConfigurationError when a case of this id is there, or the file
    cannot be added to (JSON and CSV files are only read: `write_dataset` makes a YAML file of them).
    """
    path = Path(path)
    if not path.exists():
        return write_dataset(Dataset(name=path.stem, cases=(case,)), path)
    before = read_dataset(path)
    if before.case(case.id) is not None:
        raise ConfigurationError(f"{path}: a case {case.id!r} is there already; give this one another id")
    expected = replace(before, cases=(*before.cases, case))

    def change(text: str, suffix: str) -> str:
        if suffix in _LINES:
            return _ended(text) + as_json(case_document(case)) + "\n"
        return with_item(text, composed(text), "cases", case_document(case))

    return _change(path, change, expected)


def append_variants(path: str | Path, case_id: str, variants: Sequence[NoiseVariant]) -> Dataset:
    """Add ``variants`` to the case ``case_id`` in the file at ``path``; the dataset as it is then.

    Raises ConfigurationError when there is no such case, one of the ids is taken, or the file is only read.
    """
    path = Path(path)
    before = read_dataset(path)
    case = before.case(case_id)
    if case is None:
        raise ConfigurationError(f"{path}: there is no case {case_id!r}")
    taken = {variant.id for variant in case.variants}
    for variant in variants:
        if variant.id in taken:
            raise ConfigurationError(f"{path}: the case {case_id!r} has a variant {variant.id!r} already")
        taken.add(variant.id)
    grown = replace(case, variants=(*case.variants, *variants))
    expected = replace(before, cases=tuple(grown if one is case else one for one in before.cases))
    position = before.cases.index(case)

    def change(text: str, suffix: str) -> str:
        if suffix in _LINES:
            return _with_lines(text, {position: as_json(case_document(grown))})
        for variant in variants:
            node = item_of(composed(text), "cases", position)
            text = with_item(text, node, "variants", variant_document(variant))
        return text

    return _change(path, change, expected)


def set_baselines(path: str | Path, captured: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Dataset:
    """Set baselines in the file at ``path``: case id -> the answer, and where it comes from.

    The latter goes into the case's ``provenance``, under ``baseline``. Returns the dataset as it is then.
    Raises ConfigurationError when there is no such case, or the file is only read.
    """
    path = Path(path)
    before = read_dataset(path)
    if unknown := captured.keys() - {case.id for case in before.cases}:
        raise ConfigurationError(f"{path}: there is no case {', '.join(sorted(unknown))}")
    cases = [
        replace(case, baseline=captured[case.id][0], provenance=_with_source(case, captured[case.id][1]))
        if case.id in captured
        else case
        for case in before.cases
    ]
    changed = [(position, case) for position, case in enumerate(cases) if case.id in captured]

    def change(text: str, suffix: str) -> str:
        if suffix in _LINES:
            return _with_lines(text, {position: as_json(case_document(case)) for position, case in changed})
        for position, case in changed:
            for key, after in (("baseline", "query"), ("provenance", "baseline")):
                node = item_of(composed(text), "cases", position)
                text = with_value(text, node, key, case_document(case)[key], after=after)
        return text

    return _change(path, change, replace(before, cases=tuple(cases)))


def _with_source(case: NoiseCase, source: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**case.provenance, "baseline": dict(source)}


def _with_lines(text: str, new: Mapping[int, str]) -> str:
    """``text`` with other lines in place of some, counted without those that are empty."""
    lines = text.split("\n")
    full = [number for number, line in enumerate(lines) if line.strip()]
    for position, line in new.items():
        lines[full[position]] = line
    return "\n".join(lines)


def _change(path: Path, change: Callable[[str, str], str], expected: Dataset) -> Dataset:
    suffix = _writable(path)
    raw = path.read_bytes().decode("utf-8-sig")
    ends = "\r\n" if "\r\n" in raw else "\n"
    try:
        text = change(raw.replace("\r\n", "\n"), suffix)
    except CannotInsertError:
        # written on one line, or with anchors: there is no place to insert, so the file is written anew
        text = as_yaml(file_document(expected.name, expected.description, expected.cases))
    return _write(path, text.replace("\n", ends), expected)


def _write(path: Path, text: str, expected: Dataset) -> Dataset:
    """Put ``text`` in place of the file, once it is sure that it reads as ``expected``."""
    written = dataset_from(parsed(text, str(path), path.suffix.lower()), path)
    if written.hash != expected.hash:
        raise ConfigurationError(f"{path}: cannot be added to as it is written; add the case by hand")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return written


def _writable(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (*_YAML, *_LINES):
        raise ConfigurationError(
            f"{path}: {suffix or 'such'} files are only read; write to a .yaml or .jsonl file"
        )
    return suffix


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
