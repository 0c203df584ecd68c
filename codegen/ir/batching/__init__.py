"""Batching: a module's ops with a further axis in front, where something depends on it.

In: ops, and which of the values that they read have the axis. Out: the same ops for all rows at once. The pass `batch`
does it to a module, the builder (`mapped`) to what a rule makes of one element, `roll_loops` to what repeats.
"""

from . import control, rules  # they register their rules
from .batcher import Batcher as Batcher
from .batcher import Row as Row
from .batcher import demanded as demanded
from .batcher import total as total
from .batcher import worst as worst

__all__ = ["Batcher", "Row", "control", "demanded", "rules", "total", "worst"]
