"""PyMC models in JAX: `hlograph.pymc.logp`, and PyMC's JAX samplers on hlograph's lowering; PyMC 6."""

import os
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from hlograph.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    OptionError,
    UnsupportedGraphError,
    UnsupportedOpError,
)

pm = pytest.importorskip("pymc", minversion="6")
pymc_on_hlograph = pytest.importorskip("hlograph.pymc")

from pymc_models import PLAIN, REFERENCE, build, masked, moved, name_of, reference, schools, unknown  # noqa: E402
from scripts import run_script  # noqa: E402

DOCS = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "pymc.md"
QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False, "compute_convergence_checks": False}


pytestmark = pytest.mark.usefixtures("jax_x64")


@pytest.fixture
def samplers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyMC's module; importing it asks JAX for a hundred devices, which other tests are not to have."""
    jax.devices()
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    return pytest.importorskip("pymc.sampling.jax")


def counts():
    r = np.random.default_rng(0)
    with pm.Model(coords={"k": ["a", "b"]}) as model:
        X = pm.Data("X", r.normal(size=(9, 2)), dims=("row", "k"))
        seen = pm.Data("seen", r.integers(0, 4, 9), dims="row")
        slopes, size = pm.Normal("slopes", dims="k"), pm.Gamma("size", 2, 1)
        rate = pm.Deterministic("rate", pm.math.exp(X @ slopes), dims="row")
        pm.NegativeBinomial("y", rate, size, observed=seen, dims="row")
    return model


# ---- the density ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(16)
@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("content", PLAIN, ids=name_of)
def test_densities_are_those_of_pymc(content, data):
    model = build(content)
    density, point = pymc_on_hlograph.logp(model, data=data), moved(model)
    given = () if density.data is None else (density.data,)
    value, gradient = jax.value_and_grad(density)(point, *given)
    np.testing.assert_allclose(value, reference(model, point), rtol=1e-9)
    np.testing.assert_allclose(density.ravel(gradient), reference(model, point, "dlogp"), rtol=1e-7, atol=1e-9)
    vector = density.ravel(point)
    batch = jax.jit(jax.vmap(lambda v: density.flat(v, *given)))(jnp.stack([vector, 0.5 * vector]))
    halved = {name: 0.5 * value for name, value in point.items()}
    np.testing.assert_allclose(batch, [value, reference(model, halved)], rtol=1e-9)
    found = density.constrain(point, *given)
    wanted = model.compile_fn(model.unobserved_value_vars, mode=REFERENCE)(point)
    wanted = {x.name: value for x, value in zip(model.unobserved_value_vars, wanted, strict=True)}
    assert {x.name for x in model.unobserved_RVs} == found.keys()
    for name, value in found.items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-9, err_msg=name)


def test_outside_of_the_support():
    """As in what PyMC compiles: no error, which would end a sampler's loop."""
    with pm.Model() as model:
        pm.Normal("y", 0, pm.Normal("spread"), observed=np.ones(3))
    density = pymc_on_hlograph.logp(model)
    found = jax.jit(jax.vmap(density.flat))(np.array([[-1.0], [0.7]]))
    np.testing.assert_allclose(found, [-np.inf, reference(model, {"spread": 0.7})], rtol=1e-9)
    with pm.Model(check_bounds=False) as unbounded:
        pm.Poisson("y", pm.Normal("rate"), observed=[0])
    np.testing.assert_allclose(
        pymc_on_hlograph.logp(unbounded)({"rate": -2.0}), reference(unbounded, {"rate": -2.0}), rtol=1e-9
    )


def test_parts_of_a_density():
    model = counts()
    point = moved(model)
    with model:
        plain = pymc_on_hlograph.logp(jacobian=False)
    np.testing.assert_allclose(plain(point), reference(model, point, jacobian=False), rtol=1e-9)
    prior = pymc_on_hlograph.logp(model, terms=["slopes", "size"])
    likelihood = pymc_on_hlograph.logp(model, terms=model.observed_RVs)
    np.testing.assert_allclose(prior(point) + likelihood(point), reference(model, point), rtol=1e-9)
    np.testing.assert_allclose(prior(point), reference(model, point, vars=model.free_RVs), rtol=1e-9)


def test_without_64_bits():
    model = build(schools)
    density, point = pymc_on_hlograph.logp(model), moved(model)
    with jax.enable_x64(False):
        value, gradient = jax.jit(jax.value_and_grad(density.flat))(density.ravel(point))
    assert value.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(value, reference(model, point), rtol=1e-5)
    np.testing.assert_allclose(gradient, reference(model, point, "dlogp"), rtol=1e-3, atol=1e-4)


def test_data_are_those_of_now_or_arguments():
    model = counts()
    point = moved(model)
    fixed, density = pymc_on_hlograph.logp(model), pymc_on_hlograph.logp(model, data=True)
    theirs = model.compile_logp(mode=REFERENCE)
    before = theirs(point)
    for size in range(3, 15):
        r = np.random.default_rng(size)
        data = {"X": r.normal(size=(size, 2)), "seen": r.integers(0, 4, size)}
        with model:
            pm.set_data(data, coords={"row": range(size)})
        np.testing.assert_allclose(density(point, data), theirs(point), rtol=1e-9)
    np.testing.assert_allclose(fixed(point), before, rtol=1e-9)
    assert density.function.stats.compiles < 7
    assert density.constrain(point, data)["rate"].shape == (14,)

    def of_data(X):
        return density(point, {**data, "X": X})

    step = 1e-6 * np.random.default_rng(0).normal(size=data["X"].shape)
    found = jnp.vdot(jax.grad(of_data)(data["X"]), step)
    np.testing.assert_allclose(2 * found, of_data(data["X"] + step) - of_data(data["X"] - step), rtol=1e-4)


def test_values_of_a_dimension_that_data_lengthen():
    with pm.Model() as model:
        x = pm.Data("x", np.arange(3.0), dims="row")
        shift = pm.Normal("shift", dims="row")
        pm.Deterministic("ones", pt.ones(model.dim_lengths["row"]))
        pm.Normal("y", shift, observed=x, dims="row")
    density = pymc_on_hlograph.logp(model, data=["x"])
    values, data = {"shift": np.zeros(5)}, {"x": np.ones(5)}
    np.testing.assert_allclose(density(values, data), 10 * -0.5 * np.log(2 * np.pi) - 2.5, rtol=1e-12)
    assert density.constrain(values, data)["ones"].shape == (5,)


def discrete():
    with pm.Model() as model:
        flag = pm.Bernoulli("flag", 0.5)
        pm.Normal("y", pm.Normal("x", flag), observed=1.0)
    return model


def test_what_is_refused_is_named():
    density, data = pymc_on_hlograph.logp(counts(), data=True), {"X": np.ones((3, 2)), "seen": np.ones(3, int)}
    values = density.initial_point
    refused = [
        (UnsupportedGraphError, "'flag'", lambda: pymc_on_hlograph.logp(discrete())),
        (UnsupportedOpError, "Unknown", lambda: pymc_on_hlograph.logp(build(unknown))),
        (OptionError, "'Z'.*'X', 'seen'", lambda: pymc_on_hlograph.logp(counts(), data=["Z"])),
        (OptionError, "'Z'", lambda: pymc_on_hlograph.logp(counts(), terms=["Z"])),
        (ArgumentError, "the data.*'X', 'seen'", lambda: density(values)),
        (ArgumentError, "without 'size_log__'", lambda: density({"slopes": np.ones(2)}, data)),
        (ArgumentError, "with 'size'", lambda: density({**values, "size": 1.0}, data)),
        (ArgumentError, "a dictionary, got ndarray", lambda: density(np.ones(3), data)),
        (ArgumentTypeError, "'seen'.*float64", lambda: density(values, {**data, "seen": np.ones(3)})),
        (ArgumentShapeError, "'seen'", lambda: density(values, {**data, "seen": np.ones(2, int)})),
        (ArgumentShapeError, "3 values", lambda: density.flat(np.ones(4), data)),
    ]
    for kind, message, call in refused:
        with pytest.raises(kind, match=message):
            call()


def test_numbers_of_other_types_are_converted_where_nothing_is_lost():
    density = pymc_on_hlograph.logp(build(schools))
    point = density.initial_point
    whole = {**point, "effect": np.array([0, 1, -2, 3])}
    wanted = density({**point, "effect": np.array([0.0, 1, -2, 3])})
    assert density(whole) == wanted
    assert jax.jit(density)({**point, "effect": jnp.array([0, 1, -2, 3], "float32")}) == wanted
    with_data = pymc_on_hlograph.logp(counts(), data=True)
    data = {**with_data.data, "seen": np.full(9, 2**33)}
    with pytest.raises(ArgumentTypeError, match=r"'seen'.*cannot hold"):
        with_data(with_data.initial_point, data)


# ---- PyMC's samplers ------------------------------------------------------------------------------------------------


def test_the_backend_is_ours_inside_of_the_block_only(samplers, monkeypatch):
    theirs = samplers.get_jaxified_graph
    holder = types.ModuleType("holder_of_the_name")
    holder.jaxify = theirs
    monkeypatch.setitem(sys.modules, holder.__name__, holder)
    model = build(schools)
    point = moved(model)

    def run(jaxify):
        return jaxify(model.value_vars, [model.logp()])(*point.values())[0]

    with pymc_on_hlograph.as_jax_backend() as outer:
        with pymc_on_hlograph.as_jax_backend(policy="exact") as inner:
            found = [run(holder.jaxify), run(samplers.get_jaxified_graph)]
        assert (len(outer.functions), len(inner.functions)) == (0, 2)
        holder.taken = samplers.get_jaxified_graph
        elsewhere = threading.Thread(target=lambda: found.append(run(holder.jaxify)))
        elsewhere.start()
        elsewhere.join()
        assert not outer.functions
        found.append(run(holder.jaxify))
        assert len(outer.functions) == 1
    assert samplers.get_jaxified_graph is holder.jaxify is holder.taken is theirs
    np.testing.assert_allclose(found, [reference(model, point)] * 4, rtol=1e-9)

    @pymc_on_hlograph.as_jax_backend()
    def failing():
        assert samplers.get_jaxified_graph is not theirs
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            failing()
        assert samplers.get_jaxified_graph is theirs


def test_models_are_refused_before_anything_is_sampled(samplers):
    with pymc_on_hlograph.as_jax_backend():
        for make, kind, name in (
            (discrete, UnsupportedGraphError, "'flag'"),
            (lambda: build(unknown), UnsupportedOpError, "Unknown"),
        ):
            with pytest.raises(kind, match=name):
                samplers.sample_numpyro_nuts(model=make(), draws=1, tune=1, chains=1, **QUIET)
        model = build(schools)
        run = samplers.get_jaxified_graph(model.value_vars, [model.logp()])
        with pytest.raises(ArgumentTypeError, match=r"'mean'.*complex"):
            run(np.array(1j), np.array(0.0), np.zeros(4))
        generator = pytensor.shared(np.random.default_rng(0), name="generator")
        with pytest.raises(UnsupportedGraphError, match="generator"):
            samplers.get_jaxified_graph([], [pt.random.normal(rng=generator, return_next_rng=True)[1]])


def what_jax_refuses(samplers):
    pytest.importorskip("numpyro")
    model = build(masked)
    with pymc_on_hlograph.as_jax_backend() as backend, model:
        found = samplers.sample_numpyro_nuts(300, tune=100, chains=1, chain_method="vectorized", **QUIET)
    assert len(backend.functions) == 2
    # exp(-(x - 1)^2 / 2), times exp(-x^2) where x is positive
    grid = np.linspace(-6, 6, 20001)
    density = np.exp(-0.5 * (grid - 1) ** 2 - np.where(grid > 0, grid, 0) ** 2)
    np.testing.assert_allclose(found.posterior["x"].mean(), (grid * density).sum() / density.sum(), atol=0.15)


def same_with_both(sample):
    def check(samplers):
        with pymc_on_hlograph.as_jax_backend() as backend:
            ours = sample(samplers)
        assert backend.functions
        theirs = sample(samplers)
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, rtol=1e-4, atol=1e-6, err_msg=str(name))

    return check


def posterior_of(found: Any) -> dict[str, Any]:
    return {str(name): found.posterior[name].values for name in found.posterior}


@same_with_both
def numpyro(samplers):
    pytest.importorskip("numpyro")
    options = {"chains": 2, "chain_method": "vectorized", "keep_untransformed": True}
    return posterior_of(samplers.sample_numpyro_nuts(8, tune=4, model=counts(), **options, **QUIET))


@same_with_both
def blackjax_pathfinder(samplers):
    pytest.importorskip("blackjax")
    inference = pytest.importorskip("pymc_extras.inference")
    options = {"num_draws": 20, "num_elbo_draws": 5, "random_seed": 1}
    return posterior_of(inference.fit_blackjax_pathfinder(model=build(schools), **options))


@same_with_both
def blackjax_particles(samplers):
    pytest.importorskip("blackjax")
    smc = pytest.importorskip("pymc_extras.inference.smc.sampling")
    kernel = {"step_size": 0.05, "integration_steps": 2}
    with counts():
        found = smc.sample_smc_blackjax(20, random_seed=1, num_mcmc_steps=1, inner_kernel_params=kernel)
    return posterior_of(found)


def chains(samplers):
    """In a process of its own, where JAX has as many devices as chains."""
    pytest.importorskip("numpyro")
    run_script(f"""
        import numpy as np, pymc as pm, hlograph.pymc

        with pm.Model() as model:
            pm.Normal("y", pm.Normal("mean"), 1.0, observed=np.linspace(-0.5, 1.5, 20))
        options = {{"chains": 2, "nuts_sampler": "numpyro", "nuts_sampler_kwargs": {{"chain_method": "parallel"}}}}
        with hlograph.pymc.as_jax_backend() as backend:
            found = pm.sample(200, tune=100, model=model, **options, **{QUIET!r}).posterior["mean"]
        assert len(backend.functions) == 2 and found.shape == (2, 200), backend.functions
        np.testing.assert_allclose(found.mean(), 10 / 21, atol=0.1)
        np.testing.assert_allclose(found.std(), 21**-0.5, rtol=0.25)
        assert abs(float(found[0].mean() - found[1].mean())) < 0.15
    """)


def documented(samplers):
    pytest.importorskip("numpyro")
    names = run_documented(0)
    found = run_documented(2, **names)
    assert len(found["backend"].functions) == 2
    assert found["trace"].posterior["effect"].shape == (2, 50, 4)


SAMPLERS = {
    "what JAX refuses": what_jax_refuses,
    "numpyro": numpyro,
    "BlackJAX's pathfinder": blackjax_pathfinder,
    "BlackJAX's particles": blackjax_particles,
    "chains on devices of their own": chains,
    "the documentation's": documented,
}


@pytest.mark.sampled(len(SAMPLERS))
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name, samplers):
    SAMPLERS[name](samplers)


def run_documented(*numbers: int, **names: Any) -> dict[str, Any]:
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    for number in numbers:
        exec(compile(blocks[number], str(DOCS), "exec"), names)
    return names


def test_the_density_in_the_documentation():
    names = run_documented(0, 1)
    model, point = names["model"], names["density"].initial_point
    np.testing.assert_allclose(names["value"], reference(model, point), rtol=1e-9)
    np.testing.assert_allclose(names["density"].ravel(names["gradient"]), reference(model, point, "dlogp"), atol=1e-9)
    assert names["draws"]["spread"].shape == (10,)
    np.testing.assert_allclose(names["draws"]["spread"][0], np.exp(point["spread_log__"]))
    assert names["longer"].shape == ()
