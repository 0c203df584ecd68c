"""What is known of each op of StableHLO and CHLO: one line for each, read by the builder, the analyses and the passes.

In: nothing. Out: sets of names, by kind and by fact. Decision to know: a fact holds of the op wherever it stands; what
only one pass makes of an op (what it costs there, whether it is worth a look) is in that pass.

Kinds:
    elementwise  each element of the result comes from the operands' elements at the same place. `bitcast_convert` is
                 among them only where it keeps the shape, and `select` and `clamp` may have scalar operands: who asks
                 looks at shapes
    making       no operand
    moving       elements of operands, at places that the op's attributes say
    indexed      the same, at places that operands say
    combining    an element of the result comes from many
    control      has blocks that are run, or ends one
    other        anything else

Facts:
    kernel       XLA:CPU compiles it inside of a kernel of several ops. Any other op stays outside: XLA refuses most of
                 those that need its runtime, but some end the process, so an op gets this after random programs with
                 it have run
    starts       XLA:CPU starts a kernel, or calls a library, for it alone
    finite       finite real operands give a finite result
    parts        `finite` holds of complex numbers too: it treats them part by part
    zero         zeros, of either sign, give a zero, of either sign
    nonnegative  a result that is a float is not below 0 (it may be NaN)
    keeps        it is not, where no operand is
    first        all elements of the result are elements of the first operand
    again        a value combined with itself is the value, and order does not matter: initial values may count twice
    ordered      combining in another order, or in other groups, gives the same bits, also of floats
    effect       it does more than to give its result, or depends on where and when it runs. A `custom_call` may say
                 that it does not (`has_side_effect = false`)

Axes: `attribute=word` says what an attribute, a list of axes or of one number for each axis, does to axes;
`op_sheet.py` reads it. Elementwise ops keep all axes, and say nothing.
    to, from     the result's axis for each of the operand's; the operand's axis for each of the result's
    gone         the op combines what lies along these axes; the result has not got them
    along        it moves elements along these axes (`joined`: and adds some), and no others
    0, 1, size   one number an axis: where it is another, or another than the axis' size, the op moves elements
    last, every  so many axes at the end are changed; it lists all axes
    dot, gather  dimension numbers
    by=          no attribute says it: `reshape`; `update` (an operand has fewer elements); `last2` (of matrices);
                 `parts` (an operand says how much is taken of each axis)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np

from ..dtypes import limits
from .bindings import ir
from .refused import needed

_TABLE = """
stablehlo.abs                     elementwise kernel finite zero nonnegative
stablehlo.add                     elementwise kernel zero keeps
stablehlo.and                     elementwise kernel again ordered
stablehlo.atan2                   elementwise kernel
stablehlo.bitcast_convert         elementwise kernel
stablehlo.cbrt                    elementwise kernel zero
stablehlo.ceil                    elementwise kernel finite zero
stablehlo.clamp                   elementwise kernel finite zero
stablehlo.compare                 elementwise kernel
stablehlo.complex                 elementwise kernel zero
stablehlo.convert                 elementwise kernel zero
stablehlo.cosine                  elementwise kernel finite
stablehlo.count_leading_zeros     elementwise kernel
stablehlo.divide                  elementwise kernel
stablehlo.exponential             elementwise kernel nonnegative
stablehlo.exponential_minus_one   elementwise kernel zero
stablehlo.floor                   elementwise kernel finite zero
stablehlo.imag                    elementwise kernel zero
stablehlo.is_finite               elementwise kernel
stablehlo.log                     elementwise kernel
stablehlo.log_plus_one            elementwise kernel zero keeps
stablehlo.logistic                elementwise kernel finite nonnegative
stablehlo.maximum                 elementwise kernel finite zero again ordered
stablehlo.minimum                 elementwise kernel finite zero keeps again ordered
stablehlo.multiply                elementwise kernel keeps
stablehlo.negate                  elementwise kernel finite parts zero
stablehlo.not                     elementwise kernel
stablehlo.or                      elementwise kernel again ordered
stablehlo.popcnt                  elementwise kernel
stablehlo.power                   elementwise kernel keeps
stablehlo.real                    elementwise kernel zero
stablehlo.reduce_precision        elementwise kernel
stablehlo.remainder               elementwise kernel
stablehlo.round_nearest_afz       elementwise kernel finite zero
stablehlo.round_nearest_even      elementwise kernel finite zero
stablehlo.rsqrt                   elementwise kernel
stablehlo.select                  elementwise kernel finite parts
stablehlo.shift_left              elementwise kernel
stablehlo.shift_right_arithmetic  elementwise kernel
stablehlo.shift_right_logical     elementwise kernel
stablehlo.sign                    elementwise kernel finite zero
stablehlo.sine                    elementwise kernel finite zero
stablehlo.sqrt                    elementwise kernel zero nonnegative
stablehlo.subtract                elementwise kernel zero
stablehlo.tan                     elementwise kernel zero
stablehlo.tanh                    elementwise kernel finite zero
stablehlo.xor                     elementwise kernel ordered
chlo.acos                         elementwise kernel
chlo.acosh                        elementwise kernel
chlo.asin                         elementwise kernel zero
chlo.asinh                        elementwise kernel zero
chlo.atan                         elementwise kernel finite zero
chlo.atanh                        elementwise kernel zero
chlo.bessel_i1e                   elementwise kernel
chlo.conj                         elementwise kernel finite parts zero
chlo.constant_like                elementwise
chlo.cosh                         elementwise kernel
chlo.digamma                      elementwise kernel
chlo.erf                          elementwise kernel finite zero
chlo.erf_inv                      elementwise kernel
chlo.erfc                         elementwise kernel finite
chlo.is_inf                       elementwise kernel
chlo.is_neg_inf                   elementwise kernel
chlo.is_pos_inf                   elementwise kernel
chlo.lgamma                       elementwise kernel
chlo.mulhi                        elementwise
chlo.next_after                   elementwise kernel
chlo.polygamma                    elementwise kernel
chlo.sinh                         elementwise kernel zero
chlo.square                       elementwise kernel zero
chlo.tan                          elementwise kernel
chlo.zeta                         elementwise kernel
stablehlo.constant                making      kernel
stablehlo.iota                    making      kernel nonnegative
chlo.constant                     making      kernel
stablehlo.broadcast_in_dim        moving      kernel first  broadcast_dimensions=to
stablehlo.concatenate             moving      kernel starts keeps  dimension=joined
stablehlo.pad                     moving      kernel  edge_padding_low=0 edge_padding_high=0 interior_padding=0
stablehlo.reshape                 moving      kernel first  by=reshape
stablehlo.reverse                 moving      kernel first  dimensions=along
stablehlo.slice                   moving      kernel first  start_indices=0 limit_indices=size strides=1
stablehlo.transpose               moving      kernel first  permutation=from
stablehlo.dynamic_gather          indexed     dimension_numbers=gather by=parts
stablehlo.dynamic_slice           indexed     kernel first  slice_sizes=size
stablehlo.dynamic_update_slice    indexed     kernel starts  by=update
stablehlo.gather                  indexed     kernel starts  dimension_numbers=gather slice_sizes=size
stablehlo.scatter                 indexed     starts
stablehlo.batch_norm_grad         combining   kernel
stablehlo.batch_norm_inference    combining   kernel
stablehlo.batch_norm_training     combining   kernel
stablehlo.cholesky                combining   starts  by=last2
stablehlo.convolution             combining   starts
stablehlo.dot_general             combining   kernel starts  dot_dimension_numbers=dot
stablehlo.fft                     combining   starts  fft_length=last
stablehlo.map                     combining   kernel  dimensions=every
stablehlo.reduce                  combining   kernel starts  dimensions=gone
stablehlo.reduce_window           combining   kernel starts  window_dimensions=1 window_strides=1 \
                                              base_dilations=1 window_dilations=1 padding=0
stablehlo.select_and_scatter      combining
stablehlo.sort                    combining   starts  dimension=along
stablehlo.triangular_solve        combining   starts  by=last2
stablehlo.case                    control     kernel starts
stablehlo.if                      control     kernel
stablehlo.return                  control     kernel
stablehlo.while                   control     kernel
stablehlo.after_all               other       effect
stablehlo.all_gather              other       effect
stablehlo.all_reduce              other       effect
stablehlo.all_to_all              other       effect
stablehlo.collective_broadcast    other       effect
stablehlo.collective_permute      other       effect
stablehlo.composite               other
stablehlo.create_token            other       effect
stablehlo.custom_call             other       starts effect
stablehlo.infeed                  other       effect
stablehlo.optimization_barrier    other       kernel
stablehlo.outfeed                 other       effect
stablehlo.partition_id            other       effect
stablehlo.recv                    other       effect
stablehlo.reduce_scatter          other       effect
stablehlo.replica_id              other       effect
stablehlo.rng                     other       effect
stablehlo.rng_bit_generator       other       starts
stablehlo.send                    other       effect
"""

_LINES = [line.split() for line in _TABLE.strip().splitlines()]
_OPS: Mapping[str, frozenset[str]] = {name: frozenset(x for x in facts if "=" not in x) for name, *facts in _LINES}
# For each op what its attributes say of axes: pairs of a name and a word.
AXES: Mapping[str, tuple[tuple[str, str], ...]] = {
    name: said
    for name, *facts in _LINES
    if (said := tuple((attribute, word) for attribute, equals, word in (x.partition("=") for x in facts) if equals))
}


def having(*facts: str, dialect: str = "") -> frozenset[str]:
    """The full names of the ops of which all of these hold: kinds and facts, as above."""
    return frozenset(name for name, own in _OPS.items() if own.issuperset(facts) and name.startswith(dialect))


STABLEHLO = having("elementwise", dialect="stablehlo.")
CHLO = having("elementwise", dialect="chlo.")
EFFECTS = having("effect")

# The operands of elementwise ops that may be scalars where the result is not.
SCALAR_OPERANDS: Mapping[str, tuple[int, ...]] = {"stablehlo.select": (0,), "stablehlo.clamp": (0, 2)}


def is_elementwise(op: ir.Operation) -> bool:
    """Whether an op computes each element of its result from the operands' elements at the same place."""
    return len(op.results) == 1 and not op.regions and (op.name in STABLEHLO or op.name in CHLO)


def is_removable(op: ir.Operation) -> bool:
    """Whether an op may go when nothing uses its results, as far as its name says: calls and regions stay."""
    if not op.name.startswith(("stablehlo.", "chlo.")) or op.name.endswith(".return"):
        return False
    return op.name not in EFFECTS and not op.regions


# ---- comparisons -----------------------------------------------------------------------------------------------

# The direction that says the same of swapped operands.
MIRRORED: Mapping[str, str] = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def direction_of(compare: ir.Operation) -> str:
    """The direction of a `stablehlo.compare`: `LT`, `LE`, `GT`, `GE`, `EQ` or `NE`."""
    text = str(compare.attributes["comparison_direction"])
    return text.removeprefix("#stablehlo<comparison_direction ").removesuffix(">")


# ---- monoids ---------------------------------------------------------------------------------------------------

Monoid = Literal["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
MONOIDS: tuple[Monoid, ...] = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def identity(monoid: Monoid | str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The value that leaves every other unchanged under a monoid (`add` or `stablehlo.add`): 0, 1, -inf, ..."""
    monoid = cast(Monoid, monoid.removeprefix("stablehlo."))
    if monoid in ("add", "or", "xor"):
        return np.zeros((), dtype)
    if monoid == "multiply":
        return np.ones((), dtype)
    if monoid == "and":
        return np.array(True) if dtype.kind == "b" else np.array(-1).astype(dtype)
    least, greatest = limits(dtype)
    return np.array(least if monoid == "maximum" else greatest)


def monoid_of(block: ir.Block) -> str | None:
    """The monoid that a region's body is, by name: one op on its two arguments, in any order."""
    found = _single_op(block)
    name = "" if found is None else found.name.partition(".")[2]
    return name if name in MONOIDS else None


def _single_op(block: ir.Block) -> ir.Operation | None:
    """The op that a block is, on its two arguments."""
    arguments = list(block.arguments)
    body, *rest = (view.operation for view in itertools.islice(block.operations, 3))
    if len(rest) != 1 or len(arguments) != 2 or rest[0].operands[0] not in body.results:
        return None
    return body if list(body.operands) in (arguments, arguments[::-1]) else None


def reduction(op: ir.Operation) -> str:
    """The name of the one op that a `stablehlo.reduce` (or a scatter) combines elements with, e.g. `stablehlo.add`.

    Raises:
        Refused: it combines in another way, or several arrays at once.
    """
    block = op.regions[0].blocks[0]
    names = " then ".join(inner.operation.name for inner in list(block.operations)[:-1])
    found = _single_op(block)
    return needed(found, f"{op.name} does not combine its elements with a single op, but with {names or 'none'}").name
