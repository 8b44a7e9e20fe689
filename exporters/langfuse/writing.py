"""Writing scores by the API that the server takes: a list, events, or one by one.

Whatever is refused as a whole, for one bad score in it or for its size, is sent again in halves, so that the
others arrive; what had arrived is only written once more. A score that is refused alone is refused for good,
unless the server is busy, or does not take the keys, or has become another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracehooks.exporters.langfuse.client import TOO_LARGE, Client, Reply
from tracehooks.exporters.langfuse.letters import Letter
from tracehooks.exporters.langfuse.server import ABSENT, NO_LIST, Server, Writes
from tracehooks.protocols import Receipt

MOST_BYTES: Mapping[Writes, int] = {"list": 900_000, "events": 3_500_000, "single": 900_000}
MOST_SCORES = 100  # in one request
DENIED = frozenset({401, 403})
NOT_ACCEPTED = "Event type not accepted"
NO_OBJECT = b"received object"


class Writer:
    """Sends letters; gives a receipt for each. Raises Unreachable or ServerProblem when none was sent."""

    def __init__(self, client: Client, server: Server) -> None:
        self._client, self._server = client, server

    def write(self, letters: Sequence[Letter]) -> list[Receipt]:
        """Send ``letters`` by the API for many at once."""
        writes = self._server.facts().writes
        if writes == "single":
            return self.write_singly(letters)
        return [
            receipt
            for pack in _packs(letters, MOST_BYTES[writes])
            for receipt in (self._list(pack) if writes == "list" else self._events(pack))
        ]

    def write_singly(self, letters: Sequence[Letter]) -> list[Receipt]:
        """Send ``letters`` one by one, so that this write is the newest whatever else wrote them."""
        if self._server.facts().writes == "list":
            return [receipt for letter in letters for receipt in self._list([letter])]
        return [self._single(letter) for letter in letters]

    def _single(self, letter: Letter) -> Receipt:
        reply = self._client.post("/scores", letter.body)
        return Receipt(id=letter.id, accepted=True) if reply.ok else self._refused([letter], reply)[0]

    def _list(self, letters: Sequence[Letter]) -> list[Receipt]:
        reply = self._client.post("/scores", b"[" + b",".join(letter.body for letter in letters) + b"]")
        said = reply.json()
        if reply.ok and not (isinstance(said, dict) and said.get("rejected")):
            return _accepted(letters)
        if reply.ok and len(letters) == 1:  # 207, whose errors do not say which score they are about
            return [_dead(letters[0].id, reply.words)]
        if reply.ok:
            return self._halves(letters, self._list)
        return self._not_taken(letters, reply, self._list)

    def _events(self, letters: Sequence[Letter]) -> list[Receipt]:
        content = b'{"batch":[' + b",".join(letter.event for letter in letters) + b"]}"
        reply = self._client.post("/ingestion", content)
        if not reply.ok:
            return self._not_taken(letters, reply, self._events)
        said = reply.json()
        by_event = _by_event(said if isinstance(said, dict) else {})
        return [self._of_event(letter.id, by_event.get(letter.event_id)) for letter in letters]

    def _of_event(self, score_id: str, said: Mapping[str, Any] | None) -> Receipt:
        if said is None:
            return Receipt(id=score_id, accepted=False, error="the server said nothing about it")
        status = _status(said.get("status"))
        if 200 <= status < 300:
            return Receipt(id=score_id, accepted=True)
        words = f"{said.get('status') or 0} {said.get('message') or ''}: {said.get('error') or ''}"[:300]
        if NOT_ACCEPTED in words:
            self._server.forget()
        elif 400 <= status < 500 and status not in (*DENIED, 408, 429):
            return _dead(score_id, words)
        return Receipt(id=score_id, accepted=False, error=words)

    def _not_taken(self, letters: Sequence[Letter], reply: Reply, again: Any) -> list[Receipt]:
        """What becomes of letters that were refused together."""
        if len(letters) > 1 and reply.status in (400, TOO_LARGE) and not self._is_another(reply):
            return self._halves(letters, again)
        return self._refused(letters, reply)

    def _refused(self, letters: Sequence[Letter], reply: Reply) -> list[Receipt]:
        if self._is_another(reply):
            self._server.forget()
        elif 400 <= reply.status < 500 and not reply.passes and reply.status not in DENIED:
            return [_dead(letter.id, reply.words) for letter in letters]
        wait = reply.retry_after
        return [
            Receipt(id=letter.id, accepted=False, error=reply.words, retry_after=wait) for letter in letters
        ]

    def _is_another(self, reply: Reply) -> bool:
        """Whether the server answers as another generation would: it was upgraded, or restored."""
        mistaken = reply.status == 400 and (NO_LIST in reply.body or NO_OBJECT in reply.body)
        return reply.status in ABSENT or mistaken

    @staticmethod
    def _halves(letters: Sequence[Letter], send: Any) -> list[Receipt]:
        middle = len(letters) // 2
        return [*send(letters[:middle]), *send(letters[middle:])]


def _packs(letters: Sequence[Letter], most: int) -> Iterable[list[Letter]]:
    pack: list[Letter] = []
    size = 0
    for letter in letters:
        if pack and (size + len(letter.body) > most or len(pack) == MOST_SCORES):
            yield pack
            pack, size = [], 0
        pack.append(letter)
        size += len(letter.body) + 150  # the envelope
    if pack:
        yield pack


def _by_event(said: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found = [*(said.get("successes") or ()), *(said.get("errors") or ())]
    return {str(entry.get("id")): entry for entry in found if isinstance(entry, dict)}


def _status(said: Any) -> int:
    """An event's status as a number; 0, of which nothing is known, for what is none."""
    try:
        return int(said)
    except (TypeError, ValueError):
        return 0


def _accepted(letters: Sequence[Letter]) -> list[Receipt]:
    return [Receipt(id=letter.id, accepted=True) for letter in letters]


def _dead(score_id: str, words: str) -> Receipt:
    return Receipt(id=score_id, accepted=False, error=words, retry=False)
