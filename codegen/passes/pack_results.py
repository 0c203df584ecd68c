"""Several small results of one dtype become one flat array, which the caller cuts into views.

    before  return %v, %g : tensor<f64>, tensor<8xf64>     after  %0 = reshape %v : tensor<1xf64>
                                                                  %1 = concatenate %0, %g : tensor<9xf64>
                                                                  return %1

Every result of an executable costs its caller 1.6 us, a view 0.2. No pass by name: what the main function returns is no
longer what its signature says, so this is done to modules that are about to be compiled, by who calls them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..ir import ops
from ..ir.bindings import ir
from ..ir.functions import return_values
from ..ir.values import bytes_of, elements_of, main_function, terminator

SMALL = 1 << 15  # bytes; copying more costs as much as the result


@dataclass(frozen=True)
class PackedResult:
    """Where a result is found.

    Attributes:
        output: number of the output that holds it.
        start: its first element there; None where the output is the result.
        shape: the result's.
    """

    output: int
    start: int | None
    shape: tuple[int, ...]


def pack_results(
    module: ir.Module, places: Sequence[int], alone: Collection[int] = frozenset()
) -> tuple[PackedResult, ...]:
    """Packs results of the main function, in place.

    Args:
        module: a static module.
        places: which results the caller wants, in order; others are dropped.
        alone: numbers among these of results that are not packed.

    Returns:
        For each of these, where it is.
    """
    main = main_function(module)
    last = terminator(main.regions[0].blocks[0])
    values = [last.operands[place] for place in places]
    types = [ir.RankedTensorType(value.type) for value in values]
    groups: dict[object, list[int]] = {}  # by what is packed together: an element type, or one result
    for number, type_ in enumerate(types):
        small = bytes_of(type_) <= SMALL and number not in alone
        groups.setdefault(type_.element_type if small else number, []).append(number)
    outputs: list[ir.Value] = []
    found: dict[int, PackedResult] = {}
    with last.location, ir.InsertionPoint(last):
        for numbers in groups.values():  # in the order of their first results
            start = 0
            for number in numbers:
                place = start if len(numbers) > 1 else None
                found[number] = PackedResult(len(outputs), place, tuple(types[number].shape))
                start += elements_of(types[number])
            if len(numbers) == 1:
                outputs.append(values[numbers[0]])
                continue
            flat = [ops.reshape(values[number], [elements_of(types[number])]) for number in numbers]
            outputs.append(ops.concatenate(flat, 0))
    return_values(main, outputs)
    for name in ("hlograph.checks", "hlograph.counts"):  # what they say about results no longer holds
        if name in main.attributes:
            del main.attributes[name]
    return tuple(found[number] for number in range(len(values)))
