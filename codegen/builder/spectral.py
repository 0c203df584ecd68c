"""Eigenvalues and Schur forms of any square matrix: calls of the platform's library, which have no portable form.

In: handles on matrices (..., n, n). Out: handles. What is emitted is a private function, marked with what it
implements, whose body is a custom call that nobody knows: the `device_linalg` pass puts the library's function in its
place where the platform has one, and refuses where it has none.
"""

from __future__ import annotations

import numpy as np

from .control import call, custom_call
from .core import Tensor
from .types import Dims, DType

NO_FORM = "hlograph.library"
WITHOUT_FORM = frozenset({"eig", "schur"})


def eig(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (..., n) and, in columns, right eigenvectors (..., n, n); both complex: LAPACK's geev."""
    dtype = np.result_type(a.dtype, np.complex64)
    values, vectors = _library("eig", a, [(a.dims[:-1], dtype), (a.dims, dtype)])
    return values, vectors


def schur(a: Tensor) -> tuple[Tensor, Tensor]:
    """T and the unitary Z with `a = Z T Z^H`: LAPACK's gees.

    T is upper triangular; of a real matrix it has blocks of two on its diagonal, for pairs of complex eigenvalues.
    """
    form, vectors = _library("schur", a, [(a.dims, a.dtype)] * 2)
    return form, vectors


def _library(name: str, a: Tensor, results: list[tuple[Dims, DType]]) -> list[Tensor]:
    a.builder.equate(a.dims[-2], a.dims[-1], name)

    def body(x: Tensor) -> list[Tensor]:
        own = [(x.dims[: len(dims)], dtype) for dims, dtype in results]
        return custom_call(NO_FORM, [x], own, backend_config={"name": f'"{name}"'})

    return call(f"{name}_{a.dtype.name}", [a], body, attributes={"hlograph.implements": f'"{name}"'})
