"""Student's t, from ``scipy.special``: the same numbers as ``scipy.stats.t``, whose import takes a second."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


def survival(x: Any, df: Any) -> Array:
    """The probability of a value above ``x`` with ``df`` degrees of freedom."""
    found: Array = special.stdtr(np.asarray(df, dtype=float), -np.asarray(x, dtype=float))
    return found


def quantile(p: Any, df: Any) -> Array:
    """The value that is not exceeded with probability ``p``."""
    found: Array = special.stdtrit(np.asarray(df, dtype=float), np.asarray(p, dtype=float))
    return found
