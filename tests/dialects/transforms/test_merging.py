"""Equal nodes are one before a gradient is made, and nodes that may not be are left apart."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.printing import Print

from hlograph.codegen.graph import order
from hlograph.dialects.transforms import merged


def test_equal_nodes_and_constants_are_one():
    x = pt.dvector("x")
    result = (x / 2.5).sum() * pt.exp(x / 2.5).sum() + (x / 2.5).sum() + x[1:3].sum() * x[1:3].sum()
    (found,) = merged([result], {x})
    assert len(order([found])) < len(order([result]))
    (again,) = merged([found], {x})
    assert again is found
    value = np.array([0.5, -1.0, 2.0])
    np.testing.assert_array_equal(found.eval({x: value}), result.eval({x: value}))


def test_zeros_of_other_signs_prints_and_draws_stay_apart():
    x, generator = pt.dscalar("x"), pytensor.shared(np.random.default_rng(1))
    for one, other in (
        (1 / (x * 0.0), 1 / (x * -0.0)),
        (Print("p")(x), Print("p")(x)),
        (pt.random.normal(x, rng=generator), pt.random.normal(x, rng=generator)),
        (pt.constant(1.0, dtype="float64") * x, pt.constant(1, dtype="int64") * x),
    ):
        found = merged([one, other], {x})
        assert found[0] is not found[1]


def test_inputs_that_are_made_of_something_stay_inputs():
    x = pt.dvector("x")
    y = pt.exp(x)
    (found,) = merged([y / 2 + y / 2], {y})
    assert any(y in node.inputs for node in order([found], {y}))
