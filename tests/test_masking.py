"""What looks like a secret is blanked out, and ordinary text is not."""

import pickle
from collections.abc import Sequence

import pytest

from tracehooks.masking import SECRET_PATTERNS, judge_masker, masker

mask = masker(SECRET_PATTERNS)

SECRETS = [
    "sk-proj-abcdEFGH1234567890abcd",
    "sk-ant-api03-abcdEFGH1234567890",
    "sk-lf-12345678-1234-1234-1234-123456789012",
    "pk-lf-12345678-1234-1234-1234-123456789012",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0123456789_abcdefghijkl",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "key {} here", '{{"key": "{}"}}', "a={}\nb", "({})", "`{}`."])
def test_keys_of_many_issuers_are_masked(secret: str, around: str) -> None:
    """A key is blanked wherever it stands, and what is around it stays."""
    assert mask(around.format(secret)) == around.format("[masked]")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdef0123456789xyz==", "Authorization: Bearer [masked]"),
        ("authorization: basic dXNlcjpwYXNzd29yZDEyMw==", "authorization: basic [masked]"),
        ("postgresql+psycopg://bot:hunter2@db:5432/x", "postgresql+psycopg://bot:[masked]@db:5432/x"),
        ("redis://:p4ss@cache", "redis://:[masked]@cache"),
        ("API_KEY=abcdef123456", "API_KEY=[masked]"),
        ('{"password": "hunter22", "user": "bo"}', '{"password": "[masked]", "user": "bo"}'),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [masked]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nbye",
            "[masked]\nbye",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[masked]"),
    ],
)
def test_named_secrets_lose_their_value_only(text: str, masked: str) -> None:
    """Headers, connection strings, settings and keys in PEM: the name stays readable, the secret does not."""
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "You forgot your password again, you fool.",
        "Set the api_key in your settings.",
        "See https://example.com:8080/a?b=c and mail me at bo@example.com",
        "the risk-averse task-oriented desk-bound ask-me-anything session",
        "Basic understanding of bearer bonds",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "sk-8 is short",
    ],
)
def test_ordinary_text_is_untouched(text: str) -> None:
    """A judge must see what was said; only secrets are blanked."""
    assert mask(text) == text


def test_own_patterns_replace_a_match_or_its_secret_group() -> None:
    """A group named secret is what is blanked; without one the whole match is."""
    assert masker([r"\d{4}-\d{4}", r"id=(?P<secret>\w+)"])("1234-5678 id=ab7") == "[masked] id=[masked]"


def test_a_masker_can_be_pickled() -> None:
    """A judge, with its masker, crosses to worker processes."""
    assert pickle.loads(pickle.dumps(mask))(SECRETS[0]) == "[masked]"


def test_the_judges_setting_is_read() -> None:
    """secrets, none, or patterns of one's own; anything else is an error that says what is allowed."""
    secrets = judge_masker("secrets")
    own = judge_masker(("a+",))
    assert secrets is not None
    assert own is not None
    assert judge_masker("none") is None
    assert secrets(SECRETS[0]) == "[masked]"
    assert own("baab") == "b[masked]b"


@pytest.mark.parametrize("setting", ["all", "", "sk-.*", ["("], [7]])
def test_a_bad_setting_is_refused(setting: str | Sequence[str]) -> None:
    """A mask that cannot work is not taken for no mask."""
    with pytest.raises(ValueError, match="mask"):
        judge_masker(setting)


def test_masking_stays_fast_on_hostile_text() -> None:
    """No pattern backtracks without end: 200 kB of near-matches take no time worth a thought."""
    for piece in (
        "-----BEGIN PRIVATE KEY-----",
        "a://",
        "sk-",
        "eyJaaaaaaaa.",
        "password",
        "bearer ",
        "a://b:",
    ):
        mask(piece * (200_000 // len(piece)))
