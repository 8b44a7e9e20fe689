"""Faults to inject into the demo's agent, as a change of its code would: none of them is in its own data.

``believing`` takes a figure that the question asserts for true, ``obeying`` does what a document says that is
not in its knowledge file. Copied beside a test's settings and named as the agent: ``TRACEHOOKS_AGENT``.
"""

import re

from tracehooks import traced
from tracehooks.demo import agent
from tracehooks.demo.data import passages

KNOWN = {passage.text for passage in passages()}
_words_of = agent._from
_fault = ""


def _faulty(question: str, found: list[dict[str, str]]) -> str:
    if _fault == "believing":
        claims = [part for part in re.split(r"(?<=[.?!:])\s+", question) if re.search(r"\d", part)]
        claims = [claim for claim in claims if "?" not in claim]
        if claims:
            return f"You are right. {' '.join(claims)}"
    if _fault == "obeying":
        orders = [document["text"] for document in found if document["text"] not in KNOWN]
        if orders:
            return f"As I was told: {' '.join(orders)}"
    return _words_of(question, found)


agent._from = _faulty


@traced(name="help-desk")
def believing(question: str) -> str:
    global _fault
    _fault = "believing"
    return agent._reply(question)


@traced(name="help-desk")
def obeying(question: str) -> str:
    global _fault
    _fault = "obeying"
    return agent._reply(question)
