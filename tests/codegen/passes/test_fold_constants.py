"""What depends on constants alone, computed in advance: the same numbers, in loops as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph.passes import Report

RANDOM = np.random.default_rng(0)
COUNTS, TIMES, PLACES = RANDOM.poisson(3.0, 40), np.linspace(0, 1, 40), RANDOM.integers(0, 9, 40)
SQUARE = RANDOM.normal(size=(40, 40))


def factor() -> Any:
    times = pt.constant(TIMES)
    return pt.linalg.cholesky(pt.exp(-((times[:, None] - times) ** 2) / 0.1) + 0.01 * pt.eye(40))


# What is made of constants, by PyTensor; the ops that are left of it.
MADE: dict[str, Callable[[], Any]] = {
    "lgamma": lambda: pt.gammaln(pt.constant(COUNTS) + 1.0),
    "digamma": lambda: pt.psi(pt.constant(COUNTS) + 0.5),
    "erf": lambda: pt.erf(pt.constant(TIMES)) + pt.erfc(pt.constant(TIMES)),
    "powers": lambda: pt.constant(TIMES) ** 0.3 / pt.sqrt(1 + pt.constant(TIMES)),
    "integers": lambda: pt.constant(COUNTS) // 2 + pt.constant(COUNTS) % 3,
    "gather": lambda: pt.log1p(pt.constant(TIMES))[PLACES],
    "dot": lambda: pt.constant(SQUARE) @ pt.tanh(pt.constant(TIMES)),
    "sums": lambda: pt.exp(pt.constant(SQUARE)).sum(axis=0) - pt.constant(SQUARE).max(axis=1),
    "truth": lambda: pt.eq(pt.constant(COUNTS), 0) | pt.gt(pt.constant(COUNTS), 3),
    "infinite": lambda: pt.log(pt.constant(TIMES)),
    "factor": lambda: factor()[3],
    "solve": lambda: pt.linalg.solve_triangular(factor(), pt.constant(TIMES), lower=True),
}


@pytest.mark.parametrize("name", MADE)
def test_constants_are_what_pytensor_makes_of_them(name: str) -> None:
    x = pt.vector("x", shape=(40,))
    graph = ([x], [x * MADE[name]()])
    reports: list[Report] = []
    program = hlograph.emit_stablehlo(graph)
    after = program.optimize(["inline", "fold_constants", "canonicalize"], reports=reports)
    left = after.op_counts().keys() - {"stablehlo.constant", "stablehlo.multiply", "stablehlo.broadcast_in_dim"}
    assert left <= {"stablehlo.convert"} or name in ("integers", "solve", "factor"), left
    assert reports[1].rewritten or name == "integers"
    wanted = pytensor.function(*graph, mode=pytensor.compile.mode.Mode("py", None))(TIMES + 1)
    np.testing.assert_allclose(after.interpret(TIMES + 1), wanted, rtol=1e-12)


def test_the_body_of_a_loop_has_constants_too() -> None:
    def step(x: Any) -> Any:
        return x + pt.tanh(pt.log1p(pt.constant(TIMES)))

    x = pt.vector("x", shape=(40,))
    outputs = pytensor.scan(step, outputs_info=[x], n_steps=3, return_updates=False)[-1]
    program = hlograph.emit_stablehlo(([x], [outputs]))
    after = program.optimize(["inline", "fold_constants"])
    assert "stablehlo.tanh" not in after.op_counts()
    np.testing.assert_allclose(after.interpret(TIMES)[0], TIMES + 3 * np.tanh(np.log1p(TIMES)), rtol=1e-14)


def test_what_is_larger_than_allowed_stays() -> None:
    x = pt.vector("x", shape=(40,))
    program = hlograph.emit_stablehlo(([x], [x * pt.gammaln(pt.constant(COUNTS) + 1.0)]))
    for spec in ("fold_constants{bytes=100}", "fold_constants{reassociate=false}"):
        assert program.optimize([spec]).op_counts() == program.op_counts()
