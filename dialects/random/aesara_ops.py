"""The ops on keys, in front of Aesara's `Op`. Imports Aesara: only for where its graphs are read."""

from aesara.graph.op import Op

from ..tensor.random import with_base

Keys, Draw = with_base(Op, "aesara", __name__)
