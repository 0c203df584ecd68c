"""The ops on keys, in front of PyTensor's `Op`. Imports PyTensor: only for where its graphs are read."""

from __future__ import annotations

from pytensor.graph.op import Op

from ..library import library
from .key_ops import DrawParts, FoldInParts, SplitKeyParts, register

GRAPHS = library("pytensor")


class SplitKey(SplitKeyParts, Op):
    __doc__ = SplitKeyParts.__doc__
    library = GRAPHS


class FoldIn(FoldInParts, Op):
    __doc__ = FoldInParts.__doc__
    library = GRAPHS


class Draw(DrawParts, Op):
    __doc__ = DrawParts.__doc__
    library = GRAPHS


register(SplitKey, FoldIn, Draw)
