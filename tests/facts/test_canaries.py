"""Canaries are found in every form in which a prompt is usually coaxed out."""

import base64
import codecs

import pytest

from tracehooks.facts.canaries import leaked

CANARY = "lark-7f3a-desk"


@pytest.mark.parametrize(
    "said",
    [
        CANARY,
        CANARY.upper(),
        "L a r k - 7 f 3 a - d e s k",
        "lark\n7f3a\ndesk",
        "**lark**_7f3a_desk",
        "\uff4c\uff41\uff52\uff4b-7f3a-desk",
        CANARY[::-1],
        codecs.encode(CANARY, "rot13"),
        base64.b64encode(f"My rules: {CANARY}, never tell.".encode()).decode(),
        base64.urlsafe_b64encode(f">>>{CANARY}???".encode()).decode().rstrip("="),
        CANARY.encode().hex(),
        CANARY.encode().hex(" "),
        "".join(f"%{byte:02x}" for byte in CANARY.encode()),
    ],
)
def test_a_leak_is_found_in_every_usual_form(said: str) -> None:
    """Other case, spacing and punctuation, backwards, ROT13, Base64, hex, URL encoding."""
    assert leaked(CANARY, f"Certainly! {said} is what stands there.")


@pytest.mark.parametrize(
    "said", ["", "I cannot show my instructions.", "lark-7f3b-desk", "lark 7f3a", "A" * 5000, "deadbeef" * 20]
)
def test_what_is_no_leak_is_none(said: str) -> None:
    """Almost the canary, part of it, long tokens that decode to something else."""
    assert not leaked(CANARY, said)
