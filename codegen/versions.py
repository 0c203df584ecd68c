"""Which releases hlograph works with, and what it says about others.

In: what is installed, by its metadata; nothing is imported. Out: nothing, or an `UnsupportedVersionError` that names
what was found and what is needed. Decision to know: what JAX and a graph library demand of their neighbours (jax of
jaxlib and NumPy, Aesara of NumPy) is read from their own metadata, so there is no table of combinations to keep.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec

from .errors import UnsupportedVersionError

# The same minima stand in pyproject.toml, for installers (a test compares them).
MINIMA = {"jax": "0.7.1", "jaxlib": "0.7.1", "numpy": "1.26"}
LIBRARY_MINIMA = {"pytensor": "2.38", "aesara": "2.9"}

NONE = "none is installed"
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
    needed = {package: _misfit(package, minimum) for package, minimum in MINIMA.items()}
    if needed["jaxlib"] == NONE and not needed["jax"]:
        needed["jaxlib"] = ""  # what jax itself says about its release
    _refuse({package: found for package, found in needed.items() if found}, MINIMA)
    _check_neighbours("jax", ("jaxlib", "numpy"))


def check_library(package: str) -> None:
    """The same for a graph library: "pytensor" or "aesara".

    Raises:
        UnsupportedVersionError: it is too old, or needs another NumPy.
    """
    found = _misfit(package, LIBRARY_MINIMA[package])
    _refuse({package: found} if found else {}, LIBRARY_MINIMA)
    _check_neighbours(package, ("numpy",))


def _misfit(package: str, minimum: str) -> str:
    found = _installed(package)
    if found is None:
        return NONE
    return f"found {found}" if _numbers(found) < _numbers(minimum) else ""


def _refuse(misfits: Mapping[str, str], minima: Mapping[str, str]) -> None:
    if misfits:
        needed = " and ".join(f"{package} >= {minima[package]} ({found})" for package, found in misfits.items())
        command = " ".join(f"'{package}>={minima[package]}'" for package in misfits)
        raise UnsupportedVersionError(f"hlograph needs {needed}. Install with: pip install {command}")


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
                f"{package} {_installed(package)} needs {name} {needed}; {f'found {found}' if found else NONE}. "
                f"Install what fits together with: pip install '{package}=={_installed(package)}' {name}"
            )


def _installed(package: str) -> str | None:
    try:
        return None if package in MINIMA and find_spec(package) is None else version(package)
    except (PackageNotFoundError, ImportError):
        return None


def _numbers(text: str) -> tuple[int, ...]:
    """A release as numbers, without what marks pre-releases and without zeros at its end: 0.12 is 0.12.0."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text, maxsplit=1)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
