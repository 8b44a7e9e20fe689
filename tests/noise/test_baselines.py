"""Setting baselines in dataset files: the answer and its source, and not another byte."""

import difflib
import json
from pathlib import Path

import pytest

from tracehooks.errors import ConfigurationError
from tracehooks.noise.reading import read_dataset
from tracehooks.noise.writing import set_baselines

SOURCE = {"by": "tracehooks baseline capture", "agent": "desk", "captured": "2026-11-30T02:00:00Z"}
FILE = """\
# questions of the help desk
cases:
  # the warranty
  - id: warranty    # asked most
    query: 'How long is the warranty?'
    baseline: |
      24 months.

      Free.

    # until here
    variants:
      - {id: m1, noise_type: misinformation, content: "36?"}
  - id: hours
    query: When are you open?
    tags: [hours,
      times]
  - baseline: "old"  # from the leaflet
    id: returns
    provenance: {source: trace}
    query: Can I send it back?

  - {id: flow, query: "On one line?"}
# the end
"""


def changes(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went, and those that came."""
    found = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    return [line[2:] for line in found if line[0] == "-"], [line[2:] for line in found if line[0] == "+"]


def test_a_baseline_is_set_in_its_place_and_nothing_else_changes(tmp_path: Path) -> None:
    """New ones stand behind the query, old ones are replaced, comments stay where they were."""
    path = tmp_path / "desk.yaml"
    path.write_text(FILE, encoding="utf-8")
    answers = {"warranty": "Two years.", "hours": "From 9\nto 5.", "returns": "Yes: 30 days."}
    dataset = set_baselines(path, {name: (text, SOURCE) for name, text in answers.items()})
    assert {case.id: case.baseline for case in dataset.cases} == {**answers, "flow": None}
    assert dataset == read_dataset(path)
    sources = {case.id: dict(case.provenance) for case in dataset.cases}
    assert sources["hours"] == {"baseline": SOURCE}
    assert sources["returns"] == {"source": "trace", "baseline": SOURCE}
    went, came = changes(FILE, path.read_text(encoding="utf-8"))
    assert [line.strip() for line in went if line.strip()] == [
        "baseline: |",
        "24 months.",
        "Free.",
        '- baseline: "old"  # from the leaflet',
        "provenance: {source: trace}",
    ]
    assert '  - baseline: "Yes: 30 days."  # from the leaflet' in came
    assert '    baseline: "Two years."' in came


def test_a_case_on_one_line_can_be_given_a_baseline_too(tmp_path: Path) -> None:
    """There is no place to insert, so the file is written anew; it says the same."""
    path = tmp_path / "desk.yaml"
    path.write_text(FILE, encoding="utf-8")
    before = read_dataset(path)
    after = set_baselines(path, {"flow": ("Yes.", SOURCE)})
    assert after.cases[3].baseline == "Yes."
    assert after.cases[:3] == before.cases[:3]


def test_json_lines_keep_their_other_lines(tmp_path: Path) -> None:
    """Byte for byte."""
    path = tmp_path / "desk.jsonl"
    lines = ['{"id": "a",   "query": "A?"}', "", '{"id": "b", "query": "B?"}']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    set_baselines(path, {"b": ("Bé.", SOURCE)})
    after = path.read_text(encoding="utf-8").split("\n")
    assert after[:2] == lines[:2]
    assert json.loads(after[2])["baseline"] == "Bé."


def test_an_unknown_case_or_a_file_that_is_only_read_is_one_sentence(tmp_path: Path) -> None:
    """And nothing is written."""
    path = tmp_path / "desk.yaml"
    path.write_text(FILE, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="there is no case nosuch"):
        set_baselines(path, {"nosuch": ("x", SOURCE)})
    assert path.read_text(encoding="utf-8") == FILE
    table = tmp_path / "desk.csv"
    table.write_text("id,query\na,A?\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="only read"):
        set_baselines(table, {"a": ("x", SOURCE)})
