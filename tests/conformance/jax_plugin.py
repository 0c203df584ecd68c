"""pytest plugin: the tests of JAX and of libraries on it, with `jax.jit` replaced by `hlograph.jit` (`jax_suites.py`).

In: what a test gives to `jax.jit`, and its calls. Each call runs by `jax.jit` first, and then by `hlograph.jit` with a
name for each axis of more than one element: `apart`, each has its own; `sizes`, axes of one size have one. All are
padded to a bound above the size; a function that the policy refuses is called again under "auto". With `plain` no axis
has a name. Out: for each kind of call in each test a verdict, and ours as the test's result. *shared*: the program is
for other sizes too; *fixed*: Python's decisions fix a size, so that it is for this one; *exact*: the padding pass
refuses it; *by jax.jit*; *refused*: an error of hlograph's also under "auto"; *broken*: another error; *wrong*: other
numbers, dtypes or shapes; *its own*: such, but a second trace by `jax.jit` differs as well (keys of the test's own).
With `apart`, what a test exports with symbolic sizes runs by `hlograph.jit` with these names under "padded".
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.export
import numpy as np
import pytest
from jax import tree_util

import hlograph
from hlograph.errors import HlographError

REPORT = os.environ["CONFORMANCE_REPORT"]
NAMING = os.environ["CONFORMANCE_NAMING"]  # apart, sizes, plain, or jax for `jax.jit` twice
REAL = jax.jit
WHOLE = {"in_shardings", "out_shardings", "device", "backend", "compiler_options", "donate_argnums", "donate_argnames"}
TOLERANCES = {8: 1e-9, 4: 3e-4, 2: 2e-2, 1: 0.3}  # by bytes of a float, relative to the largest magnitude
DTYPES = {"bfloat16": 6e-2}

running = ""
verdicts: dict[str, dict[str, Any]] = {}


def note(kind: str, name: str, why: str = "") -> None:
    """What became of a call of a function in the test that runs."""
    found = verdicts.setdefault(running, {})
    rank = ("shared", "fixed", "exact", "by jax.jit", "refused", "broken", "its own", "wrong")
    if name not in found or rank.index(kind) > rank.index(found[name][0]):
        found[name] = (kind, " ".join(why.split())[:400])


class Checked:
    """What `jax.jit` returns, which runs calls twice."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self._real = REAL(function, **options)
        self._function, self._options = function, options
        self._ours: dict[Any, Callable[..., Any]] = {}
        functools.update_wrapper(self, function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    # `jax.export.export` looks for them in the class.
    trace = property(lambda self: self._real.trace)
    lower = property(lambda self: self._real.lower)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def exported_call(self, specs: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        """A call of what was exported with such symbolic sizes, by `hlograph.jit` with these names."""
        axes = [tuple(size if isinstance(size, int) else str(size) for size in spec.shape) for spec in specs]
        self._compare(args, kwargs, self._real(*args, **kwargs), axes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jaxs: Any = jax.config
        inside = not jax._src.core.trace_state_clean()  # type: ignore[attr-defined]
        if inside or jaxs.jax_disable_jit or WHOLE & self._options.keys():
            return self._real(*args, **kwargs)
        return self._compare(args, kwargs, self._real(*args, **kwargs))

    def _compare(self, args: Any, kwargs: Any, wanted: Any, axes: Sequence[Any] | None = None) -> Any:
        """Our results, noted beside those of `jax.jit`; of axes with given names, or named by `named_axes`."""
        name = getattr(self._function, "__name__", type(self._function).__name__)
        try:
            key, leaves, make = self._call(args, kwargs)
        except TypeError:
            return wanted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if key not in self._ours:
                if len(self._ours) > 8:
                    self._ours.clear()
                self._ours[key] = self._made(make, leaves, name, axes)
            try:
                found = self._ours[key](*leaves)
            except Exception as error:
                note("broken", name, f"{type(error).__name__}: {error}")
                return wanted
        if why := difference(found, wanted):
            kind = "its own" if difference(REAL(make)(*leaves), wanted) else "wrong"
            note(kind, name, f"{[describe(x) for x in leaves]}: {why}")
        return found

    def _call(self, args: Any, kwargs: Any) -> tuple[Any, list[Any], Callable[..., Any]]:
        """A call as flat arguments without the static ones: a key, the arguments, and the function of them."""
        numbers, names = (self._options.get(f"static_arg{what}") for what in ("nums", "names"))
        numbers = {numbers} if isinstance(numbers, int) else set(numbers or ())
        names = {names} if isinstance(names, str) else set(names or ())
        if numbers or names:
            try:
                parameters = list(inspect.signature(self._function).parameters)
            except (TypeError, ValueError):
                parameters = []
            names |= {parameters[i] for i in numbers if -len(parameters) <= i < len(parameters)}
            numbers |= {parameters.index(name) for name in names if name in parameters}
        numbers = {i % len(args) for i in numbers if -len(args) <= i < len(args)}
        fixed = {i: args[i] for i in sorted(numbers)}
        named = {name: value for name, value in kwargs.items() if name in names}
        moving = (
            [x for i, x in enumerate(args) if i not in fixed],
            {k: v for k, v in kwargs.items() if k not in named},
        )
        leaves, tree = tree_util.tree_flatten(moving)

        def function(*leaves: Any) -> Any:
            positional, keywords = tree_util.tree_unflatten(tree, leaves)
            rest = iter(positional)
            every = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
            return self._function(*every, **{**keywords, **named})

        kinds = [(type(x), np.shape(x), getattr(x, "dtype", None), getattr(x, "weak_type", None)) for x in leaves]
        jaxs: Any = jax.config
        key = (tree, tuple(fixed.items()), tuple(named.items()), tuple(kinds), jaxs.jax_enable_x64)
        hash(key)
        return key, leaves, function

    def _made(self, function: Any, leaves: Sequence[Any], name: str, axes: Sequence[Any] | None) -> Callable[..., Any]:
        """What runs such calls from now on; its verdict is noted."""
        if NAMING == "jax":
            note("shared", name)
            return REAL(function)
        if NAMING == "plain":
            made = hlograph.jit(function)
            try:
                made(*leaves)
                note("by jax.jit" if made.stats.jax_calls else "shared", name)
            except Exception as error:
                note("broken", name, f"{type(error).__name__}: {error}")
            return made
        policy: Any = "padded"
        if axes is None:
            axes, policy = named_axes(leaves)
        if not policy:
            note("shared", name, "no axis")
            return hlograph.jit(function)
        tried = hlograph.jit(function, dims={"leaves": axes}, policy=policy)
        reason = ""
        try:
            tried(*leaves)
        except HlographError as error:
            reason = f"{type(error).__name__}: {error}"
            tried = hlograph.jit(function, dims={"leaves": axes})
            try:
                tried(*leaves)
            except HlographError as error:
                note("refused", name, f"{type(error).__name__}: {error}")
                return REAL(function)
        stats = tried.stats
        if stats.jax_calls:
            note("by jax.jit", name, reason)
        elif stats.refusals:
            note("exact", name, "; ".join(map(str, stats.refusals.values())))
        else:
            left = {root.name for each in tried.functions for root in each.program.signature.roots}
            guards = [guard for each in tried.functions for guard in tried.guards(each.program)]
            ones = [guard for guard in guards if guard.relation == "==" and isinstance(guard.rhs, int)]
            note("fixed" if ones or not left else "shared", name, "; ".join(f"{g} at {g.where}" for g in ones))
        return tried


def named_axes(leaves: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
    """Names of axes for flat arguments, and bounds by name."""
    axes: list[Any] = []
    bounds: dict[str, int] = {}
    for number, leaf in enumerate(leaves):
        names: list[str | int] = []
        for axis, size in enumerate(np.shape(leaf)):
            name = f"n{size}" if NAMING == "sizes" else f"n{number}_{axis}"
            names.append(name if size > 1 else size)
            if size > 1:
                bounds[name] = size + 3
        axes.append(tuple(names) or None)
    return axes, bounds


def describe(leaf: Any) -> str:
    """A leaf's type in short."""
    return f"{getattr(leaf, 'dtype', type(leaf).__name__)}{list(np.shape(leaf))}"


def difference(found: Any, wanted: Any) -> str:
    """What differs, or nothing."""
    tree, other = tree_util.tree_structure(found), tree_util.tree_structure(wanted)
    if tree != other:
        return f"structure {tree} and not {other}"
    for one, two in zip(tree_util.tree_leaves(found), tree_util.tree_leaves(wanted), strict=True):
        if not hasattr(two, "dtype"):
            continue
        types = [(x.shape, x.dtype, getattr(x, "weak_type", False)) for x in (one, two)]
        if types[0] != types[1]:
            return f"{jax.typeof(one)} and not {jax.typeof(two)}"
        if jax.dtypes.issubdtype(two.dtype, jax.dtypes.prng_key):
            one, two = jax.random.key_data(one), jax.random.key_data(two)
        kind = np.inexact if jax.dtypes.issubdtype(two.dtype, np.inexact) else None
        tolerance = 0.0
        if kind is not None:
            size = np.dtype(two.dtype).itemsize // (2 if jax.dtypes.issubdtype(two.dtype, np.complexfloating) else 1)
            tolerance = DTYPES.get(str(two.dtype), TOLERANCES[size])
            wide = np.complex128 if jax.dtypes.issubdtype(two.dtype, np.complexfloating) else np.float64
            one, two = (np.asarray(x).astype(wide) for x in (one, two))
        one, two = np.asarray(one), np.asarray(two)
        if kind is None:
            same = one == two
        else:
            largest = np.abs(np.where(np.isfinite(two), two, 0)).max(initial=0)
            with np.errstate(all="ignore"):
                same = np.isclose(one, two, rtol=tolerance, atol=tolerance * max(largest, 1e-30), equal_nan=True)
        if not np.all(same):
            where = tuple(np.argwhere(~np.atleast_1d(same))[0])
            pair = [np.atleast_1d(x)[where] for x in (one, two)]
            return f"{np.sum(~same)} of {np.size(same)} differ, at {tuple(map(int, where))} {pair[0]} and not {pair[1]}"
    return ""


def checked(function: Any = None, /, **options: Any) -> Any:
    """In the place of `jax.jit`, but for hlograph's own calls."""
    if sys._getframe(1).f_globals.get("__name__", "").startswith("hlograph"):
        return REAL(**options) if function is None else REAL(function, **options)
    if function is None:
        return lambda function: Checked(function, options)
    return Checked(function, options)


class Exported:
    """What `jax.export.export` returns; calls run by `hlograph.jit`, too."""

    def __init__(self, exported: Any, function: Checked) -> None:
        self._exported, self._function = exported, function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exported, name)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """As `jax.export.Exported.call`."""
        found = self._exported.call(*args, **kwargs)
        self._function.exported_call(self._exported.in_avals, *args, **kwargs)
        return found


def exporting(function: Any, **options: Any) -> Callable[..., Any]:
    """In the place of `jax.export.export`."""
    export = EXPORT(getattr(function, "_real", function), **options)
    if not isinstance(function, Checked) or NAMING != "apart":
        return export
    return lambda *args, **kwargs: Exported(export(*args, **kwargs), function)


EXPORT = jax.export.export
jax.export.export = exporting
jax.jit = checked
try:
    from jax._src import api
    from jax._src import test_util as jtu

    class _Api:
        """JAX's module, with ours in it, for `_CompileAndCheck` of its tests."""

        jit = staticmethod(checked)

        def __getattr__(self, name: str) -> Any:
            return getattr(api, name)

    jtu.api = _Api()
except ImportError:
    pass


# ---- pytest ---------------------------------------------------------------------------------------------------------


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leaves one test of so many."""
    items[:] = items[:: int(os.environ.get("CONFORMANCE_EVERY", "1"))]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    """Knows which test runs."""
    global running
    running = item.nodeid
    yield


def pytest_runtest_logreport(report: Any) -> None:
    """Writes a line for each test."""
    if report.when != "call" and report.outcome == "passed":
        return
    error = str(report.longrepr.reprcrash.message)[:300] if hasattr(report.longrepr, "reprcrash") else ""
    line = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "seconds": round(report.duration, 2),
        "error": error,
        "calls": verdicts.pop(report.nodeid, {}),
    }
    with open(REPORT, "a") as file:
        file.write(json.dumps(line) + "\n")
