"""The command line. ``main`` is the console script ``tracehooks``; each verb has a file of its own."""

from tracehooks.cli.main import main

__all__ = ["main"]
