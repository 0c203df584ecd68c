"""The classes of a graph library, PyTensor or Aesara, which is imported when they are asked for.

In: the package's name. Out: a `Library`, which readers, rewrites and transformations read graphs by. The two libraries
differ in the name of the package, and from release to release in where classes are.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from ..codegen.versions import check_library
from .rewrites.selection import Rewrites


class Library:
    """The classes and modules of a graph library, which it imports.

    Args:
        package: "pytensor" or "aesara".
    """

    def __init__(self, package: str) -> None:
        def module(path: str) -> Any:
            return import_module(f"{package}.{path}")

        self.variable = module("graph.basic").Variable
        self.constant = module("graph.basic").Constant
        self.shared = module("compile.sharedvalue").SharedVariable
        self.fgraph = module("graph.fg").FunctionGraph
        try:
            self.function = module("compile.executor").Function
        except ImportError:  # before PyTensor 3
            self.function = module("compile.function.types").Function
        self.package = package
        self.module = module
        self.rewrites = Rewrites(module)
        self.generator = module("tensor.random.type").RandomType

    def is_generator(self, variable: Any) -> bool:
        """Whether a variable is a random generator that a key can stand for."""
        return isinstance(variable.type, self.generator)


@functools.cache
def library(package: str) -> Library:
    """The classes of "pytensor" or "aesara", in every release that is supported."""
    check_library(package)
    return Library(package)
