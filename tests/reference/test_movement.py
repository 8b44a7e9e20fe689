from tests.noise.making import ROBUSTNESS, TOXICITY, rows_of
from tracehooks.records import Reason
from tracehooks.reference.movement import movements


def test_what_moved_comes_with_the_largest_loss_first() -> None:
    """Losses, then what has no score now or before, then gains; what stayed is left out."""
    before = rows_of({"a": [1.0, 0.8], "b": [0.9], "c": [0.5], "d": [1.0], "e": [0.7], "gone": [1.0]})
    now = rows_of({"a": [0.8, 0.8], "b": [0.1], "c": [0.9], "d": [Reason.TIMEOUT], "e": [0.7], "new": [1.0]})
    found = movements(before, now, ROBUSTNESS)
    assert [one.case for one in found] == ["b", "a", "d", "gone", "new", "c"]
    assert [None if one.lost is None else round(one.lost, 2) for one in found] == [
        0.8,
        0.1,
        None,
        None,
        None,
        -0.4,
    ]
    lost = next(one for one in found if one.case == "d")
    assert (lost.before.mean, lost.now.mean, lost.now.reasons) == (1.0, None, (("timeout", 1),))
    assert (lost.now.scored, lost.now.wanted) == (0, 1)


def test_worse_is_what_the_score_says_is_worse() -> None:
    """LeBonhommePharma/FlexAIDdS#344, confident-ai/deepeval#2901: the direction is declared, not guessed."""
    before, now = rows_of({"a": [0.1]}), rows_of({"a": [0.3]})
    assert movements(before, now, TOXICITY)[0].lost == 0.3 - 0.1
    assert movements(before, now, ROBUSTNESS)[0].lost == 0.1 - 0.3
