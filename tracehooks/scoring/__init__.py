"""The one machine that turns calls into stored scores: plan, claim, grant, execute, commit, deliver.

:func:`execute` is the seam for scale: a picklable batch and a grant go in, outcomes come out; it knows no
store and no sink. Only :class:`Coordinator` claims and commits; :class:`Deliverer` empties the outbox.
"""

from tracehooks.scoring.coordinator import Coordinator, Tally
from tracehooks.scoring.deliver import Deliverer, load_sinks
from tracehooks.scoring.execute import Batch, Grant, Outcome, Task, execute
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
