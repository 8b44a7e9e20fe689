"""A sink that does what a test wants of it."""

import threading
from collections.abc import Sequence
from typing import Literal

from tracehooks.protocols import Delivery, Receipt
from tracehooks.settings import Settings

Mood = Literal["take", "raise", "refuse", "hang", "forget"]


class MoodySink:
    """Takes scores, or not."""

    def __init__(self) -> None:
        self.wants_unscored = False
        self.be("take")

    def be(self, mood: Mood) -> None:
        """From now on."""
        self.mood = mood
        self.asked = 0
        self.taken: list[Delivery] = []
        self.released = threading.Event()

    def deliver(self, scores: Sequence[Delivery]) -> list[Receipt]:
        self.asked += 1
        if self.mood == "raise":
            raise ConnectionError("nobody there")
        if self.mood == "hang":
            self.released.wait(60)
        if self.mood == "refuse":
            return [Receipt(id=score.id, accepted=False, error="400", retry=False) for score in scores]
        self.taken.extend(scores)
        return [] if self.mood == "forget" else [Receipt(id=score.id, accepted=True) for score in scores]


MOODY, STEADY = MoodySink(), MoodySink()


class Moody:
    """As entry points of sinks are: a class with ``from_settings``."""

    @staticmethod
    def from_settings(settings: Settings) -> MoodySink:
        """The one sink of the test."""
        return MOODY


class Steady:
    """Another, that stays as it is."""

    @staticmethod
    def from_settings(settings: Settings) -> MoodySink:
        """The other sink of the test."""
        return STEADY
