"""Passes: StableHLO to StableHLO, by name.

`registry.py` has the table of them, `rewriting.py` rewrites on matched ops, `driver.py` runs them, `optimize.py` says
which ones a program goes through before it is compiled. Every other file or folder is a pass of its own.
"""

from .driver import run, run_all
from .registry import available, find, parse_spec

__all__ = ["available", "find", "parse_spec", "run", "run_all"]
