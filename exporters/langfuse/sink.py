"""The sink: scores from the outbox onto their traces in Langfuse, each once, each read back."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.configs import ScoreConfigs, id_for
from tracehooks.exporters.langfuse.letters import Letter, Unsendable, letter
from tracehooks.exporters.langfuse.reading import Row, compared, read_scores
from tracehooks.exporters.langfuse.server import AnotherServer, Server
from tracehooks.exporters.langfuse.writing import MOST_SCORES, Writer
from tracehooks.protocols import ReadBack, Receipt, ScoreRow
from tracehooks.settings import Settings

SENDERS = 3
BATCH = 500  # scores from the outbox at once; the writer sends them in requests of a hundred
RESENT_SINGLY = 2
PRESCREENS = frozenset({"toxicity_prescreen"})
UNWANTED_BECAUSE = (
    "`langfuse.prescreen` is false, for a pre-screen's numbers are no judge's. Set it to true for later "
    "nights to send theirs (for one that was: tracehooks run toxicity --from DAY --to DAY --rescore), or set "
    "`judge.model`"
)
CONFIRM_AFTER = timedelta(seconds=7)


class LangfuseSink:
    """Writes scores to one project, and confirms them by reading them back. Safe from several threads.

    ``unwanted`` are the names of scores that stay here: by default the local pre-screen's, which are no
    judge's. A score that cannot be read back again and again is written singly: that write counts as made
    now, and so wins over whatever else was written under its id.
    """

    senders, batch, takes_rows = SENDERS, BATCH, True
    unwanted_because = UNWANTED_BECAUSE

    def __init__(
        self,
        client: Client,
        *,
        confirm_after: timedelta = CONFIRM_AFTER,
        unwanted: Iterable[str] = PRESCREENS,
    ) -> None:
        self.confirm_after = confirm_after
        self.unwanted = frozenset(unwanted)
        self.server = Server(client)
        self.configs = ScoreConfigs(client)
        self._client = client
        self._writer = Writer(client, self.server)

    @classmethod
    def from_settings(cls, settings: Settings) -> "LangfuseSink":
        """The sink for the settings' project. Raises ConfigurationError when its keys are missing."""
        section = settings.langfuse
        unwanted = () if section.prescreen else PRESCREENS
        client = Client.from_settings(settings)
        return cls(client, confirm_after=section.confirm_after, unwanted=unwanted)

    def deliver(self, scores: Sequence[ScoreRow]) -> list[Receipt]:
        """Write ``scores``. Raises when the server gives no answer, or does not take the keys."""
        self.server.facts()
        # each request is made when it is its turn: bytes that are kept for long cost more than making them
        requests = (scores[first : first + MOST_SCORES] for first in range(0, len(scores), MOST_SCORES))
        return [receipt for some in requests for receipt in self._deliver(some)]

    def _deliver(self, scores: Sequence[ScoreRow]) -> list[Receipt]:
        configs = self.configs.by_name()
        together: list[Letter] = []
        singly: list[Letter] = []
        receipts: list[Receipt] = []
        for row in scores:
            try:
                made = letter(row, id_for(row, configs.get(row.name, ())))
            except Unsendable as problem:
                receipts.append(Receipt(id=row.id, accepted=False, error=str(problem), retry=False))
            else:
                (together if row.resent < RESENT_SINGLY else singly).append(made)
        if together:
            receipts += self._writer.write(together)
        if singly:
            receipts += self._writer.write_singly(singly)
        return receipts

    def confirm(self, scores: Sequence[ScoreRow]) -> list[ReadBack]:
        """Look for ``scores`` by their ids. Raises when the server gives no answer."""
        shown = self._read([row.id for row in scores])
        found = [compared(row, shown.get(row.id)) for row in scores]
        if any(one.found == "missing" for one in found):
            self.configs.forget()  # one that was made or archived meanwhile has them dropped
        return found

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _read(self, ids: Sequence[str]) -> Mapping[str, Row]:
        try:
            return read_scores(self._client, self.server.facts(), ids)
        except AnotherServer:
            self.server.forget()
            return read_scores(self._client, self.server.facts(), ids)
