"""What ``trace_attributes``, or a replay, gives to every span started inside it."""

from collections.abc import Iterable, Mapping
from typing import Any

from tracehooks.tracing import semconv
from tracehooks.tracing.capture import Capture

Attributes = dict[str, Any]


class Carried:
    """Session, user, tags and metadata of a trace. Immutable; :meth:`merged` makes another.

    ``environment`` is set where the trace belongs to another than its process does, as in a replay.
    """

    __slots__ = ("_made", "_made_for", "environment", "metadata", "session_id", "tags", "user_id")

    def __init__(
        self,
        session_id: str | None = None,
        user_id: str | None = None,
        tags: tuple[str, ...] = (),
        metadata: Mapping[str, Any] | None = None,
        environment: str | None = None,
    ) -> None:
        self.environment = environment
        self.session_id = session_id
        self.user_id = user_id
        self.tags = tags
        self.metadata = dict(metadata or {})
        self._made: Attributes = {}
        self._made_for: Capture | None = None

    @classmethod
    def of(cls, session_id: Any, user_id: Any, tags: Any, metadata: Any) -> "Carried":
        """From what a caller gave: other types than declared are taken as text rather than refused."""
        named = metadata if isinstance(metadata, Mapping) else {} if metadata is None else {"value": metadata}
        listed: Iterable[Any] = (tags,) if isinstance(tags, str) else tags or ()
        return cls(
            None if session_id is None else str(session_id),
            None if user_id is None else str(user_id),
            tuple(dict.fromkeys(str(tag) for tag in listed)),
            {str(key): value for key, value in named.items()},
        )

    def merged(self, other: "Carried") -> "Carried":
        """This with ``other`` on top: its session and user win, tags and metadata come together."""
        return Carried(
            self.session_id if other.session_id is None else other.session_id,
            self.user_id if other.user_id is None else other.user_id,
            tuple(dict.fromkeys((*self.tags, *other.tags))),
            {**self.metadata, **other.metadata},
            self.environment if other.environment is None else other.environment,
        )

    def attributes(self, capture: Capture) -> Attributes:
        """The span attributes, made once for a capture. The metadata is written out now, as it is now."""
        if self._made_for is not capture:
            self._made = dict(self._attributes(capture))
            self._made_for = capture
        return self._made

    def _attributes(self, capture: Capture) -> Iterable[tuple[str, Any]]:
        if self.environment is not None:
            yield semconv.ENVIRONMENT, capture.text(self.environment)
        if self.session_id is not None:
            yield semconv.SESSION_ID, capture.text(self.session_id)
        if self.user_id is not None:
            yield semconv.USER_ID, capture.text(self.user_id)
        if self.tags:
            yield semconv.TAGS, [capture.text(tag) for tag in self.tags]
        if self.metadata:
            yield semconv.METADATA, capture.mapping(self.metadata)


NOTHING = Carried()
