"""`plan --egress`: every place that gets text, and no secret of its address."""

from typing import Any

import pytest

from tracehooks.reports.egress import egress
from tracehooks.settings import Settings


def _places(jobs: tuple[str, ...], **values: Any) -> dict[str, str]:
    return {place.key: place.place for place in egress(Settings.model_validate(values), jobs)}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_judge_and_sinks_everything_stays_here() -> None:
    """The local pre-screen sends nothing anywhere."""
    assert _places(("toxicity",)) == {"store": "this machine"}


def test_every_place_is_named_once_by_its_key() -> None:
    """Judge, store, agent, sink, spans and webhook."""
    found = _places(
        ("toxicity", "noise"),
        store="postgresql://me:secret@db.example:5433/hooks",
        judge={"model": "gpt-5-mini"},
        agent="https://agent.example/ask?key=secret",
        sinks=["langfuse"],
        langfuse={"public_key": "pk", "secret_key": "sk", "base_url": "https://lf.example"},
        otlp={"phoenix": {"endpoint": "http://localhost:6006"}},
        notify=[{"webhook": "https://hooks.slack.com/services/secret"}],
    )
    assert found == {
        "store": "postgresql://db.example:5433/hooks",
        "judge.base_url": "https://api.openai.com/v1",
        "agent": "https://agent.example/ask",
        "sinks": "https://lf.example",
        "langfuse.spans": "https://lf.example",
        "otlp.phoenix": "http://localhost:6006",
        "notify": "hooks.slack.com",
    }
