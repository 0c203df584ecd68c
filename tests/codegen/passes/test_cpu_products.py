"""Matrix products as calls of BLAS, run by PJRT, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from rewritten_runs import as_arrays, close, rewritten

from hlograph.runtime.direct import blas, verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

# As in numpy.einsum; a letter's size is its place in the alphabet and one.
PRODUCTS = ["bc,cd", "cb,cd", "bc,dc", "cb,dc", "abc,acd", "acb,adc", "abce,aefc", "cab,dc", "abc,bdc", "bac,cbd"]
PRODUCTS += ["abcd,bdae", "abc,ac", "ba,cab"]


def product(text: str, kind: str) -> tuple[str, str, list[tuple[int, ...]]]:
    """A module with one dot, its einsum, and its operands' shapes."""
    left, right = text.split(",")
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter == "a"]
    summed = [letter for letter in shared if letter not in batch]
    result = batch + [letter for letter in left + right if letter not in shared]
    shapes = [tuple(ord(letter) - ord("a") + 2 for letter in side) for side in (left, right, result)]
    types = [f"tensor<{'x'.join(map(str, shape))}x{kind}>" for shape in shapes]
    places = [[side.index(letter) for letter in letters] for letters in (batch, summed) for side in (left, right)]
    module = f"""func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
  %0 = stablehlo.dot_general %a, %b, batching_dims = {places[0]} x {places[1]},
    contracting_dims = {places[2]} x {places[3]} : ({types[0]}, {types[1]}) -> {types[2]}
  return %0 : {types[2]}
}}"""
    return module, f"{text}->{''.join(result)}", shapes[:2]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize("text", PRODUCTS)
def test_products_are_numpys(text: str, kind: str) -> None:
    assert blas.register() == ""
    module, einsum, shapes = product(text, kind)
    random = np.random.default_rng(5)
    operands = [random.normal(size=shape).astype("float64" if kind == "f64" else "float32") for shape in shapes]
    after = rewritten(module, ["cpu_products"])
    assert after.applied == {"cpu_products": 1}
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(*operands))
    close(found, np.einsum(einsum, *operands), 1e-12 if kind == "f64" else 1e-5)
