"""Evaluate: many inputs through a target and several scorers; means with n of n, thresholds, one verdict."""

from tracehooks.evaluation.result import EvaluationResult, ItemResult, ScoreSummary
from tracehooks.evaluation.running import evaluate
from tracehooks.evaluation.thresholds import Threshold

__all__ = ["EvaluationResult", "ItemResult", "ScoreSummary", "Threshold", "evaluate"]
