"""What functions count: calls, compiles, padding."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ExecutableStats:
    """One executable of a function.

    Attributes:
        policy: "exact" or "padded".
        sizes: the sizes that it is for, e.g. "n<=64, m=3".
        compiles: number of compilations.
        calls: number of calls; 0 for exact ones, which are not counted apart.
        padding_share: the part of its calls' work that went into padding: 1 minus the mean of live sizes over bounds,
            multiplied over the padded sizes.
        plan: how it was compiled for CPU, a line for each decision; none elsewhere, and before its first call.
    """

    policy: str
    sizes: str
    compiles: int
    calls: int = 0
    padding_share: float = 0.0
    plan: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stats:
    """What a function has done so far.

    Attributes:
        calls: number of calls.
        compiles: number of compilations.
        compile_seconds: time that plans and compiles took; what was compiled has not run then.
        cache_hits: calls that found their executable.
        executables: executables held now.
        by_executable: one entry for each of them, exact ones first.
        refusals: size name to the reason why it is not padded.
        retries: executables whose plan for CPU the compiler refused, and which were compiled without one.
        unproven: what is off because nobody has tried hlograph with this jaxlib yet; "" in proven releases.
        loaded: executables that were loaded from a bundle, or from the cache, in place of compiled.
        bundle: of a function from a bundle, a line for each executable in it: what became of it, and why.
        traces: how often a jitted function was traced into a program; more than once for arguments of one kind where
            its Python code decides by sizes.
        jax_calls: calls of a jitted function that plain `jax.jit` ran, which are not among `calls`; of those that were
            handed over to it, because nothing is to be gained, the first.
    """

    calls: int = 0
    compiles: int = 0
    compile_seconds: float = 0.0
    cache_hits: int = 0
    executables: int = 0
    by_executable: tuple[ExecutableStats, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0
    unproven: str = ""
    loaded: int = 0
    bundle: tuple[str, ...] = ()
    traces: int = 0
    jax_calls: int = 0

    @property
    def padding_share(self) -> float:
        """The part of all padded calls' work that went into padding."""
        calls = sum(entry.calls for entry in self.by_executable)
        return sum(entry.calls * entry.padding_share for entry in self.by_executable) / calls if calls else 0.0

    def __str__(self) -> str:
        """A line on calls and compiles, a row for each executable, and what else there is to know."""
        jitted = f", {self.jax_calls:,} by jax.jit" if self.jax_calls else ""
        loaded = f", {self.loaded:,} loaded" if self.loaded else ""
        compiled = f"{_counted(self.compiles, 'compile')} in {self.compile_seconds:.2f} s{loaded}"
        lines = [f"{_counted(self.calls, 'call')}{jitted}; {compiled}"]
        width = max((len(entry.sizes) for entry in self.by_executable), default=0)
        for entry in self.by_executable:
            line = f"  {entry.policy:6}  {entry.sizes:{width}}"
            if entry.policy == "padded":
                line += f"  {_counted(entry.calls, 'call')}, {entry.padding_share:.0%} padding"
            lines.append(line.rstrip())
        lines += [f"  not padded: {name}: {reason}" for name, reason in self.refusals.items()]
        lines += [f"  bundle: {line}" for line in self.bundle]
        lines += [f"  off: {self.unproven}"] if self.unproven else []
        return "\n".join(lines)

    @staticmethod
    def total(parts: Sequence[Stats], *, traces: int = 0, jax_calls: int = 0) -> Stats:
        """The statistics of several functions together; `traces` and `jax_calls` are the jitted one's that has them."""
        numbers = ("calls", "compiles", "compile_seconds", "cache_hits", "executables", "retries", "loaded")
        return Stats(
            **{name: sum(getattr(part, name) for part in parts) for name in numbers},
            by_executable=tuple(entry for part in parts for entry in part.by_executable),
            refusals={name: reason for part in parts for name, reason in part.refusals.items()},
            unproven=next((part.unproven for part in parts if part.unproven), ""),
            bundle=tuple(line for part in parts for line in part.bundle),
            traces=traces,
            jax_calls=jax_calls,
        )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


class Counter:
    """Counts without a lock: `next` on `itertools.count` is atomic, and its text has the number that comes next."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self.increment = self._count.__next__

    @property
    def value(self) -> int:
        """Number of increments."""
        return int(repr(self._count)[len("count(") : -1])
