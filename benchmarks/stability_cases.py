"""PyMC's distributions with their parameters' kinds, and the points at which they are looked at.

Kinds: real, positive, unit (a probability), binary, count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

REAL = [0.0, 1e-300, -1e-8, -0.5, 3.0, -8.0, 22.0, -30.0, 36.7, -40.0, 90.0, -700.0, 800.0, 1e5, -1e20, 1e160, -1e300]
POSITIVE = [1e-300, 1e-160, 1e-20, 1e-3, 0.3, 3.0, 30.0, 1e3, 1e10, 1e20, 1e160, 1e300]
UNIT = [1e-300, 1e-20, 1e-8, 0.1, 0.5, 0.999, 1 - 1e-8, 1 - 2.0**-52]
COUNT = [0.0, 1.0, 2.0, 5.0, 9.0, 10.0, 100.0, 1e6]
AT = {"real": REAL, "positive": POSITIVE, "unit": UNIT, "binary": [0.0, 1.0], "count": COUNT}
BORDERS = {"positive": [0.0, -1.0], "unit": [0.0, 1.0, -0.5, 1.5], "binary": [2.0], "count": [11.0, -1.0]}
BULK = {"real": 0.7, "positive": 1.3, "unit": 0.4, "binary": 1.0, "count": 3.0}
LINKED = 0.2  # parameters in the bulk, before the link

Maker = Callable[..., Any]


def _of(name: str, **fixed: Any) -> Maker:
    def make(**parameters: Any) -> Any:
        import pymc

        return getattr(pymc, name).dist(**parameters, **fixed)

    return make


def _mixture(component: Maker, w: Any, center: Any, **parameters: Any) -> Any:
    """Of a normal part and one more, most of whose points are outside of its support."""
    import pymc
    import pytensor.tensor as pt

    parts = [pymc.Normal.dist(center, 1.0), component(**parameters)]
    return pymc.Mixture.dist(pt.stack([w, 1 - w], axis=-1), parts)


def _around(outer: str, inner: Maker, bounds: tuple[float, float], **parameters: Any) -> Any:
    import pymc

    return getattr(pymc, outer).dist(inner(**parameters), *bounds)


R, P, U = "real", "positive", "unit"
# The distribution, its parameters, and its value.
DISTRIBUTIONS: dict[str, tuple[Maker, Mapping[str, str], str]] = {
    "AsymmetricLaplace": (_of("AsymmetricLaplace"), {"kappa": P, "mu": R, "b": P}, R),
    "Bernoulli": (_of("Bernoulli"), {"p": U}, "binary"),
    "Bernoulli, logit": (_of("Bernoulli"), {"logit_p": R}, "binary"),
    "Beta": (_of("Beta"), {"alpha": P, "beta": P}, U),
    "BetaBinomial": (_of("BetaBinomial", n=10), {"alpha": P, "beta": P}, "count"),
    "Binomial": (_of("Binomial", n=10), {"p": U}, "count"),
    "Binomial, logit": (_of("Binomial", n=10), {"logit_p": R}, "count"),
    "Cauchy": (_of("Cauchy"), {"alpha": R, "beta": P}, R),
    "Censored normal": (partial(_around, "Censored", _of("Normal"), (-1, 1)), {"mu": R, "sigma": P}, R),
    "ChiSquared": (_of("ChiSquared"), {"nu": P}, P),
    "DiscreteUniform": (_of("DiscreteUniform", lower=0, upper=10), {}, "count"),
    "DiscreteWeibull": (_of("DiscreteWeibull"), {"q": U, "beta": P}, "count"),
    "ExGaussian": (_of("ExGaussian"), {"mu": R, "sigma": P, "nu": P}, R),
    "Exponential": (_of("Exponential"), {"lam": P}, P),
    "Gamma": (_of("Gamma"), {"alpha": P, "beta": P}, P),
    "Geometric": (_of("Geometric"), {"p": U}, "count"),
    "Gumbel": (_of("Gumbel"), {"mu": R, "beta": P}, R),
    "HalfCauchy": (_of("HalfCauchy"), {"beta": P}, P),
    "HalfNormal": (_of("HalfNormal"), {"sigma": P}, P),
    "HalfStudentT": (_of("HalfStudentT"), {"nu": P, "sigma": P}, P),
    "HurdleGamma": (_of("HurdleGamma"), {"psi": U, "alpha": P, "beta": P}, P),
    "HurdleLogNormal": (_of("HurdleLogNormal"), {"psi": U, "mu": R, "sigma": P}, P),
    "HurdlePoisson": (_of("HurdlePoisson"), {"psi": U, "mu": P}, "count"),
    "HyperGeometric": (_of("HyperGeometric", N=50, k=10, n=20), {}, "count"),
    "InverseGamma": (_of("InverseGamma"), {"alpha": P, "beta": P}, P),
    "Kumaraswamy": (_of("Kumaraswamy"), {"a": P, "b": P}, U),
    "Laplace": (_of("Laplace"), {"mu": R, "b": P}, R),
    "Logistic": (_of("Logistic"), {"mu": R, "s": P}, R),
    "LogitNormal": (_of("LogitNormal"), {"mu": R, "sigma": P}, U),
    "LogNormal": (_of("LogNormal"), {"mu": R, "sigma": P}, P),
    "Moyal": (_of("Moyal"), {"mu": R, "sigma": P}, R),
    "NegativeBinomial": (_of("NegativeBinomial"), {"mu": P, "alpha": P}, "count"),
    "NegativeBinomial, p": (_of("NegativeBinomial"), {"p": U, "n": P}, "count"),
    "Normal": (_of("Normal"), {"mu": R, "sigma": P}, R),
    "Normal, tau": (_of("Normal"), {"mu": R, "tau": P}, R),
    "Pareto": (_of("Pareto"), {"alpha": P, "m": P}, P),
    "Poisson": (_of("Poisson"), {"mu": P}, "count"),
    "Rice": (_of("Rice"), {"nu": P, "sigma": P}, P),
    "SkewNormal": (_of("SkewNormal"), {"alpha": R, "mu": R, "sigma": P}, R),
    "SkewStudentT": (_of("SkewStudentT"), {"a": P, "b": P, "mu": R, "sigma": P}, R),
    "StudentT": (_of("StudentT"), {"nu": P, "mu": R, "sigma": P}, R),
    "Triangular": (_of("Triangular", lower=0, upper=1), {"c": U}, U),
    "Truncated gamma": (partial(_around, "Truncated", _of("Gamma"), (0.5, 3)), {"alpha": P, "beta": P}, P),
    "Truncated logistic": (partial(_around, "Truncated", _of("Logistic"), (0.5, 3)), {"mu": R, "s": P}, P),
    "TruncatedNormal": (_of("TruncatedNormal", lower=-1, upper=1), {"mu": R, "sigma": P}, R),
    "TruncatedNormal, lower": (_of("TruncatedNormal", lower=-1), {"mu": R, "sigma": P}, R),
    "TruncatedNormal, upper": (_of("TruncatedNormal", upper=1), {"mu": R, "sigma": P}, R),
    "Uniform": (_of("Uniform", lower=0, upper=1), {}, U),
    "VonMises": (_of("VonMises"), {"mu": R, "kappa": P}, R),
    "Wald": (_of("Wald"), {"mu": P, "lam": P}, P),
    "Weibull": (_of("Weibull"), {"alpha": P, "beta": P}, P),
    "ZeroInflatedBinomial": (_of("ZeroInflatedBinomial", n=10), {"psi": U, "p": U}, "count"),
    "ZeroInflatedNegativeBinomial": (
        _of("ZeroInflatedNegativeBinomial"), {"psi": U, "mu": P, "alpha": P}, "count"
    ),
    "ZeroInflatedPoisson": (_of("ZeroInflatedPoisson"), {"psi": U, "mu": P}, "count"),
}  # fmt: skip
# Parts of mixtures; the other one is normal.
_PARTS = ("Weibull", "Pareto", "Kumaraswamy", "Wald", "Gamma", "InverseGamma", "Beta", "HalfNormal", "Exponential")
DISTRIBUTIONS |= {
    f"Mixture with {name}": (partial(_mixture, maker), {"w": U, "center": R, **parameters}, R)
    for name, (maker, parameters, _) in list(DISTRIBUTIONS.items())
    if name in _PARTS
}


def case(name: str, linked: bool, dtype: str, ndim: int = 1) -> tuple[list[Any], Any, np.ndarray]:
    """Inputs (the value, then the parameters), the distribution, and points: a row each.

    Args:
        name: in `DISTRIBUTIONS`.
        linked: whether positive parameters are exponentials, and probabilities logistic functions, of the inputs.
        dtype: of the inputs.
        ndim: of the inputs.
    """
    import pytensor.tensor as pt

    make, parameters, kind = DISTRIBUTIONS[name]
    links = {"positive": pt.exp, "unit": pt.sigmoid} if linked else {}
    value, *inputs = (pt.tensor(x, dtype=dtype, shape=(None,) * ndim) for x in ("value", *parameters))
    arguments = {x: links.get(of, lambda v: v)(v) for v, (x, of) in zip(inputs, parameters.items(), strict=True)}
    bulk = [BULK[kind], *(LINKED if of in links else BULK[of] for of in parameters.values())]
    rows = [bulk, *([v, *bulk[1:]] for v in AT[kind] + BORDERS.get(kind, []))]
    for position, of in enumerate(parameters.values(), 1):
        far = [v for v in REAL if abs(v) <= 1e5] if of in links else AT[of]
        rows += [[*bulk[:position], v, *bulk[position + 1 :]] for v in far]
    points = np.array(rows)
    limits = np.finfo(dtype)
    points = np.clip(points, -float(limits.max), float(limits.max)).astype(dtype)
    return [value, *inputs], make(**arguments), points
