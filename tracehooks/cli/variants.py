"""``tracehooks variants``: noise for the cases of a dataset."""

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.dataset_files import WRITABLE, CaseOption, FilesArgument, check_cases, read_files
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.progress import progress
from tracehooks.cli.session import read_settings
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NOISE_TYPES, NoiseCase, NoiseVariant
from tracehooks.noise.emitting import deceptive, variant_document
from tracehooks.noise.generating import SAID, TYPES, generate_variants, same_noise
from tracehooks.noise.model_written import Quarantined, write_variants
from tracehooks.noise.quarantine import add_to_quarantine, quarantine_path
from tracehooks.noise.writing import append_variants
from tracehooks.protocols import Judge
from tracehooks.reports.wording import count, excerpt
from tracehooks.settings import Settings

app = verb_app()


@app.callback()
def variants() -> None:
    """Make noise for the cases of a dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is wanted of each case."""

    seed: int
    noise_types: tuple[str, ...]
    per_type: int
    carrier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What was made for one case."""

    path: Path
    case: NoiseCase
    variants: tuple[NoiseVariant, ...]
    impossible: tuple[str, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


@app.command(
    epilog=examples(
        "tracehooks variants generate --dry-run",
        "tracehooks variants generate config/datasets/desk.yaml --seed 7 --type typos --type casing",
        "tracehooks variants generate --model-written --type misinformation && git diff config/datasets",
    )
)
def generate(
    files: FilesArgument = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another seed makes other noise.")] = 0,
    noise_type: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help=f"Only this: {', '.join(TYPES)}; may be given again."),
    ] = None,
    per_type: Annotated[
        int,
        typer.Option("--per-type", metavar="N", min=1, max=50, help="So many of each type for each case."),
    ] = 1,
    carrier: Annotated[
        str,
        typer.Option(
            "--carrier", metavar="WHERE", help="query, turn, document or tool:NAME, for noise that is said."
        ),
    ] = "query",
    case: CaseOption = None,
    model_written: Annotated[
        bool,
        typer.Option(
            "--model-written",
            help="Have the judge's model write them too, each checked by a second question.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be added; write nothing.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Add noise to each case of the dataset files, which are then to be reviewed like any change.

    The same seed makes the same bytes, and twice the same adds nothing. A model's variants whose right answer
    may not be the baseline's any more go to a quarantine file beside the dataset, with the reason; nothing
    replays it.
    """
    settings = read_settings(config)
    wish = _Wish(
        seed=seed, noise_types=tuple(noise_type or TYPES), per_type=per_type, carrier=_carrier(carrier)
    )
    made = list(_generated(files, settings, wish, case))
    if model_written:
        made = _with_written(made, settings, wish)
    if not dry_run:
        _write(made)
    if as_json:
        output.show_json({"written": not dry_run, "cases": [_as_dict(one) for one in made]})
    else:
        output.write(_told(made, dry_run=dry_run))
    return 0


def _carrier(text: str) -> str:
    if text in ("query", "turn", "document") or text.removeprefix("tool:") not in ("", text):
        return text
    raise ConfigurationError(f"--carrier {text!r}: must be query, turn, document or tool:NAME")


def _generated(
    files: Sequence[Path] | None, settings: Settings, wish: _Wish, wanted: Sequence[str] | None
) -> Iterator[_Made]:
    datasets = read_files(files, settings)
    check_cases(datasets, wanted)
    for dataset in datasets:
        path = dataset.path or Path(dataset.name)
        if path.suffix not in WRITABLE:
            raise ConfigurationError(
                f"{path}: {path.suffix} files are only read; move the cases to a .yaml file"
            )
        for case in dataset.cases:
            if not case.archived and (not wanted or case.id in wanted):
                found = generate_variants(
                    case,
                    seed=wish.seed,
                    noise_types=wish.noise_types,
                    per_type=wish.per_type,
                    carrier=wish.carrier,
                )
                yield _Made(path=path, case=case, variants=found.variants, impossible=found.impossible)


def _with_written(made: Sequence[_Made], settings: Settings, wish: _Wish) -> list[_Made]:
    """What was made, and what the judge's model writes beside it."""
    from tracehooks.judges import OpenAIJudge
    from tracehooks.scoring.spending import spending_by_the_day
    from tracehooks.store import open_store

    if not settings.judge.model:
        raise ConfigurationError("--model-written needs a judge; set judge.model")
    judge = OpenAIJudge.from_settings(settings.judge)
    types = tuple(name for name in wish.noise_types if name in SAID) or NOISE_TYPES

    # a case asks for all its types at once
    slots, done = asyncio.Semaphore(max(1, settings.judge.concurrency // len(types))), itertools.count(1)

    async def one_of_them(one: _Made) -> _Made:
        async with slots:
            written = await _written(one, judge, types, wish.per_type)
        report(next(done), len(made))
        return written

    async def all_of_them() -> list[_Made]:
        return list(await asyncio.gather(*map(one_of_them, made)))

    with (
        open_store(settings.store or "memory") as store,
        spending_by_the_day(settings, store, judge, lambda: datetime.now(UTC)),
        progress("writing") as report,
    ):
        return asyncio.run(all_of_them())


async def _written(one: _Made, judge: Judge, types: Sequence[str], per_type: int) -> _Made:
    if one.case.baseline is None:
        return replace(
            one, failures=(("all", "the case has no baseline; `tracehooks baseline capture` stores one"),)
        )
    grown = replace(one.case, variants=(*one.case.variants, *one.variants))
    written = await write_variants(grown, judge, noise_types=types, per_type=per_type)
    there = {same_noise(variant) for variant in grown.variants}
    new = tuple(variant for variant in written.variants if same_noise(variant) not in there)
    return replace(
        one,
        variants=(*one.variants, *new),
        quarantined=written.quarantined,
        failures=tuple(written.failures.items()),
    )


def _write(made: Sequence[_Made]) -> None:
    for one in made:
        if one.variants:
            append_variants(one.path, one.case.id, one.variants)
        if one.quarantined:
            add_to_quarantine(one.path, one.quarantined)


def _as_dict(one: _Made) -> dict[str, Any]:
    return {
        "file": str(one.path),
        "case": one.case.id,
        "variants": [variant_document(variant) for variant in one.variants],
        "impossible": list(one.impossible),
        "quarantined": [
            {"variant": variant_document(bad.variant), "reason": str(bad.doubt), "detail": bad.detail}
            for bad in one.quarantined
        ],
        "failures": dict(one.failures),
    }


def _told(made: Sequence[_Made], *, dry_run: bool) -> str:
    lines = [line for one in made for line in _lines(one)]
    new, doubtful = (sum(len(getattr(one, name)) for one in made) for name in ("variants", "quarantined"))
    verb = "Would add" if dry_run else "Added"
    lines.append(f"{verb} {count(new, 'variant')} to {count(len(made), 'case')}.")
    if doubtful:
        where = ", ".join(sorted({str(quarantine_path(one.path)) for one in made if one.quarantined}))
        lines.append(f"{count(doubtful, 'variant')} failed the check and went to quarantine: {where}")
    if new and not dry_run:
        lines.append("Review them as you would any change: git diff")
    return "".join(f"{line}\n" for line in lines)


def _lines(one: _Made) -> Iterator[str]:
    for variant in one.variants:
        yield f"{one.case.id}: {variant.noise_type}: {excerpt(_visible(one.case.text_for(variant)), 160)}"
    if one.impossible:
        yield f"{one.case.id}: nothing to change for {', '.join(one.impossible)}"
    for name, why in one.failures:
        yield f"{one.case.id}: {name}: the model wrote nothing: {why}"


def _visible(text: str) -> str:
    """``text`` in quotes, as escapes where something in it cannot be seen or is not what it seems."""
    return json.dumps(text, ensure_ascii=deceptive(text))
