"""Spending: what was used reaches the store, also where that could not be had for a while."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.stored import NOON
from tracehooks.errors import StoreError
from tracehooks.judges.terms import Need
from tracehooks.protocols import Usage
from tracehooks.scoring.spending import Spending, day_scope
from tracehooks.settings import Settings
from tracehooks.store import open_store
from tracehooks.store.accounts import Spent
from tracehooks.store.database import Area

NEED = Need(input_tokens=100, output_tokens=100, seconds=30)


def test_what_was_settled_is_not_lost_with_a_reservation_that_fails(tmp_path: Path) -> None:
    """The store breaks while it is brought along: it comes with the next one, as what it was."""
    settings = Settings.model_validate({"budget": {"day": {"tokens": 10_000}}})
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        terms = Spending(store=store, settings=settings, price=None, run=None, clock=lambda: NOON)

        def rename(old: str, new: str) -> None:
            order = text(f"ALTER TABLE {old} RENAME TO {new}")
            store.accounts._database.write(Area.MONEY, lambda connection: connection.execute(order))

        async def spend() -> None:
            first, second = await terms.reserve(NEED), await terms.reserve(NEED)
            terms.settle(first, Usage(input_tokens=7, output_tokens=5))
            rename("holds", "away")
            with pytest.raises(StoreError):
                await terms.reserve(NEED)
            rename("away", "holds")
            terms.settle(second, Usage(input_tokens=2, output_tokens=1))
            terms.close()

        asyncio.run(spend())
        assert store.accounts.spent(day_scope(NOON)) == Spent(calls=2, input_tokens=9, output_tokens=6)
