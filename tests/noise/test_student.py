import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from tracehooks.noise.student import quantile, survival

DF = np.array([1, 2, 3, 5, 10, 39, 100, 1000, 100_000])


def test_it_has_the_numbers_of_scipy_stats() -> None:
    """To the last digits, far out in the tails and at infinity too."""
    p = np.array([1e-6, 0.001, 0.05 / 3, 0.05, 0.2, 0.8, 0.95, 0.999])[:, None]
    assert quantile(p, DF) == pytest.approx(stats.t.ppf(p, DF), rel=1e-12)
    x = np.array([-np.inf, -1e3, -2, -1e-9, 0, 0.5, 2, 20, 1e3, 1e8, np.inf])[:, None]
    assert survival(x, DF) == pytest.approx(stats.t.sf(x, DF), rel=1e-12, abs=0)


def test_a_ruling_does_without_the_slow_import() -> None:
    """`scipy.stats` alone costs more than a whole gate."""
    code = "import sys, tracehooks.noise.ruling; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
