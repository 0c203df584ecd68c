"""Models of many structures: their log-densities and gradients at far-out points, where NUTS's warm-up goes.

A model is a function that makes random variables inside of a `pymc.Model`. Its density is the one that PyMC samples: on
the unbounded space, as a sum, with its gradient by all free values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

VALUES = np.random.default_rng(7)
X = VALUES.normal(size=(6, 2))
REAL = VALUES.normal(size=6) * 2
POSITIVE = np.abs(REAL) + 0.1
UNIT = 1 / (1 + np.exp(-REAL))
COUNTS = np.array([0.0, 1, 3, 0, 12, 40]).astype(int)
BINARY = np.array([0, 1, 1, 0, 1, 0])
GROUPS = np.array([0, 0, 1, 1, 2, 2])
SCALES = (1.0, 8.0, 40.0, 300.0, 1000.0)  # of the free values: exp overflows at the last one
POINTS = 2  # of each scale


def _linear() -> Any:
    import pymc as pm

    return pm.Normal("intercept", 0, 2) + X @ pm.Normal("slopes", 0, 1, shape=2)


def _links() -> dict[str, Callable[[Any], Any]]:
    import pymc as pm
    import pytensor.tensor as pt

    return {
        "exp": pm.math.exp,
        "softplus": pt.softplus,
        "square": pt.sqr,
        "logistic": pm.math.invlogit,
        "probit": pm.math.invprobit,
        "complementary": lambda x: 1 - pm.math.exp(-pm.math.exp(x)),
    }


def _regression(likelihood: str, place: str, link: str, data: Any, **rest: float) -> None:
    """A linear predictor behind a link; parameters that are None have a half-normal prior."""
    import pymc as pm

    eta = _linear()
    inside = {name: pm.HalfNormal(name, 1) if value is None else value for name, value in rest.items()}
    getattr(pm, likelihood)("y", **{place: _links()[link](eta) if link else eta}, **inside, observed=data)


def _scales(prior: str, likelihood: str, centered: bool, **parameters: float) -> None:
    """Groups whose spread has that prior."""
    import pymc as pm

    spread = getattr(pm, prior)("spread", **parameters)
    middle = pm.Normal("middle", 0, 5)
    if centered:
        groups = pm.Normal("groups", middle, spread, shape=3)
    else:
        groups = middle + spread * pm.Normal("offsets", 0, 1, shape=3)
    if likelihood == "Normal":
        pm.Normal("y", groups[GROUPS], pm.HalfNormal("noise", 1), observed=REAL)
    elif likelihood == "StudentT":
        pm.StudentT("y", nu=pm.Gamma("nu", 2, 0.1), mu=groups[GROUPS], sigma=1.0, observed=REAL)
    elif likelihood == "Poisson":
        pm.Poisson("y", pm.math.exp(groups[GROUPS]), observed=COUNTS)
    else:
        pm.Bernoulli("y", logit_p=groups[GROUPS], observed=BINARY)


def _mixture(parts: tuple[str, ...], data: Any) -> None:
    import pymc as pm

    made = []
    for number, part in enumerate(parts):
        maker = getattr(pm, part)
        if part in ("Normal", "Laplace", "Logistic", "Cauchy"):
            scale = {"Normal": "sigma", "Laplace": "b", "Logistic": "s", "Cauchy": "beta"}[part]
            center = {"Cauchy": "alpha"}.get(part, "mu")
            spread = pm.HalfNormal(f"scale{number}", 1)
            made.append(maker.dist(**{center: pm.Normal(f"center{number}", number, 2), scale: spread}))
        elif part in ("Poisson", "Exponential"):
            made.append(maker.dist(pm.Exponential(f"rate{number}", 1)))
        else:
            made.append(maker.dist(pm.HalfNormal(f"a{number}", 1), pm.HalfNormal(f"b{number}", 1)))
    pm.Mixture("y", pm.Dirichlet("weights", np.ones(len(parts))), made, observed=data)


def _latent(distribution: str, **parameters: Any) -> None:
    """A positive or bounded variable with its transform, and a normal observation of it."""
    import pymc as pm

    x = getattr(pm, distribution)("x", **parameters)
    pm.Normal("y", x.sum() if x.ndim else x, 1.0, observed=0.3)


def _walk(kind: str) -> None:
    import pymc as pm

    spread = pm.Exponential("spread", 1.0)
    if kind == "walk":
        path = pm.GaussianRandomWalk("path", sigma=spread, init_dist=pm.Normal.dist(0, 1), shape=6)
    elif kind == "autoregression":
        path = pm.AR("path", rho=pm.Normal("rho", 0, 1, shape=2), sigma=spread, init_dist=pm.Normal.dist(0, 1), shape=6)
    else:
        path = pm.Normal("steps", 0, 1, shape=6).cumsum() * spread
    pm.StudentT("y", nu=4, mu=0, sigma=pm.math.exp(path / 2), observed=REAL)


def _ordered(link: str) -> None:
    import pymc as pm

    cutpoints = pm.Normal(
        "cutpoints", 0, 2, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0]
    )
    maker = pm.OrderedLogistic if link == "logistic" else pm.OrderedProbit
    maker("y", eta=_linear(), cutpoints=cutpoints, observed=np.array([0, 1, 2, 3, 1, 2]), compute_p=False)


def _softmax(likelihood: str) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    p = pm.math.softmax(pt.as_tensor(X) @ pm.Normal("weights", 0, 1, shape=(2, 3)), axis=-1)
    if likelihood == "Categorical":
        pm.Categorical("y", p=p, observed=np.array([0, 1, 2, 0, 1, 2]))
    else:
        pm.Multinomial(
            "y", n=5, p=p, observed=np.array([[5, 0, 0], [1, 2, 2], [0, 0, 5], [3, 1, 1], [0, 5, 0], [2, 2, 1]])
        )


def _limited(kind: str, inner: str, **parameters: float | None) -> None:
    import pymc as pm

    inside = {n: pm.HalfNormal(n, 1) if v is None else pm.Normal(n, v, 1) for n, v in parameters.items()}
    maker = pm.Censored if kind == "censored" else pm.Truncated
    data = np.clip(np.abs(REAL), 0.3, 2.0)
    maker("y", getattr(pm, inner).dist(**inside), 0.3, 2.0, observed=data)


def _potential(kind: str) -> None:
    """Densities written by hand, as users write them."""
    import pymc as pm
    import pytensor.tensor as pt

    eta = _linear()
    if kind == "sigmoid":
        p = pt.sigmoid(eta)
        value = pt.sum(BINARY * pt.log(p) + (1 - BINARY) * pt.log(1 - p))
    elif kind == "logistic":
        p = 1 / (1 + pt.exp(-eta))
        value = pt.sum(pt.log(pt.switch(pt.eq(BINARY, 1), p, 1 - p)))
    elif kind == "logsumexp":
        value = pt.sum(pt.log(pt.exp(eta) + pt.exp(2 - eta)) - pt.log(pt.exp(eta)))
    elif kind == "softmax":
        value = pt.log(pt.exp(eta) / pt.sum(pt.exp(eta)))[2]
    elif kind == "survival":
        rate = pt.exp(eta)
        value = pt.sum(BINARY * pt.log(rate) - rate * POSITIVE)
    elif kind == "hazard":
        shape = pm.Exponential("shape", 1)
        value = pt.sum(BINARY * (pt.log(shape) + (shape - 1) * np.log(POSITIVE) + eta) - pt.exp(eta) * POSITIVE**shape)
    elif kind == "robust":
        value = pt.sum(pt.log(0.95 * pt.exp(-pt.sqr(REAL - eta) / 2) + 0.05 * pt.exp(-pt.sqr(REAL - eta) / 200)))
    elif kind == "probit":
        value = pt.sum(pt.log(pt.switch(pt.eq(BINARY, 1), pt.erfc(-eta / np.sqrt(2)), pt.erfc(eta / np.sqrt(2))) / 2))
    else:
        value = -pt.sum(pt.sqrt(1 + pt.sqr(REAL - eta)))
    pm.Potential("y", value)


Model = Callable[[], None]
MODELS: dict[str, Model] = {}
for _link in ("exp", "softplus", "square"):
    MODELS |= {
        f"Poisson, {_link}": partial(_regression, "Poisson", "mu", _link, COUNTS),
        f"negative binomial, {_link}": partial(_regression, "NegativeBinomial", "mu", _link, COUNTS, alpha=None),
        f"zero-inflated Poisson, {_link}": partial(_regression, "ZeroInflatedPoisson", "mu", _link, COUNTS, psi=0.6),
        f"hurdle Poisson, {_link}": partial(_regression, "HurdlePoisson", "mu", _link, COUNTS, psi=0.6),
        f"zero-inflated negative binomial, {_link}": partial(
            _regression, "ZeroInflatedNegativeBinomial", "mu", _link, COUNTS, psi=0.6, alpha=None
        ),
        f"gamma by mean, {_link}": partial(_regression, "Gamma", "mu", _link, POSITIVE, sigma=None),
        f"gamma by shape, {_link}": partial(_regression, "Gamma", "alpha", _link, POSITIVE, beta=None),
        f"Weibull, {_link}": partial(_regression, "Weibull", "beta", _link, POSITIVE, alpha=None),
        f"exponential, {_link}": partial(_regression, "Exponential", "lam", _link, POSITIVE),
        f"inverse gamma, {_link}": partial(_regression, "InverseGamma", "beta", _link, POSITIVE, alpha=None),
        f"Wald, {_link}": partial(_regression, "Wald", "mu", _link, POSITIVE, lam=None),
        f"noise, {_link}": partial(_regression, "Normal", "sigma", _link, REAL, mu=0.0),
        f"Student noise, {_link}": partial(_regression, "StudentT", "sigma", _link, REAL, mu=0.0, nu=3.0),
        f"half-Student noise, {_link}": partial(_regression, "HalfStudentT", "sigma", _link, POSITIVE, nu=3.0),
    }
for _link in ("logistic", "probit", "complementary"):
    MODELS |= {
        f"Bernoulli, {_link}": partial(_regression, "Bernoulli", "p", _link, BINARY),
        f"binomial, {_link}": partial(_regression, "Binomial", "p", _link, COUNTS % 10, n=10),
        f"geometric, {_link}": partial(_regression, "Geometric", "p", _link, COUNTS + 1),
        f"zero-inflated binomial, {_link}": partial(
            _regression, "ZeroInflatedBinomial", "p", _link, COUNTS % 10, n=10, psi=0.7
        ),
        f"beta by mean, {_link}": partial(_regression, "Beta", "mu", _link, UNIT, nu=None),
        f"negative binomial by p, {_link}": partial(_regression, "NegativeBinomial", "p", _link, COUNTS, n=3.0),
    }
for _name, _place, _rest in (
    ("Normal", "mu", {"sigma": None}), ("StudentT", "mu", {"nu": 4.0, "sigma": None}), ("Laplace", "mu", {"b": None}),
    ("Cauchy", "alpha", {"beta": None}), ("Logistic", "mu", {"s": None}), ("Gumbel", "mu", {"beta": None}),
    ("Moyal", "mu", {"sigma": None}), ("SkewNormal", "mu", {"sigma": None, "alpha": None}),
    ("AsymmetricLaplace", "mu", {"kappa": None, "b": None}), ("ExGaussian", "mu", {"sigma": None, "nu": None}),
    ("VonMises", "mu", {"kappa": None}),
):  # fmt: skip
    MODELS[f"linear, {_name}"] = partial(_regression, _name, _place, "", REAL, **_rest)
MODELS["linear, LogNormal"] = partial(_regression, "LogNormal", "mu", "", POSITIVE, sigma=None)
MODELS["linear, LogitNormal"] = partial(_regression, "LogitNormal", "mu", "", UNIT, sigma=None)
MODELS["Bernoulli by logit"] = partial(_regression, "Bernoulli", "logit_p", "", BINARY)
MODELS["binomial by logit"] = partial(_regression, "Binomial", "logit_p", "", COUNTS % 10, n=10)
for _prior, _parameters in (
    ("HalfNormal", {"sigma": 1}), ("HalfCauchy", {"beta": 1}), ("Exponential", {"lam": 1}),
    ("InverseGamma", {"alpha": 2, "beta": 1}), ("Gamma", {"alpha": 2, "beta": 1}), ("LogNormal", {"mu": 0, "sigma": 1}),
    ("HalfStudentT", {"nu": 3, "sigma": 1}), ("Uniform", {"lower": 0, "upper": 5}),
    ("Weibull", {"alpha": 2, "beta": 1}),
):  # fmt: skip
    for _likelihood, _centered in (("Normal", True), ("Poisson", False), ("Bernoulli", True), ("StudentT", False)):
        _made = partial(_scales, _prior, _likelihood, _centered, **_parameters)
        MODELS[f"groups, {_prior}, {_likelihood}"] = _made
MODELS |= {
    f"mixture of {', '.join(parts)}": partial(_mixture, parts, data)
    for parts, data in (
        (("Normal", "Normal"), REAL), (("Normal", "Laplace", "Cauchy"), REAL), (("Normal", "Weibull"), REAL),
        (("Normal", "Wald"), REAL), (("Normal", "Gamma"), REAL), (("Poisson", "Poisson"), COUNTS),
        (("Normal", "Pareto"), REAL), (("Logistic", "Exponential"), REAL), (("Gamma", "Weibull"), POSITIVE),
        (("Normal", "Kumaraswamy"), REAL),
    )
}  # fmt: skip
MODELS |= {
    f"latent {name}": partial(_latent, name, **parameters)
    for name, parameters in (
        ("Beta", {"alpha": 0.5, "beta": 2}), ("Dirichlet", {"a": np.array([0.5, 1, 2])}),
        ("Pareto", {"alpha": 2, "m": 1}),
        ("Triangular", {"lower": 0, "upper": 2, "c": 1}), ("TruncatedNormal", {"mu": 0, "sigma": 1, "lower": 0}),
        ("Kumaraswamy", {"a": 2, "b": 3}), ("Wald", {"mu": 1, "lam": 1}), ("ChiSquared", {"nu": 3}),
        ("Rice", {"nu": 1, "sigma": 1}), ("Moyal", {"mu": 0, "sigma": 1}), ("LogitNormal", {"mu": 0, "sigma": 1}),
        ("SkewStudentT", {"a": 1, "b": 2, "mu": 0, "sigma": 1}), ("ZeroSumNormal", {"shape": 4}),
    )
}  # fmt: skip
MODELS |= {f"volatility, {kind}": partial(_walk, kind) for kind in ("walk", "autoregression", "sum")}
MODELS |= {f"ordered, {link}": partial(_ordered, link) for link in ("logistic", "probit")}
MODELS |= {f"softmax, {name}": partial(_softmax, name) for name in ("Categorical", "Multinomial")}
MODELS |= {
    f"{kind} {inner}": partial(_limited, kind, inner, **parameters)
    for kind in ("censored", "truncated")
    for inner, parameters in (
        ("Normal", {"mu": 0, "sigma": None}), ("Weibull", {"alpha": None, "beta": None}),
        ("Exponential", {"lam": None}), ("Gamma", {"alpha": None, "beta": None}), ("Logistic", {"mu": 0, "s": None}),
        ("Cauchy", {"alpha": 0, "beta": None}),
    )
}  # fmt: skip
_BY_HAND = ("sigmoid", "logistic", "logsumexp", "softmax", "survival", "hazard", "robust", "probit", "soft")
MODELS |= {f"by hand, {kind}": partial(_potential, kind) for kind in _BY_HAND}


def model_graph(name: str, dtype: str) -> tuple[list[Any], list[Any], list[list[np.ndarray]]]:
    """Free values, the log-density with its gradient, without checks of parameters, and points."""
    import pymc
    import pytensor
    from pymc.logprob.utils import local_remove_check_parameter
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.basic import out2in

    with pymc.Model() as model:
        MODELS[name]()
    inputs = model.value_vars
    value = model.logp()
    slopes = pytensor.grad(value, inputs, disconnected_inputs="ignore")
    outputs = [value, *slopes]
    fgraph = FunctionGraph(inputs, outputs, clone=False)
    out2in(local_remove_check_parameter).rewrite(fgraph)
    outputs = list(fgraph.outputs)
    for variable, label in zip(outputs, ["density", *(f"by {x.name}" for x in inputs)], strict=True):
        variable.name = label
    start = model.initial_point()
    draws = np.random.default_rng(3)
    points = [
        [np.asarray(start[x.name] + scale * draws.normal(size=np.shape(start[x.name])), x.type.dtype) for x in inputs]
        for scale in SCALES
        for _ in range(POINTS)
    ]
    return inputs, outputs, points
