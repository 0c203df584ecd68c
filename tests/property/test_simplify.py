"""Random modules of what simplify looks for: before and after they are equal, to the bit where that is promised.

`HLOGRAPH_PROGRAMS=400` for more of them.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rewritten_runs import check

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "30"))
SPECIAL = (-0.0, 0.0, np.nan, np.inf, -np.inf)
ROWS, COLUMNS = 6, 4
LIMITS = {
    ("f32", "maximum"): "0xFF800000",
    ("f32", "minimum"): "0x7F800000",
    ("f64", "maximum"): "0xFFF0000000000000",
    ("f64", "minimum"): "0x7FF0000000000000",
    ("i32", "maximum"): "-2147483648",
    ("i32", "minimum"): "2147483647",
}
WHOLE = f"tensor<{ROWS}x{COLUMNS}xTYPE>"


class Maker:
    """A module being written; all its values have one shape."""

    def __init__(self, draw, dtype: str) -> None:
        self.draw, self.dtype = draw, dtype
        self.lines: list[str] = []
        self.values = ["%x", "%y"]
        self.number = 0
        self.zero = self.line("stablehlo.constant dense<0> : tensor<TYPE>".replace("<0>", self.literal("0")))

    def literal(self, number: str) -> str:
        """A number as a constant of the dtype."""
        return f"<{int(number)}>" if self.dtype.startswith("i") else f"<{number}.0>"

    def line(self, text: str) -> str:
        """Adds an op; its result's name."""
        self.number += 1
        self.lines.append(f"  %v{self.number} = {text}")
        return f"%v{self.number}"

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self) -> str:
        return self.draw(st.sampled_from(self.values))

    def part(self, axis: int) -> tuple[str, int, int, tuple[int, int]]:
        """A slice of a value along an axis: its name, where it begins and ends, its shape."""
        size = (ROWS, COLUMNS)[axis]
        start = self.integer(0, size - 1)
        stop = self.integer(start + 1, size)
        return self.cut(self.pick(), axis, start, stop), start, stop, shape_of(axis, stop - start)

    def cut(self, value: str, axis: int, start: int, stop: int) -> str:
        ranges = [f"0:{ROWS}", f"0:{COLUMNS}"]
        ranges[axis] = f"{start}:{stop}"
        kind = tensor(shape_of(axis, stop - start))
        return self.line(f"stablehlo.slice {value} [{', '.join(ranges)}] : ({WHOLE}) -> {kind}")


def shape_of(axis: int, size: int) -> tuple[int, int]:
    return (size, COLUMNS) if axis == 0 else (ROWS, size)


def tensor(shape) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xTYPE>"


def elementwise(m: Maker) -> str:
    name = m.draw(st.sampled_from(["add", "multiply", "subtract", "maximum"]))
    return m.line(f"stablehlo.{name} {m.pick()}, {m.pick()} : {WHOLE}")


def sum_of_pads(m: Maker) -> str:
    """Pieces of an axis that do not overlap, mostly; in any order, added as a chain or pairwise."""
    axis = m.integer(0, 1)
    size = (ROWS, COLUMNS)[axis]
    cuts = sorted({m.integer(0, size) for _ in range(m.integer(2, 4))})
    pieces = list(itertools.pairwise(cuts))
    if m.integer(0, 4) == 0:
        pieces.append((0, 2))
    terms = [m.pick() for _ in range(m.integer(0, 2))] if m.integer(0, 2) == 0 else []
    for start, stop in pieces:
        part, shape = m.cut(m.pick(), axis, start, stop), shape_of(axis, stop - start)
        low, high = [0, 0], [0, 0]
        low[axis], high[axis] = start, size - stop
        if m.integer(0, 2):
            terms.append(
                m.line(
                    f"stablehlo.pad {part}, {m.zero}, low = {low}, high = {high}, interior = [0, 0] : "
                    f"({tensor(shape)}, tensor<TYPE>) -> {WHOLE}"
                )
            )
        else:
            zeros = m.line(f"stablehlo.broadcast_in_dim {m.zero}, dims = [] : (tensor<TYPE>) -> {WHOLE}")
            starts = [m.line(f"stablehlo.constant dense<{place}> : tensor<i32>") for place in low]
            terms.append(
                m.line(
                    f"stablehlo.dynamic_update_slice {zeros}, {part}, {', '.join(starts)} : "
                    f"({WHOLE}, {tensor(shape)}, tensor<i32>, tensor<i32>) -> {WHOLE}"
                )
            )
    terms = m.draw(st.permutations(terms)) or [m.pick()]
    while len(terms) > 1:
        place = m.integer(0, len(terms) - 2)
        terms[place : place + 2] = [m.line(f"stablehlo.add {terms[place]}, {terms[place + 1]} : {WHOLE}")]
    return terms[0]


def indices(m: Maker, size: int, count: int, inside: bool) -> str:
    """Constant ones, evenly spaced or not, as i32[count, 1]."""
    start, step = m.integer(0, size - 1), m.draw(st.sampled_from([1, 1, 1, 2, -1, 0]))
    numbers = [start + step * i for i in range(count)]
    if inside:
        numbers = [min(max(n, 0), size - 1) for n in numbers]
    if m.integer(0, 3) == 0:
        numbers = list(m.draw(st.permutations(numbers)))
    if step == 1 and m.integer(0, 1):
        iota = m.line(f"stablehlo.iota dim = 0 : tensor<{count}x1xi32>")
        first = m.line(f"stablehlo.constant dense<{start}> : tensor<{count}x1xi32>")
        return m.line(f"stablehlo.add {iota}, {first} : tensor<{count}x1xi32>")
    return m.line(f"stablehlo.constant dense<{[[n] for n in numbers]}> : tensor<{count}x1xi32>")


def gather(m: Maker) -> str:
    axis = m.integer(0, 1)
    size = (ROWS, COLUMNS)[axis]
    where = indices(m, size, size, inside=False)
    sizes = [1, COLUMNS] if axis == 0 else [ROWS, 1]
    return m.line(
        f'"stablehlo.gather"({m.pick()}, {where}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{1 - axis}], '
        f"collapsed_slice_dims = [{axis}], start_index_map = [{axis}], index_vector_dim = 1>, "
        f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}> : ({WHOLE}, tensor<{size}x1xi32>) -> {WHOLE}"
    )


def scatter(m: Maker) -> str:
    axis = m.integer(0, 1)
    count = m.integer(1, (ROWS, COLUMNS)[axis])
    where = indices(m, (ROWS, COLUMNS)[axis], count, inside=m.integer(0, 3) > 0)
    shape = shape_of(axis, count)
    updates = m.cut(m.pick(), axis, 0, count)
    into = m.pick()
    if m.integer(0, 2):
        number = m.literal(m.draw(st.sampled_from(["0", "-0", "3"])))
        into = m.line(f"stablehlo.constant dense{number} : {WHOLE}")
    body = m.draw(st.sampled_from(["%n = stablehlo.add %p, %q : tensor<TYPE>",
                                   "%n = stablehlo.add %q, %p : tensor<TYPE>",
                                   "", "%n = stablehlo.maximum %p, %q : tensor<TYPE>"]))  # fmt: skip
    return m.line(
        f'"stablehlo.scatter"({into}, {where}, {updates}) <{{indices_are_sorted = false, scatter_dimension_numbers = '
        f"#stablehlo.scatter<update_window_dims = [{1 - axis}], inserted_window_dims = [{axis}], "
        f"scatter_dims_to_operand_dims = [{axis}], index_vector_dim = 1>, unique_indices = false}}> ({{\n"
        f"    ^bb0(%p: tensor<TYPE>, %q: tensor<TYPE>):\n      {body}\n"
        f"      stablehlo.return {'%n' if body else '%q'} : tensor<TYPE>\n"
        f"  }}) : ({WHOLE}, tensor<{count}x1xi32>, {tensor(shape)}) -> {WHOLE}"
    )


def reduce_of_broadcast(m: Maker) -> str:
    """To three axes and back to two, over one or two of them."""
    place, copies = m.integer(0, 2), m.integer(1, 3)
    dims = [axis for axis in range(3) if axis != place]
    shape = [ROWS, COLUMNS]
    shape.insert(place, copies)
    wide = m.line(f"stablehlo.broadcast_in_dim {m.pick()}, dims = {dims} : ({WHOLE}) -> {tensor(shape)}")
    name = m.draw(st.sampled_from(["add", "maximum", "minimum"]))
    # XLA leaves the initial value of a reduction over an axis of size 1 out: it must change nothing.
    identity = "0" if name == "add" and m.dtype.startswith("i") else "0.0" if name == "add" else LIMITS[m.dtype, name]
    start = m.line(f"stablehlo.constant dense<{identity}> : tensor<TYPE>")
    reduced = sorted({place, *([m.integer(0, 2)] if m.integer(0, 1) else [])})
    left = [axis for axis in range(3) if axis not in reduced]
    kind = tensor([shape[axis] for axis in left]) if left else "tensor<TYPE>"
    small = m.line(
        f"stablehlo.reduce({wide} init: {start}) applies stablehlo.{name} across dimensions = {reduced} : "
        f"({tensor(shape)}, tensor<TYPE>) -> {kind}"
    )
    if [shape[axis] for axis in left] == [ROWS, COLUMNS]:
        return small
    back = {ROWS: 0, COLUMNS: 1}
    dims = [back[shape[axis]] for axis in left] if len(left) == 1 and shape[left[0]] in back else None
    return m.line(f"stablehlo.broadcast_in_dim {small}, dims = {dims} : ({kind}) -> {WHOLE}") if dims else m.pick()


def power(m: Maker) -> str:
    exponent = m.literal(str(m.integer(0, 3) if m.dtype.startswith("i") else m.integer(-2, 4)))
    constant = m.line(f"stablehlo.constant dense{exponent} : {WHOLE}")
    return m.line(f"stablehlo.power {m.pick()}, {constant} : {WHOLE}")


def dot(m: Maker) -> str:
    """Of a transpose, on one side or both."""
    a, b = m.pick(), m.pick()
    turned = tensor((COLUMNS, ROWS))
    a = m.line(f"stablehlo.transpose {a}, dims = [1, 0] : ({WHOLE}) -> {turned}")
    square = tensor((COLUMNS, COLUMNS))
    c = m.line(f"stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({turned}, {WHOLE}) -> {square}")
    d = m.line(f"stablehlo.dot_general {c}, {a}, contracting_dims = [1] x [0] : ({square}, {turned}) -> {turned}")
    return m.line(f"stablehlo.transpose {d}, dims = [1, 0] : ({turned}) -> {WHOLE}")


STEPS = [elementwise, sum_of_pads, sum_of_pads, gather, scatter, scatter, reduce_of_broadcast, power, dot, gather]
INEXACT = {power, dot}


@st.composite
def modules(draw) -> str:
    m = Maker(draw, draw(st.sampled_from(["f32", "f64", "i32"])))
    for _ in range(draw(st.integers(2, 6))):
        step = draw(st.sampled_from(STEPS))
        m.values.append(step(m))
    results = m.values[-2:]
    text = (
        f"func.func @main(%x: {WHOLE}, %y: {WHOLE}) -> ({WHOLE}, {WHOLE}) {{\n"
        + "\n".join(m.lines)
        + f"\n  return {', '.join(results)} : {WHOLE}, {WHOLE}\n}}\n"
    )
    return text.replace("TYPE", m.dtype)


def arguments(text: str, seed: int, special: bool) -> list[np.ndarray]:
    """Halves of small integers, so that sums are exact; some inf, NaN and zeros of both signs."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype({"f32": "f4", "f64": "f8", "i32": "i4"}[text.split(f"{ROWS}x{COLUMNS}x")[1][:3]])
    values = [rng.integers(-4, 5, (ROWS, COLUMNS)).astype(dtype) for _ in range(2)]
    if dtype.kind == "f":
        values = [value / dtype.type(2) for value in values]
        if special:
            for value in values:
                value[rng.random(value.shape) < 0.3] = rng.choice(SPECIAL)
    return values


@settings(max_examples=PROGRAMS, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=modules(), seed=st.integers(0, 1000), special=st.booleans())
def every_bit_is_kept(seen: Counter[str], text: str, seed: int, special: bool) -> None:
    found = check(text, arguments(text, seed, special), ["simplify{reassociate=false}"], run=False)
    seen.update(found.applied)
    if not found.applied:
        assert not found.changed


@settings(max_examples=max(PROGRAMS // 4, 1), derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=modules(), seed=st.integers(0, 1000))
def results_are_equal_up_to_rounding(seen: Counter[str], text: str, seed: int) -> None:
    seen.update(check(text, arguments(text, seed, special=False), exact=False, rtol=1e-5).applied)


def test_programs_are_what_they_were_before_and_rewrites_are_found() -> None:
    seen: Counter[str] = Counter()
    every_bit_is_kept(seen)
    results_are_equal_up_to_rounding(seen)
    for name in ("sum_of_pads", "gather_to_slice", "scatter_to_pad", "reduce_of_broadcast"):
        assert seen[name], seen
