"""`hlograph.explain`: the sizes of a program, how each is met, and what padding does with them.

In: a graph, a program, or a compiled function (`build.py`). Out: an `Explanation`, which is text and a page.
"""

from .build import explain
from .explanation import Explanation

__all__ = ["Explanation", "explain"]
