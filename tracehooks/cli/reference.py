"""``tracehooks reference``: what noise runs are compared with."""

import getpass
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.dataset_files import AgentNameOption
from tracehooks.cli.files import takes_standard_output, write_file
from tracehooks.cli.options import MARKDOWN_HELP, ConfigOption, JsonOption, RunArgument
from tracehooks.cli.rejudging import UNDECIDED, judged_again, too_few
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.masking import SECRET_PATTERNS, masker
from tracehooks.reference import Reference, ReferenceRow, read_reference, store_reference
from tracehooks.reference.blessing import MIN_COVERAGE, Blessing
from tracehooks.reference.blessing import bless as bless_runs
from tracehooks.reports.reference_words import coverage, reference_lines, reference_summary
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

app = verb_app()

ByOption = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who blesses; your user name when left out.")
]


@app.callback()
def reference() -> None:
    """Bless noise runs as what later ones are compared with; show it, and what moved since."""


@app.command(
    epilog=examples(
        "tracehooks reference bless",
        "tracehooks reference bless 4be1a07c 9d02c1f3 71aa0b5e --by ada",
        "tracehooks reference bless 4be1a07c --fewer --left-out-because 'no search index in the others'",
    )
)
def bless(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN", help="Runs; all comparable ones when none is named.", show_default=False
        ),
    ] = None,
    agent: AgentNameOption = None,
    fewer: Annotated[
        bool, typer.Option("--fewer", help="Accept fewer than nine answers to each variant.")
    ] = False,
    left_out_because: Annotated[
        str | None,
        typer.Option(
            "--left-out-because", metavar="WHY", help="Why comparable runs are not in it; kept and shown."
        ),
    ] = None,
    by: ByOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Pool noise runs into the reference that later runs are compared with.

    A reference should have nine answers to each variant: one run of nine repeats, or several that add up.
    All finished runs under the same conditions since the last blessing belong in it. Some can be left out
    only with a reason, which is kept: the best of several is no reference. Former references are kept.
    """
    settings = read_settings(config)
    blessing = Blessing(
        project=settings.project,
        by=by or _user(),
        at=datetime.now(UTC),
        fewer=fewer,
        left_out_because=left_out_because,
    )
    # a reference goes into git, so no secret that an agent let slip may be in it
    mask = masker((*SECRET_PATTERNS, *settings.mask.patterns))
    with reading(settings) as store:
        chosen = [store.runs.get(run) for run in runs or ()]
        found = bless_runs(store, chosen, blessing, lambda run: _rows(store, run, mask), agent=agent)
    _show(found, as_json=as_json, head="Blessed. ")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _rows(store: Store, run: RunRecord, mask: Callable[[str], str]) -> list[ReferenceRow]:
    from tracehooks.replay.rows import answers

    return [
        ReferenceRow(row=one.row, answer=None if one.text is None else mask(one.text))
        for one in answers(store, run)
    ]


def _show(found: Reference, *, as_json: bool, head: str = "") -> None:
    if as_json:
        output.show_json(reference_summary(found))
    else:
        output.write(head + "".join(f"{line}\n" for line in reference_lines(found)))


@app.command(
    epilog=examples(
        "tracehooks reference show",
        "tracehooks reference show --all",
        "tracehooks reference show --json > config/noise-reference.json",
    )
)
def show(
    reference_id: Annotated[
        str | None, typer.Argument(metavar="REFERENCE", help="An id; the one in force when left out.")
    ] = None,
    agent: AgentNameOption = None,
    every: Annotated[bool, typer.Option("--all", help="List all there ever were, newest first.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the reference in force: who blessed which runs, when, under which conditions.

    With --json the whole of it, which `reference load` takes into another store: keep it in git for CI.
    Exits 3 when there is none.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        found = _history(store, settings, agent, limit=1000 if every else 1)
        if reference_id:
            from tracehooks.reference.reference import reference_of

            found = [reference_of(store.references.get(reference_id))]
    if not found:
        return _none(as_json=as_json)
    if as_json:
        output.show_json([reference_summary(one) for one in found] if every else found[0].as_dict())
    else:
        for one in found:
            _show(one, as_json=False)
    return 0


def _history(store: Store, settings: Settings, agent: str | None, *, limit: int) -> list[Reference]:
    from tracehooks.reference.reference import reference_of

    records = store.references.history(project=settings.project, agent=agent, limit=limit)
    return [reference_of(record) for record in records]


def _none(*, as_json: bool) -> int:
    message = "no reference is blessed yet; `tracehooks reference bless` makes one of noise runs"
    if as_json:
        output.show_json({"reference": None, "message": message})
    else:
        output.write(message[0].upper() + message[1:] + ".\n")
    return UNDECIDED


@app.command(epilog=examples("tracehooks reference load config/noise-reference.json"))
def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `reference show --json` wrote.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Take a reference from a file into this store, as a CI job does with the one in git.

    Loading it twice keeps one.
    """
    settings = read_settings(config)
    try:
        document = json.loads(file.read_bytes().decode("utf-8-sig"), parse_constant=_no_constant)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{file}: is not JSON: {error}; `tracehooks reference show --json` writes a reference"
        ) from None
    try:
        found = read_reference(document)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from None
    if found.project != settings.project:
        raise ConfigurationError(
            f"{file}: it is a reference of the project {found.project!r}, "
            f"and the settings' project is {settings.project!r}"
        )
    with open_store(settings.store) as store:
        found = store_reference(store, found)
    _show(found, as_json=as_json, head="Loaded. ")
    return 0


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


@app.command(
    epilog=examples("tracehooks reference diff", "tracehooks reference diff 4be1a07c --markdown diff.md")
)
def diff(
    run: RunArgument = None,
    agent: AgentNameOption = None,
    markdown: Annotated[str | None, typer.Option("--markdown", metavar="FILE", help=MARKDOWN_HELP)] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show what moved between the reference and a noise run, case by case, the largest loss first.

    The latest noise run unless RUN names one. Exits 0 whatever moved, 3 when there is nothing to compare or
    the two were made under different conditions, which are named.
    """
    from tracehooks.cli.gate import latest_run
    from tracehooks.reports.gate import NOISE, Gate
    from tracehooks.reports.reference_diff import diff_dict, diff_markdown, diff_renderable

    taken = takes_standard_output(as_json=as_json, markdown=markdown)
    settings = read_settings(config)
    with reading(settings) as store:
        found = store.runs.get(run) if run else latest_run(store, NOISE, agent, settings.project)
        if found is None or found.job != NOISE:
            raise ConfigurationError("there is no noise run to compare; `tracehooks run noise` makes one")
        gated = Gate(settings=settings, store=store, now=datetime.now(UTC)).gated(found)
    if markdown is not None:
        write_file(markdown, diff_markdown(gated))
    if as_json:
        output.show_json(diff_dict(gated))
    elif not taken:
        output.show(diff_renderable(gated, hint=config_hint(config)))
    return 0 if gated.reference is not None and not gated.differences else UNDECIDED


@app.command(
    epilog=examples("tracehooks reference rejudge", "tracehooks reference rejudge --agent support --by ada")
)
def rejudge(
    agent: AgentNameOption = None,
    by: ByOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Judge the reference's stored answers again with today's judge, and put the result in force.

    For a judge, prompt or scorer that has changed; the agent is not asked, and the former reference is kept.
    Exits 3, with nothing stored, when too many answers could not be judged.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        history = _history(store, settings, agent, limit=1)
        if not history:
            return _none(as_json=as_json)
        again = judged_again(settings, store, history[0], by or _user())
        scored, wanted = coverage(again)
        if not scored or scored < MIN_COVERAGE * wanted:
            return too_few(again, scored, wanted, as_json=as_json)
        again = store_reference(store, again)
    _show(again, as_json=as_json, head="Judged again. ")
    return 0
