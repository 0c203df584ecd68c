"""Exceptions that a check in a graph raises."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert, CheckAndRaise

import hlograph
import hlograph.pytensor
from hlograph.errors import CheckFailedError
from hlograph.runtime.calls.arguments import exception_class


class OurError(ValueError):
    """A user's exception."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ValueError", ValueError),
        ("AssertionError", AssertionError),
        ("numpy.linalg.LinAlgError(ValueError)", np.linalg.LinAlgError),
        (f"{__name__}.OurError(ValueError)", OurError),
        ("not_loaded.SomeError(IndexError)", IndexError),
        ("not_loaded.SomeError", CheckFailedError),
        ("print", CheckFailedError),
        ("os.system", CheckFailedError),
        ("KeyboardInterrupt", CheckFailedError),
        ("not a name", CheckFailedError),
    ],
)
def test_exception_class(name, expected):
    assert exception_class(name) is expected


WAYS = {
    "JAX's arrays": lambda graph, path: hlograph.function(*graph),
    "NumPy's arrays": lambda graph, path: hlograph.function(*graph, outputs="numpy"),
    "padded": lambda graph, path: hlograph.function(*graph, policy="padded"),
    "padded, NumPy's arrays": lambda graph, path: hlograph.function(*graph, policy="padded", outputs="numpy"),
    "the mode": lambda graph, path: pytensor.function(*graph, mode="STABLEHLO"),
    "a file": lambda graph, path: hlograph.load(hlograph.emit_stablehlo(graph).save(path)).compile(),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_first_failed_check_raises(way, tmp_path):
    x = pt.dvector("x")
    checked = Assert("all must be positive")(x, (x > 0).all())
    checked = CheckAndRaise(ArithmeticError, "finite")(checked, ~pt.isinf(x).any())
    function = WAYS[way](([x], checked * 2), tmp_path / "checked.mlir")
    failing = ([1, -1, 1], AssertionError, "all must be positive"), ([np.inf, 1, 1], ArithmeticError, "finite")
    for _ in range(12):  # up to the shortest way of calls
        np.testing.assert_array_equal(function(np.ones(3)), np.full(3, 2.0))
        for values, error, message in (*failing, ([-np.inf, 1, 1], AssertionError, "positive")):
            with pytest.raises(error, match=message):
                function(np.array(values, float))
    assert function(np.zeros(0)).shape == (0,)
