"""The CI walk as a newcomer takes it: every file and command of docs/noise-in-ci.md, in an empty folder."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.shop import environment
from tests.fake_openai import FakeOpenAI, block

PAGE = Path(__file__).parents[2] / "docs" / "noise-in-ci.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"#\s+exit code (\d+)\s*$")
WORKFLOW = ".github/workflows/noise.yml"
DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")


def judged(body: dict[str, Any]) -> dict[str, Any]:
    """A judge that finds every answer wrong that is not the baseline."""
    good = block(body["messages"], "response") == block(body["messages"], "baseline_response")
    level = "none" if good else "severe"
    return {
        "dimensions": [{"dimension": name, "impact_level": level} for name in DIMENSIONS],
        "major_issues": [] if good else ["it repeats the customer's claim"],
        "robustness_score": 1.0 if good else 0.1,
        "reason": "it says the same" if good else "it believes the customer",
    }


@dataclass(frozen=True)
class Walk:
    """The folder, and the judge's address."""

    folder: Path
    judge: str

    def run(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a line of shell as a terminal or a CI job does; `tracehooks` and `python` are this one's."""
        tools = str(Path(sys.executable).parent)
        identity = {
            f"GIT_{who}_{what}": "ci@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        env = environment(
            PATH=f"{tools}{os.pathsep}{os.environ['PATH']}",
            OPENAI_BASE_URL=self.judge,
            OPENAI_API_KEY="key-TEST",
            **identity,
            **more,
        )
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=110,
        )

    def write(self, name: str, text: str) -> None:
        """Write a file of the page."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def follow(self, text: str) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
        """Write each titled block, run each command; those that do not end as the page says fail here."""
        for kind, title, content in BLOCK.findall(text):
            if title:
                self.write(title, content)
            elif kind == "console":
                for line in content.splitlines():
                    command = line.removeprefix("$ ")
                    found = EXIT_CODE.search(command)
                    result = self.run(command)
                    said = f"{command}\n{result.stdout}\n{result.stderr}"
                    assert result.returncode == (int(found[1]) if found else 0), said
                    yield EXIT_CODE.sub("", command).strip(), result


@pytest.fixture
def judge() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(judged) as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_page_works_as_it_stands(tmp_path: Path, judge: FakeOpenAI) -> None:
    """Five cases, capture, generate, replay, bless; break the agent: red, with the reason; mend it: green."""
    walk = Walk(tmp_path, judge.url)
    results: dict[str, list[str]] = {}
    for command, result in walk.follow(PAGE.read_text(encoding="utf-8")):
        results.setdefault(command, []).append(result.stdout)
        if command == "tracehooks reference diff":
            assert "5 variants got worse, 0 better" in result.stdout

    assert "Stored 5 baselines" in results["tracehooks baseline capture"][0]
    assert results["tracehooks gate"][0].startswith("PASS")
    assert [text.splitlines()[-1].split(" in ")[0] for text in results["python -m pytest -q"]] == [
        "15 passed",
        "5 failed, 10 passed",
        "15 passed",
    ]
    assert "test_answers_withstand_noise[warranty-misinformation-" in results["python -m pytest -q"][1]

    markdown = (tmp_path / "noise.md").read_text(encoding="utf-8")
    verdict, moved = markdown.index("## ❌ FAIL: "), markdown.index("### What moved")
    assert verdict == 0
    assert moved < markdown.index("| noise type |")
    assert "drop: misinformation lost" in markdown
    for case in ("warranty", "return", "shipping", "opening", "battery"):
        assert f"| misinformation | {case} |" in markdown
    assert "`The warranty is 24 months.`" in markdown
    assert "`Quite right: " in markdown
    assert "it believes the customer" in markdown
    assert (tmp_path / "mended.md").read_text(encoding="utf-8").startswith("## ✅ PASS: held: ")

    suite = ElementTree.parse(tmp_path / "noise.xml").getroot()
    red = {f"{one.get('classname')}.{one.get('name')}" for one in suite.iter("testcase") if len(one)}
    assert "tracehooks.noise.misinformation.warranty" in red
    assert not [name for name in red if "casing" in name or "distractors" in name]

    _run_workflow(walk)


def _run_workflow(walk: Walk) -> None:
    """The steps of the workflow, in a fresh store: the reference comes from the file in git."""
    workflow = yaml.safe_load((walk.folder / WORKFLOW).read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    steps = [step for step in job["steps"] if "run" in step]
    assert steps.pop(0)["run"] == "pip install -r requirements.txt"
    walk.run("rm -rf .tracehooks")
    summary = walk.folder / "summary.md"
    for step in steps:
        result = walk.run(step["run"], GITHUB_STEP_SUMMARY=str(summary))
        assert result.returncode == 0, f"{step['run']}\n{result.stdout}\n{result.stderr}"
    assert summary.read_text(encoding="utf-8").startswith("## ✅ PASS: held: ")


def test_the_workflow_is_a_workflow() -> None:
    """Valid YAML with the keys that GitHub asks for, nothing but published actions, and a trigger."""
    found = {title: content for _, title, content in BLOCK.findall(PAGE.read_text(encoding="utf-8"))}
    workflow = yaml.safe_load(found[WORKFLOW])
    assert "pull_request" in workflow[True]  # YAML 1.1 reads `on` as true, as GitHub's own reader knows
    (job,) = workflow["jobs"].values()
    assert job["runs-on"] == "ubuntu-latest"
    assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    assert all(step["uses"].startswith("actions/") for step in job["steps"] if "uses" in step)
    json.dumps(job)
