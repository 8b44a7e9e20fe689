"""``tracehooks datasets``: check dataset files, make cases of recorded calls, go in step with Langfuse."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.dataset_files import FilesArgument, dataset_files, one_file
from tracehooks.cli.dataset_sync import pull, push
from tracehooks.cli.explain import normalised, whole_id
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.session import read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.masking import SECRET_PATTERNS, masker
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.reading import read_dataset
from tracehooks.records import AgentCall
from tracehooks.reports.wording import count, excerpt
from tracehooks.store import Store

NO_DATA, WRONG = 3, 2

app = verb_app()


@app.callback()
def datasets() -> None:
    """Check the files that hold questions and their noise, and make cases of recorded calls."""


@app.command(
    epilog=examples(
        "tracehooks datasets validate",
        "tracehooks datasets validate config/datasets/help-desk.yaml --json",
    )
)
def validate(files: FilesArgument = None, config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Read dataset files and name each mistake with its file, line and key.

    Reads YAML, JSON, JSON Lines and CSV, in our own shape or in that of Mastra's scorers. Exits 0 when all
    can be read, 2 for a mistake, 3 when there is no file.
    """
    settings = read_settings(config)
    found = [_checked(path) for path in dataset_files(files, settings)]
    _two_of_a_name(found)
    code = NO_DATA if not found else WRONG if any(one["problems"] for one in found) else 0
    if as_json:
        output.show_json({"files": found, "exit_code": code})
        return code
    for one in found:
        output.write(_told(one))
    if not found:
        output.show(f"No file matches jobs.noise.datasets: {', '.join(settings.jobs.noise.datasets)}.")
    return code


def _checked(path: Path) -> dict[str, Any]:
    """What there is to say about one file."""
    try:
        dataset = read_dataset(path)
    except ConfigurationError as error:
        return {"file": str(path), "problems": str(error).splitlines(), "notes": []}
    types = Counter(variant.noise_type for _, variant in dataset.rows())
    return {
        "file": str(path),
        "name": dataset.name,
        "hash": dataset.hash,
        "cases": len(dataset.cases),
        "variants": types.total(),
        "noise_types": dict(sorted(types.items())),
        "problems": [],
        "notes": _notes(dataset),
    }


def _two_of_a_name(found: list[dict[str, Any]]) -> None:
    """Two datasets of one name cannot be told apart in a run, so that is a mistake of the second."""
    first: dict[str, str] = {}
    for one in found:
        name = one.get("name")
        if name in first:
            one["problems"].append(
                f"{one['file']}: the dataset {name} is also in {first[name]}; give one another name"
            )
        elif name is not None:
            first[name] = one["file"]


def _notes(dataset: Dataset) -> list[str]:
    if dataset.emptiness:
        return [dataset.emptiness]
    kept = [case for case in dataset.cases if not case.archived]
    notes = {
        "without a baseline, which a judge needs; `tracehooks baseline capture` stores one": [
            case.id for case in kept if case.baseline is None
        ],
        "without facts, which a replay without a judge needs": [case.id for case in kept if not case.facts],
        "without variants; `tracehooks variants generate` makes some": [
            case.id for case in kept if not case.variants
        ],
    }
    return [f"{count(len(ids), 'case')} {what}: {', '.join(ids)}" for what, ids in notes.items() if ids]


def _told(one: dict[str, Any]) -> str:
    if one["problems"]:
        return "".join(f"{line}\n" for line in one["problems"])
    types = ", ".join(f"{name} {n}" for name, n in one["noise_types"].items())
    cases, variants = count(one["cases"], "case"), count(one["variants"], "variant")
    listed = f" ({types})" if types else ""
    head = f"{one['file']}: fine: {one['name']}, {cases}, {variants}{listed}, hash {one['hash']}\n"
    return head + "".join(f"  note: {note}\n" for note in one["notes"])


@app.command(
    epilog=examples(
        "tracehooks datasets add 4f1c2d3e4a5b",
        "tracehooks datasets add 4f1c2d3e --to config/datasets/desk.yaml --id late-parcel --tag delivery",
    )
)
def add(
    trace_id: Annotated[str, typer.Argument(metavar="TRACE_ID", help="A trace id or the beginning of it.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="The dataset; not needed where the settings name one only."
        ),
    ] = None,
    case_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The case's id.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be given again.")
    ] = None,
    span: Annotated[
        str | None, typer.Option("--span", metavar="SPAN_ID", help="Which call of a trace with several.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make a case of a recorded call: its question, and its answer as the baseline, both masked.

    Secrets, and what mask.patterns match, are blanked. The case says which trace it comes from; who asked is
    not taken over. Read the answer before you keep it: it counts as right from then on.
    """
    from tracehooks.noise.recorded import case_from_call
    from tracehooks.noise.writing import append_case

    settings = read_settings(config)
    path = to or one_file(settings)
    with reading(settings) as store:
        call = _call(store, whole_id(store, normalised(trace_id)), span)
    mask = masker((*SECRET_PATTERNS, *settings.mask.patterns))
    case = case_from_call(call, mask, case_id=case_id, tags=tag or ())
    dataset = append_case(path, case)
    if as_json:
        output.show_json(
            {"file": str(path), "case": case.id, "cases": len(dataset.cases), "hash": dataset.hash}
        )
    else:
        output.write(
            f"Added the case {case.id} to {path}: {excerpt(case.question, 80)}\n"
            f"Its baseline is what the agent answered: {excerpt(case.baseline or '', 200)}\n"
            f"Next: `tracehooks variants generate {path} --case {case.id}` makes its noise.\n"
        )
    return 0


def _call(store: Store, trace_id: str, span: str | None) -> AgentCall:
    calls = store.calls.of_trace(trace_id)
    found = [call for call in calls if span is None or call.span_id.startswith(span.strip().lower())]
    if len(found) == 1:
        return found[0]
    if not calls:
        raise ConfigurationError(
            f"trace {trace_id} holds no agent call; `tracehooks traces` lists those that do"
        )
    spans = ", ".join(f"{call.span_id} ({call.name})" for call in calls)
    raise ConfigurationError(
        f"trace {trace_id} holds {count(len(calls), 'call')}; choose with --span: {spans}"
    )


app.command(epilog=examples("tracehooks datasets push", "tracehooks datasets push desk.yaml --json"))(push)
app.command(epilog=examples("tracehooks datasets pull", "tracehooks datasets pull desk --to desk.yaml"))(pull)
