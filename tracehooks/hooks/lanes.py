"""The lanes of all scorers."""

import threading
from collections.abc import Callable
from time import monotonic, sleep

from tracehooks.breathing import hurried
from tracehooks.hooks.job import Job
from tracehooks.hooks.lane import Lane
from tracehooks.hooks.loops import Loop
from tracehooks.records import Score
from tracehooks.worker import BackgroundWorker

MOST_LANES = 32  # scorers with names of their own; what comes on top shares one lane
WATCH_SECONDS = 0.5  # between looks for what is late or blocked, while there is work
POLL = 0.01  # seconds between looks while somebody waits
OTHERS = ("others", 8)


class Lanes:
    """A lane for each scorer, by the scorer's name."""

    def __init__(self, finish: Callable[[Job, Score], None], drop: Callable[[Job, str], None]) -> None:
        self._finish, self._drop = finish, drop
        self._lock = threading.RLock()
        self._shared = Loop("scoring")
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._closed = False
        self._is_watched = False
        self._watch: BackgroundWorker[None] = BackgroundWorker(
            "watch", self._look_again, max_queue=2, max_batch=2, interval=WATCH_SECONDS
        )

    def put(self, job: Job) -> None:
        """Have ``job`` scored."""
        (self._lanes.get((job.name, job.hook.concurrency)) or self._lane(job)).put(job)
        if not self._is_watched:
            self._is_watched = True
            self._watch.put(None)

    def flush(self, timeout: float) -> bool:
        """Wait until all that was put so far has its result; False when ``timeout`` seconds were too few."""
        with hurried():
            return self._flush(monotonic() + timeout)

    def _flush(self, end: float) -> bool:
        waiting = [(lane, job) for lane in list(self._lanes.values()) for job in lane.unfinished()]
        while True:
            self.look_after()
            waiting = [(lane, job) for lane, job in waiting if lane.has(job)]
            left = end - monotonic()
            if not waiting or left <= 0:
                return not waiting
            sleep(min(POLL, left))

    def look_after(self) -> None:
        """See to what is late or blocked."""
        now = monotonic()
        if self._shared.is_blocked(now):
            self._spread(now)
        for lane in list(self._lanes.values()):
            lane.look_after(now)

    def close(self, timeout: float) -> bool:
        """Flush, take no more, and drop what has no result."""
        done = self.flush(timeout)
        with self._lock:
            self._closed = True
            lanes = list(self._lanes.values())
        for lane in lanes:
            done = lane.close() and done
            lane.loop.close()
        self._shared.close()
        self._watch.close(0)
        return done

    def _look_again(self, _: list[None]) -> None:
        self.look_after()
        self._is_watched = False
        if any(lane.unfinished() for lane in list(self._lanes.values())):
            self._is_watched = True
            self._watch.put(None)

    def _lane(self, job: Job) -> Lane:
        with self._lock:
            key = job.name, job.hook.concurrency
            if key not in self._lanes and len(self._lanes) >= MOST_LANES:
                key = OTHERS
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = Lane(*key, self._shared, self._finish, self._drop)
                if self._closed:
                    lane.close()
            return lane

    def _spread(self, now: float) -> None:
        """Leave the blocked loop behind; each lane on it goes on with one of its own."""
        with self._lock:
            blocked = self._shared
            if not blocked.is_blocked(now):
                return
            self._shared = Loop("scoring")
            lanes = [lane for lane in self._lanes.values() if lane.loop is blocked]
        blocked.close()
        for lane in lanes:
            lane.move()
