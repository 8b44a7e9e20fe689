"""`report --compare`: one dataset over several agents."""

from pathlib import Path

import pytest

from tests.cli.shop import Inside, Shop
from tests.noise_runs import Values, noise_run, steady
from tracehooks.records import Reason


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop.at(tmp_path)


def uneven(around: float) -> Values:
    """Questions that differ by 0.05 up and down."""
    return {
        (f"c{case}", name): [around + 0.05 * (-1) ** case] * 3
        for case in range(8)
        for name in ("lies", "typos")
    }


def test_agents_are_ranked_with_grades_and_intervals(shop: Shop, inside: Inside) -> None:
    """The latest run of each; the interval is over questions, the distance to the first is paired."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.1), agent="small")
        noise_run(store, 2, uneven(0.75), agent="small")
        noise_run(
            store, 3, {**uneven(0.9), ("c0", "lies"): [Reason.TIMEOUT] * 3}, agent="large", agent_version="2"
        )
    first, second = inside(shop, "report", "--compare", "--json").json["ranked"]
    assert (first["agent"], first["grade"], first["scored"], first["wanted"]) == ("large 2", "A", 45, 48)
    assert (second["agent"], second["grade"], second["mean"]) == ("small 1", "B", pytest.approx(0.75))
    assert first["low"] < first["mean"] < first["high"]
    # both agents find the same questions hard, so their distance is known better than either mean
    assert second["behind"]["mean"] == pytest.approx(0.15)
    assert second["behind"]["high"] - second["behind"]["low"] < 1e-6
    assert second["high"] - second["low"] == pytest.approx(0.0894, abs=1e-3)
    assert set(second["types"]) == {"lies", "typos"}
    shown = inside(shop, "report", "--compare").out
    assert shown.startswith("large 2 is first of 2 agents over shop by noise_sensitivity")
    markdown = inside(shop, "report", "--compare", "--markdown").out
    assert "| 2 | small 1 | B | 0.750 | 0.705 to 0.795 | 0.150 (0.150 to 0.150) | 48 of 48 |" in markdown


def test_what_was_asked_or_judged_otherwise_is_not_ranked_and_says_why(shop: Shop, inside: Inside) -> None:
    """MCPJam/inspector#4343: other questions and other judges make no ranking."""
    with shop.store() as store:
        noise_run(store, 1, steady(1.0), agent="other-judge", judge_model="judge-2020")
        noise_run(store, 2, steady(1.0), agent="other-questions", datasets={"shop": "bbbb"})
        noise_run(store, 3, steady(0.8), agent="now")
    document = inside(shop, "report", "--compare", "--json").json
    assert [one["agent"] for one in document["ranked"]] == ["now 1"]
    assert document["not_compared"] == [
        {
            "agent": "other-questions 1",
            "differences": ["dataset hash of shop: aaaa in the latest run, bbbb in this one"],
        },
        {
            "agent": "other-judge 1",
            "differences": ["judge model: judge-2026 in the latest run, judge-2020 in this one"],
        },
    ]
    assert "is the only one" in inside(shop, "report", "--compare").out


def test_an_agent_without_any_score_is_last_and_has_no_number(shop: Shop, inside: Inside) -> None:
    """HKUDS/LightRAG#4040: nothing measured is not 0."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.1), agent="poor")
        noise_run(store, 2, steady(Reason.UNREACHABLE), agent="unknown")
    ranked = inside(shop, "report", "--compare", "--json").json["ranked"]
    assert [(one["agent"], one["mean"], one["grade"]) for one in ranked] == [
        ("poor 1", pytest.approx(0.1), "F"),
        ("unknown 1", None, "–"),
    ]


def test_nothing_to_compare_is_3(shop: Shop, inside: Inside) -> None:
    """And a run or a page goes with a report of one run."""
    assert inside(shop, "report", "--compare").code == 3
    assert inside(shop, "report", "ffff", "--compare").code == 2
