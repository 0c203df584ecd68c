"""The ops on keys, in front of PyTensor's `Op`. Imports PyTensor: only for where its graphs are read."""

from pytensor.graph.op import Op

from ..tensor.random import with_base

Keys, Draw = with_base(Op, "pytensor", __name__)
