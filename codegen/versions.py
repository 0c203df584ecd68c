"""Which releases hlograph works with, and what it says of others.

In: what is installed, by its metadata; nothing is imported. Out: nothing, or an `UnsupportedVersionError` that names
what was found and what is needed. Decision to know: what JAX and a graph library demand of their neighbours (jax of
jaxlib and NumPy, Aesara of NumPy) is read from their own metadata, so there is no table of combinations to keep.
"""

from __future__ import annotations

import operator
import re
from importlib.metadata import PackageNotFoundError, requires, version

from .errors import UnsupportedVersionError

# The same minima stand in pyproject.toml, for installers (a test compares them).
MINIMA = {"jax": "0.7.1", "jaxlib": "0.7.1", "numpy": "1.26"}
LIBRARY_MINIMA = {"pytensor": "2.38", "aesara": "2.9"}

_CLAUSE = re.compile(r"(<=|>=|==|!=|<|>)\s*([0-9][0-9.]*)")
_COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def check_core() -> None:
    """What every use of hlograph needs: JAX, jaxlib and NumPy, new enough and fit for each other.

    Raises:
        UnsupportedVersionError: they are not.
    """
    for package, minimum in MINIMA.items():
        _check_minimum(package, minimum)
    _check_neighbours("jax", ("jaxlib", "numpy"))


def check_library(package: str) -> None:
    """The same for a graph library: "pytensor" or "aesara".

    Raises:
        UnsupportedVersionError: it is too old, or needs another NumPy.
    """
    _check_minimum(package, LIBRARY_MINIMA[package])
    _check_neighbours(package, ("numpy",))


def _check_minimum(package: str, minimum: str) -> None:
    found = _installed(package)
    if found is None or _numbers(found) < _numbers(minimum):
        what = "none is installed" if found is None else f"found {found}"
        raise UnsupportedVersionError(
            f"hlograph needs {package} >= {minimum}; {what}. Install it with: pip install '{package}>={minimum}'"
        )


def _check_neighbours(package: str, others: tuple[str, ...]) -> None:
    for line in requires(package) or ():
        requirement, _, marker = line.partition(";")
        name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0].lower()
        if name not in others or marker:
            continue
        found = _installed(name)
        clauses = _CLAUSE.findall(requirement)
        if found is None or not all(_COMPARE[sign](_numbers(found), _numbers(bound)) for sign, bound in clauses):
            needed = " and ".join(f"{sign} {bound}" for sign, bound in clauses)
            raise UnsupportedVersionError(
                f"{package} {_installed(package)} needs {name} {needed}; found {found}. "
                f"Install what fits together with: pip install '{package}=={_installed(package)}' {name}"
            )


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    """A release as numbers, without what marks pre-releases and without zeros at its end: 0.12 is 0.12.0."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text, maxsplit=1)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
