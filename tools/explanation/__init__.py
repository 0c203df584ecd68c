"""`hlograph.explain`: the sizes of a program, how each is met, and what padding does with them.

In: a graph, a program, or a compiled function (`build.py`). Out: an `Explanation`: its fields for programs
(`record.py`), its text for people (`text.py`), and its page with the graph drawn (`page.py`).
"""

from .build import explain
from .explanation import Explanation
from .record import Axis, Size
from .walk import Action, Block, Node, Refusal, Value

__all__ = ["Action", "Axis", "Block", "Explanation", "Node", "Refusal", "Size", "Value", "explain"]
