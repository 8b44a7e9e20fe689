"""`datasets validate` and `datasets add`."""

from pathlib import Path

import pytest

from tests.cli.shop import YESTERDAY, Inside, Shop
from tests.stored import agent_span, trace_id
from tracehooks.noise.reading import read_dataset

GOOD = """\
name: desk
cases:
  - id: warranty
    query: How long is the warranty?
    baseline: 24 months.
    facts: {must_contain: [{number: 24, unit: months}]}
    variants:
      - {id: m1, noise_type: misinformation, content: "My uncle says 36. How long is the warranty?"}
  - id: hours
    query: When are you open?
"""
BAD = """\
cases:
  - id: warranty
    query: How long is the warranty?
    min_score: high
    varients: []
"""
MASTRA = """[{"originalQuery": "How long?", "baselineResponse": "24 months.",
  "noisyQuery": "Some say 36. How long?", "noiseType": "misinformation", "minScore": 0.8}]"""
CSV = "query,baseline,noisy_query,noise_type,must_contain\nHow long?,24 months.,36?,lies,24\n"


def shop_with(folder: Path, **files: str) -> Shop:
    shop = Shop.at(folder, job="")
    (folder / "config" / "datasets").mkdir(parents=True)
    for name, text in files.items():
        path = folder / "config" / "datasets" / name.replace("_", ".")
        path.write_text(text, encoding="utf-8")
    return shop


def test_good_files_are_said_to_be_fine_with_what_they_hold(tmp_path: Path, inside: Inside) -> None:
    """Name, counts, hash, and what a replay will miss."""
    result = inside(shop_with(tmp_path, desk_yaml=GOOD), "datasets", "validate")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(
        "config/datasets/desk.yaml: fine: desk, 2 cases, 1 variant (misinformation 1), hash "
    )
    assert "1 case without a baseline" in result.out
    assert "1 case without variants; `tracehooks variants generate` makes some: hours" in result.out


def test_each_mistake_is_named_with_file_line_and_key(tmp_path: Path, inside: Inside) -> None:
    """All of them, in all files, and the good file beside is still looked at."""
    result = inside(shop_with(tmp_path, bad_yaml=BAD, desk_yaml=GOOD), "datasets", "validate")
    assert result.code == 2
    assert "config/datasets/bad.yaml:4: cases[0].min_score: must be a finite number" in result.out
    assert "config/datasets/bad.yaml:5: cases[0].varients: unknown key; did you mean variants?" in result.out
    assert "config/datasets/desk.yaml: fine" in result.out


def test_mastras_shape_and_csv_are_read_too(tmp_path: Path, inside: Inside) -> None:
    """What a team has already needs no rewriting."""
    shop = shop_with(tmp_path, mastra_json=MASTRA, rows_csv=CSV)
    files = ("config/datasets/mastra.json", "config/datasets/rows.csv")
    document = inside(shop, "datasets", "validate", *files, "--json").json
    assert document["exit_code"] == 0
    assert [(one["cases"], one["noise_types"]) for one in document["files"]] == [
        (1, {"misinformation": 1}),
        (1, {"lies": 1}),
    ]


def test_two_datasets_of_one_name_are_a_mistake(tmp_path: Path, inside: Inside) -> None:
    """A run could not tell them apart."""
    result = inside(shop_with(tmp_path, desk_yaml=GOOD, copy_yaml=GOOD), "datasets", "validate")
    assert result.code == 2
    assert "the dataset desk is also in config/datasets/copy.yaml" in result.out


def test_no_file_is_3_and_a_missing_one_is_2(tmp_path: Path, inside: Inside) -> None:
    """agentclash/agentclash#901: nothing to check is not fine."""
    shop = shop_with(tmp_path)
    nothing = inside(shop, "datasets", "validate")
    assert nothing.code == 3
    assert "No file matches jobs.noise.datasets: config/datasets/*.yaml" in nothing.out
    missing = inside(shop, "datasets", "validate", "nowhere.yaml")
    assert missing.code == 2
    assert "nowhere.yaml: no such dataset file" in missing.err


def test_a_recorded_call_becomes_a_case_masked_and_with_its_provenance(
    tmp_path: Path, inside: Inside
) -> None:
    """Question and answer without their secrets, the trace they come from, and not who asked."""
    shop = shop_with(tmp_path, desk_yaml=GOOD)
    with shop.store() as store:
        store.spans.add([agent_span(1, "Use the key sk-abcdefghijklmnop1234 for it.", start=YESTERDAY)])
    result = inside(shop, "datasets", "add", trace_id(1)[:12], "--id", "order", "--tag", "delivery")
    assert result.code == 0, result.err
    case = read_dataset(tmp_path / "config/datasets/desk.yaml").cases[-1]
    assert (case.id, case.query, case.tags) == ("order", "Where is order 1?", ("delivery",))
    assert case.baseline == "Use the key [masked] for it."
    assert (case.provenance["source"], case.provenance["trace_id"]) == ("trace", trace_id(1))
    assert case.provenance["masked"] is True
    text = (tmp_path / "config/datasets/desk.yaml").read_text(encoding="utf-8")
    assert text.startswith(GOOD), "what was there stays as it is"
    again = inside(shop, "datasets", "add", trace_id(1), "--id", "order")
    assert again.code == 2
    assert "a case 'order' is there already" in again.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("ffff",), "no trace begins with ffff"),
        (("hello",), "is no trace id"),
        ((trace_id(1), "--span", "ffff"), "choose with --span"),
    ],
)
def test_a_call_that_is_not_there_is_one_sentence(
    tmp_path: Path, inside: Inside, args: tuple[str, ...], says: str
) -> None:
    """And nothing is written."""
    shop = shop_with(tmp_path, desk_yaml=GOOD)
    with shop.store() as store:
        store.spans.add([agent_span(1, start=YESTERDAY)])
    result = inside(shop, "datasets", "add", *args)
    assert result.code == 2
    assert says in result.err
    assert (tmp_path / "config/datasets/desk.yaml").read_text(encoding="utf-8") == GOOD


def test_where_a_case_goes_must_be_clear(tmp_path: Path, inside: Inside) -> None:
    """With several datasets, or none, --to says it; a new file is made."""
    shop = shop_with(tmp_path, desk_yaml=GOOD, more_yaml="name: more\ncases: []\n")
    with shop.store() as store:
        store.spans.add([agent_span(1, start=YESTERDAY)])
    unclear = inside(shop, "datasets", "add", trace_id(1))
    assert unclear.code == 2
    assert "--to FILE says which dataset" in unclear.err
    made = inside(shop, "datasets", "add", trace_id(1), "--to", "new.jsonl", "--json")
    assert made.json["cases"] == 1
    assert read_dataset(tmp_path / "new.jsonl").cases[0].query == "Where is order 1?"
