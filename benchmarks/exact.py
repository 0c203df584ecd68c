"""A graph as it is written, evaluated with as many digits as it takes: the true values beside which rewriting is held.

No overflow, and no cancellation within the precision. A value counts as known where two precisions agree; what cancels
beyond them (`log(1 - sigmoid(1e5))`) or what has no entry in the table is unknown, NaN here. Arrays are NumPy's, of
objects: numbers of mpmath where PyTensor has floats, Python's integers and booleans, None where an element is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

DIGITS = (60, 400)
LARGEST = 10**5


def _log1mexp(x: Any) -> Any:
    return mpmath.log(-mpmath.expm1(x))


def _pow(x: Any, y: Any) -> Any:
    return mpmath.mpf(1) if y == 0 else x**y


def _gammaln(x: Any) -> Any:
    return mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


SCALAR: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "Add": lambda *x: sum(x[1:], x[0]),
    "AND": lambda x, y: x & y,
    "ArcTan": mpmath.atan,
    "BetaInc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "Cast": lambda x: x,
    "Ceil": mpmath.ceil,
    "Cos": mpmath.cos,
    "Cosh": mpmath.cosh,
    "EQ": lambda x, y: x == y,
    "Erf": mpmath.erf,
    "Erfc": mpmath.erfc,
    "Erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "Erfinv": mpmath.erfinv,
    "Exp": mpmath.exp,
    "Expm1": mpmath.expm1,
    "Floor": mpmath.floor,
    "GE": lambda x, y: x >= y,
    "GT": lambda x, y: x > y,
    "Gamma": mpmath.gamma,
    "GammaInc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "GammaIncC": lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    "GammaLn": _gammaln,
    "Identity": lambda x: x,
    "IntDiv": lambda x, y: x // y,
    "Invert": lambda x: not x,
    "IsInf": lambda x: bool(mpmath.isinf(x)),
    "IsNan": lambda x: bool(mpmath.isnan(x)),
    "LE": lambda x, y: x <= y,
    "LT": lambda x, y: x < y,
    "Log": mpmath.log,
    "Log10": mpmath.log10,
    "Log1mexp": _log1mexp,
    "Log1p": mpmath.log1p,
    "Log2": lambda x: mpmath.log(x, 2),
    "Maximum": max,
    "Minimum": min,
    "Mod": lambda x, y: x % y,
    "Mul": lambda *x: mpmath.fprod(x) if any(isinstance(v, mpmath.mpf) for v in x) else int(np.prod(x)),
    "NEQ": lambda x, y: x != y,
    "Neg": lambda x: -x,
    "OR": lambda x, y: x | y,
    "Pow": _pow,
    "Psi": mpmath.digamma,
    "Reciprocal": lambda x: 1 / x,
    "ScalarMaximum": max,
    "ScalarMinimum": min,
    "Second": lambda x, y: y,
    "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Sign": mpmath.sign,
    "Sin": mpmath.sin,
    "Sinh": mpmath.sinh,
    "Softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "Sqr": lambda x: x * x,
    "Sqrt": mpmath.sqrt,
    "Sub": lambda x, y: x - y,
    "Switch": lambda condition, x, y: x if condition else y,
    "Tan": mpmath.tan,
    "Tanh": mpmath.tanh,
    "TriGamma": lambda x: mpmath.polygamma(1, x),
    "TrueDiv": lambda x, y: x / y,
}
IDENTITY = {"Add": 0, "Mul": 1, "AND": True, "OR": False}
# Ops whose own `perform` moves elements and computes nothing.
MOVES = {"Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "Join", "Reshape", "Shape", "Shape_i", "Split"}
MOVES |= {"ExtractDiag", "SpecifyShape", "Diagonal"}


def exact(inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[Any]) -> list[np.ndarray]:
    """The outputs' true values at a point, as far as they are known."""
    first, second = (_evaluate(inputs, outputs, point, digits) for digits in DIGITS)
    with mpmath.workdps(DIGITS[0]):
        return [_agreed(x, y) for x, y in zip(first, second, strict=True)]


def _agreed(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray:
    if first is None or second is None:
        return np.array(np.nan)
    values = [_float(y) if _agree(x, y) else np.nan for x, y in zip(first.flat, second.flat, strict=True)]
    return np.array(values, float).reshape(second.shape)


def _float(value: Any) -> float:
    """What is finite and larger than any float is unknown."""
    found = float(value)
    return np.nan if np.isinf(found) and mpmath.isfinite(value) else found


def _agree(x: Any, y: Any) -> bool:
    if x is None or y is None or isinstance(x, mpmath.mpc) or isinstance(y, mpmath.mpc):
        return False
    if mpmath.isinf(x) and mpmath.isinf(y):
        return bool(x == y)
    return bool(mpmath.isfinite(x) and mpmath.isfinite(y) and abs(x - y) <= abs(y) * mpmath.mpf(10) ** -20)


def _evaluate(
    inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[Any], digits: int
) -> list[np.ndarray | None]:
    with mpmath.workdps(digits):
        return _run(inputs, outputs, [_objects(v) for v in point])


def _run(inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> list[np.ndarray | None]:
    from pytensor.graph.traversal import toposort

    known = dict(zip(inputs, values, strict=True))
    for node in toposort(list(outputs), blockers=list(inputs)):
        operands = [_value(known, x) for x in node.inputs]
        for variable, value in zip(node.outputs, _apply(node, operands), strict=True):
            known[variable] = value
    return [_value(known, x) for x in outputs]


def _objects(value: Any) -> np.ndarray:
    """An array of numbers of mpmath, or of Python's integers and booleans."""
    array = np.asarray(value)
    made = np.empty(array.shape, object)
    for index, element in enumerate(array.flat):
        made.flat[index] = mpmath.mpf(float(element)) if array.dtype.kind == "f" else element.item()
    return made


def _value(known: dict[Any, Any], variable: Any) -> Any:
    if variable not in known:
        data = getattr(variable, "data", None)
        number = isinstance(data, np.ndarray | np.generic | int | float) and np.size(data) <= LARGEST
        known[variable] = _objects(data) if number else None
    return known[variable]


def _apply(node: Any, operands: list[Any]) -> list[np.ndarray | None]:
    """None for results that are not known."""
    op, name = node.op, type(node.op).__name__
    unknown = [None] * len(node.outputs)
    # How an op counts its axes is looked at even where its operands' elements are unknown.
    if any(x is None and getattr(v.type, "ndim", None) is not None for x, v in zip(operands, node.inputs, strict=True)):
        return unknown
    try:
        if hasattr(op, "fgraph"):
            return _run(op.fgraph.inputs, op.fgraph.outputs, operands)
        if name == "Elemwise":
            known = type(op.scalar_op).__name__ in SCALAR
            return [_elementwise(node, op.scalar_op, operands)] if known else unknown
        if name == "DimShuffle":
            (x,) = operands
            order = [axis for axis in op.new_order if axis != "x"]
            dropped = tuple(axis for axis in range(x.ndim) if axis not in order)
            x = x.transpose([*order, *dropped]).reshape([x.shape[axis] for axis in order])
            return [x[tuple(np.newaxis if axis == "x" else slice(None) for axis in op.new_order)]]
        if hasattr(op, "scalar_op"):
            return [_reduced(op, operands[0])]
        return _other(node, name, operands)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, NotImplementedError, IndexError, AttributeError):
        return unknown


def _elementwise(node: Any, scalar_op: Any, operands: list[Any]) -> np.ndarray:
    name = type(scalar_op).__name__
    function = SCALAR[name]
    real = node.outputs[0].type.dtype.startswith("float")
    lazy = {"Switch": 0, "Second": 1}.get(name)
    arrays = np.broadcast_arrays(*operands)
    made = np.empty(arrays[0].shape, object)
    for index, values in enumerate(zip(*(x.flat for x in arrays), strict=True)):
        made.flat[index] = _element(function, values, real, lazy)
    return made


def _element(function: Callable[..., Any], values: Sequence[Any], real: bool, lazy: int | None) -> Any:
    """None for what is not known; a selection does not ask for the branch that it does not take."""
    if (None in values) if lazy is None else values[lazy] is None:
        return None
    if real and lazy is None:
        values = [mpmath.mpf(v) if isinstance(v, int) else v for v in values]
    try:
        found = function(*values)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, NotImplementedError, mpmath.libmp.NoConvergence):
        return None
    if isinstance(found, bool | int):
        return mpmath.mpf(found) if real else found
    if found is None or isinstance(found, mpmath.mpc):
        return None
    # What has more than so many binary digits before or behind the point would take all memory in the next step.
    tame = not mpmath.isfinite(found) or not found or abs(mpmath.mag(found)) < LARGEST
    return found if tame else None


def _reduced(op: Any, x: np.ndarray) -> np.ndarray:
    name = type(op.scalar_op).__name__
    function = SCALAR[name]
    axes = tuple(range(x.ndim)) if op.axis is None else tuple(op.axis)

    def step(a: Any, b: Any) -> Any:
        return None if a is None or b is None else function(a, b)

    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose([*kept, *axes]).reshape([*(x.shape[axis] for axis in kept), -1])
    made = np.empty(rows.shape[:-1], object)
    for index in np.ndindex(made.shape):
        values = list(rows[index])
        total = IDENTITY[name] if name in IDENTITY else values.pop(0)
        for value in values:
            total = step(total, value)
        made[index] = total
    return made


def _other(node: Any, name: str, operands: list[Any]) -> list[np.ndarray | None]:
    op = node.op
    if name in {"TensorFromScalar", "ScalarFromTensor", "ViewOp", "CheckAndRaise", "Assert", "DeepCopyOp"}:
        return [operands[0]]
    if name == "MakeVector":
        return [np.array([x.item() for x in operands], object)]
    if name == "Alloc":
        value, *shape = operands
        return [np.broadcast_to(value, [int(x.item()) for x in shape]).copy()]
    if name == "Dot":
        return [np.array(np.dot(*operands), object)]
    if name in {"IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1"}:
        return [_written(node, operands)]
    if name in {"Softmax", "LogSoftmax"}:
        return [_softmax(operands[0], op.axis, name == "LogSoftmax")]
    if name == "CumOp":
        return [np.cumsum(*operands, axis=op.axis)] if op.mode == "add" else [None]
    discrete = all(v.type.dtype.startswith(("int", "uint", "bool")) for v in [*node.inputs, *node.outputs])
    if not discrete and name not in MOVES:
        return [None] * len(node.outputs)
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    op.perform(node, [_plain(x, v) for x, v in zip(operands, node.inputs, strict=True)], storage)
    found = [np.asarray(cell[0]) for cell in storage]
    return [x if x.dtype == object else _objects(x) for x in found]


def _plain(value: Any, variable: Any) -> Any:
    """Integers and booleans as the library has them; numbers of mpmath as they are."""
    dtype = getattr(variable.type, "dtype", "")
    if value is None:
        return getattr(variable, "data", None)
    if dtype.startswith(("int", "uint", "bool")):
        plain = np.array(value.tolist(), dtype)
        return plain if plain.ndim or hasattr(variable.type, "ndim") else plain[()]
    return value


def _written(node: Any, operands: list[Any]) -> np.ndarray:
    """A copy with values set or added, by a walk over the places that the index names."""
    x, y, *index = operands
    places = np.arange(x.size).reshape(x.shape)
    op = node.op
    plain = [_plain(v, variable) for v, variable in zip(index, node.inputs[2:], strict=True)]
    if type(op).__name__ == "AdvancedIncSubtensor1":
        chosen = places[plain[0]]
    else:
        from pytensor.tensor.subtensor import unflatten_index_variables

        chosen = places[tuple(unflatten_index_variables(plain, op.idx_list))]
    made = x.copy()
    flat = made.reshape(-1)
    for place, value in zip(np.ravel(chosen), np.broadcast_to(y, np.shape(chosen)).flat, strict=True):
        old = flat[place]
        added = None if old is None or value is None else old + value
        flat[place] = value if op.set_instead_of_inc else added
    return flat.reshape(x.shape)


def _softmax(x: np.ndarray, axis: int | None, logarithm: bool) -> np.ndarray:
    exponentials = np.frompyfunc(mpmath.exp, 1, 1)(x)
    total = np.sum(exponentials, axis=axis, keepdims=True)
    return x - np.frompyfunc(mpmath.log, 1, 1)(total) if logarithm else exponentials / total
