"""What is known of a traced function from its decoration on."""

from collections.abc import Callable
from typing import Any

from tracehooks.tracing import semconv
from tracehooks.tracing.parameters import Parameters
from tracehooks.tracing.provider import Recording


class Spec:
    """Name, kind and options of a traced function, and the attributes that all its spans share."""

    __slots__ = (
        *(
            "attributes",
            "capture_input",
            "capture_output",
            "control_flow",
            "hooks",
            "is_agent",
            "kind",
            "name",
        ),
        *("parameters", "reduce", "speaks", "version", "made", "made_for"),
    )

    def __init__(
        self,
        name: str,
        kind: semconv.Kind,
        parameters: Parameters,
        *,
        capture_input: bool = True,
        capture_output: bool = True,
        control_flow: tuple[type[BaseException], ...] = (),
        hooks: tuple[Any, ...] = (),
        reduce: Callable[[list[Any]], Any] | None = None,
        version: str | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.parameters = parameters
        self.capture_input = capture_input
        self.capture_output = capture_output
        self.control_flow = control_flow
        self.hooks = hooks
        self.reduce = reduce
        self.version = version
        self.is_agent = kind == "agent"
        self.speaks = kind in ("agent", "generation")
        self.attributes = _own_attributes(name, kind, version)
        self.made: dict[str, Any] = {}
        self.made_for: Recording | None = None

    def make_for(self, recording: Recording) -> dict[str, Any]:
        """What every span of the function carries from its creation on; kept in ``made`` for a recording.

        Never masked: these are the program's own words, and what a span is known by.
        """
        shortened = recording.capture.shortened
        own = {name: shortened(value) for name, value in self.attributes.items()}
        self.made, self.made_for = {**own, **recording.base}, recording
        return self.made


def _own_attributes(name: str, kind: semconv.Kind, version: str | None) -> dict[str, str]:
    attributes = {semconv.OPERATION_NAME: semconv.OPERATIONS[kind], semconv.KIND: kind}
    if kind in semconv.NAMES:
        attributes[semconv.NAMES[kind]] = name
    if version is not None:
        attributes[semconv.AGENT_VERSION if kind == "agent" else semconv.VERSION] = version
    return attributes
