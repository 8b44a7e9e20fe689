"""Writing datasets back: what was added is in the diff, and nothing else."""

import difflib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracehooks.errors import ConfigurationError
from tracehooks.facts import Facts
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.emitting import as_json, as_yaml, case_document, deceptive
from tracehooks.noise.reading import case_from, read_dataset
from tracehooks.noise.writing import append_case, append_variants, write_dataset

FILE = """\
# questions of the help desk
name: desk

cases:
  # the warranty
  - id: warranty    # asked most
    query: 'How long is the warranty?'
    baseline: |
      24 months.

      Free.
    variants:
      - {id: m1, noise_type: misinformation, content: "36?"}

      # more to come

  - id: hours
    query: When are you open?
    tags: [hours,
      times]
# the end
"""
CASE = NoiseCase(
    id="new-one",
    query="Is it: yes or no?\nPlease # say.",
    baseline="on",
    facts=Facts.read({"must_contain": [{"number": 24, "unit": "months"}, "24"]}),
    min_score=0.9,
    tags=("a",),
    provenance={"source": "trace", "masked": True},
    variants=(
        NoiseVariant(id="w", noise_type="whitespace", content="Is\u00a0it?\u200b"),
        NoiseVariant(id="l", noise_type="lookalikes", content="\u0421offee caf\u00e9"),
        NoiseVariant(id="t", noise_type="adversarial", carrier="tool:x", content={"a": [1, None, "12:30"]}),
    ),
)
NOISE = [
    NoiseVariant(id="x1", noise_type="typos", content="Wen?"),
    NoiseVariant(id="x2", noise_type="typos", content="1e3"),
]


def added(before: str, after: str) -> list[str]:
    """The lines that were added; fails if any other was touched."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    assert not [line for line in lines if line[:1] in "-?"], lines
    return [line[2:] for line in lines if line.startswith("+ ")]


def test_a_case_is_appended_and_every_other_line_stays(tmp_path: Path) -> None:
    """Comments, quotes and blank lines too."""
    path = tmp_path / "desk.yaml"
    path.write_text(FILE)
    dataset = append_case(path, CASE)
    assert dataset.cases[-1] == CASE
    assert dataset.hash == read_dataset(path).hash
    lines = added(FILE, path.read_text())
    assert lines[0] == "  - id: new-one"
    assert path.read_text().endswith("# the end\n")


def test_variants_are_inserted_after_those_of_their_case(tmp_path: Path) -> None:
    """Where the list is there, where it is not, and where it is empty."""
    path = tmp_path / "desk.yaml"
    path.write_text(FILE)
    append_variants(path, "warranty", NOISE)
    dataset = append_variants(path, "hours", NOISE)
    assert [[v.id for v in case.variants] for case in dataset.cases] == [["m1", "x1", "x2"], ["x1", "x2"]]
    assert added(FILE, path.read_text()) == [
        *("      - id: x1", "        noise_type: typos", "        content: Wen?".replace("Wen?", '"Wen?"')),
        *("      - id: x2", "        noise_type: typos", '        content: "1e3"'),
        "    variants:",
        *("      - id: x1", "        noise_type: typos", '        content: "Wen?"'),
        *("      - id: x2", "        noise_type: typos", '        content: "1e3"'),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("# only a comment\n", "# only a comment"),
        ("name: desk\n", "name: desk"),
        ("name: desk\ncases: []   # none yet\n", "# none yet"),
        ("cases:\n# soon\n", "# soon"),
        ("- id: a\n  query: x", "- id: a"),
        ("cases:\n- id: a\n  query: x\n\n\n", "- id: a"),
        ("cases:\n    -   id: a\n        query: >\n          folded\n          text\n", "folded"),
        ("cases:\r\n- id: a\r\n  query: x\r\n", "- id: a"),
        ('{"cases": [{"id": "a", "query": "x"}]}', ""),
        ("\ufeffcases:\n- id: a\n  query: x\n", "- id: a"),
    ],
)
def test_any_file_takes_a_case_and_its_variants(tmp_path: Path, text: str, kept: str) -> None:
    """Empty ones, lists at any indentation, without a last line end, Windows line ends, on one line."""
    path = tmp_path / "set.yaml"
    path.write_bytes(text.encode())
    before = read_dataset(path)
    append_case(path, replace(CASE, variants=()))
    dataset = append_variants(path, "new-one", NOISE)
    assert dataset.cases == (*before.cases, replace(CASE, variants=tuple(NOISE)))
    written = path.read_bytes().decode()
    assert kept in written
    assert ("\r\n" in written) == ("\r\n" in text)
    assert written.count("\n") == written.count("\r\n") or "\r\n" not in written


def test_an_empty_list_of_variants_is_filled(tmp_path: Path) -> None:
    """As `datasets add` may leave one."""
    path = tmp_path / "set.yaml"
    path.write_text("- id: a\n  query: x\n  variants: []\n  min_score: 1\n")
    append_variants(path, "a", NOISE[:1])
    assert path.read_text() == (
        "- id: a\n  query: x\n  variants:\n"
        '    - id: x1\n      noise_type: typos\n      content: "Wen?"\n'
        "  min_score: 1\n"
    )


def test_json_lines_get_a_line_or_change_one(tmp_path: Path) -> None:
    """The others stay to the byte."""
    path = tmp_path / "set.jsonl"
    path.write_text('{"query":  "x", "id": "a"}\n\n{"id": "b",   "query": "y"}')
    append_case(path, CASE)
    dataset = append_variants(path, "b", NOISE)
    lines = path.read_text().split("\n")
    assert lines[0] == '{"query":  "x", "id": "a"}'
    assert (lines[1], lines[4]) == ("", "")
    assert [v["id"] for v in json.loads(lines[2])["variants"]] == ["x1", "x2"]
    assert dataset.cases[-1] == CASE


def test_what_cannot_be_seen_is_written_as_an_escape(tmp_path: Path) -> None:
    """A reviewer sees what a variant is made of; plain accents stay readable."""
    path = tmp_path / "set.yaml"
    append_case(path, CASE)
    text = path.read_text()
    assert r'"Is\_it?\u200B"' in text
    assert r'"\u0421offee caf\xE9"' in text
    assert [deceptive(word) for word in ("p\u0430ypal", "\uff21BC", "Кофе или café?")] == [True, True, False]
    line = as_json(case_document(CASE))
    assert r"Is\u00a0it?\u200b" in line
    assert case_from(json.loads(line)) == CASE
    assert "Кофе" in as_yaml({"query": "Кофе?"})


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(str.strip)


@given(
    query=_texts,
    content=st.one_of(
        _texts, st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts)
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_any_text_is_read_as_it_was_written(tmp_path: Path, query: str, content: object) -> None:
    """Control characters, separators, YAML's own signs: nothing is lost or changed."""
    variant = NoiseVariant(id="v", noise_type="t", carrier="tool:x", content=content)
    case = NoiseCase(id="c", query=query, variants=(variant,))
    for name in ("a.yaml", "a.jsonl"):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        append_case(path, case)
        assert read_dataset(path).cases == (case,)


def test_nothing_is_overwritten_and_no_id_taken_twice(tmp_path: Path) -> None:
    """Each refusal names file and id."""
    path = tmp_path / "set.yaml"
    append_case(path, CASE)
    before = path.read_bytes()
    for refused, match in (
        (lambda: append_case(path, CASE), "a case 'new-one' is there already"),
        (lambda: append_variants(path, "nobody", NOISE), "there is no case 'nobody'"),
        (lambda: append_variants(path, "new-one", [*NOISE, NOISE[0]]), "a variant 'x1' already"),
        (lambda: write_dataset(Dataset(name="x"), path), "exists already"),
        (lambda: append_case(tmp_path / "set.csv", CASE), "files are only read"),
    ):
        with pytest.raises(ConfigurationError, match=match):
            refused()  # type: ignore[no-untyped-call]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["set.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        "- originalQuery: x\n  noisyQuery: y\n  id: a\n",
        "- id: a\n  query: |\n    a text without an end of line",
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_alone(tmp_path: Path, text: str) -> None:
    """Mastra's rows have no place for variants; a line end at the end would change the last text."""
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"m\.yaml"):
        append_variants(path, "a", NOISE)
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["m.yaml"]


def test_a_dataset_of_another_shape_can_be_written_as_ours(tmp_path: Path) -> None:
    """CSV or Mastra's JSON in, YAML or JSON Lines out, the same hash."""
    source = tmp_path / "m.json"
    source.write_text('[{"originalQuery": "x", "noisyQuery": "y", "noiseType": "typos"}]')
    data = read_dataset(source)
    for name in ("new/out.yaml", "out.jsonl"):
        written = write_dataset(data, tmp_path / name)
        assert written.hash == data.hash
        assert written.path == tmp_path / name
