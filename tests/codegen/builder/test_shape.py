"""Shape and indexing functions of the builder that no lowering rule calls in this form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builds import Build
from support import DYNAMIC

from hlograph import builder as hlo
from hlograph.builder import Tensor, dims
from hlograph.errors import ArgumentShapeError


def check(build: Callable[[Tensor], Tensor], value: np.ndarray, expected: np.ndarray) -> None:
    """The function's result, compiled and interpreted, of a `?` and of a static module."""
    for shape in (tuple(map(dims.symbol, "nm"))[: value.ndim], value.shape):
        built = Build((shape, value.dtype))
        program = built.program(build(*built.args))
        assert shape != value.shape or DYNAMIC.search(program.text) is None
        np.testing.assert_array_equal(program.compile()(value), expected)
        np.testing.assert_array_equal(program.interpret(value)[0], expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize(("low", "high", "gap"), [(0, 0, 0), (1, 2, 0), (2, 0, 3), (-1, 1, 0), (3, -1, 1), (0, 0, 1)])
def test_pad(size, low, high, gap):
    values = np.arange(1.0, size + 1)
    spread = np.full(max(size + gap * (size - 1), 0), 9.0)
    spread[:: gap + 1] = values
    whole = np.concatenate([np.full(max(low, 0), 9.0), spread, np.full(max(high, 0), 9.0)])
    expected = whole[max(-low, 0) : len(whole) - max(-high, 0)]
    if size == 0 and min(low, high) < 0:
        pytest.skip("nothing to cut off")
    check(lambda x: hlo.pad(x, x.builder.constant(9.0), [low], [high], [gap]), values, expected)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_slice_axis_of_a_symbolic_length(size, step):
    """`length` elements from the first (or last) one on, with a length that is half of the axis."""

    def build(m: Tensor) -> Tensor:
        length = (m.dims[1] + 1) // 2
        reach = (length + abs(step) - 1) // abs(step)
        return hlo.slice_axis(m, 1, 0 if step > 0 else m.dims[1] - 1, reach, step)

    values = np.arange(2.0 * size).reshape(2, size)
    reach = -(-((size + 1) // 2) // abs(step))
    at = (0 if step > 0 else size - 1) + step * np.arange(reach)
    check(build, values, values[:, at])


def test_dynamic_slice_clamps_its_start():
    values = np.arange(10.0).reshape(2, 5)
    for start, first in [(0, 0), (2, 2), (9, 3), (-4, 0)]:

        def build(m: Tensor, start: int = start) -> Tensor:
            starts = [m.builder.constant(at, np.int64) for at in (0, start)]
            return hlo.dynamic_slice(m, starts, (m.dims[0], 2))

        check(build, values, values[:, first : first + 2])


@pytest.mark.parametrize(
    ("combiner", "expected"),
    [
        ("set", [1.0, 8.0, 6.0]),
        ("add", [1.0, 15.0, 9.0]),
        ("multiply", [1.0, 80.0, 18.0]),
        ("maximum", [1.0, 8.0, 6.0]),
        ("minimum", [1.0, 2.0, 3.0]),
    ],
)
def test_put_combines(combiner, expected):
    """1, 2, 3 with 5 and then 8 put at place 1, and 6 at place 2."""

    def build(x: Tensor) -> Tensor:
        at = x.builder.constant(np.array([1, 2, 1]))
        return hlo.put(x, at, x.builder.constant(np.array([5.0, 6.0, 8.0])), 0, combiner)

    check(build, np.array([1.0, 2.0, 3.0]), np.array(expected))


def test_put_drops_and_take_clamps_what_is_out_of_range():
    def put(x: Tensor) -> Tensor:
        return hlo.put(x, x.builder.constant(np.array([7, -1])), x.builder.constant(np.zeros(2)), 0, "set")

    values = np.array([1.0, 2.0, 3.0])
    check(put, values, values)
    check(lambda x: hlo.take(x, x.builder.constant(np.array([7, -1])), 0), values, np.array([3.0, 1.0]))


def test_what_is_the_same_is_not_emitted_again():
    """No op for a slice, a broadcast, a pad, a reshape or a transpose that changes nothing."""

    build = Build(((dims.symbol("n"), dims.symbol("m")), np.dtype(np.float64)))
    (m,) = build.args
    same = [
        hlo.slice(m, [0, 0], m.dims),
        hlo.slice_axis(m, 0, 0, m.dims[0]),
        hlo.broadcast(m, m.dims),
        hlo.pad(m, m.builder.constant(0.0), [0, 0], [0, 0]),
        hlo.reshape(m, m.dims),
        hlo.transpose(m, [0, 1]),
        hlo.expand_dims(m, []),
        hlo.concatenate([m], 0),
    ]
    assert all(x is m for x in same)
    assert build.program(m).op_counts() == {}


def test_sizes_stay_known():
    """What reshapes, slices and stacks of sizes give are sizes still: they can be shapes again."""

    def build(m: Tensor) -> Tensor:
        sizes = m.builder.size_vector(m.dims)
        first, second = (hlo.reshape(hlo.slice(sizes, [at], [at + 1]), ()) for at in (0, 1))
        swapped = hlo.stack_scalars([second, first])
        turned = m.builder.dims_of(hlo.reshape(hlo.reshape(swapped, (2,)), (2,)), "the test's shape")
        assert turned == (m.dims[1], m.dims[0])
        return hlo.full(m.builder, m.builder.constant(2.0), turned)

    check(build, np.zeros((2, 3)), np.full((3, 2), 2.0))


def test_squeeze_demands_size_one():
    build = Build(((dims.symbol("n"), dims.symbol("m")), np.dtype(np.float64)))
    run = build.program(hlo.squeeze(build.args[0], [0])).compile()
    np.testing.assert_array_equal(run(np.ones((1, 3))), np.ones(3))
    with pytest.raises(ArgumentShapeError, match="dropped axis 0"):
        run(np.ones((2, 3)))


def test_imported_functions_of_one_name_are_two():
    import jax.numpy as jnp

    def both(x: Tensor) -> Tensor:
        return hlo.subtract(*[hlo.import_elementwise("f", function, [x]) for function in (jnp.exp, jnp.sin)])

    check(both, np.zeros(3), np.ones(3))
