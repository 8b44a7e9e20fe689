"""The stand-in's Batch API, asked by the openai client: its answers are what the client's types say."""

import io
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types import Batch, FileObject

from tests.fake_openai import Batches, FakeOpenAI, ToxicWords
from tests.fake_openai.batches import OVER

JUDGE = ToxicWords()
TEXT = "<<<BEGIN response n>>>\nYou idiot.\n<<<END response n>>>\n"


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(JUDGE, batches=Batches()) as server:
        yield server


def _client(server: FakeOpenAI) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=server.url, max_retries=0)


def _file(client: openai.OpenAI, count: int) -> FileObject:
    body = {"model": "m", "messages": [{"role": "user", "content": TEXT}]}
    lines = [
        {"custom_id": f"r-{n}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        for n in range(count)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return client.files.create(file=("in.jsonl", io.BytesIO(content)), purpose="batch")


def _batch(client: openai.OpenAI, count: int = 4, **marks: str) -> Batch:
    return client.batches.create(
        input_file_id=_file(client, count).id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata=marks,
    )


def _strictly(found: Any) -> Any:
    """``found``, if it validates as what the client took it for (the client itself does not look)."""
    return type(found).model_validate(found.model_dump())


@pytest.mark.parametrize(("how", "most", "good", "bad"), [("completed", 4, 4, 0), ("expired", 1, 1, 3)])
def test_a_batch_goes_its_way(server: FakeOpenAI, how: str, most: int, good: int, bad: int) -> None:
    """Uploaded, made, asked for, ended, and its files read: each answer validates."""
    assert server.batches is not None
    with _client(server) as client:
        made = _strictly(_batch(client, sort="of"))
        assert (made.status, made.metadata, made.request_counts.total) == ("in_progress", {"sort": "of"}, 4)
        server.batches.finish(JUDGE, how=how, most=most)
        ended = _strictly(client.batches.retrieve(made.id))
        assert (ended.status, ended.request_counts.completed, ended.request_counts.failed) == (how, good, bad)
        assert how in OVER
        lines = client.files.content(ended.output_file_id).text.splitlines()
        assert len(lines) == good
        assert json.loads(lines[0])["response"]["body"]["choices"][0]["message"]["role"] == "assistant"
        if bad:
            never = json.loads(client.files.content(ended.error_file_id).text.splitlines()[0])
            assert (never["response"], never["error"]["code"]) == (None, "batch_expired")
        assert _strictly(client.files.retrieve(ended.output_file_id)).purpose == "batch_output"
        assert _strictly(client.files.delete(ended.output_file_id)).deleted


def test_batches_are_listed_newest_first_and_page_by_page(server: FakeOpenAI) -> None:
    """The client's own paging comes to all of them."""
    with _client(server) as client:
        names = [_batch(client, 1).id for _ in range(5)]
        assert [_strictly(one).id for one in client.batches.list(limit=2)] == names[::-1]


def test_a_batch_can_be_stopped_until_it_is_over(server: FakeOpenAI) -> None:
    """First it is cancelling, then cancelled with what it had; another time is a conflict."""
    assert server.batches is not None
    with _client(server) as client:
        name = _batch(client).id
        assert _strictly(client.batches.cancel(name)).status == "cancelling"
        server.batches.finish(JUDGE, how="cancelled", most=2)
        assert _strictly(client.batches.retrieve(name)).request_counts.completed == 2
        with pytest.raises(openai.ConflictError):
            client.batches.cancel(name)


def test_a_batch_that_is_not_valid_says_why(server: FakeOpenAI) -> None:
    """Its errors are where the type has them."""
    assert server.batches is not None
    server.batches.complaint = "line 1 is no JSON"
    with _client(server) as client:
        failed = _strictly(_batch(client))
    assert (failed.status, failed.errors.data[0].message) == ("failed", "line 1 is no JSON")


def test_a_server_without_the_api_says_404(server: FakeOpenAI) -> None:
    """As compatible servers do."""
    server.batches = None
    with _client(server) as client, pytest.raises(openai.NotFoundError):
        _file(client, 1)
