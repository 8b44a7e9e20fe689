"""What `tracehooks doctor` looks at: one function a thing, each giving findings with their remedy."""

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

from tracehooks.cli import output
from tracehooks.cli.finding import Finding, Grade
from tracehooks.cli.session import found_config, read_settings
from tracehooks.cli.store_checks import disk, store
from tracehooks.errors import TracehooksError
from tracehooks.records import AgentCall, Reason, Status
from tracehooks.reports.wording import plain, what_to_do
from tracehooks.settings import Settings

CHECKS = "tracehooks.checks"
OLDEST_PYTHON = (3, 11)
PACKAGES = ("opentelemetry-sdk", "openai", "langfuse", "sqlalchemy", "pydantic")
NO_ANSWER = frozenset(
    {
        Reason.UNREACHABLE,
        Reason.REJECTED,
        Reason.TIMEOUT,
        Reason.RATE_LIMITED,
        Reason.SERVER_ERROR,
        Reason.QUOTA,
    }
)
HARMLESS = "Of course, I am glad to help you with that."


Check = Callable[[Settings], Iterator[Finding]]


def examine(config: str | None, *, network: bool, fix: bool = False) -> Iterator[Finding]:
    """All findings, each as soon as it is known. ``network`` False leaves the judge and backends alone.

    ``fix`` lets a check mend what it can.
    """
    yield from installation()
    try:
        settings = read_settings(config)
    except TracehooksError as error:
        yield Finding("bad", "settings", str(error), "mend it, then run doctor again")
        return
    yield settings_in_use(config)
    checks: list[Check] = [store, disk, source, scorer, hooks, agents, sinks, schedule]
    if settings.judge.model:
        checks.append(judge if network else _judge_left_alone)
    for check in checks:
        yield from _survived(check, settings)
    yield from contributed(settings, network=network, fix=fix)


def contributed(settings: Settings, *, network: bool, fix: bool) -> Iterator[Finding]:
    """What backends' own checks find: the entry points of ``tracehooks.checks``."""
    for point in entry_points(group=CHECKS):
        try:
            yield from point.load()(settings, network=network, fix=fix)
        except Exception as error:
            yield Finding("bad", point.name, f"cannot be checked: {type(error).__name__}: {plain(error)}")


def _survived(check: Check, settings: Settings) -> Iterator[Finding]:
    """What ``check`` finds; what it did not foresee is a finding too, and keeps no other from being made."""
    try:
        yield from check(settings)
    except Exception as error:
        yield Finding("bad", check.__name__, f"cannot be used: {type(error).__name__}: {plain(error)}")


def _judge_left_alone(_settings: Settings) -> Iterator[Finding]:
    yield Finding("note", "judge", "not asked (--no-network)")


def installation() -> Iterator[Finding]:
    """Python and the packages."""
    running = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        yield Finding("bad", "python", running, "use Python 3.11 or later")
    else:
        yield Finding("ok", "python", running)
    found, missing = [f"tracehooks {_version('tracehooks') or '?'}"], []
    for name in PACKAGES:
        installed = _version(name)
        found.append(f"{name} {installed}") if installed else missing.append(name)
    yield Finding("ok", "packages", ", ".join(found))
    if missing:
        yield Finding("bad", "packages", f"missing: {', '.join(missing)}", "pip install tracehooks")
    if os.environ.get("TRACEHOOKS_DISABLED"):
        remedy = "unset it where your agent should be traced"
        yield Finding("note", "tracing", "switched off here by TRACEHOOKS_DISABLED", remedy)


def settings_in_use(config: str | None) -> Finding:
    """Which settings are read."""
    file = found_config(config)
    if file is not None:
        return Finding("ok", "settings", str(file))
    if config is not None:
        return Finding("ok", "settings", "the demo's own")
    return Finding(
        "note", "settings", "no file, so every key has its default", "`tracehooks init` writes one"
    )


def scorer(settings: Settings) -> Iterator[Finding]:
    """Whether the night's scorer can be made; the local one also has to score something."""
    from tracehooks.scorers.loading import toxicity_scorer
    from tracehooks.scoring.execute import run_scorer

    try:
        made = toxicity_scorer(settings)
    except TracehooksError as error:
        yield Finding("bad", "scorer", str(error))
        return
    if settings.judge.model:
        yield Finding("ok", "scorer", f"{made.name}, judged by {settings.judge.model}")
        return
    score = asyncio.run(run_scorer(made, AgentCall(output=HARMLESS)))
    if score.status is Status.SCORED:
        yield Finding("ok", "scorer", f"{made.name}, the local pre-screen: no judge is configured")
    else:
        yield Finding("bad", "scorer", f"{made.name} does not score: {plain(score.comment)}")


def agents(settings: Settings) -> Iterator[Finding]:
    """Whether the agents that the settings name can be loaded. One behind an address is not asked."""
    from tracehooks.replay import load_agent

    named = {"agent": settings.agent} if settings.agent else {}
    named |= {f"agents.{name}": path for name, path in settings.agents.items()}
    for key, path in named.items():
        try:
            with output.kept_clean():
                load_agent(path or "", timeout=1.0, key=key)
        except TracehooksError as error:
            yield Finding("bad", key, plain(error).removeprefix(f"{key}: "))
        else:
            yield Finding("ok", key, str(path))


def hooks(settings: Settings) -> Iterator[Finding]:
    """Whether the scorers of the hooks are there: ``tracehooks.init()`` stops at one that is not."""
    from tracehooks.scorers.loading import load_scorer

    for index, hook in enumerate(settings.hooks):
        try:
            load_scorer(hook.scorer, settings)
        except TracehooksError as error:
            yield Finding("bad", f"hooks[{index}]", str(error))
        else:
            yield Finding("ok", f"hooks[{index}]", f"{hook.scorer} on {hook.rate:.0%} of the traces")


def source(settings: Settings) -> Iterator[Finding]:
    """Whether the source of the calls is known."""
    from tracehooks.scoring.source import known_sources

    if settings.source not in known_sources():
        remedy = f"known are {', '.join(known_sources())}"
        yield Finding("bad", "source", f"no source is named {settings.source}", remedy)


def schedule(settings: Settings) -> Iterator[Finding]:
    """Whether what is scheduled can ever be due."""
    from tracehooks.jobs.drivers import job_settings, scheduled_jobs
    from tracehooks.jobs.timetable import Timetable

    now = datetime.now(UTC)
    for job in scheduled_jobs(settings):
        section = job_settings(settings, job)
        if Timetable(section.schedule or "", section.timezone).after(now) is None:
            what = f"{section.schedule} is never due: there is no such day"
            yield Finding("bad", f"jobs.{job}.schedule", what, "give a day that comes, such as 0 2 * * *")


def sinks(settings: Settings) -> Iterator[Finding]:
    """Whether the sinks are known and can be made."""
    from tracehooks.scoring.deliver import load_sinks

    try:
        made = load_sinks(settings)
    except TracehooksError as error:
        yield Finding("bad", "sinks", str(error))
        return
    yield Finding("ok", "sinks", ", ".join(made) or "none; scores stay in the store")


def judge(settings: Settings) -> Iterator[Finding]:
    """Whether the judge answers: one tiny question."""
    from tracehooks.judges import OpenAIJudge
    from tracehooks.protocols import Question

    question = Question(
        name="doctor",
        instructions='Answer with this JSON and nothing else: {"ready": true}',
        material={"text": "This is a test of the connection."},
        schema={
            "type": "object",
            "properties": {"ready": {"type": "boolean"}},
            "required": ["ready"],
            "additionalProperties": False,
        },
        read=lambda reply: True,  # any reply shows that the judge is there
    )

    async def ask() -> Any:
        asked = OpenAIJudge.from_settings(settings.judge)
        try:
            return await asked.ask(question)
        finally:
            await asked.aclose()

    try:
        answer = asyncio.run(ask())
    except TracehooksError as error:
        yield Finding("bad", "judge", str(error))
        return
    if answer.reason is None:
        yield Finding("ok", "judge", f"{settings.judge.model} answers")
        return
    grade: Grade = "bad" if answer.reason in NO_ANSWER else "note"
    how = "does not answer" if answer.reason in NO_ANSWER else "answers, but cannot be used"
    detail = f"{settings.judge.model} {how}: {answer.reason}. {plain(answer.detail)}".strip()
    yield Finding(grade, "judge", detail, what_to_do(answer.reason))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
