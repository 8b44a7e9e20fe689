"""What servers say, in words for a person."""

import pytest

from tracehooks.posts import plain_words


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("come\n back   later", "come back later"),
        ("<p>5 &lt; 6 &amp; so</p>", "5 < 6 & so"),
        ("<html><style>a{b:c}", ""),
        ("<html><!-- <p>not this</p> --><p>this", "this"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("x" * 300, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_what_a_server_said_is_one_short_line_without_tags(said: str, words: str) -> None:
    """A page's tags, comments, styles and scripts are left out; a plain text stays what it is."""
    assert plain_words(said) == words
