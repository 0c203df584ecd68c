"""Passes that are here because XLA is wrong: with another release of it they may go.

In: a static module that XLA is about to compile. Out: the same function, without what XLA makes wrong numbers of, or
ends the process on. Each file is one fault and a pass with its name; its function `endangered` finds the ops that the
pass changes. Decision to know: the table says which releases of jaxlib have the fault and which have not.
tests/codegen/passes/xla_bugs/test_canaries.py shows it to the installed release, without hlograph, and fails where a
release is free of it that is not in the table: when none that we support has it, the pass goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...ir.bindings import ir


@dataclass(frozen=True)
class Bug:
    """A fault of XLA.

    Attributes:
        name: of its file, and of the pass.
        has, free: releases of jaxlib, by how they begin, that are known to have it, and to be free of it.
        on_cpu: whether XLA for CPUs alone has it.
        guests: whether only modules have it that somebody else compiles: ours get a compile option.
    """

    name: str
    has: tuple[str, ...]
    free: tuple[str, ...] = ()
    on_cpu: bool = True
    guests: bool = False

    @property
    def triggers(self) -> Collection[str]:
        """Ops without which no module has it."""
        found: Collection[str] = self._file.TRIGGERS
        return found

    @property
    def endangered(self) -> Callable[[ir.Module], list[ir.Operation]]:
        """Finds the ops that XLA does wrong."""
        found: Callable[[ir.Module], list[ir.Operation]] = self._file.endangered
        return found

    @property
    def _file(self) -> Any:
        return import_module(f".{self.name}", __name__)


BUGS = (
    Bug("doubled_counters", has=("0.7.", "0.8.", "0.9.", "0.10."), free=("0.11.2", "0.12."), on_cpu=False),
    Bug("cpu_updates", has=("0.7.", "0.8.", "0.9.", "0.10.", "0.11.", "0.12.")),
    Bug("cpu_scatters", has=("0.10.", "0.11.", "0.12."), free=("0.7.",)),
    Bug("cpu_initial", has=("0.10.", "0.11.", "0.12.")),
    Bug("cpu_nan", has=("0.10.", "0.11.", "0.12."), guests=True),
)


def bugs_of(platform: str, *, guest: bool = False) -> Iterator[Bug]:
    """The faults that a module for a platform meets.

    Args:
        platform: by JAX's name.
        guest: whether somebody else compiles it.
    """
    return (bug for bug in BUGS if (platform == "cpu" or not bug.on_cpu) and (guest or not bug.guests))
