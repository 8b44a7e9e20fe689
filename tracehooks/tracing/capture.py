"""What is recorded of a call's arguments, result and exception: masked, within its limits, valid JSON.

A value that is too long for its attribute is replaced by a mark that is JSON itself and says so:
``{"truncated": true, "length": <bytes it had>, "preview": "<its beginning>"}``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracehooks.tracing.encode import CLIP, clean, dumps, encode, head, loads
from tracehooks.tracing.interrupts import let_through
from tracehooks.tracing.mask import Mask
from tracehooks.tracing.messages import input_messages, output_messages, user_argument
from tracehooks.tracing.stack import stack_lines

MAX_BYTES = 256_000  # the default of the setting capture.max_bytes
MAX_EXCEPTION_CHARS = 32_000  # of an exception's message, and of its stack trace
MAX_STATUS_CHARS = 2_000
MAX_LINE_CHARS = 8_000  # of one line of a stack trace

_MARK = '{"truncated":true,"length":%d,"preview":%s}'
_SHORT_MARKS = ('{"truncated":true}', "{}", "0")


# One captured value: the attribute, the messages' attribute if any, and the whole JSON if it had to be cut.
Recorded = tuple[str, str | None, str | None]


class Capture:
    """Turns values into attributes.

    ``mask`` is applied to each text, ``max_bytes`` bounds one value's JSON, ``max_chars`` is the attribute
    limit of the tracer provider (None: there is none), ``max_event_chars`` that for events.
    """

    def __init__(
        self,
        *,
        mask: Callable[[str], str] | None = None,
        max_bytes: int = MAX_BYTES,
        max_chars: int | None = None,
        max_event_chars: int | None = None,
    ) -> None:
        self.mask = None if mask is None else Mask(mask)
        self.max_bytes = max_bytes
        self.max_chars = max_chars
        self._room = max_bytes if max_chars is None else min(max_bytes, max_chars)
        self._event_room = min(MAX_EXCEPTION_CHARS, max_event_chars or MAX_EXCEPTION_CHARS)
        self._allowance = max(CLIP, 2 * max_bytes)
        # Texts up to this long surely fit, whatever their JSON must escape; -1: each must be looked at.
        self._surely = max_bytes // 6 - 200 if mask is None and max_chars is None else -1

    def input(self, arguments: Sequence[tuple[str, Any]], *, messages: bool) -> Recorded:
        """The JSON object of a call's arguments by name, and its input messages when asked for."""
        values: list[bytes] = []
        entries: list[bytes] = []
        missing = 0
        for name, value in arguments:
            encoded, lost = encode(value, self._allowance)
            if self.mask is not None:
                encoded = self.mask.json(encoded, name)
            missing += lost
            values.append(encoded)
            entries.append((_keys.get(name) or _key(name)).encode() + encoded)
        whole = b"{" + b",".join(entries) + b"}"
        said = user_argument(arguments) if messages else None
        text = whole.decode()
        if missing or not self._fits(text, len(whole)):
            spoken = values[said] if said is not None and type(arguments[said][1]) is str else None
            return self._cut(text, len(whole) + missing, spoken), None, text
        if said is None:
            return text, None, None
        return text, self._fitting(input_messages(arguments[said][1], values[said])), None

    def quoted(self, text: str) -> str | None:
        """The JSON of a text that surely fits and needs no mask; None for one that is not so simple."""
        if len(text) > self._surely:
            return None
        try:
            return dumps(text).decode()
        except TypeError:  # half a surrogate pair
            return None

    def output(self, value: Any, *, messages: bool, complete: bool = True, missing: int = 0) -> Recorded:
        """The JSON of a result, and its output messages when asked for.

        ``missing`` is how many bytes of the result were lost before. Only a complete one says why it stopped.
        """
        encoded, lost = encode(value, self._allowance)
        if self.mask is not None:
            encoded = self.mask.json(encoded)
        text, missing = encoded.decode(), missing + lost
        if missing or not self._fits(text, len(encoded)):
            return self._cut(text, len(encoded) + missing, encoded), None, text
        if not messages:
            return text, None, None
        return text, self._fitting(output_messages(value, encoded, complete=complete)), None

    def parts(self, chunks: Sequence[bytes], missing: int) -> Recorded:
        """The JSON list of chunks that are JSON already; ``missing`` bytes of them were not kept."""
        return self._whole(b"[" + b",".join(chunks) + b"]", missing)

    def mapping(self, value: Mapping[str, Any]) -> str:
        """The JSON object of a mapping, such as metadata."""
        return self._whole(*encode(dict(value), self._allowance))[0]

    def _whole(self, encoded: bytes, missing: int) -> Recorded:
        if self.mask is not None:
            encoded = self.mask.json(encoded)
        text = encoded.decode()
        if missing or not self._fits(text, len(encoded)):
            return self._cut(text, len(encoded) + missing, None), None, text
        return text, None, None

    def text(self, text: str, limit: int | None = None) -> str:
        """A plain text, such as a user id, masked and no longer than ``limit`` or the attribute limit."""
        text = clean(text)
        return self.shortened(text if self.mask is None else self.mask(text), limit)

    def shortened(self, text: str, limit: int | None = None) -> str:
        """``text``, no longer than ``limit`` or the attribute limit."""
        limit = self.max_chars if limit is None else limit
        return text if limit is None or len(text) <= limit else text[: max(0, limit - 1)] + "…"[:limit]

    def exception(self, error: BaseException) -> tuple[str, str]:
        """An exception's message and stack trace."""
        stack = "".join(head(line, MAX_LINE_CHARS) for line in stack_lines(error))
        return self.message(error, self._event_room), self._tail(stack)

    def message(self, error: BaseException, limit: int) -> str:
        """What an exception says of itself; empty when it says nothing or fails to."""
        try:
            said = str(error)
        except BaseException as problem:
            let_through(problem)
            return ""
        return self.text(head(said, MAX_EXCEPTION_CHARS), limit)

    def _tail(self, stack: str) -> str:
        """The end of a long stack trace: that is where the exception is."""
        stack, room = self.text(stack, len(stack) + 1), self._event_room
        return stack if len(stack) <= room else "…"[:room] + stack[len(stack) - max(0, room - 1) :]

    def _fitting(self, messages: bytes | None) -> str | None:
        if messages is None:
            return None
        text = messages.decode()
        return text if self._fits(text, len(messages)) else None

    def _cut(self, text: str, length: int, spoken: bytes | None) -> str:
        """The mark of a cut value; it shows the beginning of the text whose JSON is ``spoken``, if any."""
        preview = loads(spoken) if spoken is not None and spoken[:1] == b'"' else text
        left = self._room - len(_MARK % (length, '""'))
        if left < 0:
            return next((mark for mark in _SHORT_MARKS if len(mark) <= self._room), "0")
        start = preview[:left]
        while len(quoted := dumps(start)) - 2 > left:
            start = start[: min(len(start) - 1, len(start) * left // len(quoted))]
        return _MARK % (length, quoted.decode())

    def _fits(self, text: str, length: int) -> bool:
        return length <= self.max_bytes and (self.max_chars is None or len(text) <= self.max_chars)


_keys: dict[str, str] = {}


def _key(name: str) -> str:
    found = _keys.get(name)
    if found is None:
        found = dumps(clean(name)).decode() + ":"
        if len(_keys) < 10_000:  # parameter names are few, but the names in **kwargs may come from anywhere
            _keys[name] = found
    return found
