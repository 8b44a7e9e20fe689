"""The prices of models that the stand-in knows, so that some calls get their cost from the server."""

from tests.fake_langfuse.observations import Observation

PRICES = {"gpt-4o-mini": (1.5e-7, 6e-7)}  # per input and output token, in USD
TIER = ("tier-default", "Standard")


def price(one: Observation) -> None:
    """Gives ``one`` a cost, where it has none and its model is known."""
    if one.cost or not one.usage or one.model not in PRICES:
        return
    per_input, per_output = PRICES[one.model]
    asked, answered = one.usage.get("input", 0) * per_input, one.usage.get("output", 0) * per_output
    one.cost = {"input": asked, "output": answered, "total": asked + answered}


def model_id(one: Observation) -> str | None:
    """The id that the server has for the model of ``one``; None where it does not know it."""
    return f"model-{one.model}" if one.model in PRICES else None


def tier(one: Observation) -> tuple[str | None, str | None]:
    """Id and name of the pricing tier."""
    return TIER if model_id(one) and one.usage else (None, None)
