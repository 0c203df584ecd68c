"""The helper that tests of padding share: one `?` program, run exactly and padded, at many sizes.

`check_padded` compiles the padded program once for its bounds, and once more in the variant that assumes nothing of the
padding of its arguments; each runs at every set of sizes, the first with zeros in the padding, the second with NaN,
great integers and `True`. What they return within the live sizes is compared with the exact program's results: from one
executable per set of sizes, and from the reference interpreter where it knows the ops.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from rewritten_runs import TOLERANCE, as_arrays, assert_same

from hlograph import Program
from hlograph.builder import dims as dimension
from hlograph.errors import UnsupportedGraphError

Sizes = Mapping[str, int]
Maker = Callable[[tuple[int, ...], np.random.Generator], Any]
Reference = Callable[..., Any]

NASTY = (np.nan, np.inf, -np.inf, -0.0, 0.0)


def sizes_up_to(bound: int) -> list[int]:
    """The sizes that a bound is tried at: nothing, one, few, one less than all, all."""
    return sorted({size for size in (0, 1, 2, bound - 1, bound) if 0 <= size <= bound})


def grid(bounds: Mapping[str, int], *, least: int = 0) -> list[dict[str, int]]:
    """Sets of sizes for some roots: every size of each root, shifted against the others', and all bounds at once."""
    choices = [[size for size in sizes_up_to(bound) if size >= least] for bound in bounds.values()]
    rows = [
        {
            name: sizes[(step + 2 * place) % len(sizes)]
            for place, (name, sizes) in enumerate(zip(bounds, choices, strict=True))
        }
        for step in range(max(map(len, choices), default=1))
    ]
    return rows if dict(bounds) in rows else [*rows, dict(bounds)]


# ---- data ------------------------------------------------------------------------------------------------------------


def ordinary(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> np.ndarray:
    """Data without anything special, zeros and duplicates apart."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -4, 5, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def nasty(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Floats with NaN, infinities, zeros of both signs and duplicates among them."""
    values = np.round(rng.standard_normal(shape), 1)
    return np.where(rng.random(shape) < 0.4, rng.choice(NASTY, shape), values)


def positive(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Numbers between 0.1 and 2."""
    return rng.uniform(0.1, 2.0, shape)


def definite(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Symmetric positive definite matrices on the last two axes."""
    factor = rng.standard_normal(shape)
    return factor @ np.swapaxes(factor, -1, -2) + (shape[-1] + 1) * np.eye(shape[-1])


def integers(low: int, high: int) -> Maker:
    """Integers from `low` up to `high`, which is not among them."""
    return lambda shape, rng: rng.integers(low, high, shape)


def garbage(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What padding that nobody may look at is filled with."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.ones(shape, bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = np.full(shape, info.max, dtype)
        values.reshape(-1)[::2] = info.min if dtype.kind == "i" else info.max // 3
        return values
    odd = [np.nan, np.inf, np.nan, -np.inf]
    return np.resize(np.array(odd, dtype) + (complex(0, np.nan) if dtype.kind == "c" else 0), shape).astype(dtype)


def padded_array(array: np.ndarray, shape: Sequence[int], *, poison: bool) -> np.ndarray:
    """`array` in the corner of one of the given shape, with zeros or garbage around it."""
    result = garbage(array.dtype, tuple(shape)) if poison else np.zeros(tuple(shape), array.dtype)
    result[tuple(slice(0, size) for size in array.shape)] = array
    return result


# ---- running ---------------------------------------------------------------------------------------------------------


class Padded:
    """The padded program, compiled once, as a function of exact arrays; options are `compile`'s."""

    def __init__(self, program: Program, bounds: Sizes, *, poison: bool, by_rows: bool = False, **options: Any) -> None:
        self.poison = poison
        sizes = ",".join(f"{name}={bound}" for name, bound in bounds.items())
        self.program = program.pad(bounds, cpu=by_rows)
        if poison:
            self.program = program.optimize([f"pad{{{sizes},poison=true,cpu={str(by_rows).lower()}}}"])
        self.run = self.program.compile(policy="exact", **options)

    def __call__(self, sizes: Sizes, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results' live boxes."""
        return self.live(sizes, as_arrays(self.run(*self.given(sizes, arrays))))

    def given(self, sizes: Sizes, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The padded program's arguments: arrays in the corner of larger ones, then the live sizes."""
        found: list[np.ndarray] = []
        for argument in self.program.signature.arguments:
            if argument.size:
                found.append(np.asarray(sizes[argument.size], argument.dtype))
            else:
                found.append(padded_array(np.asarray(arrays[len(found)]), argument.dims, poison=self.poison))
        return found

    def live(self, sizes: Sizes, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The live boxes of the padded program's results."""
        results = list(zip(self.program.signature.results, outputs, strict=True))
        known = {**sizes, **{result.size: int(output) for result, output in results if result.size}}
        found = []
        for result, output in results:
            if not result.size:
                live = [dimension.evaluate(dim, known) for dim in (result.live or result.dims)]
                assert len(live) == np.ndim(output), f"live size {live} of a result of shape {np.shape(output)}"
                assert all(size <= room for size, room in zip(live, np.shape(output), strict=True)), (live, output)
                found.append(np.asarray(output)[tuple(map(slice, live))])
        return found


def make_arrays(
    program: Program, sizes: Sizes, data: Mapping[str, Maker], rng: np.random.Generator
) -> list[np.ndarray]:
    """Arguments for given sizes; arguments that decide sizes hold them."""
    arrays = []
    for argument in program.signature.arguments:
        shape = tuple(dimension.evaluate(dim, sizes) for dim in argument.dims)
        if any(argument.values):
            values = [sizes[name] if name else 0 for name in argument.values]
            arrays.append(np.asarray(values if shape else values[0], argument.dtype))
        elif argument.name in data:
            arrays.append(np.asarray(data[argument.name](shape, rng)).astype(argument.dtype))
        else:
            arrays.append(ordinary(shape, argument.dtype, rng))
    return arrays


def check_padded(
    program: Program | str,
    bounds: Sizes,
    *,
    data: Mapping[str, Maker] | None = None,
    sizes: Sequence[Sizes] | None = None,
    exact: Reference | None = None,
    compiled: bool = True,
    interpret: bool = True,
    cpu: bool = False,
    rtol: float | None = None,
    seed: int = 0,
) -> Program:
    """Compares padded runs with exact ones.

    Args:
        program: a `?` program, or its text.
        bounds: for each root its greatest value.
        data: for arguments by name what makes their values, in place of `ordinary`.
        sizes: the sets of sizes to run; `grid(bounds)` if not given.
        exact: the expected results from the arrays, in place of the program's own.
        compiled: take the exact program's results from its compiled form.
        interpret: and from the reference interpreter, where it knows the ops.
        cpu: take the padded form for CPUs.
        rtol: tolerance in place of the dtype's.
        seed: of the data.

    Returns:
        The padded program.
    """
    source = Program.parse(program) if isinstance(program, str) else program
    function = source.compile(policy="exact") if compiled and exact is None else None
    variants = {name: Padded(source, bounds, poison=name == "NaN", by_rows=cpu) for name in ("zeros", "NaN")}
    rng = np.random.default_rng(seed)
    for row in grid(bounds) if sizes is None else sizes:
        arrays = make_arrays(source, row, data or {}, rng)
        expected = _expected(source, arrays, function, exact, interpret)
        assert expected, "nothing to compare with"
        for name, run in variants.items():
            found = run(row, arrays)
            for kind, values in expected.items():
                assert len(values) == len(found)
                for number, (x, wanted) in enumerate(zip(found, values, strict=True)):
                    label = f"{dict(row)}, {name} in the padding, {kind}, result {number}"
                    own = 5 * TOLERANCE.get(x.dtype.name, 0) if rtol is None else rtol
                    assert_same(x, np.asarray(wanted), rtol=own, label=label)
    return variants["zeros"].program


def _expected(
    source: Program, arrays: Sequence[np.ndarray], function: Any, exact: Reference | None, interpret: bool
) -> dict[str, list[np.ndarray]]:
    expected: dict[str, list[np.ndarray]] = {}
    if exact is not None:
        expected["reference"] = as_arrays(exact(*arrays))
    if function is not None:
        expected["exact"] = as_arrays(function(*arrays))
    if interpret:
        with suppress(UnsupportedGraphError):
            expected["interpreter"] = list(source.interpret(*arrays))
    return expected
