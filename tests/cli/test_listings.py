"""`traces` and `scores`: the newest first, filtered, page by page without a gap or a repetition."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.shop import YESTERDAY, Inside, Shop
from tests.fake_openai import FakeOpenAI
from tests.stored import POLITE, agent_span, mixed, trace_id
from tracehooks.reports.wording import instant


def _traces(inside: Inside, shop: Shop, *args: str) -> list[str]:
    return [row["trace_id"] for row in inside(shop, "traces", *args, "--json").json["traces"]]


def test_the_newest_come_first(tmp_path: Path, inside: Inside) -> None:
    """Whoever looks wants to see what just happened."""
    shop = Shop.at(tmp_path, [POLITE] * 5)
    assert _traces(inside, shop) == [trace_id(n) for n in (4, 3, 2, 1, 0)]
    assert _traces(inside, shop, "--limit", "2") == [trace_id(4), trace_id(3)]


@pytest.mark.parametrize("verb", ["traces", "scores"])
def test_pages_hold_every_row_once_although_all_start_together(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside, verb: str
) -> None:
    """openstatusHQ/data-table-filters#84, colophon-group/jobseek#1337: a time alone is no cursor."""
    shop = Shop.at(tmp_path, url=judge.url)
    with shop.store() as store:
        store.spans.add([agent_span(n, f"{POLITE} {n}", start=YESTERDAY) for n in range(60)])
    inside(shop, "run", "toxicity")
    seen: list[str] = []
    after: list[str] = []
    while True:
        page = inside(shop, verb, "--limit", "25", *after, "--json").json
        seen += [row["trace_id"] for row in page[verb]]
        if page["next"] is None:
            break
        after = ["--after", page["next"]]
    assert len(seen) == len(set(seen)) == 60


def test_filters_of_traces(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """By name pattern, environment, time, score and status; all that are given must match."""
    shop = Shop.at(tmp_path, mixed(10, 1), url=judge.url)
    with shop.store() as store:
        start = YESTERDAY + timedelta(hours=2)
        store.spans.add([agent_span(50, None, start=start, name="sales-bot", environment="staging")])
    inside(shop, "run", "toxicity")
    between = instant(YESTERDAY + timedelta(hours=1))
    assert _traces(inside, shop, "--name", "sales-*") == [trace_id(50)]
    assert _traces(inside, shop, "--environment", "staging") == [trace_id(50)]
    assert _traces(inside, shop, "--from", between) == [trace_id(50)]
    assert len(_traces(inside, shop, "--to", between)) == 10
    assert len(_traces(inside, shop, "--score", "toxicity", "--status", "scored")) == 10
    assert _traces(inside, shop, "--status", "skipped") == [trace_id(50)]
    assert _traces(inside, shop, "--score", "thumbs") == []
    assert len(_traces(inside, shop, "--score", "thumbs", "--status", "none")) == 11
    assert inside(shop, "traces", "--name", "nobody").out == "No calls match.\n"


def test_filters_of_scores(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """By name, status and the scored call's time; a score of 0 is listed."""
    shop = Shop.at(tmp_path, [*mixed(10, 1), None], url=judge.url)
    inside(shop, "run", "toxicity")
    rows = inside(shop, "scores", "--status", "scored", "--name", "toxicity", "--json").json["scores"]
    assert sorted(row["value"] for row in rows) == [0.0] * 9 + [0.9]
    (skipped,) = inside(shop, "scores", "--status", "skipped", "--json").json["scores"]
    assert (skipped["value"], skipped["reason_code"]) == (None, "no_text")
    assert inside(shop, "scores", "--from", "1h", "--json").json["scores"] == []
    assert len(inside(shop, "scores", "--from", "48h", "--json").json["scores"]) == 11


def test_a_trace_id_of_a_table_can_be_explained(tmp_path: Path, inside: Inside) -> None:
    """What a listing shows is enough to go on with."""
    shop = Shop.at(tmp_path, [POLITE] * 30)
    row = inside(shop, "traces", "--limit", "1").out.splitlines()[2]
    shown = next(word for word in row.split() if len(word) == 12)
    assert inside(shop, "explain", shown, "--json").json["trace_id"] == trace_id(29)


def test_pruning_takes_old_texts_and_keeps_the_account(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside
) -> None:
    """Spans and texts go; scores, runs and counts stay."""
    shop = Shop.at(tmp_path, mixed(20, 1), url=judge.url)
    inside(shop, "run", "toxicity")
    kept = inside(shop, "traces", "prune", "--older-than", "3650d")
    assert kept.out.startswith("Deleted 0 spans")
    pruned = inside(shop, "traces", "prune", "--older-than", "0s", "--json").json
    assert pruned["pruned_spans"] == 20
    status = inside(shop, "status", "--json").json["store"]
    assert (status["spans"], status["calls"], status["scores"], status["runs"]) == (0, 0, 20, 1)
    assert inside(shop, "report", "--json").json["counts"]["scored"] == 20
