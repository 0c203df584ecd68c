"""Names for the dynamic sizes of modules that others wrote, which have none.

In: a program whose `?` axes have positional names, and the `dims` of `load(path, dims=...)`. Out: the same
module under a signature with names, which is as good as one of ours: it is specialized, padded and called by them.

    func.func @main(%arg0: tensor<?x8xf32>, %arg1: tensor<i32>, %arg2: tensor<2xi64>)
    {"arg0": "n"}                 first axis: the others are static, or keep their positional names
    {"arg0": ["n", 8]}            all axes; names, expressions (`2*n + 1`), sizes, None for what stays
    {"arg1": "k"}                 the value of an integer is the size k
    {"arg2": ["rows", "cols"]}    the elements of an integer vector of known length are sizes

Decision to know: equal names are equal sizes. Where the value of an argument has the name of an axis, the value gets a
name of its own, and a constraint says that they are equal, so that a call checks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .. import dims as dimension
from .. import signature as signatures
from ..constraints import Constraint
from ..dims import Dim, parse
from ..errors import ArtifactError, PaddingError, PassError
from ..graph import fresh, unfolded
from ..ir.modules import refusals
from ..ir.values import main_function, returned_by
from ..passes.pad import prepare, walk
from ..passes.pad.padder import Pending
from ..program import Program
from ..signature import Argument, find_roots

_BOUND = 100  # of each size, where only the expressions for sizes are wanted
ForeignDims: TypeAlias = "Mapping[str | int, str | int | Sequence[str | int | None]]"


def name_sizes(program: Program, dims: ForeignDims) -> Program:
    """The program with names for sizes.

    Args:
        program: whose module says nothing of its sizes.
        dims: by the name or number of an argument, what its axes are; of an integer scalar, or of an integer vector of
            known length, what its values are. See above.

    Raises:
        ArtifactError: there is no such argument or axis; a name, expression or size does not fit the module; a name is
            in expressions only.
    """
    if not dims:
        return program
    said = {place: _entries(program, place, value) for place, value in _by_place(program, dims).items()}
    arguments, constraints = list(program.signature.arguments), list(program.signature.constraints)
    valued = {place: names for place, names in said.items() if arguments[place].possible_sizes}
    signed = {name for names in valued.values() for name in names if name}
    for place in said.keys() - valued.keys():
        argument = arguments[place]
        axes = [_axis(program, argument, axis, entry, signed) for axis, entry in enumerate(said[place])]
        arguments[place] = replace(argument, dims=tuple(axes))
    _name_values(program, arguments, valued, constraints)
    signature = replace(program.signature, arguments=tuple(arguments), roots=find_roots(arguments))
    known = {root.name for root in signature.roots}
    for argument in arguments:
        for dim in argument.dims:
            if lost := dimension.roots(dim) - known:
                raise _misfit(
                    program,
                    argument,
                    f"{', '.join(sorted(lost))} is nowhere the size of an axis or a value by itself, so a call cannot "
                    f"find it from {dim}",
                )
    module = program.copy_module()
    signatures.write(main_function(module), replace(signature, constraints=tuple(constraints)))
    return _with_results(program._with(module))


def _with_results(named: Program) -> Program:
    """The program with the sizes of its results that follow from the arguments', as the padding pass finds them.

    What it does not get to, behind an op without a padding rule, keeps its positional names.
    """
    module, signature = named.copy_module(), named.signature
    found: Any = {}
    with suppress(PassError, PaddingError, Pending), refusals("pad"):
        padder = prepare(module, {root.name: _BOUND for root in signature.roots}, decided=False)
        found = padder.env
        with padder.builder.function("main", [(a.dims, a.dtype) for a in padder.arguments]) as handles:
            walk(padder, handles)
    main = main_function(module)
    pairs = zip(signature.results, returned_by(main.regions[0].blocks[0]), strict=False)
    results = [replace(result, dims=found[value].dims) if value in found else result for result, value in pairs]
    signatures.write(main, replace(signature, results=tuple(results)))
    return named._with(module)


def _misfit(program: Program, argument: Argument, why: str) -> ArtifactError:
    return ArtifactError(f"{program.filename}: dims of {argument}: {why}")


def _by_place(program: Program, dims: ForeignDims) -> dict[int, Any]:
    names = [argument.name for argument in program.signature.arguments]
    found: dict[int, Any] = {}
    for key, value in dims.items():
        place = key if isinstance(key, int) else names.index(key) if key in names else -1
        if isinstance(key, bool) or not 0 <= place < len(names):
            there = ", ".join(f"{number}: {name}" for number, name in enumerate(names)) or "none"
            sizes = ", ".join(root.name for root in program.signature.roots) or "none"
            what = f"{program.filename}: dims names the argument {key!r}"
            raise ArtifactError(f"{what}; there are {there} (and the sizes {sizes})")
        if place in found:
            raise ArtifactError(f"{program.filename}: dims names the argument {names[place]!r} twice")
        found[place] = value
        argument = program.signature.arguments[place]
        own = [str(dim) for axis, dim in enumerate(argument.dims) if str(dim) != f"{argument.name}_{axis}"]
        own = [*(text for text in own if not text.isdigit()), *filter(None, (*argument.values, argument.size))]
        if own:
            raise ArtifactError(
                f"{program.filename}: the sizes of {argument.name!r} have names in the file ({', '.join(own)}); dims "
                "is for modules that say nothing of theirs"
            )
    return found


def _entries(program: Program, place: int, value: Any) -> tuple[Any, ...]:
    argument = program.signature.arguments[place]
    if isinstance(value, str | int | np.integer):
        value = (value, ...) if argument.dims and not argument.possible_sizes else (value,)
    count = argument.possible_sizes or len(argument.dims)
    try:
        said = unfolded(tuple(value), count)
    except (TypeError, ValueError) as error:
        raise _misfit(program, argument, str(error)) from None
    if len(said) != count:
        parts = "values" if argument.possible_sizes else "axes"
        raise _misfit(program, argument, f"{len(said)} entries for {count} {parts}")
    for entry in said:
        if isinstance(entry, bool) or not isinstance(entry, str | int | np.integer | None):
            raise _misfit(program, argument, f"expected a name, an expression, a size or None, got {entry!r}")
    return said


def _axis(program: Program, argument: Argument, axis: int, entry: Any, signed: set[str]) -> Dim:
    dim = argument.dims[axis]
    if entry is None:
        return dim
    if not isinstance(entry, str):
        if entry < 0 or (type(dim) is int and dim != entry):
            raise _misfit(program, argument, f"axis {axis} cannot be {entry}")
        return int(entry)
    if type(dim) is int:
        raise _misfit(program, argument, f"axis {axis} is always {dim} and takes no name, got {entry!r}")
    return _parsed(program, argument, entry, signed)


def _parsed(program: Program, argument: Argument, text: str, signed: set[str]) -> Dim:
    try:
        return parse(text, signed=signed)
    except (ValueError, ArithmeticError) as error:
        raise _misfit(program, argument, str(error)) from None


def _name_values(
    program: Program,
    arguments: list[Argument],
    valued: Mapping[int, Sequence[Any]],
    constraints: list[Constraint],
) -> None:
    taken = {root for argument in arguments for dim in argument.dims for root in dimension.roots(dim)}
    bare = {str(dim) for argument in arguments for dim in argument.dims if dimension.roots(dim) == {str(dim)}}
    seen: Counter[str] = Counter(bare)
    for place, names in valued.items():
        argument, own = arguments[place], []
        if any(name is None for name in names):
            if any(name is not None for name in names):
                raise _misfit(program, argument, "name all of the values that it gives, or none")
            continue
        for name in names:
            if not isinstance(name, str) or dimension.roots(_parsed(program, argument, name, {name})) != {name}:
                raise _misfit(program, argument, f"a value has a name, not {name!r}")
            seen[name] += 1
            own.append(fresh(f"{name}_value", taken) if seen[name] > 1 else name)
            symbol = dimension.symbol(own[-1], signed=True)
            constraints.append(Constraint(symbol, ">=", 0, f"the size {name}, a value of {argument.name}"))
            if own[-1] != name:
                same = dimension.symbol(name, signed=name not in bare)
                constraints.append(Constraint(same, "==", symbol, f"dims call both {name}"))
        arguments[place] = replace(argument, values=tuple(own))
