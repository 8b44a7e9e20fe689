"""``tracehooks baseline``: the answers to the clean questions, captured and reviewed."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.captured import Captured, ask_clean, store_baselines
from tracehooks.cli.dataset_files import (
    WRITABLE,
    CaseOption,
    FilesArgument,
    check_cases,
    read_files,
)
from tracehooks.cli.options import AgentOption, ConfigOption, JsonOption
from tracehooks.cli.session import read_settings
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase
from tracehooks.noise.dataset import Dataset
from tracehooks.reports.wording import count, excerpt

INCOMPLETE = 3
NONE = "none; `tracehooks baseline capture` stores one"

app = verb_app()


@app.callback()
def baseline() -> None:
    """Capture the agent's answers to the clean questions, and review them."""


@app.command(
    epilog=examples(
        "tracehooks baseline capture",
        "tracehooks baseline capture config/datasets/desk.yaml --case warranty --overwrite",
    )
)
def capture(
    files: FilesArgument = None,
    case: CaseOption = None,
    agent: AgentOption = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace baselines that differ from what the agent answers now."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask and show; write nothing.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Ask the agent each clean question, and store its answer as the case's baseline, with its provenance.

    A baseline that is there is never replaced without --overwrite: the difference is shown. Secrets are
    masked. An answer that fails the facts its case declares is not stored. Exits 3 when a case got no
    baseline for such a reason, or because the agent failed.
    """
    settings = read_settings(config)
    datasets = read_files(files, settings)
    check_cases(datasets, case)
    _check_writable(datasets)
    wanted = [
        (dataset, one)
        for dataset in datasets
        for one in dataset.cases
        if not one.archived and (not case or one.id in case)
    ]
    if not wanted:
        raise ConfigurationError("the datasets hold no case to ask; `tracehooks datasets add` makes one")
    with output.kept_clean():
        found, asked = ask_clean(settings, wanted, agent)
    if not dry_run:
        store_baselines(found, asked, overwrite=overwrite)
    code = INCOMPLETE if any(one.problem for one in found) else 0
    if as_json:
        documents = [_as_dict(one, overwrite=overwrite and not dry_run) for one in found]
        output.show_json({"agent": asked, "cases": documents, "written": not dry_run, "exit_code": code})
    else:
        output.write(_told(found, overwrite=overwrite, dry_run=dry_run))
    return code


def _check_writable(datasets: Sequence[Dataset]) -> None:
    for dataset in datasets:
        if dataset.path is None or dataset.path.suffix not in WRITABLE:
            raise ConfigurationError(
                f"{dataset.path}: such files are only read; move the cases to a .yaml file"
            )


def _as_dict(one: Captured, *, overwrite: bool) -> dict[str, Any]:
    return {
        "file": str(one.dataset.path),
        "case": one.case.id,
        "state": one.state,
        "answer": one.answer or None,
        "baseline": one.case.baseline,
        "problem": one.problem or None,
        "replaced": one.state == "differs" and overwrite,
    }


def _told(found: Sequence[Captured], *, overwrite: bool, dry_run: bool) -> str:
    lines = [line for one in found for line in _lines(one)]
    written = [one for one in found if one.written(overwrite=overwrite)]
    kept = [one for one in found if one.state == "differs" and not overwrite]
    failed = [one for one in found if one.problem]
    verb = "Would store" if dry_run else "Stored"
    same = sum(one.state == "same" for one in found)
    lines.append(f"{verb} {count(len(written), 'baseline')}; {same} are the same as before.")
    if kept:
        lines.append(
            f"Kept {count(len(kept), 'baseline')} that differ from the answer; --overwrite replaces them."
        )
    if failed:
        lines.append(
            f"{count(len(failed), 'case')} got no baseline: {', '.join(one.case.id for one in failed)}"
        )
    if written and not dry_run:
        lines.append("They count as right from now on: read them with `tracehooks baseline review`.")
    return "".join(f"{line}\n" for line in lines)


def _lines(one: Captured) -> Iterator[str]:
    if one.problem:
        yield f"{one.case.id}: {one.problem}"
    elif one.state == "new":
        yield f"{one.case.id}: {excerpt(one.answer, 160)}"
    elif one.state == "differs":
        yield f"{one.case.id}: differs"
        yield from _difference(one.case.baseline or "", one.answer)


def _difference(before: str, after: str) -> Iterator[str]:
    """The lines that differ, marked as in a diff."""
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line[0] in "+-":
            yield f"  {line[0]} {excerpt(line[2:], 300)}"


@app.command(
    epilog=examples(
        "tracehooks baseline review", "tracehooks baseline review config/datasets/desk.yaml --json"
    )
)
def review(
    files: FilesArgument = None,
    case: CaseOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show each case's question and baseline, where it comes from, and what it replaced.

    Exits 3 when there is no case to show.
    """
    datasets = read_files(files, read_settings(config))
    check_cases(datasets, case)
    shown = [
        _reviewed(dataset, one) for dataset in datasets for one in dataset.cases if not case or one.id in case
    ]
    if as_json:
        output.show_json({"cases": shown})
    else:
        output.write("\n".join("".join(f"{line}\n" for line in _review_lines(one)) for one in shown))
    return 0 if shown else INCOMPLETE


def _reviewed(dataset: Dataset, case: NoiseCase) -> dict[str, Any]:
    source = case.provenance.get("baseline")
    known = dict(source) if isinstance(source, Mapping) else {}
    return {
        "file": str(dataset.path),
        "case": case.id,
        "question": case.question,
        "baseline": case.baseline,
        "before": known.pop("before", None),
        "provenance": known or dict(case.provenance),
    }


def _review_lines(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"{one['case']}  ({one['file']})"
    yield f"  question: {excerpt(one['question'], 300)}"
    if one["before"] is not None:
        yield from _difference(one["before"], one["baseline"] or "")
    else:
        yield f"  baseline: {excerpt(one['baseline'] or NONE, 500)}"
    if one["provenance"]:
        yield f"  from: {', '.join(f'{key} {value}' for key, value in one['provenance'].items())}"
