"""Which of PyMC's distributions take the direct call: densities and distribution functions, with gradients.

    python tests/direct_densities.py

Each function of the catalogue (`pymc_cases.py`) is compiled at its first parameters with `cpu="direct"` insisted on;
those that stay outside are counted by reason, and named.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc_cases import SCALARS, Scalar

import hlograph
from hlograph.errors import HlographError

DIRECT = "direct call of the kernels"


def refusal(scalar: Scalar, of: Any) -> str | None:
    """Why a function of a distribution is not called directly; "" if it is, None where PyMC has no such function."""
    values = [np.float64(value) for value in scalar.parameters[0]]
    parameters = [pt.dscalar(f"p{i}") for i in range(len(values))]
    points = pt.dvector("points")
    try:
        total = of(scalar.make(*parameters), points).sum()
        gradients = [pytensor.grad(total, p, disconnected_inputs="ignore") for p in parameters]
    except (NotImplementedError, AttributeError, TypeError, pytensor.gradient.NullTypeGradError):
        return None
    at = np.array([point for point in scalar.points if np.isfinite(point)], np.float64)
    try:
        fn = hlograph.function([*parameters, points], [total, *gradients], outputs="numpy", cpu="direct")
        fn(*values, at)
    except HlographError as error:
        return str(error).splitlines()[0]
    except (AssertionError, pm.logprob.utils.ParameterValueError):
        pass  # parameters at an edge: the check itself was called
    (executable,) = fn.stats.by_executable
    note = [line for line in executable.plan if "direct call" in line][-1]
    return "" if note == DIRECT else note.removeprefix("no direct call: ")


def main() -> None:
    """Prints the numbers."""
    warnings.simplefilter("ignore")
    for name, of in {"densities": pm.logp, "distribution functions": pm.logcdf}.items():
        found = {which: refusal(scalar, of) for which, scalar in SCALARS.items()}
        known = {which: reason for which, reason in found.items() if reason is not None}
        outside = defaultdict(list)
        for which, reason in known.items():
            if reason:
                outside[reason].append(which)
        print(f"{name}: {len(known)}, {sum(map(len, outside.values()))} of them not directly")
        for reason, names in outside.items():
            print(f"  {reason}: {', '.join(names)}")


if __name__ == "__main__":
    main()
