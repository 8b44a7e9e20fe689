"""What doctor finds out about Langfuse, each finding with its remedy."""

from typing import Any

import pytest

from tests.exporters.langfuse.desk import MODES, settings
from tests.fake_langfuse import FakeLangfuse
from tracehooks.exporters.langfuse.checks import checks
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.configs import ScoreConfigs
from tracehooks.protocols import Finding
from tracehooks.settings import Settings


def findings(given: Settings, *, network: bool = True, fix: bool = False) -> dict[str, list[Finding]]:
    """All findings, by what they are about."""
    found: dict[str, list[Finding]] = {}
    for finding in checks(given, network=network, fix=fix):
        found.setdefault(finding.about, []).append(finding)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_server_in_order_has_nothing_bad(mode: str) -> None:
    """Each kind is named, and a score makes its way there and back; nothing of it stays."""
    with FakeLangfuse(mode, ingestion_delay=0.3, delete_delay=0.0) as server:
        found = findings(settings(server))
        every = [finding for some in found.values() for finding in some]
        assert [finding for finding in every if finding.grade == "bad"] == []
        assert f"kind {mode}" in found["langfuse"][0].what
        assert "written, read back" in found["round trip"][0].what
        assert server.scores == []
        untested = "not tested" in found["langfuse"][0].remedy
        assert untested == (mode in ("v3", "v4.59"))


@pytest.mark.parametrize("mode", MODES)
def test_a_wrong_public_key_is_found_out(mode: str) -> None:
    """The server answers 200 to a wrong public key with the right secret; used alone it is refused."""
    with FakeLangfuse(mode) as server:
        found = findings(settings(server, langfuse={"public_key": "pk-lf-mistyped"}))
        (keys,) = [finding for finding in found["langfuse keys"] if finding.grade == "bad"]
        assert "does not know the public key" in keys.what
        assert "LANGFUSE_PUBLIC_KEY" in keys.remedy


@pytest.mark.parametrize("mode", MODES)
def test_keys_of_two_projects_are_found_out(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes them, for each is known: a score by the one cannot be read by the other."""
    monkeypatch.setattr("tracehooks.exporters.langfuse.round_trip.PATIENCE", 0.5)
    with FakeLangfuse(mode) as server:
        other = server.another_project("pk-lf-other", "sk-lf-other")
        found = findings(settings(server, langfuse={"public_key": "pk-lf-other"}))
        (keys,) = [finding for finding in found["langfuse keys"] if finding.grade == "bad"]
        assert keys.what == "the two keys are of different projects"
        assert "the same project" in keys.remedy
        other.settle()
        assert len(list(other.scores.newest())) == 1
        assert server.scores == []


@pytest.mark.parametrize("mode", MODES)
def test_a_wrong_secret_key_is_told(mode: str) -> None:
    """In every mode, also where some paths answer before they look at keys; and no key is shown."""
    with FakeLangfuse(mode) as server:
        every = list(checks(settings(server, langfuse={"secret_key": "sk-old"}), network=True, fix=False))
        assert [finding.grade for finding in every if finding.grade == "bad"]
        assert any("does not take the keys" in finding.what for finding in every)
        assert "sk-old" not in str(every)


def test_a_server_that_is_not_there_is_told(langfuse: FakeLangfuse) -> None:
    """With the setting that may be wrong."""
    given = settings(langfuse)
    langfuse.down()
    (finding,) = findings(given)["langfuse"]
    assert finding.grade == "bad"
    assert "LANGFUSE_BASE_URL" in finding.remedy


@pytest.mark.parametrize(("seconds", "said"), [(-90, "ahead of"), (90, "behind")])
def test_a_wrong_clock_is_told(langfuse: FakeLangfuse, seconds: float, said: str) -> None:
    """By the server's own Date."""
    langfuse.skew(seconds)
    (clock,) = findings(settings(langfuse))["langfuse clock"]
    assert clock.grade == "note"
    assert said in clock.what


def test_missing_score_configs_are_offered_and_made(langfuse: FakeLangfuse) -> None:
    """The remedy is a command; it makes them with the range that the scores have."""
    given = settings(langfuse, scores={"thumbs": {"min": -1, "max": 1}, "good": {"data_type": "BOOLEAN"}})
    before = [finding for finding in findings(given)["score config"] if finding.grade == "note"]
    assert any("thumbs" in finding.what and "--fix" in finding.remedy for finding in before)
    findings(given, fix=True)
    client = Client.from_settings(given)
    configs = {config["name"]: config for config in client.get("/score-configs", limit=100).json()["data"]}
    client.close()
    assert (configs["thumbs"]["minValue"], configs["thumbs"]["maxValue"]) == (-1, 1)
    assert configs["good"]["dataType"] == "BOOLEAN"
    after = findings(given, fix=True)["score config"]
    assert {finding.grade for finding in after} == {"ok"}
    assert len(configs) == len(after)


def test_a_config_that_would_refuse_scores_is_bad(langfuse: FakeLangfuse) -> None:
    """A range narrower than the scores', or another type."""
    given = settings(langfuse, scores={"thumbs": {"min": -1, "max": 1}})
    client = Client.from_settings(given)
    ScoreConfigs(client).create("thumbs", dataType="NUMERIC", minValue=0, maxValue=1)
    client.close()
    (bad,) = [finding for finding in findings(given)["score config"] if finding.grade == "bad"]
    assert "minimum is 0, theirs -1" in bad.what


@pytest.mark.parametrize(
    ("langfuse_keys", "missing"),
    [({"public_key": "pk"}, "LANGFUSE_SECRET_KEY"), ({"secret_key": "sk"}, "LANGFUSE_PUBLIC_KEY")],
)
def test_half_the_keys_are_told(langfuse_keys: dict[str, Any], missing: str) -> None:
    """And nothing at all is said where nothing is set up."""
    (finding,) = findings(Settings.model_validate({"langfuse": langfuse_keys}))["langfuse"]
    assert (finding.grade, finding.what) == ("bad", f"{missing} not set")
    assert findings(Settings()) == {}


def test_without_network_nobody_is_asked(langfuse: FakeLangfuse) -> None:
    """--no-network."""
    (finding,) = findings(settings(langfuse), network=False)["langfuse"]
    assert finding.grade == "note"
    assert langfuse.requests == []


def test_a_score_that_never_shows_is_bad(langfuse: FakeLangfuse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken, and not to be seen: the worker does not work."""
    monkeypatch.setattr("tracehooks.exporters.langfuse.round_trip.PATIENCE", 0.5)
    langfuse.delays(ingestion=1e9)
    (trip,) = findings(settings(langfuse))["round trip"]
    assert trip.grade == "bad"
    assert "worker" in trip.remedy
