"""Variants by a model: kept only when a second question says that the right answer is still right."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import FakeOpenAI
from tracehooks.errors import ConfigurationError
from tracehooks.judges import OpenAIJudge
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.documents import read_document
from tracehooks.noise.model_written import Doubt, Written, write_variants
from tracehooks.noise.quarantine import add_to_quarantine, quarantine_path
from tracehooks.noise.reading import read_datasets
from tracehooks.protocols import Question
from tracehooks.testing import ScriptedJudge

CASE = NoiseCase(id="warranty", query="How long is the warranty?", baseline="24 months.")
GOOD = "My uncle swears it is 36 months. How long is the warranty?"
BAD = "How long is the warranty for a car?"


def written(*queries: str) -> dict[str, Any]:
    return {"variants": [{"query": query, "noise": "an uncle"} for query in queries]}


def script(question: Question) -> Any:
    """A model that writes three variants and finds fault with one of them."""
    if question.name == "write_variants":
        return written(GOOD, BAD, "How  long is the WARRANTY?!")
    same = "car" not in question.material["noisy_question"]
    return {
        "same_answer": "yes" if same else "no",
        "reason": "It still asks for the warranty." if same else "A car.",
    }


def run(judge: Any, case: NoiseCase = CASE, **more: Any) -> Written:
    return asyncio.run(
        write_variants(case, judge, noise_types=more.pop("noise_types", ["misinformation"]), **more)
    )


def test_what_passes_the_check_is_kept_and_the_rest_is_in_quarantine_with_its_reason() -> None:
    """One that asks something else, one that is the clean question."""
    found = run(ScriptedJudge(script), per_type=3)
    (kept,) = found.variants
    assert (kept.content, kept.noise_type, kept.carrier) == (GOOD, "misinformation", "query")
    assert kept.tags == ("generated", "model-written")
    assert kept.provenance == {"by": "tracehooks variants generate", "model": "scripted", "noise": "an uncle"}
    assert [(one.doubt, one.detail, one.variant.content) for one in found.quarantined] == [
        (Doubt.CHANGED_ANSWER, "A car.", BAD),
        (Doubt.NO_NOISE, "it is the clean question", "How  long is the WARRANTY?!"),
    ]
    assert found.failures == {}


def test_question_and_answer_are_material_and_the_check_sees_no_wish_of_the_writer() -> None:
    """Two questions: one to write, one for each variant, none of them with the text in the instructions."""
    judge = ScriptedJudge(script)
    run(judge, per_type=1)
    write, check = judge.questions
    assert dict(write.material) == {
        "question": "How long is the warranty?",
        "right_answer": "24 months.",
        "noise_type": "misinformation",
        "how_many": "1",
    }
    assert dict(check.material) == {
        "question": "How long is the warranty?",
        "right_answer": "24 months.",
        "noisy_question": GOOD,
    }
    assert "24 months" not in write.instructions + check.instructions


def test_a_variant_that_could_not_be_checked_is_in_quarantine() -> None:
    """A judge that fails vouches for nothing."""
    found = run(ScriptedJudge([written(GOOD), TimeoutError()]))
    assert found.variants == ()
    (one,) = found.quarantined
    assert one.doubt is Doubt.NOT_CHECKED
    assert one.detail.startswith("timeout")


@pytest.mark.parametrize(
    "reply", [{"variants": []}, {"variants": [{"query": " "}]}, {"variants": "x"}, {}, ConnectionError()]
)
def test_a_type_for_which_nothing_was_written_says_why(reply: Any) -> None:
    """Malformed twice, or the model out of reach."""
    found = run(ScriptedJudge(lambda _question: reply))
    assert (found.variants, found.quarantined) == ((), ())
    assert list(found.failures) == ["misinformation"]
    assert found.failures["misinformation"].split(":")[0] in ("malformed", "unreachable")


def test_what_is_there_already_is_left_out() -> None:
    """Apart from case, spacing and punctuation; across noise types too."""
    there = NoiseVariant(id="v", noise_type="misinformation", content=GOOD.upper() + " ")
    judge = ScriptedJudge(
        lambda question: written(GOOD) if question.name == "write_variants" else script(question)
    )
    assert run(judge, replace(CASE, variants=(there,))).variants == ()
    assert len(run(judge, noise_types=["misinformation", "adversarial"]).variants) == 1


def test_in_a_conversation_the_question_is_replaced() -> None:
    """What was said before stays."""
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How long is the warranty?"},
    ]
    (kept,) = run(ScriptedJudge(script), replace(CASE, query=chat), per_type=1).variants
    assert kept.content == [chat[0], {"role": "user", "content": GOOD}]


def test_without_a_baseline_nothing_can_stay_right() -> None:
    """The message says what to do."""
    with pytest.raises(ConfigurationError, match="no baseline; `tracehooks baseline capture`"):
        run(ScriptedJudge([]), replace(CASE, baseline=None))


def test_over_http_it_is_two_requests_for_one_variant() -> None:
    """With a real client and server."""
    replies = [written(GOOD), {"same_answer": "yes", "reason": ""}]
    with FakeOpenAI(replies) as server:
        found = run(OpenAIJudge("m", server.url), per_type=1)
        assert len(server.requests) == 2
    assert [variant.content for variant in found.variants] == [GOOD]


def test_the_quarantine_file_is_beside_its_dataset_and_no_dataset(tmp_path: Path) -> None:
    """Readable, added to once for each variant, and never replayed."""
    dataset = tmp_path / "desk.yaml"
    dataset.write_text("cases: []\n")
    found = run(ScriptedJudge(script), per_type=3).quarantined
    assert add_to_quarantine(dataset, found[:1]) == 1
    assert add_to_quarantine(dataset, found) == 1
    assert add_to_quarantine(dataset, found) == 0
    path = quarantine_path(dataset)
    assert path == tmp_path / "desk.quarantine.yaml"
    entries = read_document(path).data
    assert [(entry["case"], entry["reason"], entry["detail"]) for entry in entries] == [
        ("warranty", "changed_answer", "A car."),
        ("warranty", "no_noise", "it is the clean question"),
    ]
    assert entries[0]["variant"]["content"] == BAD
    assert [one.name for one in read_datasets(["*.yaml"], tmp_path)] == ["desk"]
