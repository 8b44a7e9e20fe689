"""Why a trace has a score, or none: every answer there is, from real nights over real stores."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reports.nights import LATER, Interrupted, WordScorer, drawn, night, run_night
from tests.stored import NOON, POLITE, RUDE, agent_span, fill, span_id, trace_id
from tracehooks.calls import SpanRecord
from tracehooks.reports.explanation import Answer, Explanation, Outcome, Unseen, explain_trace
from tracehooks.reports.explanation_json import explanation_dict
from tracehooks.reports.explanation_next import next_step
from tracehooks.reports.explanation_terminal import explanation_renderable
from tracehooks.reports.explanation_words import why
from tracehooks.store import Store

DAY = timedelta(days=1)


def _explained(store: Store, n: int = 0) -> Explanation:
    return explain_trace(store, trace_id(n), score_name="toxicity")


def _answer(store: Store, n: int = 0) -> Answer:
    (call,) = _explained(store, n).calls
    (answer,) = call.answers
    return answer


def _shown(store: Store, n: int = 0) -> str:
    return drawn(explanation_renderable(_explained(store, n), LATER), 200)


def test_a_scored_call_shows_value_run_and_where_its_text_was(store: Store) -> None:
    """What was found, by whom, in which text, and what it counts as."""
    fill(store, [RUDE])
    run = run_night(store)
    answer = _answer(store)
    assert answer.outcome is Outcome.SCORED
    assert answer.run is not None
    assert answer.run.id == run.id
    text = _shown(store)
    assert "toxicity  0.8 (severe)" in text
    assert "counts as toxic: above the threshold of 0" in text
    assert "from tracehooks.output" in text
    assert "drawn with probability 100.0%" in text


def test_a_score_of_zero_is_a_score(store: Store) -> None:
    """langfuse/langfuse#7626: 0 is shown as 0, and counts as clean."""
    fill(store, [POLITE])
    run_night(store)
    assert "toxicity  0 (severe)" in _shown(store)
    assert "counts as clean: not above the threshold of 0" in _shown(store)


def test_an_unscored_call_says_what_failed_and_what_to_do(store: Store) -> None:
    """vibrantlabsai/ragas#649: a judge's failure is told, and is no number."""
    fill(store, ["broken"])
    run_night(store)
    answer = _answer(store)
    assert answer.outcome is Outcome.UNSCORED
    assert why(answer) == "no answer came in time"
    text = _shown(store)
    assert "unscored (timeout)" in text
    assert "raise judge.timeout" in text
    assert "tracehooks run toxicity --from 2026-11-30T12:00:00Z" in text


@pytest.mark.parametrize("output", [None, "", "  \n "])
def test_a_silent_call_says_where_its_text_was_looked_for(store: Store, output: str | None) -> None:
    """Nothing to judge is not a failure, and one learns which attribute was empty."""
    fill(store, [output])
    run_night(store)
    answer = _answer(store)
    assert answer.outcome is Outcome.SKIPPED
    if output is None:
        assert "its span recorded no output" in why(answer)
    else:
        assert "no words in tracehooks.output" in why(answer)


def test_a_call_that_was_not_drawn_says_how_large_the_sample_was(store: Store) -> None:
    """And how to judge it all the same."""
    fill(store, [POLITE] * 40)
    run_night(store, sample={"size": 10})
    out = next(n for n in range(40) if _answer(store, n).outcome is Outcome.SAMPLED_OUT)
    assert why(_answer(store, out)) == "not drawn: the run's sample was 10 among 40 calls"
    start = NOON + timedelta(seconds=out)
    night(store).run(start, start + timedelta(microseconds=1))
    assert _answer(store, out).outcome is Outcome.SCORED


def test_a_sample_by_rate_says_its_rate(store: Store) -> None:
    """The rate that was used, not the one that is configured now."""
    fill(store, [POLITE] * 40)
    run_night(store, sample={"rate": 0.25})
    out = next(n for n in range(40) if _answer(store, n).outcome is Outcome.SAMPLED_OUT)
    assert why(_answer(store, out)) == "not drawn: the run took 25.0% of the calls"


def test_a_young_call_is_deferred_and_says_the_delay(store: Store) -> None:
    """It had not settled; the next run takes it."""
    fill(store, [POLITE], start=LATER - timedelta(seconds=30))
    run_night(store, settle="10m")
    answer = _answer(store)
    assert answer.outcome is Outcome.DEFERRED
    assert "600 s" in why(answer)


def test_a_trace_whose_agent_span_is_open_is_deferred(store: Store) -> None:
    """Spans below it are there, the agent's own is not: nothing is wrong yet, and later something is."""
    child = agent_span(1, start=NOON)
    store.spans.add([_tool_below(child)])
    explained = _explained(store, 1)
    assert explained.calls == ()
    soon = drawn(explanation_renderable(explained, NOON + timedelta(minutes=5)))
    assert "deferred: its agent span has not ended yet" in soon
    much_later = drawn(explanation_renderable(explained, NOON + 3 * DAY))
    assert "no finished agent span" in much_later


def _tool_below(agent: SpanRecord) -> SpanRecord:
    attributes = {"tracehooks.kind": "tool", "gen_ai.operation.name": "execute_tool"}
    return replace(agent, span_id=span_id(99), parent_span_id=agent.span_id, attributes=attributes)


def test_a_planned_call_of_an_interrupted_run_says_so(store: Store) -> None:
    """It was drawn and not judged; the command that goes on is named, and works."""
    fill(store, [POLITE])
    with pytest.raises(KeyboardInterrupt):
        run_night(store, scorer=Interrupted())
    answer = _answer(store)
    assert answer.outcome is Outcome.PLANNED
    assert why(answer) == "drawn into the run, not judged yet: the run was interrupted"
    (call,) = _explained(store).calls
    assert answer.run is not None
    step = next_step(answer, call)
    assert step is not None
    assert step.command == f"tracehooks resume {answer.run.id}"
    night(store).resume(answer.run)
    assert _answer(store).outcome is Outcome.SCORED


def test_without_any_run_nothing_has_looked(store: Store) -> None:
    """The honest empty state of a fresh store."""
    fill(store, [POLITE])
    answer = _answer(store)
    assert (answer.outcome, answer.unseen) == (Outcome.NEVER_SEEN, Unseen.NO_RUN)
    assert "no run has looked at it" in why(answer)


def test_a_call_outside_every_window_says_so(store: Store) -> None:
    """Before the windows, and after the last one."""
    fill(store, [POLITE] * 3, every=86_400)
    night(store, now=NOON + 3 * DAY).run(NOON + DAY, NOON + DAY + timedelta(hours=1))
    assert _answer(store, 0).unseen is Unseen.OUTSIDE
    assert _answer(store, 1).outcome is Outcome.SCORED
    assert _answer(store, 2).unseen is Unseen.AFTER
    assert "2026-12-01 12:00 to 2026-12-01 13:00" in why(_answer(store, 0))


def test_a_call_that_the_filters_leave_out_names_them(store: Store) -> None:
    """The filters of that run, not those of today."""
    fill(store, [POLITE])
    run_night(store, filters={"environment": ["staging"], "name": "support-*"})
    answer = _answer(store)
    assert answer.unseen is Unseen.FILTERED
    assert "environment: staging" in why(answer)


def test_a_call_that_came_late_says_so(store: Store) -> None:
    """Its window was covered before it reached the store."""
    fill(store, [POLITE])
    run_night(store)
    store.spans.add([agent_span(5, start=NOON + timedelta(minutes=1))])
    answer = _answer(store, 5)
    assert answer.unseen is Unseen.LATE
    assert "not in the store yet" in why(answer)


def test_a_run_that_stopped_while_planning_is_named(store: Store) -> None:
    """It decided about nothing."""
    fill(store, [POLITE])
    plan = {"score_name": "toxicity", "filters": {}}
    run = store.runs.open("toxicity", NOON, LATER, plan=plan, owner="gone:1:1")
    answer = _answer(store)
    assert answer.unseen is Unseen.STOPPED
    (call,) = _explained(store).calls
    step = next_step(answer, call)
    assert step is not None
    assert step.command == f"tracehooks resume {run.id}"


def test_an_unknown_trace_is_unknown(store: Store) -> None:
    """Nothing stored is said to be nothing stored."""
    explained = _explained(store, 7)
    assert not explained.known
    assert "nothing is stored about this trace" in drawn(explanation_renderable(explained, LATER))


def test_a_rescored_call_shows_its_history(store: Store) -> None:
    """langfuse/langfuse#13823: one score, and all that it ever was."""
    fill(store, [RUDE])
    run_night(store, scorer=WordScorer(toxic=0.2))
    again = night(store, scorer=WordScorer(toxic=0.7), now=LATER + DAY)
    again.rescore = True
    again.run()
    assert [row.value for row in _answer(store).history] == [0.2, 0.7]
    assert "revision 1: 0.2" in _shown(store)
    assert "revision 2: 0.7" in _shown(store)


def test_two_calls_of_one_trace_have_an_answer_each(store: Store) -> None:
    """Siblings are two calls."""
    first = agent_span(0)
    second = replace(agent_span(0, RUDE, start=NOON + timedelta(seconds=5)), span_id=span_id(1))
    store.spans.add([first, second])
    run_night(store)
    answers = [call.answers[0] for call in _explained(store).calls]
    assert [answer.score and answer.score.value for answer in answers] == [0.0, 0.8]


def test_two_scores_of_one_call_have_an_answer_each(store: Store) -> None:
    """A judge's score and a pre-screen's stand side by side, each under its name."""
    fill(store, [RUDE])
    run_night(store)
    run_night(store, scorer=WordScorer(name="toxicity_prescreen"), now=LATER + DAY)
    (call,) = _explained(store).calls
    assert [answer.score_name for answer in call.answers] == ["toxicity", "toxicity_prescreen"]


def test_a_pruned_trace_is_still_explained(store: Store) -> None:
    """Scores and decisions outlive spans."""
    fill(store, [RUDE])
    run_night(store)
    store.spans.prune(LATER)
    assert _answer(store).outcome is Outcome.SCORED
    assert "its text was pruned" in _shown(store)


def test_the_document_says_what_the_terminal_says(store: Store) -> None:
    """A program learns the outcome by name, and gets the same sentence."""
    fill(store, ["broken"])
    run_night(store)
    (call,) = explanation_dict(_explained(store), LATER)["calls"]
    (answer,) = call["answers"]
    assert (answer["outcome"], answer["result"]["reason_code"]) == ("unscored", "timeout")
    assert answer["why"] == "no answer came in time"
    assert answer["result"]["value"] is None


@pytest.mark.parametrize("width", [60, 120])
def test_an_explanation_fits_the_width(store: Store, width: int) -> None:
    """Texts are folded under their label; only commands may be longer than a line."""
    fill(store, ["broken " * 200])
    run_night(store)
    text = drawn(explanation_renderable(_explained(store), LATER), width)
    too_long = [line.strip() for line in text.splitlines() if len(line.rstrip()) > width]
    assert all(line.startswith("tracehooks ") for line in too_long)
