"""Types that the builder's files share: dtypes, dimensions, attributes as text."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..dims import Dim

DType = np.dtype[Any]
Dims: TypeAlias = "tuple[Dim, ...]"
Sizes: TypeAlias = "tuple[Dim, ...] | None"
Attributes = tuple[tuple[str, str], ...]

INT64: DType = np.dtype(np.int64)
INT32: DType = np.dtype(np.int32)
BOOL: DType = np.dtype(bool)
