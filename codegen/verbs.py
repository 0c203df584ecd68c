"""Methods of a class whose code lies above it: `Program.save`, `Program.compile`.

In: the table that the package's top writes (`hlograph/__init__.py`), from a method's name to the module that has a
function of this name. Out: methods, whose modules are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

from .interrupts import deferred

WHERE: dict[str, str] = {}
Given = TypeVar("Given")


class Verb(Generic[Given]):
    """A method that a module above has as a function.

    Args:
        static: whether it does not take the object.
    """

    def __init__(self, *, static: bool = False) -> None:
        self._static = static

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Callable[..., Given]:
        with deferred():
            found = getattr(import_module(WHERE[self._name]), self._name)
        setattr(owner, self._name, staticmethod(found) if self._static else found)  # from now on it is that
        method: Callable[..., Given] = getattr(owner if instance is None else instance, self._name)
        return method
