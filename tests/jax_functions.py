"""Which functions of JAX share one program between lengths: the table of docs/reference/jax_functions.md.

    python tests/jax_functions.py --markdown docs/reference/jax_functions.md    # all of them: half an hour
    python tests/jax_functions.py --only convolve

In: the expressions of `jax_cases`, and for each its value, `jax.jvp` and gradient as functions under
`hlograph.jit(dims=)`, padded to one bound. Out: for each of the three a verdict. *shared*: one trace and one executable
for all lengths but 1 and 3, which may have a trace of their own each; *traces*: more; *exact*: each size is compiled,
with the padding pass's reason; *refused*: hlograph's error; *wrong*: other numbers than `jax.jit` at exact sizes gives.
What is no number, and what JAX itself cannot do, has a dash. Exit status 1 if one is wrong or broken.
"""

import argparse
import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.scipy.optimize
import jax_cases
import numpy as np
from jax import numpy as jnp

import hlograph
from hlograph.errors import HlographError

AREAS = {
    "jax.numpy": ("jnp", jax_cases.NUMPY),
    "jax.numpy.linalg": ("jnp.linalg", jax_cases.LINALG),
    "jax.numpy.fft": ("jnp.fft", jax_cases.FFT),
    "jax.lax": ("jax.lax", jax_cases.LAX),
    "jax.nn": ("jax.nn", jax_cases.NN),
    "jax.ops": ("jax.ops", jax_cases.OPS),
    "jax.random": ("jax.random", jax_cases.RANDOM),
    "jax.scipy": ("jss", jax_cases.SCIPY),
}
MODES = ("value", "jvp", "gradient")
LENGTHS = (7, 16, 3, 1)
FEW = 2  # lengths that may be special
BOUND = 24
QUICK = {"xla_backend_optimization_level": 0}
TOLERANCE = 2e-3
DIMS = {
    **dict.fromkeys("xyvijbz", ("n",)),
    "a": ("n", 3),
    "s": ("n", "n"),
}


class Case(NamedTuple):
    """A function's name, and an expression of it."""

    area: str
    name: str
    text: str

    @property
    def arguments(self) -> list[str]:
        """The variables of the expression; the size is that of one of them."""
        found = {node.id for node in ast.walk(ast.parse(self.text, mode="eval")) if isinstance(node, ast.Name)}
        used = sorted(found & {*DIMS, "c", "d", "k"})
        return used if found.isdisjoint("n") or not found.isdisjoint(DIMS) else [*used, "x"]

    def function(self) -> Callable[..., Any]:
        """The expression as a function of its arguments."""
        arguments = ", ".join(self.arguments)
        sized = next((name for name in self.arguments if name in DIMS), None)
        namespace: dict[str, Any] = {"jax": jax, "jnp": jnp, "jss": jax.scipy}
        body = "" if sized is None else f"    n = {sized}.shape[0]\n"
        exec(f"def f({arguments}):\n{body}    return {self.text}", namespace)
        function: Callable[..., Any] = namespace["f"]
        return function


def cases() -> Iterator[Case]:
    """All of them."""
    for area, (module, text) in AREAS.items():
        for line in filter(None, text.replace("\n    ", " ").splitlines()):
            if " = " in line and not re.match(r"[\w.]*F[.(]", line):
                name, expression = line.split(" = ", 1)
                yield Case(area, name, expression)
                continue
            pattern, names = re.fullmatch(r"(.*\)): (.*)", line).groups()  # type: ignore[union-attr]
            for name in names.split():
                bare, _, options = name.partition("(")
                called = re.sub(r"\bF\b", bare, pattern)
                expression = f"{called[:-1]}, {options}" if options else called
                yield Case(area, called[: called.index("(")], f"{module}.{expression}")


def arrays(n: int) -> dict[str, Any]:
    """The variables for a length."""
    random = np.random.default_rng(n)
    x, y = (random.permutation(n).astype("float32") / n * 0.8 + shift for shift in (0.11, 0.17))
    a = random.uniform(0.1, 0.9, (n, 3)).astype("float32")
    w = random.normal(size=(n, n)).astype("float32") / (n + 1)
    return {
        "x": x,
        "y": y,
        "v": x * 2 - 1,
        "i": random.integers(1, 6, n).astype("int32"),
        "j": random.integers(1, 6, n).astype("int32"),
        "b": x > 0.4,
        "z": (x + 1j * y).astype("complex64"),
        "a": a,
        "s": w @ w.T + np.diag(np.linspace(0.5, 1.5, n)).astype("float32"),
        "c": np.array([0.3, 0.8, 0.15, 0.55], "float32"),
        "d": np.array([[0.4, 0.1, 0.2], [0.3, 0.9, 0.1], [0.2, 0.3, 0.7]], "float32"),
        "k": jax.random.key(n),
    }


def is_inexact(value: Any) -> bool:
    """Whether it has derivatives."""
    return bool(jnp.issubdtype(jnp.result_type(value), np.inexact))


def transformed(function: Callable[..., Any], mode: str, given: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The function, its `jax.jvp` or its gradient by all arguments that have one."""
    if mode == "value":
        return function
    names = list(given)
    smooth = [number for number, name in enumerate(names) if name != "k" and is_inexact(given[name])]
    result = jax.tree.leaves(jax.eval_shape(function, *given.values()))
    if not smooth or not any(jnp.issubdtype(x.dtype, np.inexact) for x in result):
        return None

    def partial(args: Any) -> Callable[..., Any]:
        def of_smooth(*values: Any) -> list[Any]:
            every = list(args)
            for number, value in zip(smooth, values, strict=True):
                every[number] = value
            return [y for y in jax.tree.leaves(function(*every)) if jnp.issubdtype(y.dtype, np.inexact)]

        return of_smooth

    def jvp(*args: Any) -> Any:
        primals = [args[number] for number in smooth]
        return jax.jvp(partial(args), primals, [jnp.cos(p) for p in primals])[1]

    def gradient(*args: Any) -> Any:
        def total(*values: Any) -> Any:
            return sum(jnp.sum(jnp.abs(y) ** 2) for y in partial(args)(*values))

        return jax.grad(total, tuple(range(len(smooth))))(*[args[number] for number in smooth])

    made = {"jvp": jvp, "gradient": gradient}[mode]
    arguments = ", ".join(names)
    namespace: dict[str, Any] = {"made": made}
    exec(f"def f({arguments}): return made({arguments})", namespace)
    found: Callable[..., Any] = namespace["f"]
    return found


def is_close(found: Any, wanted: Any) -> bool:
    """Whether all leaves agree, relative to the largest magnitude."""
    pairs = list(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True))
    for one, other in pairs:
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        finite = np.abs(np.where(np.isfinite(other), other, 0)).max(initial=0) if other.dtype.kind in "fc" else 0
        if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * max(float(finite), 1e-3), equal_nan=True):
            return False
    return True


def verdict(case: Case, mode: str) -> tuple[str, str]:
    """What becomes of one, and why."""
    function, names = case.function(), case.arguments
    sized = {name: DIMS[name] for name in names if name in DIMS}
    tried: Any = None
    right, failed = [], []
    for n in LENGTHS:
        given = {name: value for name, value in arrays(n).items() if name in names}
        given = {name: given[name] for name in names}
        try:
            made = transformed(function, mode, given)
            if made is None:
                return "-", "no number"
            wanted = jax.jit(made, compiler_options=QUICK)(**given)
        except Exception:
            failed.append(n)  # a length or a derivative that JAX refuses
            continue
        if tried is None:
            tried = hlograph.jit(made, dims=sized, policy={"n": BOUND} if sized else "auto")
        try:
            found = tried(**given)
        except HlographError as error:
            return "refused", f"n = {n}: {error}"
        except Exception as error:
            return "broken", f"n = {n}: {type(error).__name__}: {error}"
        if not is_close(found, wanted):
            return "wrong", f"n = {n}: {found} and not {wanted}"[:300]
        right.append(n)
        traces = tried.stats.traces
        if n == LENGTHS[-1 - FEW]:
            few = traces
    if not right:
        return "-", "JAX itself refuses it"
    stats = tried.stats
    if stats.refusals:
        return "exact", "; ".join(map(str, stats.refusals.values()))
    if stats.jax_calls:
        return "by jax.jit", f"{stats.jax_calls} of {len(right)} calls"
    few = stats.traces if len(right) < len(LENGTHS) else few
    return ("shared", "") if few == 1 else ("traces", f"{few} for {len(LENGTHS) - FEW} lengths")


def main() -> int:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--modes", nargs="*", default=MODES)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[tuple[Case, list[tuple[str, str]]]] = []
    for case in [case for case in cases() if re.search(options.only, f"{case.area}.{case.name}")][:: options.every]:
        row = [verdict(case, mode) for mode in options.modes]
        rows.append((case, row))
        print(f"{case.area}.{case.name}", *[kind for kind, _ in row], sep="\t", flush=True)
        for mode, (kind, why) in zip(options.modes, row, strict=True):
            if kind not in ("shared", "-"):
                print(f"    {mode}: {kind}: {' '.join(why.split())[:300]}", flush=True)
        jax.clear_caches()
    counts = Counter(kind for _, row in rows for kind, _ in row)
    print(dict(counts))
    if options.markdown:
        options.markdown.write_text(page(rows, options.modes))
    return int(bool(counts["wrong"] + counts["broken"]))


def page(rows: list[tuple[Case, list[tuple[str, str]]]], modes: Sequence[str]) -> str:
    """The table in Markdown."""
    lines = [
        "# Functions of JAX over a named axis",
        "",
        "Which functions of JAX share one program between lengths under `hlograph.jit(f, dims=...)`. Written by",
        f"`.venv/bin/python tests/jax_functions.py --markdown docs/reference/jax_functions.md`, JAX {version('jax')}.",
        "",
        f"Each is run at the lengths {', '.join(map(str, LENGTHS))}, padded to one bound, and compared with `jax.jit`.",
        "*x*: one trace and one executable for all, but for 1 and 3, which may have one of their own. *exact*: every",
        "length is compiled, for the reason given. *traces*: Python decides by the length, as by whether it",
        "is even. *refused*: an error says so under `padded`, and `jax.jit` runs the call under `auto`. A dash stands",
        "where there is no number, or JAX itself has no derivative. Cases that are not in the table, and empty cells,",
        "were not run.",
        "",
    ]
    counts = {area: Counter(kind for case, row in rows if case.area == area for kind, _ in row) for area in AREAS}
    kinds = ("shared", "exact", "traces", "by jax.jit", "refused")
    lines += [f"| | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    lines += [f"| {area} | {' | '.join(str(found[kind]) for kind in kinds)} |" for area, found in counts.items()]
    for area in AREAS:
        lines += ["", f"## {area}", "", f"| function | {' | '.join(modes)} | |", "|---" * (len(modes) + 2) + "|"]
        for case, row in sorted((item for item in rows if item[0].area == area), key=lambda item: item[0].name):
            marks = ["x" if kind == "shared" else kind for kind, _ in row]
            reasons = dict.fromkeys(" ".join(why.split())[:160] for kind, why in row if kind not in ("shared", "-"))
            lines.append(f"| `{case.name}` | {' | '.join(marks)} | {'; '.join(reasons).replace('|', ' ')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
