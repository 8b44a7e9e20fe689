"""Judges: ask a model one question and get a validated answer, or a reason why there is none."""

from tracehooks.judges.asking import BaseJudge
from tracehooks.judges.completions import Completion, CompletionFailed
from tracehooks.judges.openai import OpenAIJudge

__all__ = ["BaseJudge", "Completion", "CompletionFailed", "OpenAIJudge"]
