"""What has to know of a fork of the process: the open databases. The only state outside of objects."""

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """Something that has to be told of a fork."""

    def before_fork(self) -> None:
        """The process is about to fork."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """The process has forked."""
        ...


_WATCHED: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def watch(something: Forkable) -> None:
    """Tell ``something`` of every fork, for as long as it is there."""
    _WATCHED.add(something)


def _before() -> None:
    for something in list(_WATCHED):
        something.before_fork()


def _after_in_parent() -> None:
    for something in list(_WATCHED):
        something.after_fork(in_child=False)


def _after_in_child() -> None:
    for something in list(_WATCHED):
        something.after_fork(in_child=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
