"""Quotients by a broadcast number as products, against NumPy's division."""

from __future__ import annotations

import numpy as np
import pytest
from rewritten_runs import as_arrays, check, rewritten

SHAPES = {
    "number": ((40,), (), ()),
    "one element": ((40,), (1,), (0,)),
    "columns": ((16, 5), (5,), (1,)),
    "rows": ((5, 16), (5,), (0,)),
}


def quotient(shape, divisor, axes, kind="f64") -> str:
    def tensor(sizes):
        return f"tensor<{'x'.join([*map(str, sizes), kind])}>"

    x, s = tensor(shape), tensor(divisor)
    return f"""func.func @main(%x: {x}, %s: {s}) -> {x} {{
  %b = stablehlo.broadcast_in_dim %s, dims = {list(axes)} : ({s}) -> {x}
  %q = stablehlo.divide %x, %b : {x}
  return %q : {x}
}}"""


def spread(divisor, shape, axes):
    sizes = np.ones(len(shape), int)
    sizes[list(axes)] = np.shape(divisor)
    return np.reshape(divisor, sizes)


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize(("shape", "divisor", "axes"), SHAPES.values(), ids=SHAPES)
def test_quotients(shape, divisor, axes, kind):
    rng = np.random.default_rng(0)
    dtype = np.dtype(f"f{int(kind[1:]) // 8}")
    x, s = rng.normal(size=shape).astype(dtype), rng.normal(size=divisor).astype(dtype)
    after = check(quotient(shape, divisor, axes, kind), [x, s], ["cpu_forms"], exact=False, rtol=1e-6)
    assert after.applied == {"reciprocal_once": 1}
    (found,) = as_arrays(after.program.interpret(x, s))
    expected = x / spread(s, shape, axes)
    assert np.all(np.abs(found - expected) <= 1.5 * np.spacing(np.abs(expected)))


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_at_the_ends_of_the_range(kind):
    """Zeros, infinities and NaN, their signs, and results of every size that are normal numbers."""
    dtype = np.dtype(f"f{int(kind[1:]) // 8}")
    limits = np.finfo(dtype)
    powers = dtype.type(2.0) ** np.arange(limits.minexp, limits.maxexp, 12, dtype=np.int32)
    values = np.concatenate([powers, [limits.max, limits.tiny, 0.0, np.inf, np.nan, 1.0, 3.0]]).astype(dtype)
    values = np.concatenate([values, -values])
    after = rewritten(quotient(values.shape, (), (), kind), ["cpu_forms"])
    assert after.applied == {"reciprocal_once": 1}
    call = after.program.compile(optimize="none", cpu="plain")
    for divisor in values:
        with np.errstate(all="ignore"):
            expected = values / divisor
        (found,) = as_arrays(call(values, np.asarray(divisor)))
        tiny = np.abs(expected) < 2 * limits.tiny  # XLA's threads flush subnormal numbers
        np.testing.assert_allclose(found[~tiny], expected[~tiny], rtol=2 * limits.eps)
        assert np.all(np.abs(found[tiny]) <= 4 * limits.tiny)
        ordinary = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[ordinary]), np.signbit(expected[ordinary]))


@pytest.mark.parametrize(
    ("shape", "divisor", "axes"), [((31,), (), ()), ((7, 5), (5,), (1,))], ids=["few elements", "few for each"]
)
def test_refusals(shape, divisor, axes):
    after = rewritten(quotient(shape, divisor, axes), ["cpu_forms"])
    assert not after.applied
    assert "fewer than" in after.text


@pytest.mark.parametrize("kind", ["i32", "f16"])
def test_other_types(kind):
    assert not rewritten(quotient((40,), (), (), kind), ["cpu_forms"]).changed
