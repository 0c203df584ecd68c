"""`hlograph.explain`: the sizes of a program, how each is met, and what padding does with them.

In: a graph, a program, or a compiled function (`build.py`). Out: an `Explanation`: its fields for programs
(`record.py`), its text for people (`text.py`), and that text as a page.
"""

from .build import explain
from .explanation import Explanation
from .record import Axis, Size
from .walk import Action, Refusal

__all__ = ["Action", "Axis", "Explanation", "Refusal", "Size", "explain"]
