"""Recipes: what `lower(...).stages` and `explain --stages` show is what a call compiles, pass by pass."""

from typing import Any

import jax
import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from pytensor.tensor.slinalg import cholesky

import hlograph
from hlograph.codegen import passes
from hlograph.codegen.ir.modules import clone_module
from hlograph.codegen.recipe import Recipe
from hlograph.passes import Report
from hlograph.runtime.transforms import primitive

N = 5
X = np.linspace(-2.0, 2.0, N)
SUM = X.sum() + 1.0
EXPECTED = (
    np.tanh(X * 2).sum() + np.log(SUM**2 + 1),
    np.tanh(X * 2) * 3,
    np.sqrt(np.full((2, 2), 0.0) + np.eye(2) * 4),
)


def program() -> hlograph.Program:
    """Elementwise ops, a reduction, a logarithm, a factorization; three results."""
    x = pt.dvector("x")
    y = pt.tanh(x * 2)
    total = y.sum() + pt.log((x.sum() + 1.0) ** 2 + 1)
    return hlograph.emit_stablehlo(([x], [total, y * 3, cholesky(pt.eye(2) * 4 + x[:2].sum() * 0)]), dims={"x": ("n",)})


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that are put into JAX's from now on."""
    found: list[str] = []
    real = primitive.adopt

    def adopt(module: Any, source: Any, *args: Any, **options: Any) -> str:
        found.append(hlograph.Program(clone_module(source)).text.strip())
        return real(module, source, *args, **options)

    monkeypatch.setattr(primitive, "adopt", adopt)
    return found


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes that are run from now on."""
    found: list[str] = []

    def report(name: str, *args: Any, **options: Any) -> Report:
        found.append(name)
        return Report(name, *args, **options)

    monkeypatch.setattr(passes, "Report", report)
    return found


def taken(found: list[str]) -> list[str]:
    """What there is so far, which is forgotten."""
    now = list(found)
    found.clear()
    return now


OPTIONS = [
    {"policy": policy, "outputs": outputs, "cpu": cpu}
    for policy in ("exact", "padded")
    for outputs in ("jax", "numpy")
    for cpu in ("auto", "plain", hlograph.CpuOptions(math=False, pack=False))
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values()))[:24])
def test_the_last_stage_is_what_a_call_compiles(options: dict[str, Any], put: list[str], ran: list[str]) -> None:
    function = program().compile(**options)
    for found, expected in zip(function(X), EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    (called,), of_call = taken(put), taken(ran)
    lowered = function.lower(X)
    assert (taken(put), taken(ran)) == ([called], of_call)
    stages = lowered.stages
    assert taken(ran) == of_call
    *_, last, in_jax = stages
    assert in_jax.name == "lowered"
    assert last.text.strip() == called
    shown = {spec.partition("{")[0] for spec in (*(stage.spec for stage in stages), *stages.unchanged)}
    assert set(of_call) <= shown


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_what_was_lowered_has_the_programs_own_results(outputs: Any, policy: Any) -> None:
    function = program().compile(outputs=outputs, policy=policy)
    live = [np.int32(N)] if policy == "padded" else []
    given = np.pad(X, (0, 16 - N)) if policy == "padded" else X
    with jax.enable_x64(True):
        found = function.lower(X).compile()(given, *live)
    total, scaled, factor = (np.asarray(x) for x in found)
    np.testing.assert_allclose(total, EXPECTED[0], rtol=1e-12)
    np.testing.assert_allclose(scaled[:N], EXPECTED[1], rtol=1e-12)
    np.testing.assert_allclose(factor, EXPECTED[2], rtol=1e-12)


def test_flags_of_checks_are_packed_with_the_results(put: list[str]) -> None:
    x = pt.dvector("x")
    function = hlograph.function(
        [x], [Assert("negative")(x.sum(), (x > 0).all()), x * 2], dims={"x": (3,)}, outputs="numpy"
    )
    total, twice = function(np.ones(3))
    assert (float(total), twice.tolist()) == (3.0, [2.0, 2.0, 2.0])
    (called,) = taken(put)
    stages = function.lower(np.ones(3)).stages
    assert stages[-2].text.strip() == called
    assert "pack_results" in stages.names


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        (Recipe(), "as it is"),
        (Recipe({}, passes=("cse",)), "cse"),
        (Recipe({"n": 4}), "specialize{n=4}"),
        (Recipe({"n": 4}, {"m": 16}, ("simplify",), "cpu"), "specialize{n=4}, pad{m=16}, simplify, for cpu"),
        (Recipe({}, {"n": 16}), "pad{n=16}"),
    ],
)
def test_a_recipe_prints_itself(recipe: Recipe, text: str) -> None:
    assert str(recipe) == text
