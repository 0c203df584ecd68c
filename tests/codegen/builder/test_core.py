"""The builder: CSE, prologue, regions, sizes that stay dimensions, checks, functions."""

from __future__ import annotations

import numpy as np
import pytest
from builds import Build

from hlograph import Program
from hlograph import builder as hlo
from hlograph.builder import BOOL, INT64, SizeSource, dims
from hlograph.errors import DataDependentSizeError

F64 = np.dtype(np.float64)
N = dims.symbol("n")


VECTOR, SYMBOLIC, SCALAR, FLAG = ((4,), F64), ((N,), F64), ((), F64), ((), BOOL)


def with_a_constant_that_nothing_uses(x):
    x.builder.constant(np.arange(4.0) + 7)
    return hlo.add(hlo.add(x, x.builder.constant(np.ones(4))), x.builder.constant(np.ones(4)))


def of_a_branch_and_outside(pred, x):
    (chosen,) = hlo.if_(pred, lambda: [hlo.exponential(x)], lambda: [x])
    return [chosen, hlo.exponential(x)]


def outside_and_of_a_branch(pred, x):
    outside = hlo.exponential(x)
    return [*hlo.if_(pred, lambda: [hlo.exponential(x)], lambda: [x]), outside]


def of_one_size(x, y):
    b = x.builder
    return [hlo.full(b, b.constant(1.0), (N, N)), hlo.add(x, y), hlo.iota(b, (N,), 0, INT64)]


# Arguments, what is made of them, and how often a word stands in the text.
COUNTED = {
    "an operation is made once": ([VECTOR] * 2, lambda x, y: hlo.add(hlo.divide(x, y), hlo.divide(x, y)), "divide", 1),
    "equal constants are one, unused ones none": ([VECTOR], with_a_constant_that_nothing_uses, "constant", 1),
    "zero and minus zero are two": ([SCALAR], lambda x: hlo.add(hlo.add(x, 0.0), -0.0), "constant", 2),
    "a branch's is not seen outside": ([FLAG, VECTOR], of_a_branch_and_outside, "exponential", 2),
    "one outside serves a branch": ([FLAG, VECTOR], outside_and_of_a_branch, "exponential", 1),
    "sizes are computed once": ([SYMBOLIC] * 2, of_one_size, "get_dimension_size", 1),
    "scalar bounds stay scalars": ([SCALAR, SYMBOLIC], lambda low, x: hlo.clamp(low, x, 1.0), "broadcast_in_dim", 0),
    "unless one is none": ([SYMBOLIC] * 2, lambda low, x: hlo.clamp(low, x, 1.0), "broadcast_in_dim", 1),
    "a total order is said": ([VECTOR] * 2, lambda x, y: hlo.compare("LT", x, y, "TOTALORDER"), "TOTALORDER", 1),
}


@pytest.mark.parametrize("what", COUNTED)
def test_how_often(what):
    arguments, body, word, count = COUNTED[what]
    build = Build(*arguments)
    found = body(*build.args)
    assert build.done(*(found if isinstance(found, list) else [found])).count(word) == count


@pytest.mark.parametrize("kind", ["loop", "branch", "loop in a loop"])
def test_a_region_that_an_error_leaves_uses_nothing(kind):
    """Else its ops outlive those whose values they use, wherever the garbage collector takes the module first."""
    build = Build(((4,), F64), ((), BOOL))
    x, pred = build.args

    def wrong(*_):
        hlo.exponential(x)
        raise DataDependentSizeError("wrong")

    def again(carries):
        hlo.growing_loop([carries.values[0]], lambda i: pred, wrong)

    zero = build.builder.constant(0, INT64)
    make = {
        "loop": lambda: hlo.growing_loop([zero], lambda i: pred, wrong),
        "branch": lambda: hlo.if_(pred, wrong, lambda: [x]),
        "loop in a loop": lambda: hlo.growing_loop([zero], lambda i: pred, again),
    }
    with pytest.raises(DataDependentSizeError, match="wrong") as caught:  # its traceback has all that was built
        make[kind]()
    assert list(x.value.uses) == []
    del caught


def test_size_arithmetic_follows_pythons_floor():
    build = Build(((N,), F64), ((), INT64))
    _, k = build.args
    b = build.builder
    b.add_root(SizeSource("k", k, None))
    signed = dims.symbol("k", signed=True)
    exprs = [signed // 3, signed % 3, (N - 7) // 4, (N - 7) % 4, 5 // (N + 1), N // 3, N % 3]
    exprs += [N // signed, N % signed, (N - 7) // signed, (N - 7) % signed]
    results = [b.size(d) for d in exprs]
    program = Program.parse(build.done(*results))
    for k_value in (-7, -3, -1, 0, 1, 8):
        found = [int(v) for v in program.compile()(np.zeros(5), np.array(k_value))]
        assert found[:7] == [k_value // 3, k_value % 3, -2 // 4, -2 % 4, 5 // 6, 5 // 3, 5 % 3]
        # Divided by 0, sizes are 0, as NumPy's integers are.
        assert found[7:] == ([5 // k_value, 5 % k_value, -2 // k_value, -2 % k_value] if k_value else [0] * 4)


def test_handles_have_operators():
    build = Build(VECTOR, VECTOR)
    x, y = build.args
    a, b = np.array([1.0, -2.0, 3.0, 4.0]), np.array([2.0, 5.0, -1.0, 4.0])
    larger, small = hlo.compare("GT", x, y), hlo.compare("LT", x, 3.0)
    found = build.run(2 * x - y / 4 + (1 - -x) + 1, ~larger & small | larger, arrays=[a, b])
    np.testing.assert_array_equal(found[0], 2 * a - b / 4 + (1 + a) + 1)
    np.testing.assert_array_equal(found[1], ~(a > b) & (a < 3) | (a > b))


def test_integer_scalars_stay_dimensions():
    build = Build(((N,), F64))
    (x,) = build.args
    n = x.builder.size(N)
    length = hlo.maximum_(hlo.subtract(hlo.multiply(n, 2), 3), 0)
    assert x.builder.dim_of(length, "a size") == dims.maximum(2 * N - 3, 0)
    text = build.done(hlo.exponential(x))
    assert "get_dimension_size" not in text, "shape arithmetic that nothing uses leaves no code"


def test_a_narrow_integer_is_no_size():
    build = Build(((), np.dtype(np.int8)))
    (k,) = build.args
    k.sizes = (dims.symbol("k", signed=True),)
    assert hlo.add(k, k).sizes is None, "int8 arithmetic may wrap"
    assert hlo.convert(k, INT64).dim == dims.symbol("k", signed=True)


def test_a_size_from_data_is_refused_with_advice():
    build = Build(((3,), INT64))
    (x,) = build.args
    total = hlo.reduce_monoid(x, [0], "add")
    build.builder.where = "node 'total'"
    with pytest.raises(DataDependentSizeError, match=r"the length is computed from data at node 'total'.*mask"):
        build.builder.dim_of(total, "the length")


def test_case_takes_the_last_branch_out_of_range():
    build = Build(((), np.dtype(np.int32)), ((2,), F64))
    index, x = build.args
    branches = [lambda f=f: [hlo.multiply(x, f)] for f in (1.0, 10.0, 100.0)]
    program = Program.parse(build.done(*hlo.case(index, branches)))
    for i, factor in [(0, 1.0), (1, 10.0), (2, 100.0), (7, 100.0), (-1, 100.0)]:
        np.testing.assert_array_equal(program.compile()(np.int32(i), np.ones(2)), np.full(2, factor))


# Shapes; a product of what is transposed; its value.
READ = {
    "both operands": (
        ((5, 3), (4, 5)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 0)), hlo.transpose(y, (1, 0)), contracting=([1], [0])),
        lambda x, y: x.T @ y.T,
    ),
    "batch axes": (
        ((4, 2, 3), (2, 4, 5)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 2, 0)), y, contracting=([2], [1]), batching=([0], [0])),
        lambda x, y: np.einsum("kbi,bkj->bij", x, y),
    ),
    "kept: free axes are swapped": (
        ((2, 3, 4), (4,)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 0, 2)), y, contracting=([2], [0])),
        lambda x, y: np.einsum("ijk,k->ji", x, y),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_products_read_through_transposes(case):
    shapes, body, expected = READ[case]
    build = Build(*[(shape, F64) for shape in shapes])
    program = Program.parse(build.done(body(*build.args)))
    assert program.op_counts().get("stablehlo.transpose", 0) == case.startswith("kept")
    values = [np.random.default_rng(0).normal(size=shape) for shape in shapes]
    np.testing.assert_allclose(program.compile()(*values), expected(*values), rtol=1e-14)
