"""Where a job sends text: every place outside of this process that gets something of what was said."""

import os
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from rich.console import Group, RenderableType

from tracehooks.jobs.drivers import job_settings
from tracehooks.reports.run_words import Fact
from tracehooks.reports.terminal import heading, labelled
from tracehooks.reports.wording import count, plain
from tracehooks.settings import Settings

OPENAI = "https://api.openai.com/v1"
LANGFUSE_CLOUD = "https://cloud.langfuse.com"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HERE = "this machine"


@dataclass(frozen=True, slots=True)
class Egress:
    """One place, and what it gets. ``key`` is the setting that decides it."""

    place: str
    what: str
    key: str


def egress(settings: Settings, jobs: tuple[str, ...]) -> list[Egress]:
    """Every place that ``jobs`` send text to, without user names, passwords and queries in addresses."""
    found = [_store(settings), *_judge(settings, jobs), *_agents(settings, jobs), *_sinks(settings)]
    return [*found, *_spans(settings), *_notices(settings)]


def egress_dict(places: list[Egress]) -> list[dict[str, Any]]:
    """The places for a program."""
    return [asdict(place) for place in places]


def egress_renderable(places: list[Egress]) -> RenderableType:
    """The places for a terminal."""
    outside = [place for place in places if place.place != HERE]
    words = f"text would go to {count(len(outside), 'place')} outside of this machine's files"
    facts = [Fact(place.key, f"{plain(place.place)}: {plain(place.what)}") for place in places]
    return Group(heading("EGRESS", words), "", labelled(facts))


def _store(settings: Settings) -> Egress:
    is_file = settings.store.startswith(("sqlite", "memory"))
    what = "calls, scores and their reasons are kept"
    return Egress(HERE if is_file else _address(settings.store), what, "store")


def _judge(settings: Settings, jobs: tuple[str, ...]) -> list[Egress]:
    if settings.judge.model is None:
        return []
    masked = "unmasked" if settings.judge.mask == "none" else "secrets masked"
    asked = {
        "toxicity": "the responses of sampled calls, and the users' messages before them",
        "noise": "the replay's questions, baselines and answers",
    }
    what = f"{settings.judge.model} gets {'; '.join(asked[job] for job in jobs)}; {masked}"
    if any(job_settings(settings, job).batch for job in jobs):
        what += "; in files, which are deleted when their batch is collected"
    place = settings.judge.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    return [Egress(_address(place), what, "judge.base_url")]


def _agents(settings: Settings, jobs: tuple[str, ...]) -> list[Egress]:
    if "noise" not in jobs:
        return []
    named = {**({"": settings.agent} if settings.agent else {}), **settings.agents}
    return [
        Egress(
            _address(target) if target.startswith(("http://", "https://")) else HERE,
            "the agent is asked the noisy questions, and may itself send them on",
            f"agents.{name}" if name else "agent",
        )
        for name, target in named.items()
    ]


def _sinks(settings: Settings) -> list[Egress]:
    places = {
        "jsonl": HERE,
        "langfuse": _address(settings.langfuse.base_url or LANGFUSE_CLOUD),
        "otel": _address(os.environ.get(ENDPOINT) or "the application's OpenTelemetry exporter"),
    }
    what = "scores with their reasons, which quote what was said"
    return [Egress(places.get(name, f"the sink {name}"), what, "sinks") for name in settings.sinks]


def _spans(settings: Settings) -> list[Egress]:
    """Spans of what a replay asks, and of the job itself, go where the application's do."""
    what = "spans of traced calls, with input and output"
    found = [Egress(_address(one.endpoint), what, f"otlp.{name}") for name, one in settings.otlp.items()]
    if settings.langfuse.has_keys and settings.langfuse.spans:
        found.append(Egress(_address(settings.langfuse.base_url or LANGFUSE_CLOUD), what, "langfuse.spans"))
    if os.environ.get(ENDPOINT):
        found.append(Egress(_address(os.environ[ENDPOINT]), what, ENDPOINT))
    return found


def _notices(settings: Settings) -> list[Egress]:
    what = "verdicts with their reasons; no texts of calls"
    hooks = (one.webhook.get_secret_value() for one in settings.notify if one.webhook is not None)
    return [Egress(urlsplit(address).hostname or "a webhook", what, "notify") for address in hooks]


def _address(text: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(text)
    if not parts.hostname:
        return text
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
