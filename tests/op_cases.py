"""One graph for each op class of PyTensor that has a rule, for docs/reference/ops.md and benchmarks/ops.py.

`CASES` maps a class's name to a `Case`. Arguments are words for kinds of arrays (`ARGUMENTS`), all of one size `n`, so
that the same graph serves as a test of a few elements and as a benchmark of many. Where signs, phases or an order are
free, the graph ends in what does not depend on them.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.scalar.math as psm
import pytensor.tensor as pt
import sparse_cases
from pytensor.compile.builders import OpFromGraph
from pytensor.tensor import fft
from pytensor.tensor.elemwise import Elemwise

Array = np.ndarray[Any, Any]
Generator = np.random.Generator


def _symmetric(rng: Generator, n: int) -> Array:
    x = rng.normal(size=(n, n))
    return x @ x.T / n + 2 * np.eye(n)


# What an argument is, by name: an array for a size.
ARGUMENTS: dict[str, Callable[[Generator, int], Array]] = {
    "scalar": lambda rng, n: np.asarray(rng.uniform(0.2, 0.8)),
    "vector": lambda rng, n: rng.uniform(0.2, 0.8, n),
    "normal": lambda rng, n: rng.normal(size=n),
    "large": lambda rng, n: rng.uniform(1.2, 4.0, n),
    "negative": lambda rng, n: rng.uniform(-2.0, -0.2, n),
    "wide": lambda rng, n: rng.normal(size=(n, n + 2)),
    "tall": lambda rng, n: rng.normal(size=(n + 2, n)),
    "square": lambda rng, n: rng.normal(size=(n, n)) + n * np.eye(n),
    "general": lambda rng, n: rng.normal(size=(n, n)) / np.sqrt(n),
    "stable": lambda rng, n: 0.4 * rng.normal(size=(n, n)) / np.sqrt(n),
    "positive": _symmetric,
    "upper": lambda rng, n: np.linalg.cholesky(_symmetric(rng, n)).T,
    "lower": lambda rng, n: np.linalg.cholesky(_symmetric(rng, n)),
    "batch": lambda rng, n: rng.normal(size=(3, n, n)),
    "index": lambda rng, n: rng.permutation(n),
    "places": lambda rng, n: rng.integers(0, n, n),
    "count": lambda rng, n: np.asarray(n, "int64"),
    "integers": lambda rng, n: rng.integers(1, 9, n),
    "orders": lambda rng, n: rng.integers(1, 4, n),
    "mask": lambda rng, n: np.arange(n) % 3 > 0,
    "complex": lambda rng, n: rng.normal(size=n) + 1j * rng.normal(size=n),
    "probabilities": lambda rng, n: np.full(n, 1 / n),
}


@dataclass(frozen=True)
class Case:
    """A graph.

    Attributes:
        graph: from variables to an output, or several.
        arguments: words of `ARGUMENTS`.
        draws: its results are random; the generator is `graph`'s first argument.
        by: places of the arguments by which gradients are taken; None for all that are floating-point numbers.
        expected: true values of arrays, where PyTensor's own evaluation has none.
        rtol: relative tolerance for what is compared.
    """

    graph: Callable[..., Any]
    arguments: tuple[str, ...]
    draws: bool = False
    by: tuple[int, ...] | None = None
    expected: Callable[..., Array] | None = None
    rtol: float = 1e-8

    def values(self, n: int, seed: int = 0) -> list[Array]:
        """Arrays for the arguments."""
        rng = np.random.default_rng(seed)
        return [np.asarray(ARGUMENTS[name](rng, n)) for name in self.arguments]

    def build(self, n: int = 5, *, static: bool = False) -> tuple[list[Any], list[Any], list[Array]]:
        """Inputs, outputs and values; sizes are open unless `static`."""
        values = self.values(n)
        inputs = [
            pt.tensor(f"{word}{i}", dtype=x.dtype, shape=x.shape if static else (None,) * x.ndim)
            for i, (word, x) in enumerate(zip(self.arguments, values, strict=True))
        ]
        generator = [pytensor.shared(np.random.default_rng(0))] if self.draws else []
        made = self.graph(*generator, *inputs)
        return inputs, list(made) if isinstance(made, tuple | list) else [made], values


def _cases(words: str, *arguments: str, module: Any = pt, rtol: float = 1e-8) -> dict[str, Case]:
    """`Class:function` pairs that take the same arguments."""
    pairs = (word.split(":") for word in words.split())
    return {class_: Case(getattr(module, name), arguments, rtol=rtol) for class_, name in pairs}


def _elemwise(words: str, *arguments: str, module: Any = ps, by: tuple[int, ...] | None = None) -> dict[str, Case]:
    pairs = (word.split(":") for word in words.split())
    return {class_: Case(Elemwise(getattr(module, name)), arguments, by=by) for class_, name in pairs}


def _composite(x: Any, y: Any) -> Any:
    a, b = ps.float64("a"), ps.float64("b")
    return Elemwise(ps.Composite([a, b], [ps.exp(a) * b + a]))(x, y)


def _scalar_loop(x: Any) -> Any:
    from pytensor.scalar.loop import ScalarLoop

    a = ps.float64("a")
    loop = ScalarLoop(init=[a], update=[ps.sin(a) + ps.constant(0.5)], constant=[])
    return Elemwise(loop)(pt.as_tensor(np.int64(5)), x)


ELEMENTWISE = {
    **_elemwise(
        "Abs:abs ArcTan:arctan ArcSinh:arcsinh Ceil:ceil Conj:conj Cos:cos Cosh:cosh Exp:exp Exp2:exp2 Expm1:expm1 "
        "Floor:floor Identity:identity Imag:imag IsInf:isinf IsNan:isnan Neg:neg Real:real "
        "RoundHalfAwayFromZero:round_half_away_from_zero RoundHalfToEven:round_half_to_even Sign:sign Sin:sin "
        "Sinh:sinh Sqr:sqr Tan:tan Tanh:tanh Trunc:trunc",
        "normal",
    ),
    **_elemwise("ArcCos:arccos ArcSin:arcsin ArcTanh:arctanh", "vector"),
    **_elemwise("ArcCosh:arccosh Log:log Log10:log10 Log1p:log1p Log2:log2 Reciprocal:reciprocal Sqrt:sqrt", "large"),
    **_elemwise(
        "Add:add ArcTan2:arctan2 Complex:complex EQ:eq GE:ge GT:gt LE:le LT:lt Maximum:maximum Minimum:minimum "
        "Mul:mul NEQ:neq Second:second Sub:sub TrueDiv:true_div",
        *("normal", "vector"),
    ),
    **_elemwise("IntDiv:int_div Mod:mod Pow:pow", "large", "vector"),
    **_elemwise("AND:and_ OR:or_ XOR:xor", "integers", "places"),
    **_elemwise("Invert:invert", "integers"),
    "Cast": Case(lambda x: pt.cast(x, "float32"), ("normal",)),
    "Clip": Case(Elemwise(ps.clip), ("normal", "negative", "vector")),
    "Switch": Case(pt.switch, ("mask", "normal", "vector")),
    "Composite": Case(_composite, ("normal", "vector")),
    "ScalarLoop": Case(_scalar_loop, ("vector",)),
    **_elemwise(
        "Erf:erf Erfc:erfc Erfcx:erfcx I0:i0 I1:i1 J0:j0 J1:j1 Sigmoid:sigmoid Softplus:softplus", "normal", module=psm
    ),
    **_elemwise("Erfcinv:erfcinv Erfinv:erfinv", "vector", module=psm),
    **_elemwise("Gamma:gamma GammaLn:gammaln Psi:psi TriGamma:tri_gamma", "large", module=psm),
    **_elemwise("GammaInc:gammainc GammaIncC:gammaincc", "large", "large", module=psm),
    **_elemwise("GammaIncInv:gammaincinv GammaIncCInv:gammainccinv", "large", "vector", module=psm, by=(1,)),
    **_elemwise("BetaInc:betainc BetaIncInv:betaincinv", "large", "large", "vector", module=psm, by=(2,)),
    **_elemwise("Log1mexp:log1mexp NdtriExp:ndtri_exp", "negative", module=psm),
    **_elemwise("Ive:ive Jv:jv Kve:kve", "large", "large", module=psm, by=(1,)),
    **_elemwise("Owens_t:owens_t", "normal", "vector", module=psm),
    **_elemwise("PolyGamma:polygamma", "orders", "large", module=psm),
    **_elemwise("Hyp2F1:hyp2f1", "vector", "large", "large", "vector", module=psm, by=(3,)),
    "Grad2F1Loop": Case(
        lambda a, b, c, z: pt.grad(pt.hyp2f1(a, b, c, z).sum(), a),
        ("vector", "large", "large", "vector"),
        by=(),
        expected=np.vectorize(lambda a, b, c, z: float(mpmath.diff(lambda t: mpmath.hyp2f1(t, b, c, z), a))),
    ),
}


# ---- linear algebra ----


def _op(module: str, name: str, *options: Any, **named: Any) -> Callable[..., Any]:
    """Applies an op of that class, which PyTensor has no function for or does not always make."""

    def graph(*xs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*options, **named)(*xs)

    return graph


def _of_blas(name: str, *arguments: str) -> Case:
    """A call of an op that PyTensor's rewrites put in for products."""

    def graph(*xs: Any) -> Any:
        import pytensor.tensor.blas as blas
        from pytensor.tensor.blas.blas_c import cgemv_no_inplace

        return cgemv_no_inplace(*xs) if name == "cgemv" else getattr(blas, name)(*xs)

    return Case(graph, arguments)


LINALG = {
    "BatchedDot": _of_blas("_batched_dot", "batch", "batch"),
    "CGemv": _of_blas("cgemv", "normal", "scalar", "general", "vector", "scalar"),
    "Dot22": _of_blas("_dot22", "general", "positive"),
    "Dot22Scalar": _of_blas("_dot22scalar", "general", "positive", "scalar"),
    "Gemm": _of_blas("gemm_no_inplace", "general", "scalar", "positive", "stable", "scalar"),
    "Gemv": _of_blas("gemv_no_inplace", "normal", "scalar", "general", "vector", "scalar"),
    "BlockDiagonal": Case(lambda x, y: pt.linalg.block_diag(x, y), ("general", "wide")),
    "Cholesky": Case(pt.linalg.cholesky, ("positive",)),
    "CholeskySolve": Case(lambda x, b: pt.linalg.cho_solve((x, True), b, b_ndim=1), ("lower", "vector")),
    "Det": Case(pt.linalg.det, ("positive",)),
    "Eig": Case(lambda x: (pt.real(pt.linalg.eig(x)[0]).sum(), abs(pt.linalg.eig(x)[0]).sum()), ("general",)),
    "Eigh": Case(lambda x: (pt.linalg.eigh(x)[0], abs(pt.linalg.eigh(x)[1])), ("positive",)),
    "Eigvalsh": Case(lambda x: pt.linalg.eigvalsh(x, None), ("positive",)),
    "Expm": Case(pt.linalg.expm, ("general",)),
    "KroneckerProduct": Case(pt.linalg.kron, ("lower", "stable")),
    "LU": Case(lambda x: pt.linalg.lu(x), ("square",)),
    "LUFactor": Case(lambda x: pt.linalg.lu_factor(x), ("square",)),
    "LUFactorTridiagonal": Case(
        lambda a, b, c: pt.linalg.tridiagonal_lu_factor(pt.diag(a) + pt.diag(b[1:], 1) + pt.diag(c[1:], -1)),
        ("large", "vector", "vector"),
    ),
    "Lstsq": Case(lambda x, y: pt.linalg.lstsq(x, y, -1.0)[0], ("tall", "tall")),
    "MatrixInverse": Case(pt.linalg.inv, ("square",)),
    "MatrixPinv": Case(pt.linalg.pinv, ("tall",)),
    "PivotToPermutations": Case(lambda x: pt.linalg.pivot_to_permutation(pt.linalg.lu_factor(x)[1]), ("square",)),
    "QZ": Case(lambda x, y: pt.linalg.qz(x, y), ("general", "stable")),
    "QR": Case(lambda x: pt.linalg.qr(x, mode="economic"), ("tall",)),
    "SLogDet": Case(_op("pytensor.tensor.linalg.summary", "SLogDet"), ("square",)),
    "SVD": Case(lambda x: pt.linalg.svd(x, compute_uv=False), ("tall",)),
    "Schur": Case(lambda x: pt.sort(pt.diag(pt.linalg.schur(x, output="real")[0])).sum(), ("positive",)),
    "Solve": Case(lambda a, b: pt.linalg.solve(a, b, b_ndim=1), ("square", "vector")),
    "SolveBilinearDiscreteLyapunov": Case(
        lambda a, q: pt.linalg.solve_discrete_lyapunov(a, q, method="bilinear"), ("stable", "positive")
    ),
    "SolveDiscreteARE": Case(pt.linalg.solve_discrete_are, ("stable", "general", "positive", "positive")),
    "SolveLUFactorTridiagonal": Case(
        lambda a, b, c, y: pt.linalg.tridiagonal_lu_solve(
            pt.linalg.tridiagonal_lu_factor(pt.diag(a) + pt.diag(b[1:], 1) + pt.diag(c[1:], -1)), y, b_ndim=1
        ),
        ("large", "vector", "vector", "normal"),
    ),
    "SolveSylvester": Case(pt.linalg.solve_sylvester, ("positive", "positive", "general")),
    "SolveTriangular": Case(lambda a, b: pt.linalg.solve_triangular(a, b, lower=True, b_ndim=1), ("lower", "vector")),
    "TRSYL": Case(_op("pytensor.tensor.linalg.solvers.linear_control", "TRSYL"), ("upper", "upper", "general")),
    "TensorInv": Case(lambda x: pt.linalg.tensorinv(x, ind=1), ("square",)),
    "TensorSolve": Case(lambda a, b: pt.linalg.tensorsolve(a[:, None, :, None], b[:, None]), ("square", "vector")),
}


# ---- shapes, places, reductions ----


def _matrix_of(op: str) -> Callable[[Any], Any]:
    return lambda x: getattr(pt, op)(x, axis=1)


TENSORS = {
    "ARange": Case(lambda n: pt.arange(n), ("count",)),
    "AdvancedIncSubtensor": Case(lambda x, i, y: x[i].inc(y), ("normal", "places", "vector")),
    "AdvancedSubtensor": Case(lambda x, i: x[i], ("wide", "places")),
    "All": Case(lambda x: pt.all(x > 0, axis=0), ("wide",)),
    "Alloc": Case(lambda x, n: pt.alloc(x, n, 3), ("scalar", "count")),
    "AllocDiag": Case(lambda x: pt.diag(x), ("normal",)),
    "AllocEmpty": Case(lambda n: pt.set_subtensor(pt.empty((n,))[:], 1.0), ("count",)),
    "Any": Case(lambda x: pt.any(x > 0, axis=0), ("wide",)),
    "ArgSortOp": Case(lambda x: pt.argsort(x), ("normal",)),
    "Argmax": Case(_matrix_of("argmax"), ("wide",)),
    "Bartlett": Case(lambda n: pt.bartlett(n), ("count",)),
    "Blockwise": Case(lambda x: pt.linalg.inv(x + 9 * pt.eye(x.shape[1])), ("batch",)),
    "Choose": Case(lambda i, x, y: pt.choose(i % 2, (x, y)), ("places", "normal", "vector")),
    "CpuContiguous": Case(_op("pytensor.tensor.extra_ops", "CpuContiguous"), ("wide",)),
    "CumOp": Case(lambda x: pt.cumsum(x, axis=1), ("wide",)),
    "DimShuffle": Case(lambda x: x.T, ("wide",)),
    "Dot": Case(lambda x, y: x @ y, ("wide", "tall")),
    "Einsum": Case(lambda x, y: pt.einsum("bij,jk->bik", x, y), ("batch", "wide")),
    "Elemwise": Case(lambda x, y: x + y, ("normal", "vector")),
    "ExtractDiag": Case(lambda x: pt.diagonal(x, offset=1), ("wide",)),
    "Eye": Case(lambda n: pt.eye(n, n, 1), ("count",)),
    "FillDiagonal": Case(lambda x, v: pt.fill_diagonal(x, v), ("wide", "scalar")),
    "FillDiagonalOffset": Case(
        lambda x, v: pt.fill_diagonal_offset(x, v, pt.constant(1, dtype="int64")), ("wide", "scalar")
    ),
    "IncSubtensor": Case(lambda x, y: x[1:].inc(y[1:]), ("normal", "vector")),
    "Join": Case(lambda x, y: pt.concatenate([x, y, x]), ("normal", "vector")),
    "JoinDims": Case(lambda x: pt.join_dims(x, 1, 2), ("batch",)),
    "LogAddExp": Case(lambda x, y: pt.logaddexp(x, y), ("normal", "vector")),
    "LogSoftmax": Case(lambda x: pt.special.log_softmax(x, axis=1), ("wide",)),
    "LogSumExp": Case(lambda x: pt.logsumexp(x, axis=1), ("wide",)),
    "MakeVector": Case(lambda x: pt.stack([x, x + 1, x * 2]), ("scalar",)),
    "Max": Case(_matrix_of("max"), ("wide",)),
    "Min": Case(_op("pytensor.tensor.math", "Min", axis=(1,)), ("wide",)),
    "MulWithoutZeros": Case(lambda x: pt.grad(pt.prod(x), x), ("large",)),
    "Nonzero": Case(lambda x: pt.nonzero(x > 0)[0], ("normal",)),
    "Pad": Case(lambda x: pt.pad(x, (2, 1), mode="reflect"), ("normal",)),
    "PermuteRowElements": Case(lambda x, i: pt.basic.permute_row_elements(x, i), ("positive", "index")),
    "Prod": Case(_matrix_of("prod"), ("positive",)),
    "ProdWithoutZeros": Case(_op("pytensor.tensor.math", "ProdWithoutZeros", axis=0), ("large",)),
    "RavelMultiIndex": Case(lambda i, j: pt.ravel_multi_index((i, j), (1000, 1000)), ("places", "index")),
    "Repeat": Case(lambda x, k: pt.repeat(x, k), ("normal", "integers")),
    "Reshape": Case(lambda x: x.reshape((x.shape[1], -1)), ("wide",)),
    "ScalarFromTensor": Case(lambda x: pt.tensor_from_scalar(pt.scalar_from_tensor(x)), ("scalar",)),
    "SearchsortedOp": Case(lambda x, y: pt.searchsorted(pt.sort(x), y), ("normal", "vector")),
    "Shape": Case(lambda x: pt.shape(x), ("wide",)),
    "Shape_i": Case(_op("pytensor.tensor.shape", "Shape_i", 1), ("wide",)),
    "Softmax": Case(lambda x: pt.special.softmax(x, axis=1), ("wide",)),
    "SortOp": Case(lambda x: pt.sort(x), ("normal",)),
    "SpecifyShape": Case(lambda x: pt.specify_shape(x, (3, None, None)), ("batch",)),
    "Split": Case(lambda x: pt.split(x, [2, x.shape[0] - 2], n_splits=2), ("normal",)),
    "SplitDims": Case(lambda x: pt.split_dims(x, shape=(1, x.shape[1]), axis=1), ("batch",)),
    "Subtensor": Case(lambda x: x[1:, ::-1], ("wide",)),
    "Sum": Case(_matrix_of("sum"), ("wide",)),
    "TensorFromScalar": Case(lambda x: pt.tensor_from_scalar(pt.scalar_from_tensor(x)), ("scalar",)),
    "Unique": Case(lambda i: pt.unique(i), ("places",)),
    "UnravelIndex": Case(lambda i: pt.unravel_index(i, (7, 1000)), ("places",)),
    "XLog1PY": Case(lambda x, y: pt.special.xlog1py(x, y), ("normal", "vector")),
    "XLogY": Case(lambda x, y: pt.special.xlogy(x, y), ("normal", "vector")),
}


# ---- conditions, loops, inner graphs ----


def _inner(x: Any) -> Any:
    a = pt.vector("a")
    return OpFromGraph([a], [pt.exp(a) * 2])(x)


def _if_else(x: Any) -> Any:
    from pytensor.ifelse import ifelse

    return ifelse(x.sum() > 0, x * 2, pt.sin(x))


def _scanned(x: Any) -> Any:
    return pytensor.scan(lambda a, b: a + 0.5 * b, sequences=[x], outputs_info=[pt.zeros(())], return_updates=False)


def _python(x: Any) -> Any:
    from pytensor.compile.ops import FromFunctionOp

    op = FromFunctionOp(np.cos, [pt.dvector], [pt.dvector], infer_shape=lambda node, shapes: [shapes[0]])
    return op(x) * 2


def _optimized(name: str, start: Any, *others: Any) -> Any:
    """The place where a function has its least value, or a root, which depends on the others."""
    import pytensor.tensor.optimize as optimize

    x = start.type("x")
    [shift] = others
    loss = (x - shift) ** 2
    if name.startswith("root"):
        equation = pt.exp(x) - 1 - shift
        found = getattr(optimize, name)(equation, x)
    else:
        found = getattr(optimize, name)(loss if x.type.ndim == 0 else loss.sum(), x)
    from pytensor.graph.replace import graph_replace

    return graph_replace([found[0]], {x: start}, strict=False)[0]


CONTROL = {
    "FromFunctionOp": Case(_python, ("vector",)),
    "Print": Case(lambda x: pytensor.printing.Print("x", global_fn=lambda op, value: None)(x) * 2, ("vector",)),
    "Assert": Case(lambda x: pytensor.raise_op.Assert("positive")(x, pt.all(x > 0)), ("vector",)),
    "CheckAndRaise": Case(
        lambda x: pytensor.raise_op.CheckAndRaise(ValueError, "positive")(x, pt.all(x > 0)), ("vector",)
    ),
    "DeepCopyOp": Case(lambda x: pytensor.compile.ops.deep_copy_op(x) * 2, ("vector",)),
    "DisconnectedGrad": Case(lambda x: x * pytensor.gradient.disconnected_grad(x), ("vector",)),
    "GradClip": Case(lambda x: pytensor.gradient.grad_clip(x, -0.1, 0.1) * 3, ("vector",)),
    "GradScale": Case(lambda x: pytensor.gradient.grad_scale(x, 2.0) * 3, ("vector",)),
    "IfElse": Case(_if_else, ("normal",)),
    "OpFromGraph": Case(_inner, ("normal",)),
    "Scan": Case(_scanned, ("normal",)),
    "UndefinedGrad": Case(lambda x: x * pytensor.gradient.undefined_grad(x), ("vector",)),
    "ViewOp": Case(lambda x: pytensor.compile.ops.view_op(x) * 2, ("vector",)),
    "ZeroGrad": Case(lambda x: x * pytensor.gradient.zero_grad(x), ("vector",)),
}


# ---- signals ----

SIGNALS = {
    "Convolve1d": Case(lambda x, y: pt.signal.convolve1d(x, y, mode="same"), ("normal", "vector")),
    "Convolve2d": Case(lambda x, y: pt.signal.convolve2d(x, y, mode="valid"), ("wide", "stable")),
    "IRFFTOp": Case(lambda x: fft.irfft(fft.rfft(x[None])), ("normal",)),
    "RFFTOp": Case(lambda x: fft.rfft(x[None]), ("normal",)),
}


# ---- draws ----


def _draw(name: str) -> Callable[..., Any]:
    def graph(rng: Any, *args: Any) -> Any:
        import pytensor.tensor.random as ptr

        return getattr(ptr, name)(*args, rng=rng)

    return graph


def _draws(words: str, *arguments: str) -> dict[str, Case]:
    pairs = (word.split(":") for word in words.split())
    return {class_: Case(_draw(name), arguments, draws=True) for class_, name in pairs}


DRAWS = {
    **_draws("BernoulliRV:bernoulli GeometricRV:geometric", "vector"),
    **_draws("ExponentialRV:exponential PoissonRV:poisson WeibullRV:weibull", "large"),
    **_draws(
        "BetaRV:beta CauchyRV:cauchy GammaRV:gamma GumbelRV:gumbel HalfCauchyRV:halfcauchy HalfNormalRV:halfnormal "
        "InvGammaRV:invgamma LaplaceRV:laplace LogNormalRV:lognormal LogisticRV:logistic NormalRV:normal "
        "ParetoRV:pareto VonMisesRV:vonmises WaldRV:wald",
        *("large", "vector"),
    ),
    **_draws("StudentTRV:t GenGammaRV:gengamma", "large", "large", "vector"),
    **_draws("UniformRV:uniform", "negative", "large"),
    **_draws("TriangularRV:triangular", "negative", "vector", "large"),
    **_draws("BinomialRV:binomial NegBinomialRV:nbinom", "integers", "vector"),
    **_draws("BetaBinomialRV:betabinom", "integers", "large", "large"),
    **_draws("HyperGeometricRV:hypergeometric", "integers", "integers", "orders"),
    **_draws("IntegersRV:integers", "places", "large"),
    **_draws("CategoricalRV:categorical", "probabilities"),
    **_draws("DirichletRV:dirichlet", "large"),
    **_draws("MultinomialRV:multinomial", "count", "probabilities"),
    **_draws("MvNormalRV:multivariate_normal", "normal", "positive"),
    **_draws("PermutationRV:permutation", "normal"),
    **_draws("TruncExponentialRV:truncexpon", "large", "vector", "large"),
    "ChoiceWithoutReplacement": Case(
        lambda rng, x: pt.random.choice(x, size=(2,), replace=False, rng=rng), ("normal",), draws=True
    ),
}

# Ops without a graph of their own here, and why.
WITHOUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "BlockwiseWithCoreShape",
            "FinalizedOpFromGraph",
            "FusedElemwise",
            "LazyIfElse",
            "MakeSlice",
            "RandomVariableWithCoreShape",
            "ScalarCAReduce",
            "ScalarSubtensor",
            "ScalarizedElemwise",
            "ScalarizedJoin",
        ),
        "made by rewrites",
    ),
    "MaxAndMinCAReduce": "of `Max` and `Min`",
    **dict.fromkeys(
        ("GetItem2ListsGrad", "GetItemListGrad", "StructuredDotGradCSC", "StructuredDotGradCSR"), "made by gradients"
    ),
    "OutputGuard": "of the debug mode",
    "PdbBreakpoint": "opens a debugger",
    "SpecifyAssumptions": "says something of its argument",
}

OPTIMIZATION = {
    "MinimizeOp": Case(functools.partial(_optimized, "minimize"), ("vector", "vector"), rtol=1e-5),
    "MinimizeScalarOp": Case(functools.partial(_optimized, "minimize_scalar"), ("scalar", "scalar"), rtol=1e-5),
    "RootOp": Case(functools.partial(_optimized, "root"), ("vector", "vector"), rtol=1e-5),
    "RootScalarOp": Case(functools.partial(_optimized, "root_scalar"), ("scalar", "scalar"), rtol=1e-5),
}

# Class names that tensors have too.
SPARSE_TOO = ("Cast", "Dot")
SPARSE = {
    f"sparse.{name}" if name in SPARSE_TOO else name: Case(graph, arguments)
    for name, (graph, arguments) in sparse_cases.GRAPHS.items()
}

CASES: dict[str, Case] = {**ELEMENTWISE, **LINALG, **TENSORS, **CONTROL, **SIGNALS, **OPTIMIZATION, **DRAWS, **SPARSE}

# What calls Python functions of this process, which no file can hold.
CALLS_PYTHON = {"QZ", "FromFunctionOp", "Print", "J0", "J1", "Jv", "Owens_t", "Hyp2F1", *OPTIMIZATION}
