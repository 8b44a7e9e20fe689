"""A small help desk whose functions are traced: something real to score before one's own agent is connected.

There is no model behind it. Its answers come from ``config/demo/knowledge.md`` by plain retrieval and from
stored phrasings, so that every run gives the same answers, five bad ones among them.
"""

from tracehooks.demo.agent import answer, stream
from tracehooks.demo.play import BadAnswer, DemoResult, run

__all__ = ["BadAnswer", "DemoResult", "answer", "run", "stream"]
