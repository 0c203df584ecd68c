"""Integer vectors whose live elements are an arithmetic sequence of sizes: the indices of which a slice is made.

    before  gather(x, (n - 1) - iota)      after  the elements of x, reversed and shifted to the front      pad{n=16}

In: ops, in the order of the walk. Out: for their results the first element and the step, where both are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...builder.places import DType
from ...dims import Dim
from ...ir.bindings import ir
from ...ir.values import integers
from .live import Live, LiveBuilder


@dataclass(frozen=True)
class Sequence:
    """Element j along the first axis is `first + step * j`; other axes have one place."""

    first: Dim
    step: int


@dataclass
class Sequences:
    """Those that a walk has found.

    Attributes:
        builder: of the padded program.
        dim: the way to write a dimension there.
        found: by the module's values.
    """

    builder: LiveBuilder
    dim: Callable[[Dim], Dim]
    found: dict[ir.Value, Sequence] = field(default_factory=dict)

    def note(self, op: ir.Operation, operands: list[Live], results: list[Live]) -> None:
        """Takes note of an op's result, if it is such a vector."""
        if len(results) == 1 and results[0].dtype.kind in "iu" and 1 <= results[0].ndim <= 2 and len(op.operands) < 3:
            found = self._of(op, operands, results[0]) if results[0].dims[1:] in ((), (1,)) else None
            if found is not None and self._fits(found, results[0].dims[0], results[0].dtype):
                self.found[op.results[0]] = found
                return
            self.found.pop(op.results[0], None)

    def _of(self, op: ir.Operation, operands: list[Live], result: Live) -> Sequence | None:
        name = op.name.removeprefix("stablehlo.").removeprefix("dynamic_")
        if name == "iota":
            return Sequence(0, 1) if ir.IntegerAttr(op.attributes["iota_dimension"]).value == 0 else None
        known = [self.found.get(value) for value in op.operands]
        first = known[0] if known else None
        if name == "broadcast_in_dim" and not operands[0].dims:
            size = operands[0].tensor.dim
            return None if size is None else Sequence(size, 0)
        if first is None:
            return None
        if name == "convert" or (name == "reshape" and operands[0].dims[0] == result.dims[0]):
            return first
        if name == "broadcast_in_dim":
            return first if integers(op, "broadcast_dimensions")[0] == 0 else None
        if name == "reverse":
            return Sequence(first.first + first.step * (result.dims[0] - 1), -first.step) if result.ndim == 1 else None
        second = known[1] if len(known) == 2 else None
        if second is None:
            return None
        if name in ("add", "subtract"):
            sign = 1 if name == "add" else -1
            return Sequence(first.first + sign * second.first, first.step + sign * second.step)
        if name == "multiply":
            for one, other in ((first, second), (second, first)):
                if one.step == 0 and type(one.first) is int:
                    return Sequence(one.first * other.first, one.first * other.step)
        return None

    def _fits(self, found: Sequence, count: Dim, dtype: DType) -> bool:
        ends = found.first, found.first + found.step * (count - 1)
        return self.builder.exact(tuple(map(self.dim, ends)), dtype)
