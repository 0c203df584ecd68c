"""A value of the padded program: its static tensor, the live size of each axis, and what the padding holds.

The *live box* is `[0, live)` along every axis. Inside it the tensor equals the value of the exact program; what lies
outside is padding, of which a fact is known per axis: it holds for the elements whose index along that axis is not
live, wherever they are along the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...builder.core import Tensor
from ...builder.types import DType
from ...dims import Dim
from .facts import Fact

Dims: TypeAlias = "tuple[Dim, ...]"
Interval: TypeAlias = "tuple[int | None, int | None]"  # least and greatest value


@dataclass(slots=True)
class Live:
    """A value of the padded program.

    Attributes:
        tensor: the handle; its dims are ints.
        dims: live size of each axis: an int where the axis is not padded, else a symbolic dimension.
        pads: for each axis what its padding holds; None where it has none.
        whole: what is known of all elements, live ones included.
    """

    tensor: Tensor
    dims: Dims
    pads: tuple[Fact | None, ...]
    whole: Fact

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return self.tensor.dims  # type: ignore[return-value]

    @property
    def padded(self) -> list[int]:
        """The axes that have padding."""
        return [axis for axis, dim in enumerate(self.dims) if type(dim) is not int]

    def pad(self, axis: int) -> Fact:
        """The fact about the padding of an axis; about all elements where the axis has none."""
        fact = self.pads[axis]
        return self.whole if fact is None else fact
