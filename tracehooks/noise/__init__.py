"""Noise: known questions, their noisy variants, the files that hold them, and what a replay's scores mean.

A name costs its import only when somebody uses it: the statistics need numpy and scipy, the cases do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.facts import Facts
    from tracehooks.noise.cases import NOISE_TYPES, NoiseCase, NoiseVariant, Planted
    from tracehooks.noise.comparison import Comparison, compare
    from tracehooks.noise.dataset import Dataset, changed_cases
    from tracehooks.noise.emitting import case_document
    from tracehooks.noise.generating import TYPES, Generated, generate_variants
    from tracehooks.noise.minimums import Minimum, minimums_of
    from tracehooks.noise.model_written import Quarantined, Written, write_variants
    from tracehooks.noise.quarantine import add_to_quarantine, quarantine_path
    from tracehooks.noise.reading import case_from, read_dataset, read_datasets
    from tracehooks.noise.recorded import case_from_call
    from tracehooks.noise.rows import NoiseRow, RowSummary, ScoreKind, summarize
    from tracehooks.noise.ruling import NoiseRuling, TypeRuling, rule_on_noise
    from tracehooks.noise.writing import append_case, append_variants, set_baselines, write_dataset

__all__ = [
    "NOISE_TYPES",
    "TYPES",
    "Comparison",
    "Dataset",
    "Facts",
    "Generated",
    "Minimum",
    "NoiseCase",
    "NoiseRow",
    "NoiseRuling",
    "NoiseVariant",
    "Planted",
    "Quarantined",
    "RowSummary",
    "ScoreKind",
    "TypeRuling",
    "Written",
    "add_to_quarantine",
    "append_case",
    "append_variants",
    "case_document",
    "case_from",
    "case_from_call",
    "changed_cases",
    "compare",
    "generate_variants",
    "minimums_of",
    "quarantine_path",
    "read_dataset",
    "read_datasets",
    "rule_on_noise",
    "set_baselines",
    "summarize",
    "write_dataset",
    "write_variants",
]

_HOMES = {
    "Facts": "tracehooks.facts",
    "NOISE_TYPES": "tracehooks.noise.cases",
    "TYPES": "tracehooks.noise.generating",
    "Comparison": "tracehooks.noise.comparison",
    "Dataset": "tracehooks.noise.dataset",
    "Generated": "tracehooks.noise.generating",
    "Minimum": "tracehooks.noise.minimums",
    "NoiseCase": "tracehooks.noise.cases",
    "NoiseRow": "tracehooks.noise.rows",
    "NoiseRuling": "tracehooks.noise.ruling",
    "NoiseVariant": "tracehooks.noise.cases",
    "Planted": "tracehooks.noise.cases",
    "Quarantined": "tracehooks.noise.model_written",
    "RowSummary": "tracehooks.noise.rows",
    "ScoreKind": "tracehooks.noise.rows",
    "TypeRuling": "tracehooks.noise.ruling",
    "Written": "tracehooks.noise.model_written",
    "add_to_quarantine": "tracehooks.noise.quarantine",
    "append_case": "tracehooks.noise.writing",
    "append_variants": "tracehooks.noise.writing",
    "case_document": "tracehooks.noise.emitting",
    "case_from": "tracehooks.noise.reading",
    "case_from_call": "tracehooks.noise.recorded",
    "changed_cases": "tracehooks.noise.dataset",
    "compare": "tracehooks.noise.comparison",
    "generate_variants": "tracehooks.noise.generating",
    "minimums_of": "tracehooks.noise.minimums",
    "quarantine_path": "tracehooks.noise.quarantine",
    "read_dataset": "tracehooks.noise.reading",
    "read_datasets": "tracehooks.noise.reading",
    "rule_on_noise": "tracehooks.noise.ruling",
    "set_baselines": "tracehooks.noise.writing",
    "summarize": "tracehooks.noise.rows",
    "write_dataset": "tracehooks.noise.writing",
    "write_variants": "tracehooks.noise.model_written",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.noise' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
