"""Decisions on symbolic sizes while JAX traces a function: what Python asks is answered for the sizes of the call.

In: the symbolic sizes of a `Scope`, which knows the sizes of the call that is traced, and questions about them (`==`,
`<`, truth, `hash`, `int`, an index, text), which `sizes.py` hands on. Out: the answers that Python's integers would
give, and each answer that does not hold for all sizes as a *guard*, a constraint with the line that asked. A trace is a
function of these answers, so it is right for all sizes that give the same ones. Decision to know: an answer that fixes
a size (`n == 4`, `int(n)`, `n == m`) ends the trace (`Fixed`), which begins again with the fixed size in the size's
place; JAX's own question whether two sizes are *known* to be equal (`definitely_equal`) stays what it is, since JAX
goes the general way where they are not, and is answered for the call only where the trace fails otherwise.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from jax import export

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim, DimSyntaxError, parse
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.jax_compat import inconclusive_error

# Whose questions are about how to write an expression, not about what is computed: JAX's own code and this one.
_INSIDE = frozenset({"jax", "jaxlib", "hlograph"})
# Whose frames lie between the user's line and what asks.
_BETWEEN = frozenset({"numpy", "contextlib", "functools"})
_EXAMPLE = '("n >= 2",)'
# What an integer of this many bits holds.
LARGEST = {32: 2**31 - 1, 64: 2**63 - 1}
# JAX asks these of two sizes, and goes the general way where they are not equal for all sizes.
_IS_KNOWN = frozenset({"definitely_equal", "broadcast_in_dim", "_solve"})


class Fixed(BaseException):
    """A decision has fixed a size: the trace begins again. No code between catches it by accident."""


class UndecidedError(UnsupportedGraphError):
    """Python asks something of a size that sizes decide, and there is no call that has them."""


class Scope(export.SymbolicScope):
    """The symbolic sizes of one trace.

    Args:
        constraints: what holds of the sizes, in JAX's syntax.
        sizes: those of the call, by name; None where there is no call.
        known: what holds of the sizes, as constraints.
        strict: answers JAX's own questions for the call too.

    Attributes:
        guards: the answers so far, by what was asked.
        limits: what numbers made of sizes must not exceed to be exact as data.
        open: whether something was left open that `strict` would answer.
        traced: whether the trace is over, and what asks is how JAX lowers it.
        fixed: whether a size's value was asked for.
    """

    def __init__(
        self,
        constraints: Sequence[str] = (),
        sizes: Mapping[str, int] | None = None,
        known: Sequence[Constraint] = (),
        *,
        strict: bool = False,
    ) -> None:
        self.sizes = sizes
        self.strict = strict
        self.guards: dict[tuple[str, Dim], Constraint] = {}
        self.limits: dict[tuple[Dim, int], Constraint] = {}
        self.open = self.traced = self.fixed = False
        self._different = {c.lhs - c.rhs for c in known if c.relation == "!="}
        self._dims: dict[str, Dim] = {}
        super().__init__(constraints)

    def dim(self, size: Any) -> Dim:
        """The dimension that a size of this scope is."""
        if isinstance(size, int):
            return size
        text = str(size)
        found = self._dims.get(text)
        if found is None:
            found = self._dims[text] = read_size(text)
        return found

    def value(self, size: Any) -> int:
        """A size's value in the call.

        Raises:
            UndecidedError: there is no call.
        """
        if self.sizes is None:
            raise UndecidedError(
                f"{where()} asks for the value of the size {size}, and no call says it: call the function "
                "(hlograph.jit traces it again where another value decides otherwise), or give the axis a fixed size"
            )
        return self._evaluate(self.dim(size))

    def _evaluate(self, dim: Dim) -> int:
        try:
            return dimension.evaluate(dim, self.sizes or {})
        except KeyError as error:  # a batch is of any size
            raise UndecidedError(f"{where()} asks something of the size {dim}: {error.args[0]}") from None

    # ---- decisions --------------------------------------------------------------------------------------------------

    def is_equal(self, a: Any, b: Any, frame: FrameType) -> bool:
        """Whether two sizes, which are not known to be equal, are."""
        if is_inside(frame):
            if _package(frame) == "hlograph" or _looks_up_type(frame):
                return False
            if not self.strict and _asks_what_is_known(frame, b):
                self.open = True
                return False
        lhs, rhs = self.dim(a), self.dim(b)
        difference = lhs - rhs
        low, high = bounds_from_one(difference)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        if difference in self._different or -difference in self._different:
            return False
        if self.sizes is None:
            for holds in (lambda: a - b >= 1, lambda: b - a >= 1):
                with suppress(inconclusive_error()):
                    if holds():
                        return False
            if is_inside(frame):  # what JAX takes for granted the program demands, but for its ways of a few elements
                if not isinstance(b, int) or b == 0:
                    self._record(lhs, "!=", rhs, frame)
                return False
            self._refuse(f"{a} == {b}", frame)
        equal = self._evaluate(difference) == 0
        self._record(lhs, "==" if equal else "!=", rhs, frame)
        if equal and solve(difference, self.sizes) is not None:
            raise Fixed
        return equal

    def is_at_least(self, a: Any, b: Any, text: str, frame: FrameType) -> bool:
        """Whether a size is at least another one, where JAX cannot tell."""
        lhs, rhs = self.dim(a), self.dim(b)
        if self.sizes is None:
            self._refuse(text, frame)
        holds = self._evaluate(lhs - rhs) >= 0
        if holds:
            self._record(lhs, ">=", rhs, frame)
        else:
            self._record(rhs, ">=", lhs + 1, frame)
        return holds

    def fix(self, size: Any, frame: FrameType, *, go_on: bool = False) -> int:
        """The value of a size, which it then has; ends the trace if it may have others, unless that is to go on."""
        value = self.value(size)
        self.fixed = True
        dim = self.dim(size)
        self._record(dim, "==", value, frame)
        if not go_on and solve(dim - value, self.sizes or {}) is not None:
            raise Fixed
        return value

    def fix_all(self, names: Iterable[str], frame: FrameType) -> NoReturn:
        """Fixes these sizes, which ends the trace."""
        self.fixed = True
        for name in sorted(names):
            if self.sizes is None:
                self._refuse(f"{name} is some number", frame)
            size = dimension.symbol(name)
            value = self._evaluate(size)
            self.guards["==", size - value] = Constraint(size, "==", value, where(frame))
        raise Fixed

    def check_divisor(self, size: Any, frame: FrameType) -> None:
        """Raises as Python does where a size is 0."""
        if size == 0 or (is_size(size) and self.is_equal(size, 0, frame)):
            raise ZeroDivisionError("division by zero")

    def limit(self, dim: Dim, largest: int, frame: FrameType) -> None:
        """Notes that a size which becomes data is at most so large in absolute value, and its parts fit 64 bits."""
        for part, most in ((dim, largest), *((part, LARGEST[64]) for part in dimension.operands(dim))):
            low, high = dimension.bounds(part, dict.fromkeys(dimension.roots(part), (1, LARGEST[32])))
            text = f"a number of {most.bit_length()} bits in {where(frame)}"
            if high is None or high > most:
                self.limits.setdefault((part, most), Constraint(most, ">=", part, text, "overflow"))
            if low is None or low < -most:
                self.limits.setdefault((-part, most), Constraint(part, ">=", -most, text, "overflow"))

    def _record(self, lhs: Dim, relation: Any, rhs: Dim, frame: FrameType) -> None:
        self.guards.setdefault((relation, lhs - rhs), Constraint(lhs, relation, rhs, where(frame)))

    def _refuse(self, text: str, frame: FrameType) -> NoReturn:
        raise UndecidedError(
            f"{where(frame)} asks whether {text}, which depends on the call, and there is none: constraints={_EXAMPLE} "
            "may decide it, hlograph.jit decides it in each call, or give the axis a fixed size"
        )


def is_size(value: Any) -> bool:
    """Whether a value is a symbolic size of a `Scope`."""
    return isinstance(getattr(value, "scope", None), Scope)


def solve(zero: Dim, sizes: Mapping[str, int]) -> tuple[str, Dim] | None:
    """The size that an expression, which is 0, fixes, and what it is; None where it fixes none.

    A single size has one value; else one that stands alone is what the others say, where that is at least 1.
    """
    names = sorted(dimension.roots(zero), reverse=True)
    inside = frozenset().union(*map(dimension.roots, dimension.operands(zero)))  # of functions, as n in `n // 3`
    for name in (name for name in names if name not in inside):
        rest = dimension.substitute(zero, {name: 0})
        slope = dimension.substitute(zero, {name: 1}) - rest
        if not isinstance(slope, int) or slope == 0 or zero != dimension.symbol(name) * slope + rest:
            continue
        if len(names) == 1:
            return name, sizes[name]
        low, _ = bounds_from_one(rest * -slope)
        if abs(slope) == 1 and low is not None and low >= 1:
            return name, rest * -slope
    return None


def bounds_from_one(dim: Dim) -> tuple[int | None, int | None]:
    """Least and greatest value for sizes that are at least 1, as JAX's are."""
    return dimension.bounds(dim, dict.fromkeys(dimension.roots(dim), (1, None)))


# ---- JAX's text ---------------------------------------------------------------------------------------------------


def read_size(text: str) -> Dim:
    """The dimension that JAX writes so: as ours are written, with `^` for powers."""
    plain = text
    while (at := plain.find("^")) >= 0:
        begin, depth = at, 0
        while begin and (depth or re.match(r"[\w)]", plain[begin - 1])):
            begin -= 1
            depth += {")": 1, "(": -1}.get(plain[begin], 0)
        base, exponent = plain[begin:at], re.match(r"\d+", plain[at + 1 :])
        if exponent is None:
            break
        plain = f"{plain[:begin]}{'*'.join([base] * int(exponent[0]))}{plain[at + 1 + exponent.end() :]}"
    try:
        return parse(plain)
    except DimSyntaxError:
        raise UnsupportedGraphError(f"JAX writes a size that hlograph cannot read: {text}") from None


# ---- the caller ---------------------------------------------------------------------------------------------------


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def is_inside(frame: FrameType) -> bool:
    """Whether JAX's code asks, or ours."""
    return _package(frame) in _INSIDE


def _looks_up_type(frame: FrameType) -> bool:
    """Whether JAX looks an array's type up among all that there are (since 0.10), which compares sizes of any two."""
    name: str = getattr(frame.f_code, "co_qualname", "")
    return name.startswith("ShapedArray.") and not name.endswith(".__eq__")


def _asks_what_is_known(frame: FrameType, other: Any) -> bool:
    code = frame.f_code
    names = getattr(code, "co_qualname", code.co_name).split(".")
    if _IS_KNOWN.isdisjoint(names):
        return False
    if isinstance(other, int) and other == 0 and frame.f_back is not None:
        # An error of JAX's for empty arrays hangs on it, unless it only asks whether there is anything to do.
        return "is_empty_shape" in getattr(frame.f_back.f_code, "co_qualname", frame.f_back.f_code.co_name)
    return True


def asking(frame: FrameType | None = None) -> FrameType:
    """The frame of the user's code that is run now."""
    first = sys._getframe(1) if frame is None else frame
    found: FrameType | None = first
    while found is not None and (is_inside(found) or _package(found) in _BETWEEN):
        found = found.f_back
    return first if found is None else found


def where(frame: FrameType | None = None) -> str:
    """The line of the user's code that is run now."""
    frame = asking(sys._getframe(1) if frame is None else frame)
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{frame.f_lineno} in {code.co_name}"
