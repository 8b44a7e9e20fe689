"""`reference bless|show|diff|rejudge|load`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shop import Inside, Shop
from tests.cli.test_ci_walk import DIMENSIONS
from tests.fake_openai import FakeOpenAI, block
from tests.noise_runs import noise_run, steady
from tracehooks.noise.reading import read_dataset
from tracehooks.reference import reference_for

KEY = {"project": "shop", "agent": "shop", "score_name": "noise_sensitivity"}
DATASET = """\
name: shop
cases:
  - id: c0
    query: Which?
    baseline: "answer of c0 worth 0.9"
    variants: [{id: lies-1, noise_type: lies, content: "Lies?"}]
  - id: c1
    query: What?
    baseline: "something else"
    variants: [{id: lies-1, noise_type: lies, content: "Lies!"}]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop.at(tmp_path)


def said(result: Any) -> str:
    return " ".join((result.out + result.err).split())


def test_blessing_says_what_it_took_and_show_says_it_again(shop: Shop, inside: Inside) -> None:
    """Who, when, which runs of how many, under which conditions."""
    with shop.store() as store:
        runs = [noise_run(store, day, steady()) for day in (1, 2, 3)]
    result = inside(shop, "reference", "bless", "--by", "ada")
    assert result.code == 0, result.err
    assert result.out.startswith("Blessed. reference ")
    shown = inside(shop, "reference", "show")
    for text in (
        "number 1: shop 1, noise_sensitivity",
        "by ada",
        f"runs: {', '.join(run.id for run in runs)} (3 of 3 comparable runs since the blessing before)",
        "144 of 144 scored, 9 answers to each variant at least",
        "mean: lies 0.9, typos 0.9",
        "datasets: shop aaaa",
        "judge: judge-2026, prompt p1; scorer version v1",
    ):
        assert text in said(shown)
    assert "LEFT OUT" not in shown.out


def test_the_best_of_several_is_refused_and_a_choice_is_shown_loudly(shop: Shop, inside: Inside) -> None:
    """With a reason it goes, and the reason stays."""
    with shop.store() as store:
        bad, good = noise_run(store, 1, steady(0.5, repeats=9)), noise_run(store, 2, steady(repeats=9))
    refused = inside(shop, "reference", "bless", good.id)
    assert refused.code == 2
    assert bad.id in refused.err
    assert inside(shop, "reference", "show").code == 3
    assert inside(shop, "reference", "bless", good.id, "--left-out-because", "no index").code == 0
    assert f"LEFT OUT: {bad.id}: no index" in said(inside(shop, "reference", "show"))


def test_few_repeats_need_a_yes(shop: Shop, inside: Inside) -> None:
    """It says how many there are, and what to do."""
    with shop.store() as store:
        noise_run(store, 1, steady())
    refused = inside(shop, "reference", "bless")
    assert refused.code == 2
    assert "add up to 3 answers to each variant" in refused.err
    assert inside(shop, "reference", "bless", "--fewer").code == 0


def test_no_run_and_no_reference_are_said(shop: Shop, inside: Inside) -> None:
    """Each with the next step."""
    assert "no finished noise run to bless; `tracehooks run noise`" in inside(shop, "reference", "bless").err
    shown = inside(shop, "reference", "show")
    assert (shown.code, shown.out[:27]) == (3, "No reference is blessed yet")
    assert inside(shop, "reference", "show", "--json").json["reference"] is None
    assert inside(shop, "reference", "rejudge").code == 3
    assert inside(shop, "reference", "diff").code == 2


def test_a_reference_goes_through_a_file_into_another_store(
    shop: Shop, tmp_path: Path, inside: Inside
) -> None:
    """As CI does it; loading twice keeps one, and another project's is refused."""
    with shop.store() as store:
        noise_run(store, 1, steady(repeats=9))
    inside(shop, "reference", "bless")
    (tmp_path / "reference.json").write_text(
        inside(shop, "reference", "show", "--json").out, encoding="utf-8"
    )
    (tmp_path / "ci").mkdir()
    other = Shop.at(tmp_path / "ci")
    for _ in range(2):
        loaded = inside(other, "reference", "load", "../reference.json")
        assert loaded.code == 0, loaded.err
    with shop.store() as here, other.store() as there:
        assert reference_for(there, **KEY) == reference_for(here, **KEY)
        assert len(there.references.history(project="shop")) == 1
        noise_run(there, 2, steady(0.5))
    assert inside(other, "gate").code == 1
    document = json.loads((tmp_path / "reference.json").read_text(encoding="utf-8"))
    for text, says in (
        (json.dumps({**document, "project": "other"}), "it is a reference of the project 'other'"),
        ("{}", "this is no reference"),
        ("[", "is not JSON"),
        ('{"form": NaN}', "NaN is no number"),
        (json.dumps({**document, "rows": [{**document["rows"][0], "value": "0.9"}]}), "this is no reference"),
    ):
        (tmp_path / "bad.json").write_text(text, encoding="utf-8")
        refused = inside(other, "reference", "load", "../bad.json")
        assert refused.code == 2
        assert says in refused.err
        assert "bad.json" in refused.err


def test_no_secret_goes_into_a_reference(shop: Shop, inside: Inside) -> None:
    """The file is for git: what an agent let slip is blanked."""
    with shop.store() as store:
        noise_run(store, 1, steady(repeats=9))
    with (shop.folder / "tracehooks.yaml").open("a") as file:
        file.write("mask: {patterns: ['worth [0-9.]+']}\n")
    inside(shop, "reference", "bless")
    document = inside(shop, "reference", "show", "--json").json
    assert {row["answer"] for row in document["rows"]} == {f"answer of c{n} [masked]" for n in range(8)}


def test_history_is_kept(shop: Shop, inside: Inside) -> None:
    """A second blessing takes the place of the first and does not overwrite it."""
    with shop.store() as store:
        noise_run(store, 1, steady(repeats=9))
        inside(shop, "reference", "bless")
        # after the blessing, which is now
        noise_run(store, 40_000, steady(repeats=9))
    assert inside(shop, "reference", "bless").code == 0
    listed = inside(shop, "reference", "show", "--all", "--json").json
    assert [one["number"] for one in listed] == [2, 1]
    first = inside(shop, "reference", "show", listed[1]["id"][:8])
    assert "number 1" in first.out


def test_diff_lists_what_moved_case_by_case(shop: Shop, tmp_path: Path, inside: Inside) -> None:
    """The largest loss first; in the terminal, as JSON and as Markdown."""
    with shop.store() as store:
        noise_run(store, 1, steady(repeats=9))
        inside(shop, "reference", "bless")
        run = noise_run(
            store,
            2,
            {**steady(), ("c2", "lies"): [0.4] * 3, ("c5", "typos"): [0.1] * 3, ("c0", "lies"): [1.0] * 3},
        )
    result = inside(shop, "reference", "diff", "--markdown", "diff.md")
    assert result.code == 0
    assert result.out.startswith("2 variants got worse, 1 better, 0 have no score on one side.")
    first, second, third = (result.out.index(f"  {case}  ") for case in ("c5", "c2", "c0"))
    assert first < second < third
    document = inside(shop, "reference", "diff", run.id[:8], "--json").json
    assert [(one["case"], round(one["lost"], 2)) for one in document["moved"]] == [
        ("c5", 0.8),
        ("c2", 0.5),
        ("c0", -0.1),
    ]
    markdown = (tmp_path / "diff.md").read_text(encoding="utf-8")
    assert "| +0.80 | 0.9 | 0.1 | typos | c5 | typos-1 | `answer of c5 worth 0.9` |" in markdown


def test_diff_under_other_conditions_is_3_and_names_them(shop: Shop, inside: Inside) -> None:
    """Nothing is listed that cannot be compared."""
    with shop.store() as store:
        noise_run(store, 1, steady(repeats=9))
        inside(shop, "reference", "bless")
        noise_run(store, 2, steady(0.5), judge_model="judge-2027")
    result = inside(shop, "reference", "diff")
    assert result.code == 3
    assert "Cannot be compared: judge model: judge-2026 in the reference, judge-2027" in said(result)
    assert "What moved" not in result.out


def judged(body: dict[str, Any]) -> dict[str, Any]:
    """Finds an answer right that is the baseline."""
    good = block(body["messages"], "response") == block(body["messages"], "baseline_response")
    level = "none" if good else "severe"
    dimensions = [{"dimension": name, "impact_level": level} for name in DIMENSIONS]
    return {"dimensions": dimensions, "major_issues": [], "robustness_score": float(good), "reason": "read"}


def test_rejudging_makes_a_run_of_todays_judge_comparable(tmp_path: Path, inside: Inside) -> None:
    """The stored answers get today's judge; the gate then decides, and the former reference is kept."""
    (tmp_path / "config" / "datasets").mkdir(parents=True)
    path = tmp_path / "config" / "datasets" / "shop.yaml"
    path.write_text(DATASET, encoding="utf-8")
    values = {("c0", "lies"): [0.9] * 9, ("c1", "lies"): [0.9] * 9}
    datasets = {"shop": read_dataset(path).hash}
    with FakeOpenAI(judged) as judge:
        shop = Shop.at(tmp_path, url=judge.url)
        with shop.store() as store:
            noise_run(store, 1, values, datasets=datasets, scorer_version="old", judge_model="judge-2020")
            assert inside(shop, "reference", "bless").code == 0
            result = inside(shop, "reference", "rejudge", "--by", "bob")
            assert result.code == 0, result.err
            assert judge.count == 18
            found = reference_for(store, **KEY)
            assert found is not None
            assert (found.number, found.origin, found.conditions.judge_model) == (2, "rejudged", "judge-2026")
            assert {(row.case, row.value) for row in found.noise_rows} == {("c0", 1.0), ("c1", 0.0)}
            now = found.conditions.as_dict()
            noise_run(
                store,
                2,
                values,
                **{key: now[key] for key in ("scorer_version", "prompt_hash")},
                datasets=datasets,
            )
        assert "incomparable" not in inside(shop, "gate").out


def test_rejudging_with_a_judge_that_is_down_stores_nothing(tmp_path: Path, inside: Inside) -> None:
    """Exit 3, with the reason; the reference stays as it was."""
    (tmp_path / "config" / "datasets").mkdir(parents=True)
    path = tmp_path / "config" / "datasets" / "shop.yaml"
    path.write_text(DATASET, encoding="utf-8")
    shop = Shop.at(tmp_path)
    with shop.store() as store:
        values = {("c0", "lies"): [0.9] * 9, ("c1", "lies"): [0.9] * 9}
        noise_run(store, 1, values, datasets={"shop": read_dataset(path).hash})
        inside(shop, "reference", "bless")
        result = inside(shop, "reference", "rejudge")
        assert result.code == 3
        assert "only 0 of 18 answers could be judged (unreachable 18)" in said(result)
        assert len(store.references.history(project="shop")) == 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not JSON"),
        (b"\x89PNG\r\n\x1a\n\x00", "is not JSON"),
        (b"name: a dataset\n", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'["a", "list"]', "it holds a list"),
        (b'{"verdict": "pass"}', "it has no 'form'"),
        (b'{"form": 1}', "it has no 'project'"),
        (b'{"form": 1, "project": "shop", "conditions": []}', "is of another kind"),
        (b'{"form": "0"}', "another version"),
    ],
)
def test_a_file_that_is_no_reference_is_refused_in_one_sentence(
    shop: Shop, inside: Inside, content: bytes, why: str
) -> None:
    """It names the file, what is missing, and what makes a reference; not an exception of ours."""
    (shop.folder / "foreign.json").write_bytes(content)
    refused = inside(shop, "reference", "load", "foreign.json")
    assert refused.code == 2
    assert refused.err.startswith("tracehooks: foreign.json: ")
    assert why in refused.err
    assert "`tracehooks reference show --json` writes" in refused.err or "pip install" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert "Error" not in refused.err
