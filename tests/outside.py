"""JAX's own primitive harnesses, which are inside the jax wheel, through `hlograph.jit` with named sizes.

    python tests/outside.py                       # all of them, padded: about 20 minutes
    python tests/outside.py --every 20 --policy exact --only scatter
    python tests/outside.py --every 20 --under grad

In: the harnesses. Out: for each a verdict: right, refused (with one of hlograph's errors), wrong, or broken (another
error). Axes of one size have one name. A harness with random results, or one that `jax.jit` itself
does not run, says nothing. Exit status 1 if one is wrong or broken.
"""

import argparse
import functools
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import jax
import numpy as np

import hlograph
from hlograph import Program
from hlograph.codegen.dtypes import kind_of
from hlograph.codegen.passes.batch import batch as batch_pass
from hlograph.errors import HlographError

# Relative to the largest magnitude: sums of another length are added in another order.
TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-9}


@dataclass(frozen=True)
class Verdict:
    """What became of a harness: "right", "refused", "silent" (it says nothing), "wrong" or "broken", and why."""

    name: str
    kind: str
    why: str = ""


def harnesses(every: int = 1, turn: int = 0, only: str = "") -> Iterator[Any]:
    """One in so many of JAX's harnesses, by their names."""
    from jax._src.internal_test_util.test_harnesses import all_harnesses

    for harness in all_harnesses:
        if only in harness.fullname and crc32(harness.fullname.encode()) % every == turn and harness.filter("cpu"):
            yield harness


def batch(function: Any) -> Any:
    """For two of each argument."""
    return lambda *args: jax.vmap(function)(*[jax.numpy.stack([x, x]) for x in args])


def gradient(function: Any) -> Any:
    """Of the sum of squares of all results that are no integers, by all arguments that are none."""

    def total(*args: Any) -> Any:
        leaves = [y for y in jax.tree.leaves(function(*args)) if jax.numpy.issubdtype(y.dtype, np.inexact)]
        return sum(jax.numpy.sum(jax.numpy.abs(y) ** 2) for y in leaves)

    def taken(*args: Any) -> Any:
        smooth = tuple(i for i, x in enumerate(args) if jax.numpy.issubdtype(jax.numpy.result_type(x), np.inexact))
        return jax.grad(total, smooth)(*args)

    return taken


TRANSFORMATIONS: dict[str, Any] = {"call": lambda f: f, "jit": jax.jit, "vmap": batch, "grad": gradient}


def of_rows(call: Any, args: Sequence[Any], seed: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """`jax.jit` of each of three rows, and the batch pass of all; some arguments are the same for all rows."""
    shuffle = np.random.RandomState(seed % 2**31)
    shared = {i for i in range(len(args)) if len(args) > 1 and (seed >> i) % 4 == 0}
    shared = set() if len(shared) == len(args) else shared
    args = [np.array(jax.numpy.asarray(x)) for x in args]

    def other() -> list[Any]:
        return [x if i in shared else shuffle.permutation(x.ravel()).reshape(x.shape) for i, x in enumerate(args)]

    rows = [args, other(), other()]

    def ours() -> list[Any]:
        module, _ = batch_pass(hlograph.jit(call).program(*args).copy_module(), len(rows), shared=shared)
        given = [x if i in shared else np.stack([row[i] for row in rows]) for i, x in enumerate(args)]
        found = Program(module).compile(optimize="none").run(given)
        return [np.asarray(x)[number] for number in range(len(rows)) for x in found]

    return lambda: [jax.jit(call)(*row) for row in rows], ours


def judge(harness: Any, policy: str, under: str = "call") -> Verdict:
    """Compares `hlograph.jit` of a harness with `jax.jit` of it: called, under a transformation, or of rows."""
    name = harness.fullname
    args = harness.dyn_args_maker(np.random.RandomState(0))  # what the harnesses take
    call = function_of(harness, len(args))
    dims = {f"x{i}": names for i, x in enumerate(args) if (names := named(x)) is not None}
    keys = [jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) for x in args if hasattr(x, "dtype")]
    if "isstable_False" in name:
        return Verdict(name, "silent", "the order of equal keys is open")
    if not args or any(keys) if under == "rows" else not dims:
        return Verdict(name, "silent", "no arguments, or keys" if under == "rows" else "no axis to name")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if under == "rows":
            theirs, ours = of_rows(call, args, crc32(name.encode()))
        else:
            transformed = TRANSFORMATIONS[under]
            theirs = functools.partial(transformed(jax.jit(call)), *args)
            ours = functools.partial(transformed(hlograph.jit(call, dims=dims, policy=policy)), *args)
        try:
            expected = jax.tree.leaves(theirs())
        except Exception as error:
            return Verdict(name, "silent", f"jax.jit: {_line(error)}")
        try:
            found = jax.tree.leaves(ours())
        except HlographError as error:
            return Verdict(name, "refused", _line(error))
        except Exception as error:
            return Verdict(name, "broken", f"{type(error).__name__}: {_line(error)}")
    said = np.tril if harness.group_name == "cholesky" else np.asarray  # what is above is open
    for x, y in zip(found, expected, strict=True):
        x, y = (_words(each) for each in (x, y))
        if why := difference(said(x), said(y)):
            return Verdict(name, "wrong", why)
    return Verdict(name, "right")


def _words(x: Any) -> Any:
    """A key as its words, anything else as it is."""
    is_key = jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x)


def function_of(harness: Any, count: int) -> Any:
    """The harness as a function of so many parameters, x0, x1, ...: a name of an argument's axes needs one."""
    names = [f"x{i}" for i in range(count)]
    scope = {"harness": harness}
    exec(f"def call({', '.join(names)}): return harness.dyn_fun({', '.join(names)})", scope)
    return scope["call"]


def named(x: Any) -> tuple[Any, ...] | None:
    """Names for an array's axes: of those longer than 1, or of all where none is; None where there is none."""
    shape = getattr(x, "shape", ())
    if not shape or 0 in shape:
        return None
    return tuple(f"n{size}" if size > 1 or max(shape) == 1 else size for size in shape)


def difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> str:
    """What is wrong with an array; "" if nothing is."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if kind_of(found.dtype) not in "fc":
        return "" if np.array_equal(found, expected) else f"{np.sum(found != expected)} of {found.size} differ"
    complex_ = found.dtype.kind == "c"
    wide = np.complex128 if complex_ else np.float64
    x, y = found.astype(wide), expected.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    tolerance = TOLERANCE.get(found.dtype.itemsize // (2 if complex_ else 1), 0.2)
    scale = float(finite.max()) if finite.size else 0.0
    close = np.isclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return "" if close.all() else f"{np.sum(~close)} of {close.size} differ: {x[~close][:3]} for {y[~close][:3]}"


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="JAX's primitive harnesses with named sizes")
    parser.add_argument("--every", type=int, default=1, help="one in so many")
    parser.add_argument("--turn", type=int, default=0, help="which of them")
    parser.add_argument("--only", default="", help="those with this in their names")
    parser.add_argument("--policy", default="padded", choices=("padded", "exact", "auto"))
    parser.add_argument("--under", default="call", choices=[*TRANSFORMATIONS, "rows"])
    parser.add_argument("--verbose", action="store_true", help="also what is refused")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for harness in harnesses(options.every, options.turn, options.only):
        verdict = judge(harness, options.policy, options.under)
        counts[verdict.kind] += 1
        if verdict.kind in ("wrong", "broken") or (options.verbose and verdict.kind != "right"):
            print(f"{verdict.kind}: {verdict.name}: {verdict.why}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return 1 if counts["wrong"] or counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
