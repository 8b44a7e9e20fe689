"""The one machine that turns calls into stored scores: plan, claim, grant, execute, commit, deliver.

:func:`execute` is the seam for scale: a picklable batch and a grant go in, outcomes come out; it knows no
store and no sink. Only :class:`Coordinator` claims and commits; :class:`Deliverer` empties the outbox.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracehooks.scoring.execute import Batch, Grant, Outcome, Task, execute

if TYPE_CHECKING:
    from tracehooks.scoring.coordinator import Coordinator, Tally
    from tracehooks.scoring.deliver import Deliverer, load_sinks
    from tracehooks.scoring.plan import Discovery, Planner, Window

__all__ = [
    "Batch",
    "Coordinator",
    "Deliverer",
    "Discovery",
    "Grant",
    "Outcome",
    "Planner",
    "Tally",
    "Task",
    "Window",
    "execute",
    "load_sinks",
]

# loaded when used: hooks need some of it in processes that plan nothing
_HOMES = {
    "Coordinator": "coordinator",
    "Deliverer": "deliver",
    "Discovery": "plan",
    "Planner": "plan",
    "Tally": "coordinator",
    "Window": "plan",
    "load_sinks": "deliver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracehooks.scoring' has no attribute {name!r}")
    return getattr(import_module(f"tracehooks.scoring.{_HOMES[name]}"), name)
