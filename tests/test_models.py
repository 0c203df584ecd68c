"""Whole models with their gradients: one program, two sizes of data, against PyTensor's own evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import grad
from support import assert_same, reference

import hlograph

TOLERANCE = 1e-10


@dataclass
class Model:
    """A graph and its data: `inputs`, `outputs`, named `dims`, and the values of the inputs for n rows."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    dims: Mapping[str, Any]
    data: Callable[[np.random.Generator, int], Sequence[Any]]

    def values(self, rng: np.random.Generator, n: int) -> list[np.ndarray]:
        """One array for each input, in its dtype."""
        return [np.asarray(value, x.type.dtype) for value, x in zip(self.data(rng, n), self.inputs, strict=True)]


def with_gradient(density: Any, parameters: Sequence[Any]) -> list[Any]:
    return [density, *grad(density, list(parameters))]


def varying_intercepts() -> Model:
    y, group, x = pt.dvector("y"), pt.lvector("group"), pt.dvector("x")
    mean, log_tau, offset, slope = pt.dscalar("mean"), pt.dscalar("log_tau"), pt.dvector("offset"), pt.dscalar("slope")
    intercept = mean + pt.exp(log_tau) * offset
    prediction = intercept[group] + slope * x
    density = -0.5 * ((y - prediction) ** 2).sum() - 0.5 * (offset**2).sum() - 0.5 * mean**2 - log_tau**2
    return Model(
        [y, group, x, mean, log_tau, offset, slope],
        [*with_gradient(density, [mean, log_tau, offset, slope]), pt.zeros_like(offset)[group].inc(y - prediction)],
        {"y": ("n",), "group": ("n",), "x": ("n",), "offset": ("groups",)},
        lambda rng, n: [
            rng.normal(size=n),
            rng.integers(0, 4, size=n),
            rng.normal(size=n),
            0.4,
            -0.3,
            rng.normal(size=4),
            1.2,
        ],
    )


def perceptron() -> Model:
    """Two layers, softmax cross-entropy with integer labels, gradients of all weights."""
    x, labels = pt.dmatrix("x"), pt.lvector("labels")
    w1, b1, w2, b2 = pt.dmatrix("w1"), pt.dvector("b1"), pt.dmatrix("w2"), pt.dvector("b2")
    hidden = pt.maximum(x @ w1 + b1, 0)
    logits = pt.tanh(hidden) @ w2 + b2
    chosen = pt.special.log_softmax(logits, axis=1)[pt.arange(labels.shape[0]), labels]
    loss = -chosen.mean() + 1e-3 * ((w1**2).sum() + (w2**2).sum())
    accuracy = pt.eq(logits.argmax(axis=1), labels).mean()
    return Model(
        [x, labels, w1, b1, w2, b2],
        [*with_gradient(loss, [w1, b1, w2, b2]), accuracy, pt.special.softmax(logits, axis=1)],
        {"x": ("n", 5), "labels": ("n",), "w1": (5, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)},
        lambda rng, n: [
            rng.normal(size=(n, 5)),
            rng.integers(0, 3, size=n),
            rng.normal(size=(5, 8)),
            rng.normal(size=8),
            rng.normal(size=(8, 3)),
            rng.normal(size=3),
        ],
    )


def autoregression() -> Model:
    """AR(1): each value given the one before, by slices; the first from the stationary distribution."""
    y, phi, log_sigma = pt.dvector("y"), pt.dscalar("phi"), pt.dscalar("log_sigma")
    innovations = (y[1:] - phi * y[:-1]) * pt.exp(-log_sigma)
    first = y[0] * pt.exp(-log_sigma) * pt.sqrt(1 - phi**2)
    density = -0.5 * (innovations**2).sum() - 0.5 * first**2 + 0.5 * pt.log1p(-(phi**2)) - y.shape[0] * log_sigma
    return Model(
        [y, phi, log_sigma],
        [*with_gradient(density, [phi, log_sigma, y]), innovations[::-1][:2]],
        {"y": ("n",)},
        lambda rng, n: [np.cumsum(rng.normal(size=n)), 0.6, -0.1],
    )


MODELS = {model.__name__: model for model in (varying_intercepts, perceptron, autoregression)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rewrite", [False, True], ids=["as-is", "rewritten"])
@pytest.mark.parametrize("name", MODELS)
def test_one_program_serves_two_sizes(name: str, rewrite: bool) -> None:
    model = MODELS[name]()
    program = hlograph.emit_stablehlo((model.inputs, model.outputs), dims=model.dims, name=name, rewrite=rewrite)
    assert "n" in {root.name for root in program.signature.roots}
    function = program.compile()
    rng = np.random.default_rng(5)
    for n in (6, 41):
        values = model.values(rng, n)
        expected = reference(model.inputs, model.outputs, values)
        assert all(np.isfinite(wanted).all() for wanted in expected), "the model's data overflow"
        for number, (found, wanted) in enumerate(zip(function(*values), expected, strict=True)):
            assert_same(found, wanted, rtol=TOLERANCE, label=f"{name}, n = {n}, output {number}")
        if n == 6 and not rewrite:
            for number, (found, wanted) in enumerate(zip(program.interpret(*values), expected, strict=True)):
                assert_same(found, wanted, rtol=TOLERANCE, label=f"{name}, interpreted, output {number}")
    assert function.stats.compiles == 2


def test_a_model_outlives_the_graph(tmp_path: Any) -> None:
    """The saved program gives the same numbers for a size that it has not seen."""
    model = MODELS["varying_intercepts"]()
    path = hlograph.emit_stablehlo((model.inputs, model.outputs), dims=model.dims).save(tmp_path / "model.mlirbc")
    values = model.values(np.random.default_rng(7), 9)
    expected = reference(model.inputs, model.outputs, values)
    for found, wanted in zip(hlograph.load(path).compile()(*values), expected, strict=True):
        assert_same(found, wanted, rtol=TOLERANCE)
