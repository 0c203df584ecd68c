"""Tables of scalar ops with the values to try them at, for tests/dialects/tensor/test_scalar.py.

Left out on purpose: subnormal numbers (XLA flushes them to 0, in operands and in results), and the sign of a zero
(`sign(-0.0)`, `0.0 // 2` and the maximum of zeros differ from NumPy's in it).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytensor.scalar as ps
import pytensor.scalar.math as psm
import pytensor.tensor as pt
import scipy.special
from pytensor.tensor.elemwise import Elemwise
from support import assert_same, reference

import hlograph

# No product and no quotient of two of them is subnormal.
FLOAT32 = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, -7.3, 0.1, 20.3, -20.3, 1e-3, -1e-9, 1e-9),
    *(1000.0, -1000.0, 1e26, -1e26, 1e-26, -1e-26, np.inf, -np.inf, np.nan),
]
FLOAT64 = [*FLOAT32, 1e270, -1e270, 1e-260, -1e-260]
COMPLEX = [0, 1, -1, 1j, 1 + 2j, -1.5 + 0.5j, 3 - 4j, -0.3 - 0.2j, 0.5, -2, 5.5 + 3j]
VALUES = {
    "float64": FLOAT64,
    "float32": FLOAT32,
    "int8": [-128, -127, -3, -2, -1, 0, 1, 2, 7, 127],
    "uint8": [0, 1, 2, 7, 128, 255],
    "int32": [-(2**31), -5, -1, 0, 1, 2, 9, 2**31 - 1],
    "uint32": [0, 1, 5, 2**32 - 1],
    "int64": [-(2**63), -5, -1, 0, 1, 2, 9, 2**53 + 1, 2**63 - 1],
    "uint64": [0, 1, 2, 9, 2**53 + 1, 2**63, 2**64 - 1],
    "bool": [False, True],
    "complex128": COMPLEX,
    "complex64": COMPLEX,
}
# For functions of integers that give floats: far from subnormal results. Complex numbers without the poles of arctan.
SMALL = {"int8": [-80, -3, -1, 0, 1, 2, 7, 80], "int64": [-300, -1, 0, 1, 2, 30, 300], "uint8": [0, 1, 2, 80]}
SMALL |= {"complex128": [z for z in COMPLEX if z != 1j], "complex64": [z for z in COMPLEX if z != 1j]}

Values = dict[str, list]
FLOATS = ("float64", "float32")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint64")
COMPLEXES = ("complex128", "complex64")
SAME = tuple((d, d) for d in (*FLOATS, *INTEGERS, "bool"))
MIXED = (
    *(("int64", "uint64"), ("uint64", "int64"), ("int8", "uint8"), ("int32", "uint64"), ("int32", "uint32")),
    *(("float32", "int64"), ("uint8", "float32"), ("bool", "int8"), ("float64", "bool")),
)


@dataclass(frozen=True)
class Case:
    """One op: the dtypes of its arguments, one tuple per graph output, and the values to take all combinations of."""

    op: ps.ScalarOp | None
    dtypes: tuple[tuple[str, ...], ...]
    values: Values = field(default_factory=dict)
    tolerance: dict[str, float] = field(default_factory=dict)


def words(text: str) -> list[str]:
    """Names written in a row."""
    return text.split()


def unary(*dtypes: str, **options: object) -> dict:
    return {"dtypes": tuple((d,) for d in dtypes), **options}


FUNCTION = unary(*FLOATS, "int8", "int64", "uint8", *COMPLEXES, values=SMALL)
REAL_FUNCTION = unary(*FLOATS, "int8", "int64", "uint8", values=SMALL)
ARITHMETIC = {"dtypes": (*SAME, *MIXED, *((d, d) for d in COMPLEXES))}
REAL_BINARY = {"dtypes": (*SAME, *MIXED)}
BITWISE = {"dtypes": (*((d, d) for d in (*INTEGERS, "bool")), ("int8", "uint8"), ("int32", "uint32"))}
# exp(x + log(1/2)), in which XLA has it for complex numbers, loses |x| units in the last place.
HYPERBOLIC = {**FUNCTION, "tolerance": {"float32": 1e-6, "complex64": 1e-5}}
# Orders of complex numbers: real parts first. NaN in one part or both, infinities.
PAIRS = [complex(x, y) for x in (0.0, -2.0, np.inf, np.nan) for y in (0.0, 1.0, -np.inf, np.nan)]
ODD = dict.fromkeys(("complex128", "complex64"), (3 - 4j, *PAIRS))

# Scalar ops that not every release of PyTensor has, and the class of each; 3.3 makes the first ones of other ops.
ELSEWHERE = {
    "deg2rad": "Deg2Rad",
    "iv": "Iv",
    "rad2deg": "Rad2Deg",
    "angle": "Angle",
    "complex_from_polar": "ComplexFromPolar",
    "gammau": "GammaU",
    "gammal": "GammaL",
    "ndtri_exp": "NdtriExp",
}


def scalar(name: str) -> ps.ScalarOp | None:
    """The scalar op of that name; None where this release has none."""
    found: ps.ScalarOp | None = getattr(ps, name, None) or getattr(psm, name, None)
    assert found is not None or name in ELSEWHERE, f"PyTensor has no scalar op {name}"
    return found


def present(cases: dict[str, Case]) -> dict[str, Case]:
    """Those whose op this release has."""
    return {name: case for name, case in cases.items() if case.op is not None}


CASES: dict[str, Case] = {
    **{
        name: Case(getattr(ps, name), **FUNCTION)
        for name in words(
            "exp expm1 log log1p log2 log10 exp2 sqrt sin cos tan arcsin arccos arctan tanh arcsinh arccosh arctanh "
            "reciprocal"
        )
    },
    **{name: Case(getattr(ps, name), **HYPERBOLIC) for name in ("sinh", "cosh")},
    **{name: Case(scalar(name), **REAL_FUNCTION) for name in ("deg2rad", "rad2deg")},
    "angle": Case(scalar("angle"), **unary("float64", "int64", "complex128")),
    **{name: Case(getattr(ps, name), **unary(*FLOATS, *INTEGERS)) for name in ("floor", "ceil", "trunc")},
    "sign": Case(ps.sign, **unary(*FLOATS, *INTEGERS, *COMPLEXES, values=ODD)),
    **{name: Case(getattr(ps, name), **unary(*FLOATS)) for name in ("round_half_to_even", "round_half_away_from_zero")},
    **{
        name: Case(getattr(ps, name), **unary(*FLOATS, *INTEGERS, "bool", *COMPLEXES))
        for name in ("abs", "isnan", "isinf", "identity", "real", "imag", "conj", "sqr")
    },
    "neg": Case(ps.neg, **unary(*FLOATS, *INTEGERS, *COMPLEXES)),
    "invert": Case(ps.invert, **unary(*INTEGERS, "bool")),
    **{
        name: Case(getattr(ps, name), **ARITHMETIC, values=ODD)
        for name in ("lt", "gt", "le", "ge", "maximum", "minimum")
    },
    **{name: Case(getattr(ps, name), **ARITHMETIC) for name in ("eq", "neq", "add", "mul", "second")},
    **{name: Case(getattr(ps, name), **REAL_BINARY) for name in ("int_div", "mod")},
    "true_div": Case(ps.true_div, (*SAME, *MIXED)),
    "sub": Case(ps.sub, tuple(d for d in ARITHMETIC["dtypes"] if d != ("bool", "bool"))),
    "arctan2": Case(ps.arctan2, (*SAME[:-1], ("float32", "int64"))),
    "and_": Case(ps.and_, **BITWISE),
    "or_": Case(ps.or_, **BITWISE),
    "xor": Case(ps.xor, **BITWISE),
    "complex": Case(
        ps.complex,
        (("float64", "float64"), ("float32", "float32"), ("int8", "int8")),
        dict.fromkeys(FLOATS, FLOAT32[:-3]),
    ),
    "complex_from_polar": Case(
        scalar("complex_from_polar"),
        (("float64", "float64"), ("float32", "float32")),
        {d: [0.0, 0.5, 2.0, 3.5] for d in FLOATS},
    ),
    "switch": Case(
        ps.switch,
        (
            ("bool", "float64", "float32"),
            ("int64", "int8", "uint8"),
            ("float64", "bool", "bool"),
            ("complex128", "complex64", "int8"),
            ("uint8", "int64", "uint64"),
        ),
        {"float64": [0.0, -0.0, 0.25, np.nan, np.inf, -2.0], "int64": [0, 256, -1]},
    ),
    "clip": Case(
        ps.clip,  # all orders of the three, so low > high too
        tuple((d, d, d) for d in (*FLOATS, "int8", "uint8", "int64")),
        {d: [0.0, -0.0, 1.0, -7.3, 2.5, np.inf, -np.inf, np.nan] for d in FLOATS},
    ),
}
CASES = present(CASES)


def check(
    op: ps.ScalarOp,
    dtypes: tuple[tuple[str, ...], ...],
    values: Values,
    tolerance: dict[str, float],
    *,
    interpret: bool = True,
    expected: list[np.ndarray] | None = None,
    grid: Sequence[Sequence[float]] = (),
    atol: float = 0.0,
) -> None:
    """One graph that applies the op to all combinations of values, for each tuple of dtypes; or to the rows of a grid.

    `atol` is in units of the dtype's epsilon.
    """
    inputs, outputs, arrays = [], [], []
    for number, types in enumerate(dtypes):
        rows = grid or list(itertools.product(*[values.get(d, VALUES[d]) for d in types]))
        columns = [np.array([row[i] for row in rows], d) for i, d in enumerate(types)]
        xs = [pt.tensor(f"x{number}_{i}", dtype=d, shape=(None,)) for i, d in enumerate(types)]
        inputs += xs
        arrays += columns
        outputs.append(Elemwise(op)(*xs))
    wanted = reference(inputs, outputs, arrays) if expected is None else expected
    program = hlograph.emit_stablehlo((inputs, outputs))
    ran = program.compile()(*arrays)
    runs = {"compiled": ran if len(outputs) > 1 else (ran,)}
    if interpret:
        runs["interpreted"] = program.interpret(*arrays)
    for kind, results in runs.items():
        for types, actual, value in zip(dtypes, results, wanted, strict=True):
            rtol = {"complex64": 4e-6, **tolerance}.get(value.dtype.name)
            least = max(atol * np.finfo(value.dtype).eps, np.finfo(value.dtype).tiny) if len(grid) else 0
            assert_same(actual, value, rtol=rtol, atol=least, label=f"{op}{types}, {kind}")


# ---- special functions ----

BOTH = ("float64", "float32")
POSITIVE = [1e-3, 0.1, 0.5, 0.9, 1.5, 2.5, 3.7, 10.0, 25.3, 100.0]
NEGATIVE = [-0.5, -1.3, -2.5, -10.3]
INFINITE = [np.inf, np.nan]
SHAPES, POINTS = [0.1, 0.5, 1.0, 2.5, 10.0, 60.0], [0.0, 1e-5, 0.1, 0.5, 1.0, 2.5, 9.0, 30.0, 70.0]
ORDERS = [0.0, 0.5, 1.0, 2.0, 3.3, 12.0, 49.7, 60.0, -1.0, -0.5, -3.0, -2.7, np.nan]
REACH = [0.0, 1e-8, 0.1, 1.0, 3.7, 7.9, 8.1, 20.0, 24.9, 25.1, 70.0, 300.0, 1e5, np.nan]
# Of float32, JAX's and CHLO's series leave errors of this size (SciPy computes in float64 and rounds).
ROUGH = {"float64": 1e-12, "float32": 2e-5}


def case(op: object, *grids: list, **tolerance: float) -> Case:
    """A case with one grid per argument; all in one dtype, float64 or float32."""
    return Case(op, tuple((d,) * len(grids) for d in BOTH), {"grids": list(grids)}, {**ROUGH, **tolerance})


def of_pymc(name, like):
    """A scalar op of PyMC, which has the name of SciPy's function, without PyMC."""
    function = getattr(scipy.special, name.lower())
    members = {"impl": lambda self, x: function(x), "nfunc_spec": (f"scipy.special.{name.lower()}", 1, 1)}
    return type(name, (type(like),), members)(like.output_types_preference, name=name.lower())


SPECIAL: dict[str, Case] = {
    "erf": case(psm.erf, [*POSITIVE, *NEGATIVE, 0.0, -np.inf, *INFINITE]),
    "erfc": case(psm.erfc, [-3.0, -0.5, 0.0, 0.3, 1.0, 2.5, 8.5, -np.inf, *INFINITE]),
    "erfcx": case(psm.erfcx, [-5.0, -1.0, -0.5, 0.0, 0.1, 0.5, 2.0, 10.0, 30.0, 1e5, -np.inf, *INFINITE]),
    "erfinv": case(psm.erfinv, [0.0, 1e-9, 0.1, -0.5, 0.9, -0.999, 0.999999, 1.0, -1.0, 1.5, np.nan]),
    "erfcinv": case(psm.erfcinv, [0.0, 1e-30, 1e-10, 1e-3, 0.1, 0.9, 1.1, 1.5, 1.9, 1.999, 2.0, -1.0, 3.0, np.nan]),
    "gamma": case(psm.gamma, [0.1, 0.5, 1.0, 1.5, 3.7, 10.0, 25.3, *NEGATIVE, 0.0, -3.0, *INFINITE]),
    "gammaln": case(psm.gammaln, [*POSITIVE, *NEGATIVE, 0.0, -3.0, 1e10, *INFINITE]),
    "psi": case(psm.psi, [*POSITIVE, *NEGATIVE, 0.0, -0.0, -3.0, 1e10, *INFINITE]),
    "tri_gamma": case(psm.tri_gamma, [*POSITIVE, *NEGATIVE, -20.7, 0.0, -3.0, 1e10, *INFINITE]),
    "gammainc": case(psm.gammainc, SHAPES, [*POINTS, np.inf]),
    "gammaincc": case(psm.gammaincc, SHAPES, [*POINTS, np.inf]),
    "gammau": case(scalar("gammau"), SHAPES[:-1], POINTS),
    "gammal": case(scalar("gammal"), SHAPES[:-1], POINTS),
    "ndtri_exp": case(
        scalar("ndtri_exp"),
        [0.0, -1e-30, -1e-9, -1e-3, -0.1454, -0.1455, -0.5, -0.7, -1.9999, -2.0001, -31.9, -32.1, -1e3, -1e10, np.nan],
        float32=2e-6,
    ),
    "betainc": case(
        psm.betainc, *[[0.1, 0.5, 1.0, 2.5, 10.0, 50.0]] * 2, [0.0, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0], float32=2e-4
    ),
    "gammaincinv": case(
        psm.gammaincinv,
        [1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 100.0, 1e4],
        [0.0, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6, 1.0, np.nan],
        float64=1e-10,
    ),
    "gammainccinv": case(
        psm.gammainccinv,
        [1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 100.0, 1e4],
        [0.0, 1e-30, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0, np.nan],
        float64=1e-10,
    ),
    # SciPy's own float32 version is wrong in the fourth digit for small parameters.
    "betaincinv": case(
        psm.betaincinv,
        *[[0.5, 1.0, 3.0, 80.0]] * 2,
        [0.0, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6, 1.0, -0.1, np.nan],
        float64=1e-10,
        float32=1e-4,
    ),
    "i0": case(psm.i0, [*POSITIVE[:-1], *NEGATIVE, 0.0, np.nan]),
    "i1": case(psm.i1, [*POSITIVE[:-1], *NEGATIVE, 0.0, np.nan]),
    "i0e": case(of_pymc("I0e", psm.i0), [*POSITIVE[:-1], *NEGATIVE, 0.0, 300.0, -2e4, np.nan]),
    "i1e": case(of_pymc("I1e", psm.i1), [*POSITIVE[:-1], *NEGATIVE, 0.0, 300.0, -2e4, np.nan]),
    "ive": case(psm.ive, ORDERS, [*REACH, -1.5, -40.0]),
    "kve": case(psm.kve, ORDERS, REACH),
    "jv": case(psm.jv, ORDERS, [*REACH, -1.5, -40.0]),
    "j0": case(psm.j0, [*REACH, *[-x for x in REACH]]),
    "j1": case(psm.j1, [*REACH, *[-x for x in REACH]]),
    "hyp2f1": case(psm.hyp2f1, [0.5, 2.5], [0.3, 3.0], [1.5, 4.2], [-0.9, 0.0, 0.1, 0.5, 0.9], float64=1e-11),
    "owens_t": case(psm.owens_t, [0.0, 0.1, 1.0, 2.5, -1.0, 7.0, np.nan], [0.0, 0.1, 0.5, 1.0, 2.0, -1.5, 30.0]),
    "polygamma": Case(
        psm.polygamma,
        (("int64", "float64"), ("int8", "float32")),
        {
            "int64": [0, 1, 2, 5],
            "int8": [0, 1, 2, 5],
            "float64": [*POSITIVE[1:], -0.5, -8.7, -9.25, -30.1, -300.4, np.nan],
            "float32": POSITIVE[1:],
        },
        ROUGH,
    ),
    "sigmoid": Case(psm.sigmoid, (("int8",), ("int64",)), {"int8": [-80, 0, 1, 80], "int64": [-300, 0, 1, 300]}, ROUGH),
}
SPECIAL = present(SPECIAL)
