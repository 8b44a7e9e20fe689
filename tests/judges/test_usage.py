"""Usage as the server told it: whole numbers from 0 on, anything else is unknown and never 0."""

import pytest

from tracehooks.judges.wire import completion_of


@pytest.mark.parametrize("count", [-5, True, "7", 1.5, None, [3]])
def test_a_count_that_is_none_is_unknown(count: object) -> None:
    """It must not skew what a night says that it used."""
    usage = completion_of({"usage": {"prompt_tokens": count, "completion_tokens": 2}}).usage
    assert (usage.input_tokens, usage.output_tokens) == (None, 2)
