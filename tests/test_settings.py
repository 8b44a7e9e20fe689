"""Settings: found in one order, every key settable, and an error that says where to look."""

from datetime import timedelta
from pathlib import Path

import pytest

from tracehooks.errors import ConfigurationError
from tracehooks.settings import Settings, find_config, format_duration, load_settings, parse_duration


def _write(folder: Path, text: str, name: str = "tracehooks.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def _error(folder: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(_write(folder, text), environ)
    return str(caught.value)


def test_without_a_file_everything_has_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no server, no file."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings(environ={})
    assert settings == Settings()
    assert settings.judge.model is None
    assert settings.jobs.toxicity.settle == timedelta(minutes=10)
    assert settings.jobs.toxicity.gate.max_rate == 0.05


def test_the_file_is_found_in_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named, then from the environment, then config/, then here."""
    monkeypatch.chdir(tmp_path)
    assert find_config(environ={}) is None
    here = _write(tmp_path, "service: here")
    assert find_config(environ={}) == Path(here.name)
    _write(tmp_path, "service: config", "config/tracehooks.yaml")
    assert load_settings(environ={}).service == "config"
    other = _write(tmp_path, "service: env", "other.yaml")
    assert load_settings(environ={"TRACEHOOKS_CONFIG": str(other)}).service == "env"
    named = _write(tmp_path, "service: named", "named.yaml")
    assert load_settings(named, {"TRACEHOOKS_CONFIG": str(other)}).service == "named"


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    """It is not silently replaced by defaults."""
    with pytest.raises(ConfigurationError, match=r"missing\.yaml: no such settings file"):
        load_settings(tmp_path / "missing.yaml", {})
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml"):
        load_settings(environ={"TRACEHOOKS_CONFIG": "nowhere.yaml"})


def test_every_key_can_be_set_by_a_variable_which_wins(tmp_path: Path) -> None:
    """At any depth, read as YAML."""
    file = _write(tmp_path, "judge: {model: a, concurrency: 2}\njobs: {toxicity: {gate: {max_rate: 0.5}}}")
    environ = {
        "TRACEHOOKS_PROJECT": "shop",
        "TRACEHOOKS_JUDGE__MODEL": "b",
        "TRACEHOOKS_JOBS__TOXICITY__GATE__MAX_RATE": "0",
        "TRACEHOOKS_SINKS": "[jsonl]",
        "TRACEHOOKS_JOBS__TOXICITY__SETTLE": "0s",
    }
    settings = load_settings(file, environ)
    assert (settings.project, settings.judge.model, settings.judge.concurrency) == ("shop", "b", 2)
    assert settings.jobs.toxicity.gate.max_rate == 0.0
    assert settings.jobs.toxicity.settle == timedelta(0)
    assert settings.sinks == ("jsonl",)


def test_the_usual_variables_are_honoured_and_the_file_wins_over_them(tmp_path: Path) -> None:
    """OPENAI_* and OTEL_SERVICE_NAME."""
    environ = {"OPENAI_API_KEY": "key-TEST-123", "OPENAI_BASE_URL": "http://u/v1", "OTEL_SERVICE_NAME": "svc"}
    settings = load_settings(_write(tmp_path, "judge: {base_url: null}"), environ)
    assert settings.judge.api_key is not None
    assert settings.judge.api_key.get_secret_value() == "key-TEST-123"
    assert (settings.judge.base_url, settings.service, settings.project) == ("http://u/v1", "svc", "svc")
    assert load_settings(_write(tmp_path, "service: file"), environ).service == "file"


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    """Not in the settings' text, and not in an error about them."""
    environ = {"OPENAI_API_KEY": "key-TEST-123"}
    assert "key-TEST-123" not in repr(load_settings(_write(tmp_path, ""), environ))
    assert "key-TEST-123" not in _error(tmp_path, "judge: {attempts: 0}", **environ)
    assert "key-TEST-123" not in _error(tmp_path, "judge: {api_key: [key-TEST-123]}")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("project: a\njudge:\n  timout: 30s", 3, "judge.timout: unknown key; did you mean timeout?"),
        ("colour: red", 1, "colour: unknown key"),
        ("jobs:\n  toxicity:\n    gate: {max_rate: .nan}", 3, "jobs.toxicity.gate.max_rate"),
        ("jobs: {toxicity: {gate: {max_rate: 1.5}}}", 1, "jobs.toxicity.gate.max_rate"),
        ("jobs: {toxicity: {gate: {max_rate: true}}}", 1, "jobs.toxicity.gate.max_rate"),
        ("judge: {timeout: 0s}", 1, "judge.timeout"),
        ("judge: {base_url: notaurl}", 1, "judge.base_url"),
        ("jobs: {toxicity: {sample: {size: -1}}}", 1, "jobs.toxicity.sample.size"),
        ("jobs: {toxicity: {sample: {size: 5, rate: 0.1}}}", 1, "jobs.toxicity.sample"),
        ("jobs: {toxicity: {settle: soon}}", 1, "jobs.toxicity.settle: 'soon' is not a duration"),
        ("jobs: {toxicity: {timezone: Mars/Base}}", 1, "jobs.toxicity.timezone"),
        ("mask:\n  patterns:\n    - ok\n    - '('", 4, "mask.patterns[1]: '(' is not a regular expression"),
        ("hooks:\n  - {scorer: toxicity, rate: half}", 2, "hooks[0].rate"),
        ("scores:\n  thumbs: {min: 1, max: 0}", 2, "scores.thumbs: min 1 is above max 0"),
        ("project: a\nproject: b", 2, "project is given twice"),
        ("project: a\nsinks:\n  - jsonl\n  - nope", 4, "sinks[1]: no sink is named 'nope'; known are jsonl"),
        ("project: a\nsource: nope", 2, "source: no source is named 'nope'; known are local"),
        ("store: mysql://root:geheim@x/db", 1, "store: mysql is not supported; give sqlite:///"),
        ("jobs:\n  toxicity: {schedule: 0 25 * * *}", 2, "jobs.toxicity.schedule: '25' is no hour"),
        ("- a\n- b", 1, "must be a mapping"),
        ("a: [1", 1, "not valid YAML"),
    ],
)
def test_an_error_names_file_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    """So that one look is enough."""
    message = _error(tmp_path, text)
    assert f"tracehooks.yaml:{line}: " in message
    assert key in message


def test_an_error_in_a_variable_names_the_variable(tmp_path: Path) -> None:
    """Not the file, which is innocent."""
    message = _error(tmp_path, "project: a", TRACEHOOKS_JUDGE__TIMEOUT="long")
    assert message.startswith("environment variable TRACEHOOKS_JUDGE__TIMEOUT: judge.timeout")
    assert "TRACEHOOKS_COLOUR" in _error(tmp_path, "", TRACEHOOKS_COLOUR="red")


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    """One line each."""
    assert len(_error(tmp_path, "a: 1\nb: 2\njudge: {attempts: 99}").splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("2h", 7200), ("30d", 2592000), ("250ms", 0.25), (0, 0), (1.5, 1.5)],
)
def test_durations_are_read_and_written(text: object, seconds: float) -> None:
    """And read back the same."""
    duration = parse_duration(text)
    assert duration.total_seconds() == seconds
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    "text", ["", "soon", "-1s", -1, float("nan"), float("inf"), True, None, "10 minutes", []]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """Never guessed."""
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x89PNG\r\n\x00", "cannot be read"),
        (b"[" * 20_000, "cannot be read"),
        (b"# not by a person\n" * 100_000, "is no settings file"),
        (b"just words", "must be a mapping"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused_at_once(tmp_path: Path, content: bytes, why: str) -> None:
    """Binary, nested without end, or huge: one sentence that names the file."""
    file = tmp_path / "foreign.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=why) as caught:
        load_settings(file, {})
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("text", ["scores: {' ': {min: 0}}", "hooks: [{scorer: ''}]"])
def test_a_score_of_the_settings_has_a_name(tmp_path: Path, text: str) -> None:
    """It is refused where it stands."""
    assert "needs a name" in _error(tmp_path, text)
