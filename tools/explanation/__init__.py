"""`hlograph.explain`, see `build.py`."""

from .build import Explanation, explain

__all__ = ["Explanation", "explain"]
