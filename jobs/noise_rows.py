"""A noise run's rows and answers, handed on from ``tracehooks.replay``."""

from tracehooks.replay.rows import ReplayAnswer, answers, noise_rows

__all__ = ["ReplayAnswer", "answers", "noise_rows"]
