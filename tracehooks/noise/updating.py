"""Bringing a dataset file up to date with the same dataset from elsewhere."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from tracehooks.noise.cases import NoiseCase
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.writing import append_case, append_variants, set_baselines, write_dataset

Change = Literal["written", "unchanged", "added to", "written anew"]


def update_file(path: Path, new: Dataset, before: Dataset | None) -> Change:
    """Make the file at ``path`` hold ``new``; ``before`` is what it holds, None when there is no file.

    What can be added is added in its place, so that comments and layout stay. Where more has changed than
    new cases, new variants and baselines, the file is written anew. Raises ConfigurationError for a file
    that is only read (JSON, CSV).
    """
    if before is None:
        write_dataset(new, path)
        return "written"
    if new.hash == before.hash:
        return "unchanged"
    if not all(_is_addition(old, new.case(old.id)) for old in before.cases):
        _write_anew(path, new, before)
        return "written anew"
    _add(path, new, before)
    return "added to"


def _is_addition(old: NoiseCase, new: NoiseCase | None) -> bool:
    """Whether ``new`` is ``old`` with further variants, and perhaps another baseline."""
    if new is None or (old.baseline is not None and new.baseline is None):
        return False
    grown = replace(old, baseline=new.baseline, variants=new.variants[: len(old.variants)])
    kept = replace(old, baseline=new.baseline)
    return grown.meaning == kept.meaning and replace(new, variants=old.variants).meaning == kept.meaning


def _add(path: Path, new: Dataset, before: Dataset) -> None:
    old = {case.id: case for case in before.cases}
    baselines = {
        case.id: (case.baseline, {"from": "langfuse"})
        for case in new.cases
        if case.id in old and case.baseline is not None and case.baseline != old[case.id].baseline
    }
    if baselines:
        set_baselines(path, baselines)
    for case in new.cases:
        if case.id not in old:
            append_case(path, case)
        elif more := case.variants[len(old[case.id].variants) :]:
            append_variants(path, case.id, more)


def _write_anew(path: Path, new: Dataset, before: Dataset) -> None:
    beside = path.with_name(f".{path.stem}.pulled{path.suffix}")
    beside.unlink(missing_ok=True)
    write_dataset(replace(new, description=new.description or before.description), beside)
    beside.replace(path)
