"""The generations of Langfuse that people run, as far as they differ for a client."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """What one generation offers.

    ``dual`` and ``events`` (4.16.0) are held to recorded exchanges; ``v3`` and ``v4.59`` are built from the
    OpenAPI file and the SDK's client types and were never compared with a running server.
    """

    name: str
    version: str
    v1_reads: bool  # traces, observations, sessions, scores and v2/scores, dataset runs
    v2_reads: bool  # v2/observations, v3/scores, experiments
    score_lists: bool = False  # POST /scores takes a list
    keyed_by_day: bool = False  # a score is one by id and day of its timestamp, not by id alone
    equal_envelope_wins: bool = True  # an event of the same envelope time replaces the value

    @property
    def events_only(self) -> bool:
        return not self.v1_reads


MODES = {
    mode.name: mode
    for mode in (
        Mode("v3", "3.140.0", v1_reads=True, v2_reads=False),
        Mode("dual", "4.16.0", v1_reads=True, v2_reads=True),
        Mode("events", "4.16.0", v1_reads=False, v2_reads=True, equal_envelope_wins=False),
        Mode(
            "v4.59",
            "4.59.0",
            v1_reads=False,
            v2_reads=True,
            score_lists=True,
            keyed_by_day=True,
            equal_envelope_wins=False,
        ),
    )
}
