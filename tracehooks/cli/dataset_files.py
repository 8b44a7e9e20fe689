"""Which dataset files a verb works on: those named, or those of the settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tracehooks.errors import ConfigurationError
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.reading import matching_files, read_dataset
from tracehooks.settings import Settings

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Dataset files; those of jobs.noise.datasets when none is named.",
        show_default=False,
    ),
]
CaseOption = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="Only this case; may be given again.")
]
AgentNameOption = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Only of this agent, by its name in the runs.")
]
WRITABLE = (".yaml", ".yml", ".jsonl", ".ndjson")


def dataset_files(named: Sequence[Path] | None, settings: Settings) -> list[Path]:
    """The files named, or all that the settings' patterns match; sorted, none twice, no quarantine.

    Raises ConfigurationError for a named file that is not there.
    """
    for path in named or ():
        if not path.is_file():
            raise ConfigurationError(f"{path}: no such dataset file")
    if named:
        return list(dict.fromkeys(named))
    return sorted({file for pattern in settings.jobs.noise.datasets for file in matching_files(pattern)})


def read_files(named: Sequence[Path] | None, settings: Settings) -> list[Dataset]:
    """The datasets in :func:`dataset_files`. Raises ConfigurationError when there is no file at all."""
    files = dataset_files(named, settings)
    if not files:
        patterns = ", ".join(settings.jobs.noise.datasets)
        raise ConfigurationError(f"no file matches jobs.noise.datasets ({patterns}); name one, or write one")
    return [read_dataset(path) for path in files]


def check_cases(datasets: Sequence[Dataset], wanted: Sequence[str] | None) -> None:
    """Raises ConfigurationError when a wanted case is in none of the ``datasets``."""
    known = [case.id for dataset in datasets for case in dataset.cases]
    for name in wanted or ():
        if name not in known:
            raise ConfigurationError(f"--case {name!r}: no dataset holds such a case")


def one_file(settings: Settings) -> Path:
    """The only file to which a case can be added. Raises ConfigurationError when that is not clear."""
    files = [path for path in dataset_files(None, settings) if path.suffix in WRITABLE]
    if len(files) != 1:
        there = ", ".join(map(str, files)) or "none"
        raise ConfigurationError(f"--to FILE says which dataset the case goes to; there are: {there}")
    return files[0]
