"""`explain`: for each way that a call can go there is an answer, found by any way of writing the id."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shop import Inside, Shop
from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.stored import POLITE, RUDE, agent_span, mixed, trace_id


def _answer(inside: Inside, shop: Shop, trace: str) -> Any:
    (call,) = inside(shop, "explain", trace, "--json").json["calls"]
    (answer,) = call["answers"]
    return answer


@pytest.fixture
def night(tmp_path: Path, inside: Inside) -> Shop:
    """A night over 60 calls, 40 of them drawn; the judge fails on some, some are silent, one is young."""
    outputs = [*mixed(50, 3), *[None] * 10]
    with FakeOpenAI(ToxicWords(failing=0.3)) as judge:
        shop = Shop.at(tmp_path, outputs, url=judge.url, job="sample: {size: 40}")
        text = (tmp_path / "tracehooks.yaml").read_text()
        (tmp_path / "tracehooks.yaml").write_text(text.replace("settle: 0s", "settle: 1h"))
        with shop.store() as store:
            store.spans.add([agent_span(99, start=datetime.now(UTC) - timedelta(minutes=1))])
        inside(shop, "run", "toxicity")
    return shop


def test_every_call_of_a_night_has_an_answer(night: Shop, inside: Inside) -> None:
    """Scored, unscored, skipped, sampled out, deferred: each says why, and what to do."""
    answers = {n: _answer(inside, night, trace_id(n)) for n in (*range(60), 99)}
    seen = {answer["outcome"] for answer in answers.values()}
    assert seen == {"scored", "unscored", "skipped", "sampled_out", "deferred"}
    assert all(answer["why"] for answer in answers.values())
    assert all(answer["next"] for answer in answers.values() if answer["outcome"] != "scored")
    assert answers[99]["outcome"] == "deferred"
    run = inside(night, "report", "--json").json["counts"]
    for outcome in ("sampled_out", "deferred", "scored"):
        assert run[outcome] == sum(answer["outcome"] == outcome for answer in answers.values())
    sentences = {answer["why"] for answer in answers.values()}
    assert "not drawn: the run's sample was 40 among 60 calls" in sentences
    assert "counts as clean: not above the threshold of 0" in sentences
    assert any(why.startswith("the agent said nothing that could be judged") for why in sentences)


@pytest.mark.parametrize("write", [str, str.upper, lambda text: text[:9], lambda text: f" {text} "])
def test_an_id_may_be_written_in_many_ways(tmp_path: Path, inside: Inside, write: Any) -> None:
    """Whole, upper case, its beginning, with blanks."""
    shop = Shop.at(tmp_path, [POLITE, RUDE])
    assert inside(shop, "explain", write(trace_id(1)), "--json").json["trace_id"] == trace_id(1)


def test_a_uuid_is_taken_and_the_form_is_told(tmp_path: Path, inside: Inside) -> None:
    """Some tools show trace ids with dashes."""
    import uuid

    shop = Shop.at(tmp_path, [POLITE])
    result = inside(shop, "explain", str(uuid.UUID(trace_id(0))), "--json")
    assert result.json["trace_id"] == trace_id(0)
    assert "in lower case and without dashes" in result.err


def test_an_ambiguous_beginning_names_the_candidates(tmp_path: Path, inside: Inside) -> None:
    """And shows none of them."""
    shop = Shop.at(tmp_path, [POLITE] * 40)
    first = trace_id(0)[0]
    result = inside(shop, "explain", first)
    assert result.code == 2
    assert f"several traces begin with {first}" in result.err


def test_an_unknown_trace_is_3(tmp_path: Path, inside: Inside) -> None:
    """Nothing known is no answer, and no error of the user's either."""
    shop = Shop.at(tmp_path, [POLITE])
    result = inside(shop, "explain", "f" * 32)
    assert result.code == 3
    assert "nothing is stored about this trace" in result.out
    beginning = inside(shop, "explain", "fffff")
    assert beginning.code == 3
    assert "no trace begins with fffff" in beginning.out
    assert inside(shop, "explain", "fffff", "--json").json["known"] is False
    assert inside(shop, "explain", "xyz").code == 2
