"""What the judges of hooks are asked under: the limits of the store, and its budget for the day."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tracehooks.judges.terms import Terms

if TYPE_CHECKING:
    from tracehooks.scoring.spending import Spending
    from tracehooks.settings import Settings
    from tracehooks.store import Store

Using = Callable[[], AbstractContextManager["Store"]]


class Paying:
    """The terms of scorers' judges. The store is ``using()``'s, opened when a judge is first asked."""

    def __init__(self, settings: "Settings", using: Using) -> None:
        self._settings, self._using = settings, using
        self._known: dict[tuple[int, str], Spending] = {}

    async def terms_of(self, scorer: Any) -> Terms | None:
        """The terms for the loop that asks; None where no judge is asked that counts, or nothing is stored.

        Raises ConfigurationError when the budget cannot be kept with the scorer's judge.
        """
        judge = getattr(scorer, "judge", None)
        if judge is None or not self._settings.store:
            return None
        if not getattr(judge, "metered", False):
            self._check(judge)
            return None
        key = threading.get_ident(), str(judge.model)
        if key not in self._known:
            self._check(judge)
            # a loop that waits for the store would be taken for one that a scorer blocks
            made = await asyncio.to_thread(self._made, judge)
            self._known.setdefault(key, made)  # another call may have been quicker
        return self._known[key]

    def close(self) -> None:
        """Write down what was used."""
        for one in list(self._known.values()):
            one.close()

    def _check(self, judge: Any) -> None:
        from tracehooks.scoring.spending import check_judge

        check_judge(self._settings, judge)

    def _made(self, judge: Any) -> "Spending":
        from tracehooks.judges.prices import price_of
        from tracehooks.scoring.spending_aside import SpendingAside

        with self._using() as store:
            return SpendingAside(
                store=store,
                settings=self._settings,
                price=price_of(judge.model, self._settings.judge),
                run=None,
                clock=lambda: datetime.now(UTC),
            )
