"""What becomes of input that an op cannot take, for docs/reference/bad_input.md: PyTensor, its JAX mode, hlograph.

    python tests/bad_inputs.py --markdown docs/reference/bad_input.md

In: the graphs of `CASES`, each with a value that is wrong for it. Out: a page with a row for each. `outcome` says in
a few words what a call gives: the error's class, or the kind of the numbers. `mistake` is what a test asks for: where
PyTensor has an answer, hlograph has the same one; where it raises, hlograph raises or says NaN.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph
import hlograph.pytensor
from hlograph.errors import PaddingRefusedWarning

Array = np.ndarray[Any, Any]
MODES = ("PyTensor", "JAX mode", "hlograph", "padded")


@dataclass(frozen=True)
class Case:
    """A graph and a value that is wrong for it.

    Attributes:
        what: for the page.
        graph: from variables to an output, or several.
        values: arguments.
        differs: why hlograph has another answer than PyTensor where it has; such rows are in docs/reference/limits.md.
    """

    what: str
    graph: Callable[..., Any]
    values: tuple[Array, ...]
    differs: str = ""


def _square(*rows: Sequence[float]) -> Array:
    return np.array(rows, float)


SINGULAR = _square([1, 2], [2, 4])
INDEFINITE = _square([1, 2], [2, 1])
NAN = _square([np.nan, 1], [1, 2])
NONE = np.zeros((0, 0))
ONE = _square([4])
WIDE = np.arange(6.0).reshape(2, 3) + 1
VECTOR = np.arange(3.0) + 1
EMPTY = np.zeros(0)
INFINITE = _square([np.inf, 1], [1, 2])

_MATRIX: dict[str, Callable[[Any], Any]] = {
    "cholesky": pt.linalg.cholesky,
    "inv": pt.linalg.inv,
    "pinv": pt.linalg.pinv,
    "det": pt.linalg.det,
    "slogdet": pt.linalg.slogdet,
    "eigh, values": lambda x: pt.linalg.eigh(x)[0],
    "eigvalsh": lambda x: pt.linalg.eigvalsh(x, None),
    "eig, values": lambda x: pt.linalg.eig(x)[0],
    "svd, values": lambda x: pt.linalg.svd(x, compute_uv=False),
    "qr": lambda x: abs(pt.linalg.qr(x)[1]),
    "lu": pt.linalg.lu,
    "expm": pt.linalg.expm,
    "solve": lambda x: pt.linalg.solve(x, pt.ones((x.shape[0],)), b_ndim=1),
    "solve, positive definite": lambda x: pt.linalg.solve(x, pt.ones((x.shape[0],)), assume_a="pos", b_ndim=1),
    "solve_triangular": lambda x: pt.linalg.solve_triangular(x, pt.ones((x.shape[0],)), lower=True, b_ndim=1),
}
_WRONG = {
    "singular": SINGULAR,
    "indefinite": INDEFINITE,
    "with NaN": NAN,
    "0 x 0": NONE,
    "1 x 1": ONE,
    "2 x 3": WIDE,
}


_DIFFERS = {
    "`cholesky`, singular": "zeros stay zeros",
    "`cholesky`, indefinite": "zeros stay zeros",
    "`lu`, 2 x 3": "of square matrices by its own declaration; PyTensor's evaluation does not look",
    "`solve`, singular": "NaN in both, but PyTensor's has the matrix's shape",
    "`solve, positive definite`, singular": "NaN in both, but PyTensor's has the matrix's shape",
    "`solve, positive definite`, indefinite": "NaN in both, but PyTensor's has the matrix's shape",
}


def _of_matrices() -> Iterator[Case]:
    """Every function of a matrix with every matrix that is special."""
    for name, graph in _MATRIX.items():
        for kind, value in _WRONG.items():
            what = f"`{name}`, {kind}"
            yield Case(what, graph, (value,), _DIFFERS.get(what, ""))


CASES: tuple[Case, ...] = (
    *_of_matrices(),
    Case(
        "`solve_sylvester`, no unique solution",
        pt.linalg.solve_sylvester,
        (np.eye(2), -np.eye(2), SINGULAR),
        "SciPy solves another equation that is near",
    ),
    Case(
        "`solve_discrete_are`, no solution",
        pt.linalg.solve_discrete_are,
        (2 * np.eye(2), np.zeros((2, 1)), np.eye(2), np.eye(1)),
    ),
    Case("`x[i]`, i past the end", lambda x, i: x[i], (VECTOR, np.asarray(3))),
    Case("`x[i]`, i before the start", lambda x, i: x[i], (VECTOR, np.asarray(-4))),
    Case("`x[i]`, an index vector past the end", lambda x, i: x[i], (VECTOR, np.array([0, 3]))),
    Case("`x[i].set(0)`, i past the end", lambda x, i: x[i].set(0.0), (VECTOR, np.asarray(5))),
    Case("`x[i].inc(1)`, an index vector past the end", lambda x, i: x[i].inc(1.0), (VECTOR, np.array([0, 7]))),
    Case("`x[mask]`, a mask of another length", lambda x, m: x[m], (VECTOR, np.ones(4, bool))),
    Case("`take_along_axis`, past the end", lambda x, i: pt.take_along_axis(x, i, axis=0), (VECTOR, np.array([5]))),
    Case("`choose`, past the end", lambda i, x: pt.choose(i, (x, x)), (np.array([0, 2, 1]), VECTOR)),
    Case("`unravel_index`, past the end", lambda i: pt.unravel_index(i, (2, 3)), (np.array([6]),)),
    Case("`ravel_multi_index`, past the end", lambda i: pt.ravel_multi_index((i, i), (2, 3)), (np.array([2]),)),
    *(
        Case(f"`{name}` of nothing", getattr(pt, name), (EMPTY,))
        for name in ("max", "min", "argmax", "argmin", "sum", "prod", "all", "any", "mean", "var", "sort", "cumsum")
    ),
    Case("`max` along an empty axis", lambda x: pt.max(x, axis=1), (np.zeros((2, 0)),)),
    Case("`logsumexp` of nothing", pt.logsumexp, (EMPTY,)),
    Case("`logsumexp`, all -inf", pt.logsumexp, (np.full(2, -np.inf),)),
    Case("`softmax` with NaN", pt.special.softmax, (np.array([np.nan, 1.0]),)),
    Case("`max` with NaN", pt.max, (np.array([1.0, np.nan]),)),
    Case("`argmax` with NaN", pt.argmax, (np.array([1.0, np.nan, 2.0]),)),
    Case("`sort` with NaN", pt.sort, (np.array([np.nan, 1.0, -np.inf]),)),
    Case("`dot`, shapes that do not match", pt.dot, (WIDE, WIDE)),
    Case("`x + y`, lengths that differ", lambda x, y: x + y, (VECTOR, np.ones(2))),
    Case("`x + y`, a length of 1 at run time", lambda x, y: x + y, (VECTOR, np.ones(1))),
    Case("`concatenate`, shapes that do not match", lambda x, y: pt.concatenate([x, y]), (WIDE, np.ones((1, 2)))),
    Case("`reshape` to another size", lambda x: x.reshape((2, 2)), (VECTOR,)),
    Case("`reshape((2, -1))`, an odd length", lambda x: x.reshape((2, -1)), (VECTOR,)),
    Case("`split`, sizes that do not add up", lambda x: pt.split(x, [1, 1], 2), (VECTOR,)),
    Case("`specify_shape`, another shape", lambda x: pt.specify_shape(x, (2,)), (VECTOR,)),
    Case("`alloc`, a value that does not fit", lambda x: pt.alloc(x, 2), (VECTOR,)),
    Case("`arange(n)`, n negative", lambda n: pt.arange(n), (np.asarray(-3),)),
    Case("`eye(n)`, n negative", lambda n: pt.eye(n), (np.asarray(-1),)),
    Case("`repeat`, a negative count", lambda x, k: pt.repeat(x, k), (VECTOR, np.array([1, -1, 1]))),
    Case("`searchsorted` with NaN", pt.searchsorted, (VECTOR, np.array([np.nan, 2.0]))),
    Case("`x // 0`, integers", lambda x, y: x // y, (np.array([7]), np.array([0]))),
    Case("`x % 0`, integers", lambda x, y: x % y, (np.array([7]), np.array([0]))),
    Case("`log(-1)`", pt.log, (np.array([-1.0]),)),
    Case("`gammaln(-2)`", pt.gammaln, (np.array([-2.0]),)),
    Case("`cast(0.5)` to int64", lambda x: pt.cast(x, "int64"), (np.array([2.5, -2.5]),)),
    Case("`convolve1d` with nothing", lambda x, y: pt.signal.convolve1d(x, y), (VECTOR, EMPTY)),
    Case("`Assert`", lambda x: pytensor.raise_op.Assert("positive")(x, pt.all(x > 0)), (-VECTOR,)),
)


def answer(case: Case, mode: str) -> list[Array] | Exception:
    """What a mode gives: arrays, or the error."""
    inputs = [pt.tensor(f"x{i}", dtype=x.dtype, shape=(None,) * x.ndim) for i, x in enumerate(case.values)]
    try:
        made = case.graph(*inputs)
        outputs = list(made) if isinstance(made, list | tuple) else [made]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if mode == "hlograph":
                warnings.simplefilter("error", PaddingRefusedWarning)
            function = pytensor.function(inputs, outputs, mode=_mode(mode), on_unused_input="ignore")
            return [np.asarray(x) for x in function(*case.values)]
    except Exception as error:  # what this is about
        return error


def _mode(mode: str) -> Any:
    from pytensor.compile.mode import Mode

    if mode == "PyTensor":
        return Mode("py", "fast_compile")
    if mode == "JAX mode":
        return "JAX"
    return hlograph.Mode(policy="padded" if mode == "padded" else "exact")


def outcome(found: list[Array] | Exception) -> str:
    """An answer in a few words."""
    if isinstance(found, Exception):
        return type(found).__name__
    words = []
    for x in found:
        if x.size == 0:
            words.append("empty")
        elif x.dtype.kind in "fc" and np.isnan(x).all():
            words.append("NaN")
        elif x.dtype.kind in "fc" and np.isnan(x).any():
            words.append("NaN inside")
        elif x.ndim == 0 or x.size == 1:
            words.append(f"{x.reshape(())[()]:.6g}")
        else:
            words.append("values")
    return ", ".join(dict.fromkeys(words))


def mistake(case: Case, theirs: list[Array] | Exception, ours: list[Array] | Exception) -> str:
    """What is wrong with an answer of hlograph's; "" where nothing is."""
    if isinstance(ours, Exception):
        return "" if isinstance(theirs, Exception) else f"raises {type(ours).__name__}: {ours}"
    if isinstance(theirs, Exception):
        numbers = [x for x in ours if x.dtype.kind in "fc" and x.size]
        said = any(np.isnan(x).any() or np.isinf(x).any() for x in numbers)
        return "" if said else f"has an answer, where PyTensor raises {type(theirs).__name__}: {theirs}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            return f"output {number} has shape {a.shape}, PyTensor's {b.shape}"
        if not np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True):
            return f"output {number} is {a!r}, PyTensor's {b!r}"
    return ""


def page() -> str:
    """The page in Markdown."""
    from rich.progress import track

    lines = [
        "# Bad input",
        "",
        "What becomes of input that an op cannot take, or that has no good answer: PyTensor's own evaluation in",
        "Python, its JAX mode, and hlograph, exact and padded. Written by `make ops`. A test holds that where PyTensor",
        "has an answer hlograph has the same, and where PyTensor raises hlograph raises or says NaN, but for the rows",
        "whose last column says why not.",
        "",
        "| | PyTensor | JAX mode | hlograph | padded | |",
        "|---|---|---|---|---|---|",
    ]
    for case in track(CASES, "running graphs"):
        found = [outcome(answer(case, mode)) for mode in MODES]
        lines.append(f"| {case.what} | {' | '.join(found)} | {case.differs} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, required=True, help="the page to write")
    with pytensor.config.change_flags(cxx=""):
        parser.parse_args().markdown.write_text(page())


if __name__ == "__main__":
    main()
