"""The examples with loops find what they say that they find."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def both_series(found: Any) -> None:
    np.testing.assert_allclose(found["AR(2)"], [0.3, 0.5, 0.2, np.log(0.7)], atol=0.05)
    np.testing.assert_allclose(np.exp(found["GARCH(1, 1)"]), [0.1, 0.2, 0.7], atol=0.05)


def paths(found: Any) -> None:
    short, all_paths, right, alone = found
    np.testing.assert_allclose(short, all_paths, rtol=1e-12)
    assert right > alone + 0.1


def rates(found: Any) -> None:
    np.testing.assert_allclose(found, [0.6, 0.2, 5.0], rtol=0.1)


def order(errors: Any) -> None:
    assert 14 < errors[-2] / errors[-1] < 17  # of fourth order: 16


def learned(errors: Any) -> None:
    assert np.mean(errors[-50:]) < 0.02 < 1 / 6 < np.mean(errors[:20])


def scales_and_slope(found: Any) -> None:
    scales, (slope, difference) = found
    np.testing.assert_allclose(scales, [0.5, 0.3], atol=0.1)
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


def mean_slopes(found: Any) -> None:
    np.testing.assert_allclose(found, -0.7, atol=0.15)


CHECKS: dict[str, Callable[[Any], None]] = {
    "time_series": both_series,
    "hidden_markov": paths,
    "epidemic": rates,
    "ode": order,
    "recurrent_net": learned,
    "state_space": scales_and_slope,
    "nutpie_varying_slopes": mean_slopes,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CHECKS)
def test_an_example(name):
    for package in {"state_space": ["pymc_extras"], "nutpie_varying_slopes": ["pymc", "nutpie"]}.get(name, []):
        pytest.importorskip(package)
    CHECKS[name](runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]())


def test_the_demo_of_the_readme() -> None:
    """`make demo`: its numbers are PyTensor's, and those of both files are the same."""
    assert runpy.run_path(str(EXAMPLES / "breast_cancer.py"))["main"]() == 0
