"""Ops written by `codegen/ir/ops.py`, against NumPy, by StableHLO's reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import builds
import numpy as np
import pytest

from hlograph.codegen.ir import while_ops
from hlograph.codegen.ir.functions import return_values
from hlograph.codegen.ir.modules import reference_eval
from hlograph.codegen.ir.values import main_function, terminator
from hlograph.passes import ir, ops, owner, stablehlo

Body = Callable[..., "ir.Value | Sequence[ir.Value]"]
X = np.arange(24.0).reshape(2, 3, 4) - 7


def module_of(body: Body, *arrays: np.ndarray) -> ir.Module:
    """A module whose main function returns what `body` makes of its arguments."""
    names = {"float64": "f64", "float32": "f32", "int32": "i32", "bool": "i1"}
    shapes = ["".join(f"{size}x" for size in x.shape) + names[x.dtype.name] for x in arrays]
    given = ", ".join(f"%a{k}: tensor<{shape}>" for k, shape in enumerate(shapes))
    module = builds.module_of(f"func.func public @main({given}) {{ return }}")
    main = main_function(module)
    block = main.regions[0].blocks[0]
    with ir.Location.unknown(module.context), ir.InsertionPoint(terminator(block)):
        made = body(*block.arguments)
    return_values(main, [made] if isinstance(made, ir.Value) else list(made))
    module.operation.verify()
    return module


def run(body: Body, *arrays: np.ndarray) -> list[np.ndarray]:
    return reference_eval(module_of(body, *arrays), arrays)


CASES: dict[str, tuple[Body, np.ndarray]] = {
    "broadcast_in_dim": (lambda x: ops.broadcast_in_dim(x, (2, 5, 3, 4), (0, 2, 3)), np.stack([X] * 5, 1)),
    "broadcast_in_dim that turns axes": (lambda x: ops.broadcast_in_dim(x, (4, 3, 2), (2, 1, 0)), X.T),
    "reshape of a reshape": (lambda x: ops.reshape(ops.reshape(x, (24,)), (4, 6)), X.reshape(4, 6)),
    "transpose": (lambda x: ops.transpose(x, (2, 0, 1)), X.transpose(2, 0, 1)),
    "reverse": (lambda x: ops.reverse(x, 1), X[:, ::-1]),
    "pad": (
        lambda x: ops.pad(x, ops.scalar(5, x), (0, 1, 0), (0, 0, 2)),
        np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=5),
    ),
    "concatenate": (lambda x: ops.concatenate([x, x], 1), np.concatenate([X, X], 1)),
    "slice": (lambda x: ops.slice(x, (0, 1, 1), (2, 3, 4)), X[:, 1:, 1:]),
    "slice with strides": (lambda x: ops.slice(x, (0, 0, 0), (2, 3, 4), (1, 2, 3)), X[:, ::2, ::3]),
    "slice of nothing": (lambda x: ops.slice(x, (1, 0, 0), (1, 3, 4)), X[1:1]),
    "full_like": (lambda x: ops.full_like(x, 0.1), np.full(X.shape, 0.1)),
    "filled": (lambda x: ops.filled(x, -np.inf), np.full(X.shape, -np.inf)),
    "filled with a dtype": (lambda x: ops.filled(np.float32, 3, (2,)), np.full(2, 3, np.float32)),
    "iota": (lambda x: ops.iota((2, 3), 1), np.tile(np.arange(3, dtype=np.int32), (2, 1))),
    "integer that wraps": (lambda x: ops.integer(255, ops.tensor_type(np.int8, (1,))), np.array([-1], np.int8)),
    "compare": (lambda x: ops.compare("GT", x, ops.full_like(x, 0)), X > 0),
    "convert": (lambda x: ops.convert(x, np.int32), X.astype(np.int32)),
    "bitcast_convert": (lambda x: ops.bitcast_convert(x, np.int64), X.view(np.int64)),
    "as_type": (lambda x: ops.as_type(x, ops.tensor_type(np.float32, (1, 24))), X.astype(np.float32).reshape(1, 24)),
    "reduce": (lambda x: ops.reduce("stablehlo.maximum", x, ops.scalar(-np.inf, x), [2, 0]), X.max((0, 2))),
    "map_elements": (lambda x: ops.map_elements(lambda a, b: [stablehlo.subtract(b, a)], [x, stablehlo.add(x, x)]), X),
    "optimization_barrier": (lambda x: ops.optimization_barrier([x])[0], X),
    "dot_general": (lambda x: ops.dot_general(x, x, ([2], [2]), ([0], [0])), np.einsum("bik,bjk->bij", X, X)),
    "dot_general of many axes": (
        lambda x: ops.dot_general(x, ops.transpose(x, (2, 1, 0)), ([1], [1])),
        np.einsum("aib,cid->abcd", X, X.T),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ops(case: str) -> None:
    body, expected = CASES[case]
    (result,) = run(body, X)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


NOTHING: dict[str, Body] = {
    "broadcast_in_dim": lambda x: ops.broadcast_in_dim(x, (2, 3, 4), (0, 1, 2)),
    "reshape": lambda x: ops.reshape(ops.reshape(x, (24,)), (2, 3, 4)),
    "transpose": lambda x: ops.transpose(x, (0, 1, 2)),
    "pad": lambda x: ops.pad(x, x, (0, 0, 0), (0, 0, 0)),
    "concatenate": lambda x: ops.concatenate([x], 2),
    "slice": lambda x: ops.slice(x, (0, 0, 0), (2, 3, 4)),
    "convert": lambda x: ops.convert(x, np.float64),
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_changes_nothing_is_not_made(case: str) -> None:
    module = module_of(NOTHING[case], X)
    assert owner(terminator(main_function(module).regions[0].blocks[0]).operands[0]) is None


# ---- loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (2, 11, 3), (4, 4, 1)])
def test_counted_loops(start: int, stop: int, step: int) -> None:
    def body(x: ir.Value) -> list[ir.Value]:
        def turn(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
            total = carries[0]
            return [stablehlo.add(total, stablehlo.multiply(total, index)), index]

        return while_ops.counted(start, stop, step, [x, ops.index(-1)], turn)

    total, last = run(body, np.array(1, np.int32))
    expected = 1
    for index in range(start, stop, step):
        expected += expected * index
    assert (total, last) == (expected, max(range(start, stop, step), default=-1))
