"""One trace for many sizes of what JAX cannot trace with symbolic sizes: it is traced at several sizes and compared.

In: a function of arrays, and the sizes of a call. Out: a function that JAX can trace with symbolic sizes, and a check
of further sizes. The function is traced at a few sizes that are numbers. Where the jaxprs have the same equations, each
number in which they differ is fitted by a formula of the sizes (`n + 2`, `(n - 1) // 2`, `n * m`, `1 / n`), and the
equations are evaluated with the formulas in the numbers' place. Decision to know: a formula is a guess, and nothing
hangs on it: for each new set of sizes the function is traced at these, and only if that jaxpr is to the bit the
one that the formulas give (`Generalized.agrees`), the program is run. Python may do with a size what it likes.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import Literal

from ...codegen import dims as dimension
from ...codegen.analysis.fitting import Fitter, NumberOf
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim
from ...codegen.ir.jax_tracing import evaluate_equation, expansion, scan_counts
from ...codegen.signature import Argument
from .scope import is_size
from .sizes import Number, as_array

Sizes = Mapping[str, Any]
Formula = Callable[[Sizes], Any]

# Sizes are examined from here on (smaller ones are special to much code), so far apart.
_LEAST = 6
_STEPS = ((0, 1, 2, 4, 9), (3, 7, 0, 10, 5), (5, 0, 11, 2, 8), (9, 4, 6, 1, 13))
# Arrays with so few elements have a formula for each.
_FEW = 16


class NotGeneral(Exception):
    """There is no one trace for several sizes."""


class Special(NotGeneral):
    """There is one, but not for the sizes of the call."""


class Generalized(NamedTuple):
    """A function of the leaves that JAX can trace with symbolic sizes; whether it is the original at some sizes; and
    whether its derivatives are the original's, which has no rules of its own."""

    function: Callable[[Sequence[Any]], Any]
    agrees: Callable[[Mapping[str, int]], bool]
    differentiable: bool


def generalize(
    function: Callable[[Sequence[Any]], Any],
    arguments: Sequence[Argument],
    leaves: Sequence[Any],
    demands: Sequence[Constraint],
    sizes: Mapping[str, int],
) -> Generalized:
    """A function of symbolic sizes that is the given one, of the leaves, at the sizes of a call and others.

    Raises `NotGeneral` where the traces have different equations, or numbers that no formula gives, and `Special`.
    """

    def traced(at: Mapping[str, int]) -> _Trace:
        shapes = [tuple(dimension.evaluate(dim, at) for dim in x.dims) for x in arguments]
        specs = [_spec(leaf.update(shape=shape)) for leaf, shape in zip(leaves, shapes, strict=True)]
        return _Trace(*jax.make_jaxpr(lambda *values: function(values), return_shape=True)(*specs))

    def fitted(stride: int, demands: Sequence[Constraint] = demands) -> tuple[_Trace, list[Formula]]:
        places = list(itertools.islice(_places(sizes, demands, stride), len(_STEPS[0])))
        if len(places) < 3:
            raise NotGeneral("its constraints leave too few sizes to compare")
        traces = [traced(places[0])]
        for at in places[1:]:
            traces.append(traced(at))
            if traces[-1].shape != traces[0].shape:
                raise NotGeneral("its traces at several sizes have different equations")
        formulas, every = _Formulas(places), list(zip(*[trace.numbers for trace in traces], strict=True))
        if not all(_is_same(value, every[i][0]) for i in traces[0].fixed for value in every[i]):
            raise NotGeneral("a size is inside an unknown operation")
        return traces[0], [formulas.formula(values) for values in every]

    def agrees(at: Mapping[str, int]) -> bool:
        try:
            other = traced(at)
            return other.shape == first.shape and all(
                _is_same(formula(at), number) for formula, number in zip(formulas, other.numbers, strict=True)
            )
        except Exception:  # it has its own way to fail there
            return False

    ordered = [*demands, *_order(sizes)]
    for stride, wanted in ((1, demands), *[(1, ordered)] * (len(ordered) > len(demands)), (2, demands)):
        try:
            first, formulas = fitted(stride, wanted)
            break
        except NotGeneral:  # what is longer may be another trace, and even sizes than odd ones
            if stride == 2:
                raise
    if not agrees(sizes):
        raise Special("traces at other sizes, which differ")

    def general(values: Sequence[Any]) -> Any:
        known: dict[str, Any] = {}
        for argument, value in zip(arguments, values, strict=True):
            known.update(zip(map(str, argument.dims), value.shape, strict=False))
        results = first.form.run([formula(known) for formula in formulas], values)
        return tree_util.tree_unflatten(first.tree, results)

    return Generalized(general, agrees, not any("custom" in name for name in first.primitives))


def _order(sizes: Mapping[str, int]) -> Iterator[Constraint]:
    """Which of each two sizes is the longer one."""
    for a, b in itertools.combinations(sizes, 2):
        short, long = (a, b) if sizes[a] < sizes[b] else (b, a)
        yield Constraint(dimension.symbol(long), ">=", dimension.symbol(short) + int(short == a))


def _places(sizes: Mapping[str, int], demands: Sequence[Constraint], stride: int) -> Iterator[dict[str, int]]:
    """Sets of sizes to trace at: near those of the call, and as far from them as a multiple of the stride."""
    least = {name: max(size, _LEAST + (size - _LEAST) % stride) for name, size in sizes.items()}
    for shift in (0, 16, 32, 48):
        for steps in zip(*_STEPS, strict=True):
            far = [steps[i % len(steps)] + shift + i // len(steps) for i in range(len(sizes))]
            at = {name: size + stride * step for (name, size), step in zip(least.items(), far, strict=True)}
            if all(c.holds(at) for c in demands):
                yield at


# ---- jaxprs as equations and numbers --------------------------------------------------------------------------------


class _Place(NamedTuple):  # where a number is taken from; with a type it is data, and may be an array
    number: int
    aval: Any = None


# What is evaluated by what is inside, and what of parameters counts.
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2", "custom_jvp_call")
_FOLLOWED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_CALLS, "custom_vjp_call", "custom_vjp_call_jaxpr"), _CALLED),
    "scan": ("jaxpr", "length", "reverse"),
    "while": ("cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts"),
    "cond": ("branches",),
    "custom_linear_solve": ("jaxprs", "const_lengths"),
}


class _Trace:
    """A jaxpr as what does not depend on sizes (`shape`, and `form` for evaluation), and numbers that may, but for
    `fixed` ones, which stand where they cannot be replaced."""

    def __init__(self, closed: Any, results: Any) -> None:
        self.tree = tree_util.tree_structure(results)
        self.shape: list[Any] = [self.tree]
        self.numbers: list[Any] = []
        self.fixed: list[int] = []
        self.primitives: set[str] = set()
        if closed.effects:
            raise NotGeneral("it has effects")
        self.form = _Form(closed, self)

    def data(self, value: Any, aval: Any) -> _Place:
        if isinstance(value, jax.core.Tracer):
            raise NotGeneral("it uses what a transformation traces")
        self.shape.append((str(aval.dtype), bool(getattr(aval, "weak_type", False)), len(aval.shape)))
        self.numbers.append(value)
        return _Place(len(self.numbers) - 1, aval)

    def param(self, value: Any) -> Any:
        """A parameter of an equation with places for its integers; the rest goes into the shape."""
        if isinstance(value, int | np.integer) and not isinstance(value, bool | enum.Enum):
            self.numbers.append(int(value))
            return _Place(len(self.numbers) - 1)
        if isinstance(value, tuple | list):
            self.shape.append((type(value), len(value)))
            return _like(value, map(self.param, value))
        self.shape.append(value if not isinstance(value, np.ndarray) else (value.dtype, value.shape, value.tobytes()))
        return value


class _Step(NamedTuple):  # an equation with places for its numbers, and the jaxprs inside
    equation: Any
    inputs: list[Any]
    params: dict[str, Any]
    inner: list[Any]


class _Form:
    """A jaxpr with places for its numbers."""

    def __init__(self, closed: Any, trace: _Trace) -> None:
        jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
        self.variables = (*jaxpr.constvars, *jaxpr.invars)
        names = {variable: number for number, variable in enumerate(self.variables)}
        trace.shape.append((len(jaxpr.constvars), len(jaxpr.invars), len(jaxpr.eqns)))
        self.consts = [trace.data(x, var.aval) for x, var in zip(consts, jaxpr.constvars, strict=True)]

        def read(x: Any) -> Any:
            if isinstance(x, Literal):
                return trace.data(x.val, x.aval)
            trace.shape.append(names[x])
            return x

        self.steps = []
        for equation in jaxpr.eqns:
            trace.primitives.add(equation.primitive.name)
            trace.shape.append((equation.primitive, len(equation.invars), len(equation.outvars)))
            step = _Step(equation, [read(x) for x in equation.invars], {}, [])
            self._look_inside(step, trace)
            self.steps.append(step)
            names.update(zip(equation.outvars, itertools.count(len(names)), strict=False))
        self.outputs = [read(x) for x in jaxpr.outvars]

    def _look_inside(self, step: _Step, trace: _Trace) -> None:
        equation, name = step.equation, step.equation.primitive.name
        if (expand := expansion(equation)) is not None:
            made = jax.make_jaxpr(expand)(*[_spec(x.aval) for x in equation.invars])
            step.inner.append(_Form(made, trace))
            return
        if name == "scan":
            trace.shape.append(scan_counts(equation))
        for key in _FOLLOWED.get(name, sorted(equation.params)):
            if key not in equation.params:
                continue
            value, before = equation.params[key], len(trace.numbers)
            found = value if isinstance(value, tuple) else (value,)
            trace.shape.append(key)
            if not any(hasattr(getattr(item, "jaxpr", item), "eqns") for item in found):
                step.params[key] = trace.param(value)
                continue
            forms = [None if item is None else _Form(item, trace) for item in found]
            if name in _FOLLOWED:
                step.inner.extend(forms)
            else:
                trace.fixed.extend(range(before, len(trace.numbers)))

    def run(self, numbers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results, with these numbers in their places."""

        def read(x: Any) -> Any:
            return _array(numbers, x) if isinstance(x, _Place) else values[x]

        values = dict(zip(self.variables, (*[_array(numbers, x) for x in self.consts], *arguments), strict=True))
        for step in self.steps:
            params = {key: _filled(value, numbers) for key, value in step.params.items()}
            results = _evaluate(step, [read(x) for x in step.inputs], params, numbers)
            values.update(zip(step.equation.outvars, results, strict=True))
        return [read(x) for x in self.outputs]


def _spec(aval: Any) -> Any:
    spec: Any = jax.ShapeDtypeStruct
    return spec(aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False)))


def _like(value: Any, parts: Any) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _filled(value: Any, numbers: Sequence[Any]) -> Any:
    if isinstance(value, _Place):
        return numbers[value.number]
    return _like(value, (_filled(item, numbers) for item in value)) if isinstance(value, tuple | list) else value


def _evaluate(step: _Step, operands: list[Any], params: dict[str, Any], numbers: Sequence[Any]) -> Sequence[Any]:
    name, runs = step.equation.primitive.name, [form and partial(form.run, numbers) for form in step.inner]
    if _FOLLOWED.get(name) is _CALLED or expansion(step.equation) is not None:
        return runs[0](operands)
    if name == "custom_linear_solve":
        _, start, stop, end = itertools.accumulate(params["const_lengths"])  # of matvec, vecmat, solve, transpose_solve
        return runs[2]([*operands[start:stop], *operands[end:]])
    if name == "top_k":
        return jax.lax.top_k(*operands, **params)  # which `adapted` knows
    if name == "cond":
        return jax.lax.switch(operands[0], [lambda *values, run=run: run(values) for run in runs], *operands[1:])
    if name == "while":
        first, second = itertools.accumulate((params["cond_nconsts"], params["body_nconsts"]))
        of_test, of_body, start = operands[:first], operands[first:second], operands[second:]
        return jax.lax.while_loop(lambda x: runs[0]([*of_test, *x])[0], lambda x: runs[1]([*of_body, *x]), start)
    if name == "scan":
        fixed, count = scan_counts(step.equation)
        consts, rest = operands[:fixed], operands[fixed:]

        def turn(carried: Any, rows: Any) -> Any:
            results = runs[0]([*consts, *carried, *(rows if rest[count:] else ())])
            return results[:count], results[count:]

        rows = rest[count:] or jax.lax.iota(np.int32, params["length"])
        carried, stacked = jax.lax.scan(turn, rest[:count], rows, reverse=params["reverse"])
        return [*carried, *stacked]
    return evaluate_equation(step.equation.replace(params={**step.equation.params, **params}), operands)


def _array(numbers: Sequence[Any], place: _Place) -> Any:
    """What an equation takes: a constant as it is, else an array that is made of sizes."""
    value = numbers[place.number]
    if not (isinstance(value, Number | jax.core.Tracer) or is_size(value)):
        return value
    array = as_array(value)
    if array.dtype != place.aval.dtype or array.aval.weak_type != place.aval.weak_type:
        array = jax.lax.convert_element_type(array, place.aval.dtype)
    return array


# ---- formulas -------------------------------------------------------------------------------------------------------


def _is_same(found: Any, number: Any) -> bool:
    """Whether a formula's value is to the bit what stands in a jaxpr."""
    if found is number:
        return True
    if isinstance(number, int) and isinstance(found, int):
        return found == number
    if hasattr(number, "dtype") and jax.numpy.issubdtype(number.dtype, jax.dtypes.prng_key):
        return False
    wanted = np.asarray(number)
    given = np.asarray(found, wanted.dtype)
    return given.shape == wanted.shape and given.tobytes() == wanted.tobytes()


class _Formulas:
    """Formulas of sizes for numbers at several sets of sizes."""

    def __init__(self, places: Sequence[Mapping[str, int]]) -> None:
        self._fitter = Fitter(places)

    def formula(self, values: Sequence[Any]) -> Formula:
        """What gives these numbers; raises `NotGeneral` where nothing known does."""
        first = values[0]
        if all(_is_same(value, first) for value in values[1:]):
            return lambda at: first
        if getattr(first, "ndim", 0):
            return self._array([np.asarray(value) for value in values])
        kind = np.asarray(first).dtype.kind
        if kind in "iu" and (dim := self._fitter.find(values)) is not None:
            return partial(_size, dim)
        if kind in "fc" and not any(np.imag(value) for value in values):
            found = self._fitter.find_number(lambda number, place: _is_same(number, values[place]), np.real(values))
            if found is not None:
                return partial(_number, found)
        raise NotGeneral(f"no formula of sizes gives {', '.join(map(str, values))}")

    def _array(self, values: Sequence[Any]) -> Formula:
        """A few elements, one value everywhere, or a counter."""
        shapes, dtype = [value.shape for value in values], values[0].dtype
        if len({len(shape) for shape in shapes}) > 1 or any(0 in shape for shape in shapes):
            raise NotGeneral("it makes arrays of its own")
        if len(set(shapes)) == 1 and values[0].size <= _FEW:
            elements = [self.formula(one) for one in zip(*[value.flat for value in values], strict=True)]
            return lambda at: _elements([of(at) for of in elements], values[0])
        first, sizes = values[0].flat[0], [self.formula(axis) for axis in zip(*shapes, strict=True)]
        if all(value.tobytes() == np.full_like(value, first).tobytes() for value in values):
            return lambda at: _repeated(tuple(size(at) for size in sizes), first)
        if len(sizes) == 1 and dtype.kind in "iuf" and min(map(min, shapes)) > 1:
            ends = [[int(value[place]) for value in values] for place in (0, 1)]
            made = [_counter(len(v), s, e - s, dtype) for v, s, e in zip(values, *ends, strict=True)]
            if all(map(_is_same, made, values)):
                start, step = self.formula(ends[0]), self.formula([e - s for s, e in zip(*ends, strict=True)])
                return lambda at: _counter(sizes[0](at), start(at), step(at), dtype)
        raise NotGeneral("it makes arrays of its own")


def _elements(values: Sequence[Any], like: Any) -> Any:
    if not any(is_size(value) or isinstance(value, Number) for value in values):
        return np.array(values, like.dtype).reshape(like.shape)
    return jax.numpy.stack([as_array(value).astype(like.dtype) for value in values]).reshape(like.shape)


def _repeated(shape: tuple[Any, ...], value: Any) -> Any:
    return jax.lax.full(shape, value) if any(map(is_size, shape)) else np.full(shape, value)


def _counter(size: Any, start: Any, step: Any, dtype: Any) -> Any:
    if not is_size(size):
        return np.asarray(start + step * np.arange(size), dtype)
    return jax.lax.convert_element_type(jax.lax.iota(int, size) * as_array(step) + as_array(start), dtype)


def _size(dim: Dim, at: Sizes) -> Any:
    return dimension.rebuild(dim, at.__getitem__, minimum=jax.core.min_dim, maximum=jax.core.max_dim)


def _number(number: NumberOf, at: Sizes) -> Any:
    size = _size(number.dim, at)
    if not is_size(size):
        return number.at(size)
    tree = size.scope.dim(size)
    return Number(size.scope, (number.sign, ("float", number.factor.hex()), ("sqrt", tree) if number.root else tree))
