"""The help-desk agent: what it answers, and that it always answers the same."""

import hashlib
import os
import subprocess
import sys

import pytest

from tracehooks.demo import answer, stream
from tracehooks.demo.data import Message, messages, phrasings
from tracehooks.demo.knowledge import words

DIGEST = """
import hashlib
from tracehooks.demo import answer
from tracehooks.demo.data import messages
print(hashlib.sha256("\\n".join(answer(message.text) for message in messages()).encode()).hexdigest())
"""

FACTS = [
    ("How many days do I have to return a device?", "30 days"),
    ("How long is the warranty for a router?", "24 months"),
    ("How long is the warranty on a coffee machine?", "36 months"),
    ("When is your phone line open?", "8:00 to 20:00"),
    ("What does the Brew Pro cost?", "349 pounds"),
    ("How much are the Pulse Buds?", "79 pounds"),
    ("What does express delivery cost?", "8.95 pounds"),
    ("How long are gift cards valid?", "24 months"),
    ("When will I get my refund?", "5 working days"),
    ("How often should I descale the coffee machine?", "8 weeks"),
    ("Desk hangs on my Mac. How do I kill the process?", "kill the process"),
    ("Wie lange ist die Garantie auf eine Kaffeemaschine?", "36 Monate"),
    ("Where is my order 10482?", "Friday"),
]


@pytest.mark.parametrize(("question", "fact"), FACTS, ids=[fact for _, fact in FACTS])
def test_facts_are_answered(question: str, fact: str) -> None:
    """A question about a fact of the knowledge file or an order gets that fact."""
    assert fact in answer(question)


def test_a_fact_is_found_in_a_long_story() -> None:
    """What is asked may stand in a story about something else."""
    story = "We moved house, the cat is hiding behind a wardrobe, and I can't find a single paper."
    assert "24 months" in answer(f"{story} How long is the warranty for a router? It rains, too.")


def test_what_the_file_does_not_know_gets_no_invented_answer() -> None:
    """A question about something else is turned away with a stored phrase."""
    assert answer("What is the capital of Peru?") in phrasings().unknown["plain"]
    assert answer("注文した商品はまだ届いていません。") in phrasings().unknown["other"]


def test_an_order_that_is_not_in_the_book_is_not_made_up() -> None:
    """An unknown order number is named back, with no state."""
    assert "99120" in answer("Order 99120?")
    assert "on its way" not in answer("Order 99120?")


@pytest.mark.parametrize("message", [m for m in messages() if m.expect == "silent"], ids=lambda m: m.id)
def test_it_is_silent_where_there_is_nothing_to_say(message: Message) -> None:
    """Empty messages, emoji and /watch get no text, at once or streamed."""
    assert answer(message.text) == ""
    assert list(stream(message.text)) == []


def test_every_other_message_is_answered() -> None:
    """No message that expects an answer is left without one."""
    assert [m.id for m in messages() if m.expect != "silent" and len(answer(m.text)) < 15] == []


def test_the_bad_answers_are_exactly_the_known_ones() -> None:
    """The faulty rule's phrases come back for the five bad messages, each once, and for no other."""
    mirrored = set(phrasings().mirror.values())
    bad = {message.id: answer(message.text) for message in messages() if answer(message.text) in mirrored}
    assert set(bad) == {message.id for message in messages() if message.expect == "bad"}
    assert set(bad.values()) == mirrored


def test_all_other_answers_keep_the_customers_words_out() -> None:
    """No other answer holds a word of abuse, though some customers do."""
    abuse = phrasings().moods["hostile"]
    rude = {m.id: abuse & set(words(answer(m.text))) for m in messages() if m.expect == "answer"}
    assert {id: found for id, found in rude.items() if found} == {}


def test_answers_are_varied() -> None:
    """Nearly every message has an answer of its own, as calls in production do."""
    texts = [answer(message.text) for message in messages() if message.expect != "silent"]
    assert len(set(texts)) > 0.9 * len(texts)


def test_pieces_join_to_the_answer() -> None:
    """The streamed pieces, more than one for a sentence, are the answer."""
    for message in messages():
        assert "".join(stream(message.text)) == answer(message.text)
    assert len(list(stream("How long is the warranty for a router?"))) > 3


def test_the_same_question_gets_the_same_answer_in_every_process() -> None:
    """Nothing depends on the process: another hash seed gives the same three hundred answers."""
    mine = hashlib.sha256("\n".join(answer(m.text) for m in messages()).encode()).hexdigest()
    environ = {**os.environ, "PYTHONHASHSEED": "4711"}
    other = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environ, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == mine
