"""Generated variants: the same bytes for a seed, noise that leaves the question answerable, nothing twice."""

import hashlib
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracehooks.errors import ConfigurationError
from tracehooks.facts import Facts
from tracehooks.facts.quantities import quantities
from tracehooks.noise.cases import NoiseCase
from tracehooks.noise.claims import misinformation, sentences, templates
from tracehooks.noise.dice import Dice
from tracehooks.noise.emitting import as_json, variant_document
from tracehooks.noise.generating import CHANGED, SAID, TYPES, generate_variants
from tracehooks.noise.surface import casing, lookalikes, typos, whitespace

CASE = NoiseCase(
    id="warranty",
    query="How long is the warranty for a router?",
    baseline="Headphones and routers have a warranty of 24 months. Coffee machines have 36 months.",
)
CHAT = replace(
    CASE,
    query=[
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I bought a router. How long is it?"},
    ],
)


def as_bytes(case: NoiseCase, seed: int, per_type: int = 2) -> bytes:
    made = generate_variants(case, seed=seed, per_type=per_type).variants
    return as_json([variant_document(variant) for variant in made]).encode()


def test_a_seed_gives_the_same_bytes_in_every_process_and_version() -> None:
    """Pinned: another machine, hash seed or Python version writes the same file."""
    digest = hashlib.sha256(as_bytes(CASE, 7)).hexdigest()
    code = "from tests.noise.test_generating import *; print(hashlib.sha256(as_bytes(CASE, 7)).hexdigest())"
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (
        other.stdout.strip() == digest == "846d6dca4d3e2b7d331f7bd04fc041b49b1dbed44d290e7ba7f29085554b79c9"
    )
    assert as_bytes(CASE, 8) != as_bytes(CASE, 7)


def test_every_type_is_made_for_a_text_and_for_chat_messages() -> None:
    """As many as were asked for; in a conversation only the question changes."""
    for case in (CASE, CHAT):
        made = generate_variants(case, seed=1, per_type=3)
        assert made.impossible == ()
        assert sorted({variant.noise_type for variant in made.variants}) == sorted(TYPES)
        assert len(made.variants) >= 3 * len(TYPES) - 3
    for variant in generate_variants(CHAT, seed=1).variants:
        assert variant.content[0] == CHAT.query[0]
        assert variant.content[1]["role"] == "user"
        assert variant.content != CHAT.query


def test_what_a_case_gets_does_not_depend_on_other_types_or_variants() -> None:
    """So that one more type, case or variant leaves the diff of the others empty."""
    whole = generate_variants(CASE, seed=3, per_type=2).variants
    alone = generate_variants(CASE, seed=3, per_type=2, noise_types=["typos"]).variants
    assert alone == tuple(variant for variant in whole if variant.noise_type == "typos")
    grown = replace(CASE, variants=alone)
    rest = generate_variants(grown, seed=3, per_type=2).variants
    assert rest == tuple(variant for variant in whole if variant.noise_type != "typos")


def test_generating_again_adds_nothing() -> None:
    """And no two variants ask the same or have one id."""
    made = generate_variants(CASE, seed=5, per_type=4).variants
    assert generate_variants(replace(CASE, variants=made), seed=5, per_type=4).variants == ()
    assert (
        len({variant.id for variant in made}) == len({repr(variant.content) for variant in made}) == len(made)
    )


def test_variants_are_tagged_and_say_where_they_come_from() -> None:
    """A review, and a later night, can tell them from those that people wrote."""
    for variant in generate_variants(CASE, seed=5).variants:
        assert variant.tags == ("generated",)
        assert variant.provenance == {"by": "tracehooks variants generate", "version": 1, "seed": 5}
        assert variant.id.startswith(f"{variant.noise_type}-")


@pytest.mark.parametrize("carrier", ["turn", "document", "tool:lookup_order"])
def test_what_is_said_can_sit_elsewhere(carrier: str) -> None:
    """In an earlier turn, a document or a tool's output; the question stays clean."""
    made = generate_variants(CASE, seed=2, carrier=carrier).variants
    assert {variant.noise_type for variant in made if variant.carrier == carrier} == set(SAID)
    assert {variant.noise_type for variant in made if variant.carrier == "query"} == set(CHANGED)
    assert all(CASE.question not in variant.content for variant in made if variant.carrier == carrier)


def test_an_unknown_type_is_an_error_that_names_those_known() -> None:
    """A slip is not an empty result."""
    with pytest.raises(ConfigurationError, match=r"'typo' cannot be generated; known are misinformation, "):
        generate_variants(CASE, seed=1, noise_types=["typo"])


def test_what_cannot_be_made_is_told() -> None:
    """A question without letters has no typos, casing or look-alikes."""
    made = generate_variants(NoiseCase(id="n", query="24 + 36 = ?"), seed=1)
    assert made.impossible == ("typos", "casing", "lookalikes")


# Each kind


@pytest.mark.parametrize("seed", range(30))
def test_misinformation_states_a_wrong_figure_and_never_the_right_one(seed: int) -> None:
    """From the sentence that answers the question, with a figure that the baseline does not hold."""
    claim = misinformation(CASE.question, CASE.baseline, Dice(seed))
    right = Facts.read({"must_contain": [{"number": 24, "unit": "months"}]})
    assert "Headphones and routers have a warranty of" in claim
    assert not right.check(claim).found
    assert {value for one in quantities(claim) for value in one.values}.isdisjoint({24.0, 36.0})


@pytest.mark.parametrize(
    "baseline",
    [
        None,
        "Yes, you can.",
        "Ring 0113 496 0100.",
        "From 8:00 to 20:00.",
        "It has version 2.1.3.",
        "Maße: 24 cm",
    ],
)
def test_without_a_figure_that_can_be_wrong_it_is_a_rumour(baseline: str | None) -> None:
    """Phone numbers, times and versions are no figures to play with."""
    assert misinformation("q", baseline, Dice(1)) in templates()["misinformation"]["rumours"]


def letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())


_questions = st.text(st.sampled_from("abcdefgh XYZ 0123456789.,?éß"), min_size=1, max_size=60)


@given(_questions, st.integers(0, 1000))
def test_typos_leave_figures_and_first_letters_alone(text: str, seed: int) -> None:
    """A typo in 24 would be another question."""
    noisy = typos(text, Dice(seed))
    if noisy is not None:
        assert re.findall(r"\d+", noisy) == re.findall(r"\d+", text)
        assert [word[0] for word in noisy.split()] == [word[0] for word in text.split()]


@given(_questions, st.integers(0, 1000))
def test_casing_and_white_space_change_nothing_else(text: str, seed: int) -> None:
    """The same letters, in the same order."""
    cased = casing(text, Dice(seed))
    assert cased is None or (cased != text and cased.casefold() == text.casefold())
    spaced = whitespace(text, Dice(seed))
    assert spaced is not None
    assert "".join(spaced.split()) == "".join(text.split())


@given(_questions, st.integers(0, 1000))
def test_lookalikes_leave_figures_alone_and_hold_other_characters(text: str, seed: int) -> None:
    """What looks the same is not the same."""
    noisy = lookalikes(text, Dice(seed))
    if noisy is not None:
        assert noisy != text
        assert re.findall("[0-9]+", noisy) == re.findall("[0-9]+", text)
        assert {unicodedata.name(letter, "?").split()[0] for letter in set(noisy) - set(text)} <= {
            *("CYRILLIC", "GREEK", "FULLWIDTH", "ZERO", "WORD", "SOFT"),
        }


def test_reordered_sentences_are_all_there_and_the_question_is_not_last() -> None:
    """One sentence alone gets company."""
    text = "I bought a router. It came today. How long is the warranty?"
    case = replace(CASE, query=text)
    for variant in generate_variants(case, seed=4, noise_types=["reordered"], per_type=3).variants:
        assert sorted(sentences(variant.content)) == sorted(sentences(text))
        assert not variant.content.endswith("warranty?")
    (alone,) = generate_variants(CASE, seed=4, noise_types=["reordered"]).variants
    assert len(sentences(alone.content)) == 3
    assert CASE.query in alone.content


def test_padding_keeps_the_question_word_for_word() -> None:
    """Between two long stretches."""
    (variant,) = generate_variants(CASE, seed=4, noise_types=["padded"]).variants
    assert f"\n\n{CASE.query}\n\n" in variant.content
    assert len(variant.content) > 500


def test_templates_are_many_and_none_is_there_twice() -> None:
    """And each fills its place."""
    found = templates()
    lists = [
        *found["misinformation"].values(),
        found["distractors"],
        found["adversarial"],
        found["context"],
        *found["padding"].values(),
    ]
    for texts in lists:
        assert len(texts) == len(set(texts)) >= 3
    assert all("{claim}" in source for source in found["misinformation"]["sources"])


def test_dice_draw_evenly_and_by_their_seed_alone() -> None:
    """Two with one seed agree, another seed differs, all outcomes come."""
    assert [Dice("a", 1).below(6) for _ in range(3)] == [Dice("a", 1).below(6)] * 3
    dice = Dice("b")
    counts = [0] * 6
    for _ in range(6000):
        counts[dice.below(6)] += 1
    assert min(counts) > 850
    assert sorted(dice.shuffled("abcdef")) == list("abcdef")
    assert sum(dice.chance(0.2) for _ in range(1000)) in range(140, 260)
