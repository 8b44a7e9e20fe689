"""Reading fields of values of unknown make without waking anything: no ``__getattr__``, no network."""

from typing import Any

from tracehooks.tracing.interrupts import let_through

INPUT_TOKENS = ("input_tokens", "prompt_tokens")
OUTPUT_TOKENS = ("output_tokens", "completion_tokens")


def field(value: Any, name: str) -> Any:
    """The entry of a dict or the attribute of an object; None when there is none. Never raises.

    Only what is stored in the object, or declared by its class, is looked at: an object that makes its
    attributes up when asked (a remote proxy, say) is not asked.
    """
    kind = type(value)
    try:
        if issubclass(kind, dict):
            return value.get(name)
        stored = object.__getattribute__(value, "__dict__")
        if name in stored:
            return stored[name]
    except BaseException as error:  # an object without a dictionary: its class may declare the field
        let_through(error)
    try:
        return getattr(value, name) if hasattr(kind, name) else None
    except BaseException as error:
        let_through(error)
        return None


def usage(value: Any) -> tuple[int | None, int | None] | None:
    """Input and output tokens of a reply or chunk shaped like OpenAI's; None when it does not say."""
    found = field(value, "usage")
    if found is None:
        return None
    tokens = _first_int(found, INPUT_TOKENS), _first_int(found, OUTPUT_TOKENS)
    return None if tokens == (None, None) else tokens


def _first_int(value: Any, names: tuple[str, ...]) -> int | None:
    for name in names:
        number = field(value, name)
        if type(number) is int and number >= 0:
            return number
    return None
