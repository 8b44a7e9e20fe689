"""What tokens cost: the prices that ship with us, dated, and the one that the settings give instead."""

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracehooks.settings import JudgeSettings

DOLLAR = 1_000_000_000  # money is counted in whole billionths of a dollar, so that nothing is rounded away
_PER_TOKEN = DOLLAR // 1_000_000
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens of ``input`` and of ``output``, and the most tokens of one reply.

    ``source`` says where the price is from, for people. ``batch`` is the share of it that is to be paid in a
    batch.
    """

    input: Decimal
    output: Decimal
    max_output_tokens: int | None
    source: str
    batch: Decimal = Decimal(1)

    def nanos(self, input_tokens: int, output_tokens: int) -> int:
        """What so many tokens cost, in billionths of a dollar, rounded up."""
        return math.ceil((self.input * input_tokens + self.output * output_tokens) * _PER_TOKEN)

    @property
    def in_batch(self) -> "Price":
        """The price in a batch."""
        return replace(
            self,
            input=self.input * self.batch,
            output=self.output * self.batch,
            source=f"{self.source}, {self.batch:.0%} of it in a batch",
        )


def price_of(model: str | None, settings: "JudgeSettings") -> Price | None:
    """The price of ``model``: ``judge.price`` where it is set, else the table's; None when it has none.

    A dated snapshot such as ``gpt-4.1-mini-2025-04-14`` costs what its model costs, unless the table knows
    better.
    """
    limit = settings.max_output_tokens
    if settings.price is not None:
        given = settings.price
        return Price(
            input=Decimal(str(given.input)),
            output=Decimal(str(given.output)),
            max_output_tokens=limit or (_listed(model) or {}).get("max_output_tokens"),
            source="judge.price",
            batch=Decimal(str(_table()["batch"] if given.batch is None else given.batch)),
        )
    found = _listed(model)
    if found is None:
        return None
    return Price(
        input=Decimal(str(found["input"])),
        output=Decimal(str(found["output"])),
        max_output_tokens=limit or found["max_output_tokens"],
        source=f"list prices of {_table()['as_of']}",
        batch=Decimal(str(_table()["batch"])),
    )


def _listed(model: str | None) -> dict[str, Any] | None:
    models: dict[str, dict[str, Any]] = _table()["models"]
    name = (model or "").rpartition("/")[2]  # gateways write openai/gpt-4.1-mini
    return models.get(name) or models.get(_SNAPSHOT.sub("", name))


@cache
def _table() -> dict[str, Any]:
    import yaml

    text = (resources.files("tracehooks.config") / "prices.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table
