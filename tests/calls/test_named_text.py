"""The text to judge where a team says it is."""

from pathlib import Path

import pytest

from tests.calls.making import native, span
from tracehooks.calls import SpanRecord, agent_calls
from tracehooks.calls.named_text import TextPath, with_named_text
from tracehooks.errors import ConfigurationError
from tracehooks.settings import load_settings


def _said(path: str, made: SpanRecord) -> tuple[str | None, str | None]:
    (call,) = agent_calls(with_named_text([made], TextPath.parse(path)))
    return call.output, call.text_source


@pytest.mark.parametrize(
    ("path", "output", "text"),
    [
        ("$.output.reply", {"reply": "Hello.", "note": "internal"}, "Hello."),
        ("$.output['the reply']", {"the reply": "Hello."}, "Hello."),
        ("$.output.parts[1].say", {"parts": [{"say": "one"}, {"say": "two"}]}, "two"),
        ("$.output.parts[-1].say", {"parts": [{"say": "one"}, {"say": "two"}]}, "two"),
        ("$.output.parts[*].say", {"parts": [{"say": "one"}, {"no": 1}, {"say": "two"}]}, "one\ntwo"),
        ("$.output.reply.text", {"reply": '{"text": "Hello."}'}, "Hello."),
        ("$.output.reply", {"reply": [{"role": "assistant", "content": "Hello."}]}, "Hello."),
        ("$.input.draft", {"reply": "x"}, "A draft."),
    ],
)
def test_a_path_says_where_the_text_is(path: str, output: object, text: str) -> None:
    """Keys, quoted keys, places, all places, and through JSON inside strings."""
    made = native("a", output=output, attributes={"tracehooks.input": '{"draft": "A draft."}'})
    assert _said(path, made) == (text, f"{path} (the setting text)")


def test_a_path_into_metadata_is_read() -> None:
    """Metadata that the application put onto its span counts as a place too."""
    made = native("a", output="no", attributes={"tracehooks.metadata": '{"answer": "From metadata."}'})
    assert _said("$.metadata.answer", made)[0] == "From metadata."


def test_where_the_path_leads_nowhere_the_usual_places_count() -> None:
    """A call of another shape is still judged by what it said."""
    assert _said("$.output.reply", native("a", output="Plain.")) == ("Plain.", "tracehooks.output")


def test_only_calls_are_looked_into() -> None:
    """The path is about the agent's own span, not about the steps below."""
    made = span("a", attributes={"gen_ai.operation.name": "chat", "gen_ai.completion": '{"reply": "x"}'})
    assert with_named_text([made], TextPath.parse("$.output.reply")) == [made]


@pytest.mark.parametrize(
    "path", ["output.reply", "$", "$.reply", "$.output..x", "$.output[x]", "$.output.a b", 7]
)
def test_a_bad_path_is_one_clear_error(path: object, tmp_path: Path) -> None:
    """The settings name file, line, key and an example."""
    file = tmp_path / "tracehooks.yaml"
    file.write_text(f"text: {path}\n" if path != "$.output.a b" else "text: '$.output.a b'\n")
    with pytest.raises(ConfigurationError, match=rf"{file}:1: text: .*no path such as \$.output.reply"):
        load_settings(file, {})
    if isinstance(path, str):
        with pytest.raises(ValueError, match="no path such as"):
            TextPath.parse(path)
