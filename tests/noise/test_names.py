"""What the package hands on: every name is there, and none costs more than it needs."""

import subprocess
import sys

import tracehooks.noise


def test_every_name_is_handed_on() -> None:
    """Each one listed can be imported, and a wrong one is an AttributeError."""
    for name in tracehooks.noise.__all__:
        assert getattr(tracehooks.noise, name) is not None
    assert not hasattr(tracehooks.noise, "nothing")


def test_cases_need_no_statistics() -> None:
    """A replay's cases load without numpy and scipy."""
    code = (
        "import sys; from tracehooks.noise import NoiseCase, read_dataset, generate_variants; "
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
