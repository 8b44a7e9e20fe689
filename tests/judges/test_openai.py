"""OpenAIJudge against a real server that fails in every way a server can."""

import asyncio
import email.utils
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.fake_openai import HANG, RESET, FakeOpenAI, Reply, chat, html, raw, slow, status
from tracehooks.errors import ConfigurationError
from tracehooks.judges import OpenAIJudge
from tracehooks.judges.replies import read_number
from tracehooks.judges.retrying import Retry
from tracehooks.protocols import Answer, Question, Usage
from tracehooks.records import Reason
from tracehooks.settings import JudgeSettings

GOOD = {"score": 0.2}
KEY = "sk-a1b2c3d4e5f6g7h8i9j0"


def read_score(reply: Any) -> float:
    return read_number(reply.get("score"), "score", 0, 1)


def question(response: str = "Good morning!") -> Question:
    return Question(
        name="q",
        instructions="Rate it. Reply in JSON.",
        material={"response": response},
        schema={"type": "object"},
        read=read_score,
    )


def asked(server: FakeOpenAI, **options: Any) -> Answer:
    options.setdefault("retry", Retry(first=0.001, first_limited=0.001))
    return asyncio.run(OpenAIJudge("m", server.url, KEY, **options).ask(question()))


def answer_to(script: Sequence[Reply], **options: Any) -> Answer:
    with FakeOpenAI(script) as server:
        answer = asked(server, **options)
        assert server.count == answer.attempts
    return answer


def test_an_answer_has_its_value_and_says_where_it_is_from() -> None:
    """The value as read, the model and tokens as the server told them, prompt and reply as they went."""
    answer = answer_to([GOOD])
    assert (answer.value, answer.reason, answer.attempts) == (0.2, None, 1)
    assert (answer.model, answer.raw) == ("judge-2026", '{"score": 0.2}')
    assert answer.usage == Usage(input_tokens=100, output_tokens=20)
    assert [message["role"] for message in answer.prompt] == ["system", "user"]


@pytest.mark.parametrize(
    ("reply", "reason", "detail", "raw_reply"),
    [
        (chat(None, refusal="I will not."), Reason.REFUSED, "I will not.", "I will not."),
        (chat("", refusal="I will not."), Reason.REFUSED, "I will not.", ""),
        (chat([{"type": "refusal", "refusal": "No."}]), Reason.REFUSED, "No.", "No."),
        (chat("No.", finish_reason="refusal"), Reason.REFUSED, "No.", "No."),
        (chat(None), Reason.EMPTY, "finish_reason stop", None),
        (chat(None, finish_reason="tool_calls"), Reason.EMPTY, "finish_reason tool_calls", None),
        (chat(None, reasoning_content="let me see"), Reason.EMPTY, "finish_reason stop", None),
        (chat(" \n\ufeff "), Reason.EMPTY, "finish_reason stop", " \n\ufeff "),
        (chat([]), Reason.EMPTY, "finish_reason stop", None),
        (raw({"choices": []}), Reason.EMPTY, "finish_reason None", None),
        (raw({"choices": None}), Reason.EMPTY, "finish_reason None", None),
        (raw({"choices": [{"message": None}]}), Reason.EMPTY, "finish_reason None", None),
        (raw({}), Reason.EMPTY, "finish_reason None", None),
        (raw({"choices": [None], "model": 5, "usage": [1]}), Reason.EMPTY, "finish_reason None", None),
        (raw({"choices": [{"finish_reason": 7, "message": {"content": {}}}]}), Reason.EMPTY, "None", None),
        (chat('{"score": 0.', finish_reason="length"), Reason.TRUNCATED, "length", '{"score": 0.'),
        (chat(GOOD, finish_reason="length"), Reason.TRUNCATED, "length", '{"score": 0.2}'),
        (chat(None, finish_reason="length"), Reason.TRUNCATED, "length", None),
        (chat(None, finish_reason="content_filter"), Reason.CONTENT_FILTERED, "filter", None),
        (chat(GOOD, finish_reason="content_filter"), Reason.CONTENT_FILTERED, "filter", '{"score": 0.2}'),
        (status(400, "content_filter"), Reason.CONTENT_FILTERED, "400", None),
        (status(400, "content_policy_violation"), Reason.CONTENT_FILTERED, "400", None),
        (raw({"error": {"code": "content_filter"}}), Reason.CONTENT_FILTERED, "content_filter", None),
        (status(400, "invalid_request_error"), Reason.REJECTED, "400", None),
        (status(401, "invalid_api_key"), Reason.REJECTED, "401", None),
        (status(403), Reason.REJECTED, "403", None),
        (status(404, "model_not_found", message="no model m"), Reason.REJECTED, "no model m", None),
        (status(413), Reason.REJECTED, "413", None),
        (status(422), Reason.REJECTED, "422", None),
        (html(code=404), Reason.REJECTED, "404", None),
        (status(429, "insufficient_quota"), Reason.QUOTA, "insufficient_quota", None),
        (status(402), Reason.QUOTA, "402", None),
        (raw({"error": {"code": "insufficient_quota"}}), Reason.QUOTA, "insufficient_quota", None),
        (chat({"score": 7}), Reason.OUT_OF_RANGE, "7", '{"score": 7}'),
    ],
)
def test_a_failure_that_another_try_cannot_mend_takes_one_request(
    reply: Reply, reason: Reason, detail: str, raw_reply: str | None
) -> None:
    """openai/openai-agents-python#3055, pydantic/pydantic-ai#4310, langchain-ai/langchain#34616 (refusals),
    interviewstreet/hiring-agent#435, nikmcfly/MiroFish-Offline#60 (nothing said), vibrantlabsai/ragas#649,
    tatsu-lab/alpaca_eval#227, confident-ai/deepeval#805 (filters): each told apart, once, and no number."""
    answer = answer_to([reply])
    assert (answer.value, answer.reason, answer.attempts) == (None, reason, 1)
    assert detail in answer.detail
    assert answer.raw == raw_reply


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (status(500), Reason.SERVER_ERROR),
        (status(503), Reason.SERVER_ERROR),
        (html(code=502), Reason.SERVER_ERROR),
        (status(409), Reason.SERVER_ERROR),
        (html(), Reason.SERVER_ERROR),
        (raw("a text"), Reason.SERVER_ERROR),
        (raw([1]), Reason.SERVER_ERROR),
        (raw({"error": "upstream failed"}), Reason.SERVER_ERROR),
        (raw({"error": {"message": "upstream failed", "code": 502}}), Reason.SERVER_ERROR),
        (raw({"choices": [{"error": {"code": 502}, "finish_reason": "error"}]}), Reason.SERVER_ERROR),
        (raw({"error": {"code": 429}}), Reason.RATE_LIMITED),
        (raw({"error": {"type": "rate_limit_error"}}), Reason.RATE_LIMITED),
        (status(429), Reason.RATE_LIMITED),
        (status(429, "rate_limit_exceeded"), Reason.RATE_LIMITED),
        (status(408), Reason.TIMEOUT),
        (HANG, Reason.TIMEOUT),
        (slow(GOOD, delay=30), Reason.TIMEOUT),
        (slow(GOOD, drip=0.05), Reason.TIMEOUT),
        (RESET, Reason.UNREACHABLE),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_and_then_told(reply: Reply, reason: Reason) -> None:
    """open-compass/opencompass#2583, confident-ai/deepeval#1147: three attempts each, then the reason; a
    second attempt that succeeds is an answer. A server that drips bytes for ever is a timeout too."""
    seconds = 1.0 if reason is Reason.TIMEOUT else 30.0
    answer = answer_to([reply] * 4, timeout=seconds)
    assert (answer.value, answer.reason, answer.attempts) == (None, reason, 3)
    answer = answer_to([reply, GOOD], timeout=seconds)
    assert (answer.value, answer.reason, answer.attempts) == (0.2, None, 2)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    """A refused connection and a name that does not resolve are unreachable, and say so."""
    with FakeOpenAI([]) as server:
        gone = server.url
    for url in (gone, "http://judge.invalid/v1"):
        judge = OpenAIJudge("m", url, retry=Retry(first=0.001))
        answer = asyncio.run(judge.ask(question()))
        assert (answer.reason, answer.attempts) == (Reason.UNREACHABLE, 3)
        assert "cannot be reached" in answer.detail


def test_parts_of_a_content_list_are_joined() -> None:
    """interviewstreet/hiring-agent#435: a list of text parts is one reply."""
    parts = [{"type": "text", "text": '{"sco'}, {"type": "image_url"}, {"type": "text", "text": 're": 0.2}'}]
    assert answer_to([chat(parts)]).value == 0.2


def test_a_malformed_reply_is_corrected_once_in_the_same_conversation() -> None:
    """vibrantlabsai/ragas#649: the judge sees its reply and what was wrong with it, and may answer again."""
    with FakeOpenAI([chat("About 0.2, I think."), GOOD]) as server:
        answer = asked(server)
    assert (answer.value, answer.attempts) == (0.2, 2)
    assert answer.usage == Usage(input_tokens=200, output_tokens=40)
    first, second = (request.body["messages"] for request in server.requests)
    assert second[: len(first)] == first
    assert second[2] == {"role": "assistant", "content": "About 0.2, I think."}
    assert "no JSON object" in second[3]["content"]
    assert [dict(message) for message in answer.prompt] == second


def test_a_reply_that_stays_malformed_is_malformed() -> None:
    """flowaicom/flow-judge#2: two requests, then no number; the last reply is kept."""
    answer = answer_to([chat("0.2"), chat("It is 0.3!"), GOOD])
    assert (answer.value, answer.reason, answer.attempts) == (None, Reason.MALFORMED, 2)
    assert answer.raw == "It is 0.3!"


def test_a_filtered_and_a_malformed_row_do_not_harm_the_others() -> None:
    """vibrantlabsai/ragas#649: five questions at once, each with its own outcome, in the order asked."""

    def by_row(body: dict[str, Any]) -> Reply:
        text = body["messages"][1]["content"]
        if "row 3" in text:
            return status(400, "content_filter")
        return chat("hm") if "row 4" in text else chat(GOOD)

    async def all_rows(url: str) -> list[Answer]:
        judge = OpenAIJudge("m", url)
        return await asyncio.gather(*(judge.ask(question(f"row {row}")) for row in range(1, 6)))

    with FakeOpenAI(by_row) as server:
        answers = asyncio.run(all_rows(server.url))
    assert [answer.reason for answer in answers] == [None, None, "content_filtered", "malformed", None]
    assert [answer.value for answer in answers] == [0.2, 0.2, None, None, 0.2]
    assert [answer.attempts for answer in answers] == [1, 1, 1, 2, 1]


def test_a_hanging_and_a_failing_row_end_in_time_and_hold_nothing() -> None:
    """open-compass/opencompass#2583: 1 s a request, 3 attempts: over in 5 s, nothing left behind."""

    def by_row(body: dict[str, Any]) -> Reply:
        text = body["messages"][1]["content"]
        return HANG if "row 2" in text else status(500) if "row 3" in text else chat(GOOD)

    async def all_rows(url: str) -> tuple[list[Answer], int, Answer]:
        judge = OpenAIJudge("m", url, timeout=1, attempts=3, concurrency=2)
        rows = (judge.ask(question(f"row {row}")) for row in range(1, 6))
        answers = await asyncio.gather(*rows)
        left = len(asyncio.all_tasks()) - 1
        after = await asyncio.gather(*(judge.ask(question("after")) for _ in range(4)))
        return answers, left, after[-1]

    with FakeOpenAI(by_row) as server:
        start = time.monotonic()
        answers, left, after = asyncio.run(all_rows(server.url))
        took = time.monotonic() - start
        assert server.in_flight == 0
    assert took < 15
    assert [answer.reason for answer in answers] == [None, "timeout", "server_error", None, None]
    assert [answer.attempts for answer in answers] == [1, 3, 3, 1, 1]
    assert (left, after.value) == (0, 0.2)


def test_requests_in_flight_stay_within_the_bound() -> None:
    """deepset-ai/haystack-core-integrations#3695, confident-ai/deepeval#1132: 200 questions, 4 at a time,
    answers in the order asked; one that fails does not cancel the others."""

    def by_row(body: dict[str, Any]) -> Reply:
        row = int(body["messages"][1]["content"].split("row ")[1].split("\n")[0])
        return RESET if row == 77 else slow({"score": row / 1000}, delay=0.005)

    async def all_rows(url: str) -> list[Answer]:
        judge = OpenAIJudge("m", url, concurrency=4, attempts=1)
        return await asyncio.gather(*(judge.ask(question(f"row {row}")) for row in range(200)))

    with FakeOpenAI(by_row) as server:
        answers = asyncio.run(all_rows(server.url))
        assert server.peak == 4
    expected = [None if row == 77 else row / 1000 for row in range(200)]
    assert [answer.value for answer in answers] == expected
    assert answers[77].reason is Reason.UNREACHABLE


def test_a_request_that_waits_to_be_sent_again_holds_no_slot() -> None:
    """deepset-ai/haystack-core-integrations#3695: with one slot, others are answered during the wait."""

    async def two(url: str) -> list[str]:
        judge = OpenAIJudge("m", url, concurrency=1)
        done = []

        async def one(name: str) -> None:
            assert (await judge.ask(question(name))).value == 0.2
            done.append(name)

        await asyncio.gather(one("limited"), one("other"))
        return done

    with FakeOpenAI([status(429, retry_after="0.5"), GOOD, GOOD]) as server:
        assert asyncio.run(two(server.url)) == ["other", "limited"]


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_obeyed_in_both_forms(form: str) -> None:
    """open-compass/opencompass#2583: the server's wait comes before ours; one too long ends it."""
    in_an_hour = email.utils.formatdate(time.time() + 3600, usegmt=True)
    wanted = "0.6" if form == "seconds" else in_an_hour
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with FakeOpenAI([status(429, retry_after=wanted), GOOD]) as server:
        answer = asked(server, retry=Retry(sleep=sleep, patience=4000))
        assert answer.value == 0.2
    assert len(waits) == 1
    assert waits[0] == (0.6 if wanted == "0.6" else pytest.approx(3600, abs=60))
    answer = answer_to([status(429, retry_after="3600")], retry=Retry(sleep=sleep))
    assert (answer.reason, answer.attempts, len(waits)) == (Reason.RATE_LIMITED, 1, 1)


@pytest.mark.parametrize(
    ("refuses", "sent"),
    [
        ((), ["json_schema"]),
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None]),
    ],
)
def test_structured_output_falls_back_and_remembers(refuses: tuple[str, ...], sent: list[str | None]) -> None:
    """A server that lacks json_schema, or any response format, is asked with less from then on."""

    async def twice(url: str) -> list[Answer]:
        judge = OpenAIJudge("m", url, attempts=1)
        return [await judge.ask(question()), await judge.ask(question())]

    with FakeOpenAI(lambda _: chat(GOOD), refuses=refuses) as server:
        first, second = asyncio.run(twice(server.url))
    assert (first.value, second.value) == (0.2, 0.2)
    assert (first.attempts, second.attempts) == (len(sent), 1)
    formats = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert formats == [*sent, sent[-1]]


def test_the_schema_is_sent_strict() -> None:
    """The question's own schema goes out, to be kept strictly by servers that can."""
    with FakeOpenAI([GOOD]) as server:
        asked(server)
    schema = {"name": "reply", "schema": {"type": "object"}, "strict": True}
    assert server.requests[0].body["response_format"] == {"type": "json_schema", "json_schema": schema}


def test_a_temperature_that_the_server_refuses_is_left_out() -> None:
    """Reasoning models take no temperature; one request finds that out."""
    no = status(400, "unsupported_value", message="'temperature' does not support 0 with this model")
    with FakeOpenAI([no, GOOD]) as server:
        assert asked(server).value == 0.2
    assert [request.body.get("temperature") for request in server.requests] == [0.0, None]


def test_what_looks_like_a_secret_does_not_reach_the_judge() -> None:
    """By default keys are masked; with `none` the text goes as it is; patterns of one's own replace ours."""
    text = "use sk-live-4242424242424242abcd for Jane"
    sent = {}
    for mask in ("secrets", "none", ["Jane"]):
        with FakeOpenAI([GOOD]) as server:
            judge = OpenAIJudge("m", server.url, mask=mask)
            answer = asyncio.run(judge.ask(question(text)))
        sent[str(mask)] = server.requests[0].body["messages"][1]["content"].split("\n")[1]
        assert answer.prompt[1]["content"] == server.requests[0].body["messages"][1]["content"]
    assert sent == {
        "secrets": "use [masked] for Jane",
        "none": text,
        "['Jane']": "use sk-live-4242424242424242abcd for [masked]",
    }


def test_the_key_is_nowhere_to_be_seen(caplog: pytest.LogCaptureFixture) -> None:
    """Not in the repr, not in what a server repeats, the prompt or the log; only in the header."""
    caplog.set_level(logging.DEBUG)
    with FakeOpenAI([status(401, message=f"bad key {KEY}, see you")]) as server:
        judge = OpenAIJudge("m", server.url, f" {KEY}\n")
        answer = asyncio.run(judge.ask(question()))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "bad key [masked]" in answer.detail
    seen = [repr(judge), repr(vars(judge)), repr(answer), caplog.text]
    assert not any(KEY in text for text in seen)


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key a local server is asked all the same; OpenAI's own is not, and the answer says why."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with FakeOpenAI([GOOD]) as server:
        assert asyncio.run(OpenAIJudge("m", server.url).ask(question())).value == 0.2
    answer = asyncio.run(OpenAIJudge("m").ask(question()))
    assert (answer.reason, answer.attempts) == (Reason.REJECTED, 0)
    assert "OPENAI_API_KEY" in answer.detail


def test_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_BASE_URL and OPENAI_API_KEY are honoured when nothing else is given."""
    with FakeOpenAI([GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert asyncio.run(OpenAIJudge("m").ask(question())).value == 0.2
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_ill_formed_reply_is_stored_well_formed() -> None:
    """mlflow/mlflow#24123: half an emoji in the judge's own words does not break what is stored."""
    with FakeOpenAI([raw({"choices": [{"message": {"content": '{"score": 0.2} ok \ud83e'}}]})]) as server:
        answer = asked(server)
    assert answer.value == 0.2
    json.dumps(answer.raw, ensure_ascii=False).encode()


def test_a_judge_comes_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of the section `judge` is used; without model, or without any key, it says what to set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    section = {"model": "m", "base_url": "http://localhost/v1", "api_key": KEY, "mask": ["x"]}
    limits = {"concurrency": 7, "timeout": "2s", "attempts": 5}
    settings = JudgeSettings.model_validate({**section, **limits})
    judge = OpenAIJudge.from_settings(settings)
    assert (judge.model, judge.base_url, judge.concurrency) == ("m", "http://localhost/v1", 7)
    assert (judge.timeout, judge.retry.attempts, judge.mask) == (2.0, 5, ("x",))
    with pytest.raises(ConfigurationError, match=r"judge\.model"):
        OpenAIJudge.from_settings(JudgeSettings())
    with pytest.raises(ConfigurationError, match=r"judge\.api_key"):
        OpenAIJudge.from_settings(JudgeSettings(model="m"))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("model", value) for value in ("", "  ", None, 5)),
        *(("timeout", value) for value in (0, -1, float("nan"), float("inf"), True, "30")),
        *(("attempts", value) for value in (0, -1, 1.5, True, "3")),
        *(("concurrency", value) for value in (0, -1, 1.5, True, "3")),
        *(("mask", value) for value in ("all", "sk-.*", ["("], [1])),
    ],
)
def test_a_bad_argument_is_named(argument: str, value: Any) -> None:
    """A judge that could not work is refused when it is made."""
    arguments = {"model": "m", argument: value}
    with pytest.raises(ValueError, match=argument):
        OpenAIJudge(**arguments)
