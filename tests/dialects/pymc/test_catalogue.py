"""Every distribution of PyMC in the mode: its functions beside PyMC's own values, its draws beside PyMC's own draws.

A distribution that is not named in `pymc_cases` fails the first test. Densities, distribution functions and quantiles
are compared at several parameters and points at once, which broadcast, and whose number is open; with derivatives of
the density. Draws are compared by Kolmogorov and Smirnov's test of two samples, and must not depend on padding.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import hlograph.pytensor
from hlograph.errors import UnsupportedOpError

pm = pytest.importorskip("pymc")
if "backend" not in inspect.signature(pm.sample).parameters:
    pytest.skip("the cases are those of PyMC 6", allow_module_level=True)

from pymc.logprob.utils import ParameterValueError  # noqa: E402
from pymc_cases import ARRAYS, OTHERS, REFUSED, SCALARS  # noqa: E402

REFERENCE = Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"]))
POLICIES = ("exact", "padded")
QUANTILES = (-0.1, 0.0, 1e-6, 0.2, 0.5, 0.9, 1.0, 1.2)
DRAWS = 1500


def test_every_distribution_is_a_case():
    named = {name.partition(",")[0].partition(" ")[0] for name in (*SCALARS, *ARRAYS, *REFUSED)} | set(OTHERS)
    assert named == set(pm.distributions.__all__)


def evaluate(inputs, outputs, values, mode):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pytensor.function(inputs, list(outputs), mode=mode, on_unused_input="ignore")(*values)


def compare(inputs, outputs, values, policies, rtol, what=""):
    """Each output in our mode beside PyMC's own; where that is NaN by a rewrite of its graph, beside the graph's."""
    wanted = evaluate(inputs, outputs.values(), values, REFERENCE)
    raw = None
    for policy in policies:
        found = evaluate(inputs, outputs.values(), values, hlograph.Mode(policy=policy))
        for place, (name, ours, theirs) in enumerate(zip(outputs, found, wanted, strict=True)):
            assert ours.dtype == theirs.dtype
            nan = np.isnan(theirs) & ~np.isnan(ours) if theirs.dtype.kind == "f" else np.zeros(())
            if nan.any():
                raw = raw or evaluate(inputs, outputs.values(), values, Mode("py", None))
                theirs = np.where(nan, raw[place], theirs)
            scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1e-3) if theirs.dtype.kind == "f" else 0
            np.testing.assert_allclose(
                ours, theirs, rtol=rtol, atol=1e-12 * min(scale, 1e3), err_msg=f"{what} {name}, {policy}"
            )


def functions(law, value, chance):
    """The functions that PyMC has of a distribution."""
    found = {}
    for name, of in (("logp", value), ("logcdf", value), ("icdf", chance)):
        try:
            found[name] = getattr(pm, name)(law, of)
        except NotImplementedError:
            continue
    return found


def derivatives(logp, variables):
    """Of the density, by those variables that are no integers."""
    kept = [x for x in variables if x.type.dtype == "float64"]
    options = {"disconnected_inputs": "ignore", "return_disconnected": "zero"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = pytensor.grad(logp.sum(), kept, **options)
        except (NotImplementedError, pytensor.gradient.NullTypeGradError):  # PyMC has none
            return {}
    return {f"derivative by {x.name}": g for x, g in zip(kept, found, strict=True)}


def columns(case):
    """An input for each parameter, and its values in all sets."""
    first, *_ = case.parameters
    kinds = ["int64" if isinstance(x, int) else "float64" for x in first]
    inputs = [pt.vector(f"p{i}", dtype=kind) for i, kind in enumerate(kinds)]
    values = [np.array([row[i] for row in case.parameters], kind) for i, kind in enumerate(kinds)]
    return inputs, values


@pytest.mark.sampled(48)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SCALARS)
def test_functions_of_a_number(name, policy):
    """Points in rows, sets of parameters in columns, of open numbers."""
    case = SCALARS[name]
    inputs, values = columns(case)
    law = case.make(*inputs)
    value, chance = pt.matrix("value", dtype=law.dtype), pt.dmatrix("chance")
    sets = len(case.parameters)
    points = np.repeat(np.array(case.points, law.dtype)[:, None], sets, axis=1)
    chances = np.repeat(np.array(QUANTILES)[:, None], sets, axis=1)
    if case.many:
        outputs = functions(law, value, chance)
    else:
        outputs = {"logp": pm.logp(law, value)}
    outputs |= derivatives(outputs["logp"], [value, *inputs])
    compare([value, chance, *inputs], outputs, [points, chances, *values], [policy], case.rtol, name)
    if name == "Interpolated":  # SciPy's splines lose the shape of no points
        return
    none = [points[:0], chances[:0], *values]
    compare([value, chance, *inputs], {"logp": outputs["logp"]}, none, [policy], case.rtol, name)


@pytest.mark.parametrize("name", [name for name, case in SCALARS.items() if not case.many])
@pytest.mark.sampled(8)
def test_distribution_functions_of_one_number_alone(name):
    case = SCALARS[name]
    value = pt.lscalar("value")
    law = case.make(*[np.asarray(x) for x in case.parameters[0]])
    logcdf = pytensor.function([value], pm.logcdf(law, value), mode="STABLEHLO")
    wanted = pytensor.function([value], pm.logcdf(law, value), mode=REFERENCE)
    for point in (-1, 0, 3, 9):
        np.testing.assert_allclose(logcdf(point), wanted(point), rtol=1e-9)


def drawn(count, law, mode, seed):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pm.pytensorf.compile([count], law, random_seed=seed, mode=mode)(DRAWS)


def agree(ours, theirs, what):
    """Two samples of one law, each a vector."""
    if np.array_equal(np.unique(ours), np.unique(theirs)) and len(np.unique(ours)) == 1:
        return
    ours, theirs = (np.round(x, 9) for x in (ours, theirs))  # what is constant but for rounding
    assert scipy.stats.ks_2samp(ours, theirs).pvalue > 1e-4, what


def check_same(draws, what):
    """Policies change no draw."""
    first, *others = draws
    for other in others:
        assert other.dtype == first.dtype
        np.testing.assert_allclose(other, first, rtol=1e-8, atol=1e-9, err_msg=what)


@pytest.mark.sampled(96)
@pytest.mark.parametrize("name", [name for name, case in SCALARS.items() if case.drawn])
def test_draws_of_a_number(name):
    case, count = SCALARS[name], pt.lscalar("count")
    sets = np.array(case.parameters).T
    parameters = [
        np.array(row, "int64" if isinstance(x, int) else float)
        for row, x in zip(sets, case.parameters[0], strict=False)
    ]
    law = case.make(*parameters, size=(count, len(case.parameters)))
    draws = [drawn(count, law, hlograph.Mode(policy=policy), 1) for policy in POLICIES]
    check_same(draws, name)
    wanted = drawn(count, law, REFERENCE, 2)
    assert draws[0].shape == wanted.shape
    assert draws[0].dtype == wanted.dtype
    for place, row in enumerate(case.parameters):
        ours = draws[0][:, place]
        agree(ours, wanted[:, place], f"{name}{row}")
        density = pm.logp(case.make(*[np.asarray(x) for x in row]), ours[:20]).eval(mode=REFERENCE)
        assert np.all(density > -np.inf), f"{name}{row} is drawn outside of its support"


def projections(draws, rng):
    """Vectors of a sample of arrays: each element, a few mixtures of all, and their squares."""
    flat = draws.reshape(len(draws), -1)
    mixed = flat @ rng.normal(size=(flat.shape[1], 3))
    return [*flat.T, *mixed.T, *np.square(mixed).T, np.sum(flat * np.roll(flat, 1, axis=1), axis=1)]


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", ARRAYS)
def test_draws_of_arrays(name):
    case, count = ARRAYS[name], pt.lscalar("count")
    scale = np.float64(1.2)
    if case.sized:
        law = case.make(scale, size=(count,))
        draws = [drawn(count, law, hlograph.Mode(policy=policy), 1) for policy in POLICIES]
        wanted = drawn(count, (case.law or case.make)(scale, size=(count,)), REFERENCE, 2)
        check_same(draws, name)
    else:
        law = case.make(scale)
        draws = [pm.draw(law, DRAWS, random_seed=1, mode="STABLEHLO")]
        wanted = pm.draw(law, DRAWS, random_seed=2, mode=REFERENCE)
    assert draws[0].shape == wanted.shape
    assert draws[0].dtype == wanted.dtype
    pairs = [projections(x, np.random.default_rng(0)) for x in (draws[0], wanted)]
    for number, (ours, theirs) in enumerate(zip(*pairs, strict=True)):
        agree(ours, theirs, f"{name}, projection {number}")


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", [name for name, case in ARRAYS.items() if case.has_logp])
def test_functions_of_arrays(name):
    """At draws, and at what is moved away from them, where a constraint may be broken."""
    case, scale = ARRAYS[name], pt.dscalar("scale")
    law = case.make(scale)
    value = pt.tensor("value", shape=(None,) * law.ndim, dtype=law.dtype)
    outputs: dict[str, Any] = {"logp": pm.logp(law, value)}
    outputs |= derivatives(outputs["logp"], [value, scale])
    draw = pm.draw(case.make(np.float64(1.2)), random_seed=3, mode=REFERENCE)
    compare([value, scale], outputs, [draw, 1.2], POLICIES, 1e-8, name)
    moved = {"logp": outputs["logp"]}
    for other in (draw + 1, -draw):
        values = [other.astype(law.dtype), 1.2]
        try:
            evaluate([value, scale], moved.values(), values, REFERENCE)
        except ParameterValueError:  # PyMC's way to say that a value is none of the law's
            with pytest.raises(ParameterValueError):
                evaluate([value, scale], moved.values(), values, hlograph.Mode(policy="exact"))
        else:
            compare([value, scale], moved, values, ["exact"], 1e-8, f"{name}, moved")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_drawn_is_refused_with_a_reason(name):
    make, reason = REFUSED[name]
    law = make()
    with pytest.raises(UnsupportedOpError, match=reason) as error:
        pm.draw(law, mode="STABLEHLO")
    assert type(law.owner.op).__name__ in str(error.value)


def test_parameters_that_mean_nothing_raise():
    """As PyMC does, at the call, naming what must hold."""
    sigma, p = pt.dscalar("sigma"), pt.dvector("p")
    densities = [pm.logp(pm.Normal.dist(0.0, sigma), 0.5), pm.logp(pm.Dirichlet.dist(p), np.array([0.5, 0.5]))]
    function = pytensor.function([sigma, p], densities, mode="STABLEHLO")
    assert np.isfinite(function(1.0, np.ones(2))).all()
    for arguments, message in (((-1.0, np.ones(2)), "sigma > 0"), ((1.0, -np.ones(2)), "a > 0")):
        with pytest.raises(ParameterValueError, match=message):
            function(*arguments)
