"""Sampling: decided from the trace id alone, nested, and exact at its edges."""

import hashlib

import pytest

from tracehooks.sampling import Sampler, checked_rate, equal_shares, in_sample, sample_by_rate, sampling_key

TRACES = [hashlib.sha256(str(n).encode()).hexdigest()[:32] for n in range(2000)]


def _sampler(size: int | None = None, rate: float | None = None, rejected: list[str] | None = None, **more):  # type: ignore[no-untyped-def]
    return Sampler[str](
        salt="toxicity",
        trace_id=lambda item: item.partition("/")[0],
        tie=lambda item: item.partition("/")[2],
        size=size,
        rate=rate,
        rejected=(rejected if rejected is not None else []).append,
        **more,
    )


def _draw(items: list[str], **more) -> list[str]:  # type: ignore[no-untyped-def]
    sampler = _sampler(**more)
    for item in items:
        sampler.offer(item)
    return [draw.item for draw in sampler.drawn()]


def test_the_key_is_the_first_six_bytes_of_the_salted_hash() -> None:
    """The rule that every process must follow alike, computed here by other means."""
    digest = hashlib.sha256(b"toxicity" + TRACES[0].encode()).hexdigest()
    assert sampling_key(TRACES[0], "toxicity") == int(digest[:12], 16)


def test_a_rate_of_zero_draws_nothing_and_of_one_everything() -> None:
    """langfuse/langfuse-python#1784, DataDog/dd-trace-py#1935, PostHog/posthog#27909: 0 is not unset."""
    assert sample_by_rate(TRACES, 0.0) == []
    assert sample_by_rate(TRACES, 0) == []
    assert sample_by_rate(TRACES, 1.0) == TRACES
    assert sample_by_rate(TRACES, 1) == TRACES


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan"), float("inf"), "half", "0.5", True, False, None])
def test_a_rate_that_is_none_is_refused(rate: object) -> None:
    """Nothing but a number from 0 to 1 is a rate."""
    with pytest.raises(ValueError, match="from 0 to 1"):
        checked_rate(rate)


def test_a_smaller_rate_lies_inside_a_larger_one() -> None:
    """So raising a rate never drops a trace."""
    assert set(sample_by_rate(TRACES, 0.1)) < set(sample_by_rate(TRACES, 0.3))


def test_a_rate_draws_about_its_share() -> None:
    """Within five standard deviations."""
    drawn = len(sample_by_rate(TRACES, 0.3, "x"))
    assert abs(drawn - 600) < 5 * (2000 * 0.3 * 0.7) ** 0.5


def test_another_salt_draws_other_traces() -> None:
    """The night does not draw what the hooks drew."""
    assert set(sample_by_rate(TRACES, 0.1)) != set(sample_by_rate(TRACES, 0.1, "toxicity"))


def test_a_sample_of_n_holds_the_n_smallest_keys_in_any_order_of_arrival() -> None:
    """The sample is a function of the traces, not of the paging."""
    smallest = sorted(TRACES, key=lambda trace: sampling_key(trace, "toxicity"))[:50]
    assert _draw(TRACES, size=50) == smallest
    assert _draw(TRACES[::-1], size=50) == smallest
    assert _draw(TRACES, size=20) == smallest[:20]


def test_everything_that_is_not_drawn_is_rejected_once() -> None:
    """Drawn and rejected together are the stream."""
    rejected: list[str] = []
    drawn = _draw(TRACES, size=50, rejected=rejected)
    assert sorted(drawn + rejected) == sorted(TRACES)


def test_siblings_of_a_trace_are_drawn_together_by_rate() -> None:
    """Two calls of a trace share its key."""
    items = [f"{trace}/{n}" for trace in TRACES for n in "ab"]
    drawn = _draw(items, rate=0.2)
    assert {item[:-1] + "a" for item in drawn} == {item for item in drawn if item.endswith("a")}
    assert len(drawn) == 2 * len(sample_by_rate(TRACES, 0.2, "toxicity"))


@pytest.mark.parametrize(("size", "rate"), [(0, None), (None, 0.0)])
def test_a_sample_of_nothing_rejects_everything(size: int | None, rate: float | None) -> None:
    """Size 0 is a size."""
    rejected: list[str] = []
    assert _draw(TRACES, size=size, rate=rate, rejected=rejected) == []
    assert len(rejected) == len(TRACES)
    assert in_sample(TRACES[0], 0.0) is False


def test_neither_size_nor_rate_takes_everything() -> None:
    """A census, each with probability one."""
    sampler = _sampler()
    for trace in TRACES:
        sampler.offer(trace)
    drawn = sampler.drawn()
    assert len(drawn) == len(TRACES)
    assert {draw.probability for draw in drawn} == {1.0}


def test_a_draws_probability_is_its_share_of_what_was_seen() -> None:
    """50 of 2000."""
    sampler = _sampler(size=50)
    for trace in TRACES:
        sampler.offer(trace)
    assert {draw.probability for draw in sampler.drawn()} == {50 / 2000}


def test_strata_share_the_size_and_keep_their_own_probability() -> None:
    """A rare agent is not drowned by a busy one."""
    rejected: list[str] = []
    names = {trace: "rare" if n < 10 else "busy" for n, trace in enumerate(TRACES)}
    sampler = _sampler(size=100, rejected=rejected, stratum=names.__getitem__)
    for trace in TRACES:
        sampler.offer(trace)
    drawn = sampler.drawn()
    by_name = {name: [d for d in drawn if d.stratum == name] for name in ("rare", "busy")}
    assert (len(by_name["rare"]), len(by_name["busy"])) == (10, 90)
    assert {d.probability for d in by_name["rare"]} == {1.0}
    assert {d.probability for d in by_name["busy"]} == {90 / 1990}
    assert len(rejected) == 2000 - 100


def test_shares_add_up_to_the_total_or_to_all_there_is() -> None:
    """Small groups give what they cannot use to the others."""
    assert equal_shares({"a": 2, "b": 100, "c": 100}, 52) == {"a": 2, "b": 25, "c": 25}
    assert sum(equal_shares({"a": 2, "b": 3}, 52).values()) == 5
    assert sum(equal_shares({"a": 50, "b": 50, "c": 50}, 100).values()) == 100
    assert equal_shares({}, 10) == {}
