"""The demo's stored data is whole and says of itself what is true."""

import re
from collections import Counter
from importlib.resources import files

from tracehooks.demo.data import messages, orders, passages, phrasings


def test_every_message_has_an_id_of_its_own() -> None:
    """Messages are numbered m001 to m300, so that a call's metadata leads back to exactly one."""
    assert [message.id for message in messages()] == [f"m{number:03d}" for number in range(1, 301)]


def test_no_message_is_asked_twice() -> None:
    """Every text that has words is there once."""
    counts = Counter(message.text for message in messages() if message.text.strip())
    assert [text for text, count in counts.items() if count > 1] == []


def test_messages_are_of_all_kinds() -> None:
    """Questions, orders, hostility, chatter, other languages and silence all occur."""
    kinds = Counter(message.kind for message in messages())
    expected = Counter(message.expect for message in messages())
    assert set(kinds) == {"question", "order", "hostile", "off_topic", "language", "silent"}
    assert kinds["hostile"] >= 30
    assert min(kinds.values()) >= 9
    assert expected == {"answer": 286, "silent": 9, "bad": 5}


def test_a_session_belongs_to_one_user_and_one_channel() -> None:
    """All messages of a session come from the same user through the same channel."""
    sessions: dict[str, set[tuple[str, str]]] = {}
    for message in messages():
        sessions.setdefault(message.session, set()).add((message.user, message.channel))
    assert all(len(owners) == 1 for owners in sessions.values())
    assert {channel for owners in sessions.values() for _, channel in owners} == {"chat", "email"}


def test_the_readme_lists_the_bad_messages() -> None:
    """The table in config/demo/README.md names the ids of the bad answers and no others."""
    readme = files("tracehooks.config").joinpath("demo", "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (m\d{3}) \|", readme, flags=re.MULTILINE)
    assert listed == [message.id for message in messages() if message.expect == "bad"]


def test_knowledge_is_read_paragraph_by_paragraph() -> None:
    """Headings give title, tone and language; the introduction is no knowledge."""
    found = passages()
    assert len(found) > 120
    assert {passage.language for passage in found} == {"en", "de", "fr", "es"}
    assert not [passage for passage in found if passage.text.startswith("#") or "{" in passage.title]
    assert "invented" not in found[0].text


def test_every_mood_tone_and_state_has_its_phrases() -> None:
    """Whatever a reply needs is stored: openings and closings for each manner, lines for each order."""
    said = phrasings()
    manners = {"plain", *said.moods, *(passage.tone for passage in passages())}
    assert manners <= set(said.openings)
    assert manners <= set(said.closings)
    assert {"plain", "other", *said.moods, *said.languages} - {"en"} <= set(said.unknown)
    assert {"unknown", *(order.state for order in orders().values())} == set(said.orders)
