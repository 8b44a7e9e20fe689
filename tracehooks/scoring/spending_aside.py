"""SpendingAside: spending whose loop never waits for the store."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from tracehooks.scoring.spending import Spending

if TYPE_CHECKING:
    from tracehooks.store.accounts import Allowance, Hold, NoRoom, Spent


class SpendingAside(Spending):
    """Reserves and writes down in threads, for loops that have more to do than to judge."""

    async def _reserved(
        self,
        allowances: "Sequence[Allowance]",
        most: "Spent",
        lasts: timedelta,
        settled: "Sequence[tuple[Hold, Spent]]",
    ) -> "Hold | NoRoom":
        return await asyncio.to_thread(self.store.accounts.reserve, allowances, most, lasts, settled)

    def _bring(self) -> None:
        asyncio.get_running_loop().run_in_executor(None, super()._bring)
