"""Exceptions that a check in a graph raises."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph.codegen.signature import CheckSpec
from hlograph.errors import CheckFailedError
from hlograph.runtime.calls.checks import exception_class, raise_failed


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


def test_the_first_failed_check_raises():
    checks = [CheckSpec("ValueError", "first"), CheckSpec("IndexError", "second"), CheckSpec("TypeError", "third")]
    raise_failed(checks, np.array([True, True, True]))
    with pytest.raises(IndexError, match=r"^second$"):
        raise_failed(checks, np.array([True, False, False]))
