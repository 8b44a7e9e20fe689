"""Caching: a run's memory of verdicts, kept in the store."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracehooks.judges.memory import fingerprint, remembering
from tracehooks.settings import CacheSettings, Settings

if TYPE_CHECKING:
    from tracehooks.store import RunRecord, Store

WRITE_SECONDS = 2.0  # between writes of what was kept


@dataclass(slots=True, kw_only=True)
class StoredMemory:
    """The replies that other runs had, for the run ``made_by``; what it gets itself is kept for later ones.

    A run never recalls what it was told itself: three repeats are three answers, in whichever process.
    ``reading`` False keeps and does not recall.
    """

    store: "Store"
    limits: CacheSettings
    made_by: str
    reading: bool = True
    _asked: Counter[str] = field(default_factory=Counter)
    _kept: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic)

    def place(self, question: str) -> str:
        """Where the reply belongs: by the question, and how often this run has asked it before."""
        repeat = self._asked[question]
        self._asked[question] += 1
        return fingerprint({"question": question, "repeat": repeat})

    def recall(self, place: str) -> tuple[str, str | None] | None:
        """What another run was answered, unless it is too old."""
        if not self.reading:
            return None
        return self.store.verdicts.get(place, self.limits.age, but=self.made_by)

    def keep(self, place: str, reply: str, model: str | None) -> None:
        """Keep a reply. It goes to the store soon, or when the run ends."""
        self._kept[place] = reply, model
        if time.monotonic() - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Bring to the store what it does not have yet."""
        kept, self._kept = self._kept, {}
        self._written = time.monotonic()
        if kept:
            self.store.verdicts.put(kept, made_by=self.made_by)


@contextmanager
def caching(
    settings: Settings,
    store: "Store",
    run: "RunRecord",
    scorer: Any,
    *,
    enabled: bool = True,
    reading: bool = True,
) -> Iterator[None]:
    """Within it the run's judge does not ask what another run was answered already."""
    limits = settings.judge.cache
    if not (enabled and limits.size and getattr(getattr(scorer, "judge", None), "metered", False)):
        yield
        return
    memory = StoredMemory(store=store, limits=limits, made_by=run.id, reading=reading)
    try:
        with remembering(memory):
            yield
    finally:
        memory.write()
        store.verdicts.prune(limits.size, limits.age)
