"""A noise case from a call that was recorded: a real question, and the answer it got as its baseline."""

from collections.abc import Callable, Sequence

from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase
from tracehooks.noise.flat import slug
from tracehooks.records import AgentCall


def case_from_call(
    call: AgentCall,
    mask: Callable[[str], str] | None,
    *,
    case_id: str | None = None,
    tags: Sequence[str] = (),
) -> NoiseCase:
    """The case that ``call`` makes, masked, with its provenance; it has no variants yet.

    ``mask`` is applied to question and answer (``tracehooks.masking`` makes one); None means that the call's
    texts may be kept as they are. Who asked, and in which session, is not taken over. Raises
    ConfigurationError when the call has no question or no answer, was cut short, or ended in an error.
    """
    problem = _problem(call)
    if problem:
        raise ConfigurationError(
            f"trace {call.trace_id}: {problem}, so it cannot be a case; choose another call"
        )
    masked = mask or _as_it_is
    query, baseline = masked(call.input or ""), masked(call.output or "")
    return NoiseCase(
        id=case_id or f"{slug(query)}-{call.trace_id[:6]}",
        query=query,
        baseline=baseline,
        tags=tuple(tags),
        provenance={
            "source": "trace",
            "trace_id": call.trace_id,
            "span_id": call.span_id,
            "agent": call.name,
            **({"version": call.version} if call.version else {}),
            "environment": call.environment,
            "recorded": call.start.isoformat(),
            "masked": mask is not None,
        },
    )


def _as_it_is(text: str) -> str:
    return text


def _problem(call: AgentCall) -> str:
    if call.error is not None:
        return f"the call ended in an error ({call.error})"
    if not (call.input and call.input.strip()):
        return "the call has no question in text form"
    if not call.has_text:
        return "the call has no answer in text form"
    return "the recorded text was cut short" if call.truncated else ""
