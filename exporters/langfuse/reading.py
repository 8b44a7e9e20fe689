"""Reading scores back: is what the server shows what was sent?"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.letters import comment
from tracehooks.exporters.langfuse.server import ABSENT, AnotherServer, ServerFacts, ServerProblem
from tracehooks.protocols import ReadBack, ScoreRow

AT_ONCE = 100  # ids in one request, which is also the largest page

Row = Mapping[str, Any]


def read_scores(client: Client, facts: ServerFacts, ids: Sequence[str]) -> dict[str, Row]:
    """The scores with these ids that the server shows. Raises ServerProblem when it does not answer well."""
    found: dict[str, Row] = {}
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        found |= {str(row["id"]): row for row in _page(client, facts, some)}
        if facts.kind == "v3":  # whose lists leave out scores of traces that it does not have yet
            missing = (one for one in some if one not in found)
            found |= {str(row["id"]): row for row in _one_by_one(client, facts, missing)}
    return found


def compared(score: ScoreRow, row: Row | None) -> ReadBack:
    """Whether ``row``, of either API, holds the score's value and comment."""
    if row is None:
        return ReadBack(id=score.id, found="missing")
    if not _same_value(score.value, score.data_type, row):
        shown = row.get("stringValue") if row.get("value") is None else row.get("value")
        return ReadBack(id=score.id, found="other", detail=f"value {shown!r} for {score.value!r}")
    if (row.get("comment") or "") != comment(score):
        return ReadBack(id=score.id, found="other", detail="another comment")
    return ReadBack(id=score.id, found="same")


def _same_value(sent: Any, data_type: str, row: Row) -> bool:
    value, text = row.get("value"), row.get("stringValue")
    if row.get("dataType") not in (data_type, None):
        return False
    if isinstance(sent, float):
        return isinstance(value, int | float) and math.isclose(value, sent, rel_tol=1e-9, abs_tol=1e-12)
    return sent in (value, text)


def _page(client: Client, facts: ServerFacts, ids: Sequence[str]) -> list[Row]:
    named = ",".join(ids)
    if facts.kind == "v3":
        reply = client.get(facts.scores_path, scoreIds=named, limit=AT_ONCE)
    else:
        reply = client.get(facts.scores_path, id=named, limit=AT_ONCE, fields="details,subject")
    said = reply.json()
    if reply.status in ABSENT:
        raise AnotherServer(f"scores cannot be read back: {reply.words}")
    if not reply.ok or not isinstance(said, dict):
        raise ServerProblem(f"scores cannot be read back: {reply.words}")
    return list(said.get("data") or ())


def _one_by_one(client: Client, facts: ServerFacts, ids: Iterator[str]) -> Iterator[Row]:
    for one in ids:
        reply = client.get(f"{facts.scores_path}/{quote(one, safe='')}")
        said = reply.json()
        if reply.ok and isinstance(said, dict):
            yield said
        elif reply.status != 404:
            raise ServerProblem(f"scores cannot be read back: {reply.words}")
