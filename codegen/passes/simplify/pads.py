"""sum_of_pads: a sum of pads with disjoint support is a concatenate.

    before  %p = stablehlo.pad %a, %zero, low = [0], high = [2]
            %q = stablehlo.pad %b, %zero, low = [2], high = [0]
            %s = stablehlo.add %p, %q
    after   %s = stablehlo.concatenate %a, %b, dim = 0

In: the last `add` of a tree of adds, each the only use of the one before; a write into zeros (`dynamic_update_slice` at
known places) counts as a pad. Whole trees go at once, in time that is linear but for sorting. Gaps become zeros; two
pads of the same places are added first; pads may lie in a grid (several axes) as long as rows of it do not interleave.
A tree may hold terms that are no pads: they are added to the concatenate.

Preconditions: static shapes, no interior or negative padding, one padding value, 0.0 or -0.0; supports are the same or
disjoint; and the sum is large enough: XLA makes one kernel of a sum of pads, which looks at each element once for each
pad, and one for each part of a concatenate. Rounding: each place gets the same numbers, but 0.0 is no longer added, so
that -0.0 stays -0.0; several terms that are no pads, or several pads at the same places, are added in another order.
With `reassociate=false`, 0.0 is written in place of -0.0, and a sum whose order would change stays.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ...ir.bindings import ir
from ...ir.refused import require
from ..pad_sums import Box, joined_pads
from ..rewriting import rewrite

# Up to so many pads, or from so many elements on (of pads of one element each, where one kernel can make them all), a
# concatenate is as fast or faster: see benchmarks/simplify.py.
_FEW, _ELEMENTS, _SINGLE = 7, 4096, 256


@rewrite("stablehlo.add", exact=True)
def sum_of_pads(op: ir.Operation) -> ir.Value | None:
    """A sum of pads with disjoint support is a concatenate."""
    return joined_pads(op, _is_faster)


def _is_faster(boxes: Collection[Box], shape: tuple[int, ...]) -> None:
    """Refuses what XLA computes faster as a sum."""
    single = all(stop - start == 1 for box in boxes for start, stop in box)
    require(
        len(boxes) <= _FEW or math.prod(shape) >= (_SINGLE if single else _ELEMENTS),
        f"a sum of {len(boxes)} pads of only {math.prod(shape)} elements, which XLA computes in one kernel",
    )
