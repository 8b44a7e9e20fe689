"""``tracehooks datasets push`` and ``pull``: dataset files and Langfuse datasets kept in step."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.dataset_files import FilesArgument, dataset_files, read_files
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.reaching import reaching_langfuse
from tracehooks.cli.session import config_hint, read_settings
from tracehooks.errors import ConfigurationError
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.reading import read_dataset
from tracehooks.noise.updating import update_file
from tracehooks.reports.wording import count
from tracehooks.settings import Settings

WRONG = 2

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Datasets in Langfuse; those of the files in jobs.noise.datasets when none is named.",
        show_default=False,
    ),
]
ToOption = Annotated[
    Path | None, typer.Option("--to", metavar="FILE", help="Where the dataset goes, when only one is named.")
]


def push(files: FilesArgument = None, config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Make Langfuse's datasets what the files say.

    Each case and each variant becomes an item with an id of its own, which stays; a second push changes only
    what has changed. Cases that are archived, or gone from the file, are archived there. What was sent is
    read back: exits 2 when something comes back as something else.
    """
    settings = read_settings(config)
    datasets = read_files(files, settings)
    server = _server(settings)
    with reaching_langfuse(config_hint(config)):
        told = [_pushed(server, dataset) for dataset in datasets]
    code = WRONG if any(one["changed_back"] for one in told) else 0
    if as_json:
        output.show_json({"datasets": told, "exit_code": code})
    else:
        for one in told:
            output.write(_push_line(one))
    return code


def pull(
    names: NamesArgument = None,
    to: ToOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Bring Langfuse's datasets into the files: new items, changed answers, what was archived.

    An item that was made in Langfuse becomes a case without variants. A file gets what is new in its place,
    and is written anew only when more has changed; what was never pushed stays in it.
    """
    settings = read_settings(config)
    if to is not None and len(names or ()) != 1:
        raise ConfigurationError("--to FILE goes with one NAME")
    here = {dataset.name: dataset for dataset in map(read_dataset, dataset_files(None, settings))}
    if to is not None and to.is_file():
        here[(names or [""])[0]] = read_dataset(to)
    wanted = list(names or here)
    if not wanted:
        raise ConfigurationError("name a dataset: no file matches jobs.noise.datasets yet")
    server = _server(settings)
    with reaching_langfuse(config_hint(config)):
        told = [_pulled(server, name, here.get(name), to) for name in wanted]
    if as_json:
        output.show_json({"datasets": told, "exit_code": 0})
    else:
        for one in told:
            output.write(_pull_line(one))
    return 0


def _server(settings: Settings) -> Any:
    from tracehooks.exporters.langfuse.client import Client
    from tracehooks.exporters.langfuse.datasets import LangfuseDatasets

    return LangfuseDatasets(Client.from_settings(settings))


def _pushed(server: Any, dataset: Dataset) -> dict[str, Any]:
    done = server.push(dataset)
    return {
        "name": dataset.name,
        "file": str(dataset.path),
        "cases": len(dataset.cases),
        "variants": sum(len(case.variants) for case in dataset.cases),
        "created": done.created,
        "updated": done.updated,
        "archived": done.archived,
        "unchanged": done.unchanged,
        "changed_back": done.changed_back,
    }


def _push_line(one: dict[str, Any]) -> str:
    parts = [f"{len(one[key])} {key}" for key in ("created", "updated", "archived")]
    items = one["cases"] + one["variants"]
    line = f"{one['name']}: {count(items, 'item')}: {', '.join(parts)}, {one['unchanged']} unchanged\n"
    if one["changed_back"]:
        line += f"  read back otherwise than sent: {', '.join(one['changed_back'])}\n"
    return line


def _pulled(server: Any, name: str, here: Dataset | None, to: Path | None) -> dict[str, Any]:
    found = server.pull(name, here)
    path = (
        to
        or (here.path if here is not None else None)
        or Path("config/datasets") / f"{_file_name(name)}.yaml"
    )
    change = update_file(path, found.dataset, here)
    return {
        "name": name,
        "file": str(path),
        "change": change,
        "items": found.items,
        "foreign": found.foreign,
        "empty": found.empty,
        "cases": len(found.dataset.cases),
        "variants": sum(len(case.variants) for case in found.dataset.cases),
    }


def _pull_line(one: dict[str, Any]) -> str:
    made = f", {one['foreign']} of them made there" if one["foreign"] else ""
    empty = f", {one['empty']} without a question left out" if one["empty"] else ""
    cases, variants = count(one["cases"], "case"), count(one["variants"], "variant")
    head = f"{one['name']}: {count(one['items'], 'item')}{made}{empty}"
    return f"{head}; {one['file']} {one['change']}: {cases}, {variants}\n"


def _file_name(name: str) -> str:
    """A dataset's name as that of a file: Langfuse's folders become dashes."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".")
        or "dataset"
    )
