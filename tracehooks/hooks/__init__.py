"""Scoring hooks: finished spans are judged online, in the background, on a sample of traces.

The thread that ended the span only decides and queues. One background loop scores, one background thread
commits, one delivers; each is started when first needed, bounded, and begun anew after a fork. Whatever a
scorer does, the agent does not notice.
"""

from tracehooks.hooks.hook import ScoringHook, hooks_from
from tracehooks.hooks.online import Online

__all__ = ["Online", "ScoringHook", "hooks_from"]
