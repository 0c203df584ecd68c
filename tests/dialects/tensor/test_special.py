"""Special functions of the scalar table, against SciPy (which PyTensor's own implementation calls), and gradients."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import Elemwise
from scalar_cases import SPECIAL, check, words
from support import NIGHTLY, assert_same, check_lowering

import hlograph

# Loops: up to minutes in the interpreter.
LONG = words("gammau gammal betainc betaincinv gammaincinv gammainccinv ive kve")
OF_SCIPY = words("j0 j1 jv owens_t hyp2f1")  # called, which the interpreter cannot


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", SPECIAL)
def test_function(name: str) -> None:
    """All combinations of the values, in one vector per argument."""
    tested = SPECIAL[name]
    if "grids" not in tested.values:
        check(tested.op, tested.dtypes, tested.values, tested.tolerance)
        return
    columns = np.array(list(itertools.product(*tested.values["grids"]))).T
    if name in LONG and not NIGHTLY:
        columns = columns[:, ::3]  # 3 divides the length of no last grid, so that every value of it is there
    inputs, outputs, arrays, expected = [], [], [], []
    for types in tested.dtypes:
        xs = [pt.tensor(f"{d}_{i}", dtype=d, shape=(None,)) for i, d in enumerate(types)]
        inputs += xs
        arrays += [column.astype(types[0]) for column in columns]
        outputs.append(Elemwise(tested.op)(*xs))
        spec = getattr(tested.op, "nfunc_spec", None)
        function = np.vectorize(tested.op.impl) if spec is None else getattr(scipy.special, spec[0].split(".")[-1])
        rounded = [column.astype(types[0]).astype("float64") for column in columns]
        with np.errstate(all="ignore"):
            expected.append(np.asarray(function(*rounded)).astype(types[0]))
    # Where SciPy's result is subnormal ours is 0.
    expected = [np.where(np.abs(v) < np.finfo(v.dtype).tiny, 0, v).astype(v.dtype) for v in expected]
    program = hlograph.emit_stablehlo((inputs, outputs))
    runs = {"compiled": program.compile()(*arrays)}
    if name not in (*LONG, *OF_SCIPY):
        runs["interpreted"] = program.interpret(*arrays)
    for kind, results in runs.items():
        for actual, value in zip(results, expected, strict=True):
            rtol = tested.tolerance[value.dtype.name]
            # Near a zero of the function the error is that of its terms, which are about 1.
            atol = 10 * np.finfo(value.dtype).eps if name in ("gammaln", "psi") else 0.0
            atol = max(atol, float(np.finfo(value.dtype).tiny))
            assert_same(actual, value, rtol=rtol, atol=atol, label=f"{name} in {value.dtype}, {kind}")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [0, 1])
def test_imported_functions_of_small_tensors(size: int) -> None:
    """What JAX writes has loops and calls; shape refinement must get through both for any size, static and symbolic."""
    x = pt.vector("x")
    values = np.array([0.3, 0.6])[:size]
    y = 1 + x
    check_lowering([x], [pt.gammaincinv(y, x)], values, rtol=1e-10, interpret=False)
    check_lowering([x], [pt.kve(y, x), pt.hyp2f1(x, y, y + x, x)], values, rtol=1e-10, interpret=False, static=False)


def test_bessel_functions_far_out() -> None:
    """Where SciPy has fewer digits, or NaN."""
    v, x = pt.vector("v"), pt.vector("x")
    orders = np.array([0.0, 0.3, 2.0, 49.9, 50.1, 60.5, 2.5, 100.0, 7.0])
    points = np.array([1e-300, 1e-20, 1e-3, 8.0, 300.0, 150.0, 1e4, 90.0, 25.0])
    pairs = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(orders, points, strict=True)]
    with mpmath.workdps(40):
        wanted = [
            np.array([float(mpmath.besseli(a, b) * mpmath.exp(-b)) for a, b in pairs]),
            np.array([float(mpmath.besselk(a, b, maxprec=10**5) * mpmath.exp(b)) for a, b in pairs]),
        ]
    function = hlograph.function([v, x], [pt.ive(v, x), pt.kve(v, x)])
    for found, value in zip(function(orders, points), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12)
    limits = function(orders[:3], np.full(3, np.inf))
    np.testing.assert_array_equal(limits, np.zeros((2, 3)))


def test_functions_of_scalars_and_matrices() -> None:
    a, x, m = pt.scalar("a"), pt.scalar("x"), pt.matrix("m")
    outputs = [pt.gammainc(a, x), pt.gammaincinv(a, m), pt.betaincinv(a, x, m), pt.owens_t(a, m)]
    values = 2.5, 0.3, np.array([[0.1, 0.5, 0.9], [0.2, 0.7, 0.99]])
    check_lowering([a, x, m], outputs, *values, rtol=1e-10, interpret=False, static=False)


def test_scalar_loop() -> None:
    """Elements stop by themselves, by count or by condition; the others go on."""
    state, total, step = ps.float64("state"), ps.float64("total"), ps.float64("step")
    counted = ScalarLoop(init=[state, total], update=[state + step, total * state], constant=[step])
    until = ScalarLoop(init=[state], update=[state + step], constant=[step], until=ps.gt(state + step, 5.0))
    n, x, y = pt.vector("n", dtype="int32"), pt.vector("x"), pt.vector("y")
    arrays = [np.array([0, 1, 2, 7], "int32"), np.array([1.0, 2.0, 3.0, 0.5]), np.array([0.5, -1.0, 4.0, 2.0])]
    ends = []
    sums, products, stopped = [], [], []
    for count, start, by in zip(*arrays, strict=True):
        value, product, other, done = start, 1.0, start, False
        for _ in range(count):
            value, product = value + by, product * value
            if not done:
                other += by
                done = other > 5
        sums.append(value)
        products.append(product)
        stopped.append(other)
        ends.append(done)
    outputs = [*Elemwise(counted)(n, x, pt.ones_like(x), y), *Elemwise(until)(n, x, y)]
    expected = [np.array(v) for v in (sums, products, stopped, ends)]
    check_lowering([n, x, y], outputs, *arrays, expected=expected)


def test_functions_of_small_integers_are_one_rounding_away() -> None:
    x = pt.bvector("x")
    values = np.arange(1, 100, dtype="int8")
    known = pt.gammaln((pt.constant(np.int8(3)) + 1) / 2.0)
    assert known.type.dtype == "float32"
    result, constant = hlograph.function([x], [pt.gammaln(x), known])(values)
    assert result.dtype == constant.dtype == "float32"
    np.testing.assert_array_max_ulp(np.asarray(result), scipy.special.gammaln(values * 1.0).astype("float32"), maxulp=1)
    assert float(constant) == 0.0
