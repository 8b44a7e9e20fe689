import math
import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from tests.store.making import ALWAYS, START, Clock, agent_span, call, scored, span_id, trace_id, unscored
from tracehooks.errors import InvalidScoreError, StoreError
from tracehooks.records import Reason, Score, Status, TraceRef, score_id
from tracehooks.store import CallFilter, ScoreRecord, Store, open_store

DAY = timedelta(days=1)


def commit(store: Store, *records: ScoreRecord, sinks: tuple[str, ...] = ()) -> list[bool]:
    return store.scores.commit(records, project="shop", sinks=sinks)


def test_judging_again_on_another_day_updates_one_score(store: Store, clock: Clock) -> None:
    """Two nights are one score; only a rescore changes it, with a new revision, and history keeps all.

    langfuse/langfuse#13823, tinyhumansai/tinyagents#53
    """
    commit(store, scored(1, 0.2, run_id="night-1"), sinks=("jsonl",))
    clock.pass_(days=1)
    assert commit(store, scored(1, 0.7, run_id="night-2"), sinks=("jsonl",)) == [True]
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.value, score.revision, score.run_id) == (0.2, 1, "night-1")
    commit(store, scored(1, 0.7, run_id="night-3", scorer_version="v2", rescore=True), sinks=("jsonl",))
    (score,) = store.scores.of_trace(trace_id(1))
    assert score.id == score_id("shop", trace_id(1), span_id(1), "toxicity")
    assert (score.value, score.revision, score.scorer_version) == (0.7, 2, "v2")
    assert score.call_start == call(1).start
    history = store.scores.history(score.id)
    assert [(past.value, past.revision, past.run_id) for past in history] == [
        (0.2, 1, "night-1"),
        (0.7, 1, "night-2"),
        (0.7, 2, "night-3"),
    ]
    assert history[-1] == score
    assert store.outbox.counts() == {"jsonl": {"pending": 1}}


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.0, 5e-324, 1e308])
def test_the_ends_of_a_range_are_numbers_like_others(store: Store, value: float) -> None:
    """0 and 1 are stored, listed and read back as floats (langfuse/langfuse#7626)."""
    commit(store, scored(1, value))
    (score,) = store.scores.page("toxicity", "scored")
    assert score.value == value
    assert type(score.value) is float
    assert [stored.value for stored in store.scores.in_window("toxicity", *ALWAYS)] == [value]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_becomes_a_number(store: Store, value: float) -> None:
    """NaN and infinities are refused by the record, and by the database should anything get past it.

    anvia-hq/anvia#440, microsoft/PyRIT#2703
    """
    with pytest.raises(InvalidScoreError):
        scored(1, value)
    record = scored(1, 0.5)
    object.__setattr__(record.score, "value", value)
    with pytest.raises(StoreError, match=r"CHECK|check constraint") as caught:
        commit(store, record)
    assert isinstance(caught.value.__cause__, IntegrityError)
    assert store.scores.page() == []


def test_values_of_every_type_read_back_as_what_they_are(store: Store) -> None:
    """Numbers and truths are floats, categories and texts are strings, and False is not nothing."""
    commit(
        store,
        scored(1, 0.25, "number"),
        scored(1, False, "truth", data_type="BOOLEAN"),
        scored(1, "0.4", "category", data_type="CATEGORICAL"),
        scored(1, "a \ud83e\x00 b", "words", data_type="TEXT"),
        scored(1, "better", "correction", data_type="CORRECTION"),
    )
    values = {score.name: score.value for score in store.scores.of_trace(trace_id(1))}
    assert values == {
        "number": 0.25,
        "truth": 0.0,
        "category": "0.4",
        "words": "a \ufffd\ufffd b",
        "correction": "better",
    }
    assert type(values["truth"]) is float


def test_a_failure_never_replaces_a_score(store: Store) -> None:
    """Unscored and skipped results go to the history only, once a value is there; rescore or not."""
    commit(store, unscored(1, "timeout"))
    commit(store, unscored(1, "refused"))
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.status, score.reason_code, score.value) == (Status.UNSCORED, Reason.REFUSED, None)
    commit(store, scored(1, 0.0), sinks=("jsonl",))
    assert commit(store, unscored(1, "quota", rescore=True), sinks=("jsonl",)) == [True]
    skipped = ScoreRecord(score=Score.skipped("toxicity", "no_text"), call=call(1), rescore=True)
    commit(store, skipped, sinks=("jsonl",))
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.status, score.value, score.revision) == (Status.SCORED, 0.0, 1)
    statuses = [past.status.value for past in store.scores.history(score.id)]
    assert statuses == ["unscored", "unscored", "scored", "unscored", "skipped"]
    assert store.outbox.counts() == {"jsonl": {"pending": 1}}


def test_results_without_a_value_are_not_sent(store: Store) -> None:
    """Sinks get scores; a failure is not one."""
    commit(store, unscored(1), scored(2), sinks=("jsonl", "otel", "jsonl"))
    assert store.outbox.counts() == {"jsonl": {"pending": 1}, "otel": {"pending": 1}}


def test_many_results_are_one_transaction(store: Store) -> None:
    """When one of a group cannot be written none is, and nothing is sent."""
    broken = scored(2, 0.5)
    object.__setattr__(broken.score, "value", math.nan)
    with pytest.raises(StoreError, match=r"CHECK|check constraint"):
        commit(store, scored(1), broken, scored(3), sinks=("jsonl",))
    assert store.scores.page() == []
    assert store.outbox.counts() == {}


def test_the_same_call_twice_in_one_group_is_two_entries(store: Store) -> None:
    """Results of one group count in the order given."""
    commit(store, scored(1, 0.1), scored(1, 0.2), scored(1, 0.3, rescore=True), unscored(1))
    (score,) = store.scores.of_trace(trace_id(1))
    assert (score.value, score.revision) == (0.3, 2)
    assert [past.value for past in store.scores.history(score.id)] == [0.1, 0.2, 0.3, None]


def test_a_score_finds_its_call_in_the_store(store: Store) -> None:
    """Feedback by address alone gets the call's start, name and environment."""
    resource = {"deployment.environment.name": "production"}
    store.spans.add([agent_span(1, resource=resource)])
    here, nowhere = TraceRef(trace_id(1), span_id(1)), TraceRef(trace_id(2), span_id(2))
    score = Score.scored("thumbs", 1.0)
    commit(store, *(ScoreRecord(score=score.at(ref), source="feedback") for ref in (here, nowhere)))
    known, unknown = store.scores.of_trace(trace_id(1))[0], store.scores.of_trace(trace_id(2))[0]
    assert (known.call_start, known.call_name) == (START + timedelta(seconds=1), "support")
    assert (known.environment, known.source) == ("production", "feedback")
    assert (unknown.call_start, unknown.call_name, unknown.environment) == (START, "", "default")


def test_a_score_about_nothing_is_refused(store: Store) -> None:
    """Neither target nor call: a mistake of the caller, told at once."""
    with pytest.raises(ValueError, match="thumbs: a score needs a target"):
        commit(store, ScoreRecord(score=Score.scored("thumbs", 1.0)))


def test_metadata_and_comment_survive(store: Store) -> None:
    """Provenance reads back; what JSON cannot hold does not cost the score."""
    metadata = {"prompt": [{"role": "user", "content": "hé \ud83e"}], "usage": {"n": 2**70}, "x": math.nan}
    commit(store, scored(1, comment="toxic: \ud83e\x00", metadata=metadata, probability=0.1, source="hook"))
    (score,) = store.scores.of_trace(trace_id(1))
    assert score.comment == "toxic: \ufffd\ufffd"
    assert score.metadata == {
        "prompt": [{"role": "user", "content": "hé \ufffd"}],
        "usage": {"n": str(2**70)},
        "x": None,
    }
    assert (score.probability, score.source) == (0.1, "hook")
    assert score.score == Score.scored(
        "toxicity", 0.5, comment=score.comment, metadata=score.metadata, target=score.ref
    )


def test_pages_of_scores_hold_each_once(store: Store) -> None:
    """Scores of calls of one timestamp come in pages, each once, in both directions."""
    commit(store, *(scored(number, call=call(number, start=START)) for number in range(1, 121)))
    for newest_first in (False, True):
        seen: list[str] = []
        page = store.scores.page(limit=50, newest_first=newest_first)
        while page:
            seen += [score.id for score in page]
            page = store.scores.page(after=page[-1].key, limit=50, newest_first=newest_first)
        assert len(seen) == len(set(seen)) == 120
        assert seen == sorted(seen, reverse=newest_first)


def test_pages_ask_for_name_status_and_window(store: Store) -> None:
    """All conditions hold together; the window is over the call's start."""
    commit(store, scored(1), unscored(2), scored(3), scored(4, name="other"))
    second = timedelta(seconds=1)

    def found(*args: object, **more: object) -> list[int]:
        return [int(score.span_id, 16) for score in store.scores.page(*args, **more)]  # type: ignore[arg-type]

    assert found() == [1, 2, 3, 4]
    assert found("toxicity") == [1, 2, 3]
    assert found("toxicity", Status.UNSCORED) == [2]
    assert found(start=START + 2 * second, end=START + 4 * second) == [2, 3]
    assert found(status="scored", limit=2) == [1, 3]


def test_a_window_of_scores_outlives_its_calls(store: Store) -> None:
    """The verdict of a window can be repeated, with its filters, after its calls were pruned."""
    for number in range(1, 5):
        tags = {"tracehooks.tags": ["beta" if number % 2 else "pro"], "user.id": f"u-{number}"}
        store.spans.add([agent_span(number, attributes=tags)])
    commit(store, *(scored(1, call=stored) for stored in store.calls.iterate()))
    store.spans.prune(START + DAY)
    assert store.calls.count() == 0

    def found(filters: CallFilter | None) -> list[int]:
        return [int(s.span_id, 16) for s in store.scores.in_window("toxicity", *ALWAYS, filters)]

    assert found(None) == [1, 2, 3, 4]
    assert found(CallFilter(tags=("beta",))) == [1, 3]
    assert found(CallFilter(user_id=("u-2",), name=("supp*",))) == [2]
    assert found(CallFilter(exclude_environments=("default",))) == []


def test_a_window_of_scores_goes_through_all_pages(store: Store) -> None:
    """A mean over a window is over all of it."""
    for first in range(1, 1203, 400):
        commit(store, *(scored(number) for number in range(first, min(first + 400, 1203))))
    assert sum(1 for _ in store.scores.in_window("toxicity", *ALWAYS)) == 1202


def test_scores_of_calls_are_looked_up_in_batches(store: Store) -> None:
    """Only those of the name and the addresses asked for, however many."""
    commit(store, *(scored(number) for number in range(1, 700)), scored(700, name="other"))
    refs = [TraceRef(trace_id(number), span_id(number)) for number in range(2, 702)]
    refs.append(TraceRef(trace_id(1), span_id(999)))
    found = store.scores.of_calls(refs, "toxicity")
    assert found.keys() == {(trace_id(number), span_id(number)) for number in range(2, 700)}


def test_an_unknown_id_has_no_score(store: Store) -> None:
    """None, and no history."""
    assert store.scores.get("0" * 32) is None
    assert store.scores.history("0" * 32) == []
    assert commit(store) == []


def test_a_score_reads_as_a_number_to_other_programs(sqlite_url: str) -> None:
    """A person with sqlite3 finds real numbers in the column of numbers, and no JSON null or text."""
    with open_store(sqlite_url) as store:
        commit(store, scored(1, 1), scored(2, "yes", data_type="CATEGORICAL"), unscored(3))
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        rows = connection.execute(
            "SELECT typeof(number), typeof(text) FROM scores ORDER BY call_start"
        ).fetchall()
    connection.close()
    assert rows == [("real", "null"), ("null", "text"), ("null", "null")]
