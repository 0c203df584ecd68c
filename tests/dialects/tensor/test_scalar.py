"""Every op of the scalar table, at ordinary and at edge values, in the dtypes that it takes.

Expected values are those of PyTensor's own Python implementation (NumPy's functions, element by element), or of NumPy
itself where PyTensor's cannot hold an intermediate value. Tolerances are relative and per element: no large value hides
the error of a small one. The ops and their values are in tests/scalar_cases.py.
"""

import itertools

import mpmath
import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.compile.mode import Mode
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import MulWithoutZeros
from scalar_cases import CASES, COMPLEXES, FLOATS, INTEGERS, SPECIAL, VALUES, check, scalar, words
from scalar_cases import ELSEWHERE as OTHER_RELEASES
from support import NIGHTLY, assert_same, check_lowering

import hlograph
from hlograph.dialects.registry import registered
from hlograph.dialects.tensor.scalar import TABLE
from hlograph.errors import UnsupportedGraphError, UnsupportedOpError

# Names that other releases give to a class of the list, so that no op has them here.
OTHER_NAMES = {
    "ScalarMaximum": "Maximum",
    "ScalarMinimum": "Minimum",
    "Sgn": "Sign",
    "FloorDivide": "IntDiv",
    "TrueDivide": "TrueDiv",
}
# Tested below, by functions of their own.
ELSEWHERE = {"Cast", "Pow", "MulWithoutZeros", "Softplus", "Sigmoid", "Log1mexp"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_op(name: str) -> None:
    case = CASES[name]
    check(case.op, case.dtypes, case.values, case.tolerance)


def test_every_name_of_the_table_is_tested() -> None:
    tested = {type(case.op).__name__ for case in (*CASES.values(), *SPECIAL.values())} | ELSEWHERE
    tested |= {kind for name, kind in OTHER_RELEASES.items() if scalar(name) is None}
    tested |= {other for other, name in OTHER_NAMES.items() if name in tested}
    registered()  # reads all files of rules
    assert set(TABLE) == tested


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["sigmoid", "softplus", "log1mexp"])
def test_stable_compositions_neither_overflow_nor_cancel(name: str, dtype: str) -> None:
    values = [-1000.0, -50.5, -20.0, -0.7, -0.69, -1e-3, -1e-9, -0.0, 0.0, np.nan, -np.inf]
    values += [] if name == "log1mexp" else [1e-9, 0.3, 33.0, 40.0, 1000.0, np.inf]
    check(getattr(ps, name), ((dtype,),), {dtype: values}, {})


@pytest.mark.skipif(not hasattr(ps, "angle"), reason="PyTensor 3.3 makes it of other ops")
def test_angle_of_float32_is_as_exact_as_its_dtype_float64() -> None:
    """PyTensor computes it in float32 and says float64."""
    check(ps.angle, (("float32",), ("complex64",)), {}, {"float64": 2e-7})


def test_variadic_add_and_mul() -> None:
    x, y, z = (pt.vector(name) for name in "xyz")
    i, j, k = (pt.vector(name, dtype="int8") for name in "ijk")
    outputs = [pt.add(x, y, z), pt.mul(x, y, z), Elemwise(ps.add)(x), pt.add(x, i, y), pt.mul(i, j, k)]
    values = [np.array([1.5, np.inf, 2.0]), np.array([0.25, -np.inf, np.nan]), np.array([-3.0, 1.0, 1.0])]
    check_lowering([x, y, z, i, j, k], outputs, *values, [1, 2, 3], [4, -5, 6], [5, 6, -7])


def test_variadic_integers_wrap_around() -> None:
    check(ps.add, (("int8",) * 3,), {"int8": [127, 100, -128]}, {}, expected=[_folded(np.add, [127, 100, -128])])
    check(ps.mul, (("int8",) * 3,), {"int8": [127, 100, -128]}, {}, expected=[_folded(np.multiply, [127, 100, -128])])


def _folded(function: np.ufunc, values: list[int]) -> np.ndarray:
    grid = np.array(list(itertools.product(values, repeat=3)), np.int8)
    with np.errstate(over="ignore"):
        return function.reduce(grid, axis=1, dtype=np.int8)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_mul_without_zeros(dtype: str) -> None:
    values = {"int64": [0, 3, -4], "uint8": [0, 3, 5], "float64": [0.0, 2.5, np.nan, -1.5], "float32": [0.0, 2.5, -1.5]}
    check(MulWithoutZeros(ps.upcast_out, name="mul_without_zeros"), ((dtype, dtype),), values, {})


# ---- casts ----------------------------------------

# Floats that every signed integer dtype holds after rounding to 0, and those that unsigned ones hold. What is out of
# range is not defined in C, nor in NumPy (it depends on the processor); XLA gives the nearest integer of the dtype.
SIGNED, UNSIGNED = [0.0, -0.0, 0.9, -0.9, 1.5, -2.5, 126.7, -127.9], [0.0, -0.0, 0.9, -0.9, 1.5, 126.7]
CASTS = ("bool", *INTEGERS, "int16", "uint16", "uint32", "float16", *FLOATS)


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "bool", *COMPLEXES])
def test_cast(source: str) -> None:
    targets, expected, inputs, outputs, arrays = [*CASTS, *COMPLEXES], [], [], [], []
    for target in targets:
        floating, kind = source in (*FLOATS, *COMPLEXES), np.dtype(target).kind
        values = {"i": SIGNED, "u": UNSIGNED}.get(kind, [*SIGNED, np.nan, np.inf, 1e-3]) if floating else VALUES[source]
        array = np.array(values, source)
        if source in COMPLEXES:
            array = array + np.array(2j, source)
        x = pt.tensor(f"x_{target}", dtype=source, shape=(None,))
        inputs.append(x)
        arrays.append(array)
        outputs.append(Elemwise(getattr(ps, f"convert_to_{target}"))(x))
        with np.errstate(all="ignore"):
            real = array.real if source in COMPLEXES and target not in (*COMPLEXES, "bool") else array
            expected.append(real.astype(target))
    program = hlograph.emit_stablehlo((inputs, outputs))
    for results in (program.compile()(*arrays), program.interpret(*arrays)):
        for target, actual, value in zip(targets, results, expected, strict=True):
            assert_same(actual, value, atol=0, label=f"{source} to {target}")


def test_cast_of_floats_out_of_range_gives_the_nearest_integer() -> None:
    x = pt.vector("x")
    values = np.array([300.0, -300.0, 1e30, -1e30, np.inf, -np.inf, np.nan])
    targets = ("int8", "uint8", "int64", "uint64")
    expected = []
    for target in targets:
        limits = np.iinfo(target)
        exact = [int(v) if abs(v) < 1e30 else (limits.max if v > 0 else limits.min) for v in values[:-1]]
        expected.append(np.array([*[min(max(v, limits.min), limits.max) for v in exact], 0], target))
    check_lowering([x], [pt.cast(x, target) for target in targets], values, expected=expected, static=False)


# ---- powers ----------------------------------------


def test_float_power() -> None:
    # Among them 0 ** 0, negative bases, infinite exponents.
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -7.3, 10.25, np.inf, -np.inf, np.nan, 1e5]
    pairs = (("float64", "float64"), ("float32", "float32"), ("float64", "int64"), ("int8", "float32"))
    small = {"float64": values, "float32": values, "int64": [-3, 0, 1, 2, 5], "int8": [-3, -1, 0, 1, 2, 7]}
    check(ps.pow, pairs, small, {"float32": 5e-6})


def test_complex_power() -> None:
    values = {d: [0, 1, -1, 1j, 1 + 2j, -1.5 + 0.5j, 3 - 4j] for d in COMPLEXES}
    values["float64"] = [0.0, 1.0, 2.0, -1.5]
    pairs = (("complex128", "complex128"), ("complex64", "complex64"), ("complex128", "float64"))
    check(ps.pow, pairs, values, {"complex128": 1e-11, "complex64": 1e-5})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integer_power_wraps_around(dtype: str) -> None:
    """XLA's own integer power reads six bits of the exponent: it gives 2 ** 64 == 1."""
    limits = np.iinfo(dtype)
    bases = [0, 1, 2, 3, 7, limits.max, *([-1, -2, -3, limits.min] if limits.min else [])]
    exponents = [0, 1, 2, 5, 31, 63, 64, 65, 100, limits.max]
    grid = np.array(list(itertools.product(bases, exponents)), dtype)
    x, y = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype)
    check_lowering([x, y], [x**y], grid[:, 0], grid[:, 1], static=False)


def test_negative_integer_powers_of_integers_are_rounded_to_zero() -> None:
    x, y = pt.vector("x", dtype="int64"), pt.vector("y", dtype="int64")  # NumPy refuses them
    bases, exponents = np.array([2, 1, -1, -1, -3, 5]), np.array([-1, -7, -3, -2, -5, 2])
    exact = [int(float(a) ** float(b)) for a, b in zip(bases, exponents, strict=True)]
    check_lowering([x, y], [x**y], bases, exponents, expected=[np.array(exact)], static=False)


def test_constant_exponents() -> None:
    x, i, c = pt.vector("x"), pt.vector("i", dtype="int8"), pt.vector("c", dtype="complex128")
    outputs = (
        [x**k for k in (-1, 0, 0.5, 1, 2, 3, -2)] + [i**k for k in (0, 1, 2, 3, 7)] + [c**k for k in (-1, 0, 1, 2)]
    )
    values = np.array([-2.5, -0.0, 0.5, np.inf, np.nan])
    program = check_lowering([x, i, c], outputs, values, [-3, 0, 1, 2, 7], [1 + 2j, -1, 0.5j, 3, -1 - 1j])
    squares = hlograph.emit_stablehlo(([x], [x**2, x**1, x**0, x**-1])).text
    assert "stablehlo.power" in program.text
    assert "stablehlo.power" not in squares


@pytest.mark.filterwarnings("ignore")  # NumPy's, of division by 0
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32", "uint64", "int8", "uint8"])
def test_arithmetic_on_integer_scalar_inputs(dtype: str) -> None:
    """Such inputs are dimensions while the graph is lowered; values come out as NumPy's, division by 0 included."""
    a, b = pt.scalar("a", dtype=dtype), pt.scalar("b", dtype=dtype)
    outputs = [a + b, a * b, a - b, pt.maximum(a, b), pt.minimum(a, b), a // b, a % b, pt.abs(a - b), pt.lt(a - b, 2)]
    outputs += [pt.eq(a, b), pt.neq(a % b, 0), pt.switch(a < b, a, b), pt.cast(a - b, "float64"), pt.sgn(a - b), a**2]
    outputs += [pt.and_(a < b, b < 5), pt.cast(a - b, "bool"), -(a - b), pt.ge(a, b) * a]
    program = hlograph.emit_stablehlo(([a, b], outputs)).compile()
    values = [0, 1, 5, 7, 200] if dtype[0] == "u" else [0, 1, -3, 7, 100]
    function = pytensor.function([a, b], outputs, mode=Mode(linker="py", optimizer=None))
    for pair in itertools.product(values, repeat=2):
        arrays = [np.array(v, dtype) for v in pair]
        with np.errstate(all="ignore"):
            wanted = function(*arrays)
        for number, (actual, value) in enumerate(zip(program(*arrays), wanted, strict=True)):
            assert_same(actual, np.asarray(value), label=f"output {number} of {pair}")


# ---- what is refused ----------------------------------------


@pytest.mark.parametrize("name", ["int_div", "mod", "erf", "softplus", "log1mexp", "deg2rad"])
def test_complex_numbers_are_refused_where_they_have_no_meaning(name: str) -> None:
    op = scalar(name)
    if op is None:
        pytest.skip(f"this release of PyTensor has no {name}")
    xs = [pt.vector(f"x{i}", dtype="complex128") for i in range(2 if name in ("int_div", "mod") else 1)]
    with pytest.raises(UnsupportedGraphError, match="complex"):
        hlograph.emit_stablehlo((xs, [Elemwise(op)(*xs)]))


def test_bitwise_of_int64_and_uint64_is_refused() -> None:
    x, y = pt.vector("x", dtype="int64"), pt.vector("y", dtype="uint64")
    with pytest.raises(UnsupportedGraphError, match="int64 and uint64; cast one"):
        hlograph.emit_stablehlo(([x, y], [Elemwise(ps.or_)(x, y)]))


def test_ops_without_a_rule_are_named() -> None:
    class Mystery(ps.UnaryScalarOp):
        """Not in the table."""

    x = pt.vector("x")
    with pytest.raises(UnsupportedOpError, match="scalar op mystery"):
        hlograph.emit_stablehlo(([x], [Elemwise(Mystery(ps.upgrade_to_float, name="mystery"))(x)]))


# ---- special functions: against SciPy, which PyTensor's own implementation calls -------------------------------------

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
    grid = list(itertools.product(*tested.values["grids"]))
    if name in LONG and not NIGHTLY:
        grid = grid[::3]  # 3 divides the length of no last grid, so that every value of it is there
    spec, expected = getattr(tested.op, "nfunc_spec", None), []
    function = np.vectorize(tested.op.impl) if spec is None else getattr(scipy.special, spec[0].split(".")[-1])
    for dtype, *_ in tested.dtypes:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*np.array(grid).T.astype(dtype).astype("float64"))).astype(dtype)
        # Where SciPy's result is subnormal ours is 0.
        expected.append(np.where(np.abs(found) < np.finfo(dtype).tiny, 0, found).astype(dtype))
    # Near a zero of the function the error is that of its terms, which are about 1.
    options = {"atol": 10.0 if name in ("gammaln", "psi") else 0.0, "interpret": name not in (*LONG, *OF_SCIPY)}
    check(tested.op, tested.dtypes, {}, tested.tolerance, expected=expected, grid=grid, **options)


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
    paths = [start + by * np.arange(count + 1) for count, start, by in zip(*arrays, strict=True)]
    stops = [next((i for i, v in enumerate(path) if i and v > 5), len(path) - 1) for path in paths]
    expected = [[path[-1] for path in paths], [path[:-1].prod() for path in paths]]
    expected += [[path[i] for path, i in zip(paths, stops, strict=True)]]
    expected += [[bool(i and path[i] > 5) for path, i in zip(paths, stops, strict=True)]]
    outputs = [*Elemwise(counted)(n, x, pt.ones_like(x), y), *Elemwise(until)(n, x, y)]
    check_lowering([n, x, y], outputs, *arrays, expected=[np.array(v) for v in expected])


def test_functions_of_small_integers_are_one_rounding_away() -> None:
    x = pt.bvector("x")
    values = np.arange(1, 100, dtype="int8")
    # Roots of the function, where XLA's own is off by 1e-6: alone, in a vector, and beside a number.
    known = [pt.gammaln((pt.constant(np.int8(each)) + 1) / 2.0) for each in (3, [1])]
    known += [pt.gammaln(pt.constant(np.float32(each)) + np.float32(1)) for each in ([1], [1, 0, 1])]
    result, *constants = hlograph.function([x], [pt.gammaln(x), *known])(values)
    assert {str(each.dtype) for each in (result, *constants, *[each.type for each in known])} == {"float32"}
    np.testing.assert_array_max_ulp(np.asarray(result), scipy.special.gammaln(values * 1.0).astype("float32"), maxulp=1)
    assert not any(np.any(constant) for constant in constants)
