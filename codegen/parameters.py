"""Parameters: large constants that are arguments of a module, with values that callers do not give.

In: a module with large constants. Out: the module with arguments in their place, marked `hlograph.parameter`, and the
arrays by name; and back. Decision to know: a `Program` has their values as bindings, as it has those of shared
variables, so that whatever runs those runs these; files hold them beside the module (`artifact/parameters.py`) or as
constants again.

    %W = stablehlo.constant dense<...> : tensor<1000x500xf32>
    -->
    func.func @main(..., %W: tensor<1000x500xf32> {hlograph.parameter = "W", ...})

Functions with such constants are inlined first. Loops and branches use the argument as they use whatever is computed
before them; what is in other regions stays.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

import numpy as np

from . import signature as signatures
from .errors import GraphError
from .graph import fresh
from .ir.bindings import ir, run_pipeline
from .ir.functions import inline_calls
from .ir.ops import constant, tensor_type
from .ir.values import ancestors, constant_attribute, large_value, main_function, static_bytes, walk
from .passes import run_all
from .signature import Argument

Array = np.ndarray[Any, Any]
DEFAULT_LIMIT = 1 << 20  # bytes
# Ops whose regions use values from outside.
_CAPTURING = frozenset(["stablehlo.case", "stablehlo.if", "stablehlo.while"])


class Parameter:
    """The value of a parameter, read as a shared variable's is.

    What others may write to is not copied until it is first read, but known by its digest: saving needs no copy.

    Args:
        array: it; its bytes are those of now.
        name: for messages.
        frozen: whether nobody writes to it, whatever its flags say.
        check: called before each time it is read; raises where it is no longer what it was.

    Attributes:
        array: it, as it was given or as it is kept.
        digest: SHA-256 of its bytes, where others may write to it; else "".
    """

    def __init__(
        self, array: Array, name: str = "", *, frozen: bool = False, check: Callable[[], None] | None = None
    ) -> None:
        self.array, self.name, self.check = array, name, check
        self.digest = "" if frozen or is_frozen(array) else digest_of(array)
        self._kept = False

    def get_value(self, borrow: bool = True) -> Array:
        """The array, where XLA takes it in place; nobody writes to it.

        Raises:
            GraphError: its bytes are others than when the parameter was made.
            ArtifactError: the file that it lies in was written to.
        """
        if self.check is not None:
            self.check()
        if not self._kept:
            self._keep()
        return self.array

    def __reduce__(self) -> tuple[Callable[..., Parameter], tuple[Any, ...]]:
        """For pickles: the values alone, of which the file that they lie in is no part."""
        return _unpickled, (self.get_value(), self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Itself: nobody writes to it."""
        return self

    def refuse_other(self, digest: str) -> None:
        """Raises `GraphError` unless the array has this digest still."""
        if self.digest and digest != self.digest:
            raise GraphError(
                f"the array of the constant {self.name!r} was written to since the program was emitted; emit it again, "
                "or give a copy of the array to the graph"
            )

    def _keep(self) -> None:
        array = self.array
        if self.digest or array.ctypes.data % 64 or not array.flags.c_contiguous:
            room = np.empty(array.nbytes + 64, np.uint8)
            start = -room.ctypes.data % 64
            array = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            array[...] = self.array
            if self.digest:
                self.refuse_other(digest_of(array))
        array = array.view()
        array.flags.writeable = False
        self.array, self.digest, self._kept = array, "", True


def _unpickled(array: Array, name: str) -> Parameter:
    return Parameter(array, name, frozen=True)


def digest_of(array: Array) -> str:
    """SHA-256 of an array's bytes in C order, in hexadecimal digits."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8)).hexdigest()


def is_frozen(array: Any) -> bool:
    """Whether nothing writes to an array's memory, as far as flags say."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    try:
        return array is None or memoryview(array).readonly
    except TypeError:
        return False


# ---- out of a module ----------------------------------------------------------------------------------------------


def take_out(
    modules: Sequence[ir.Module], position: int, limit: int, *, fits: Callable[[np.dtype[Any]], bool]
) -> dict[str, Array]:
    """Makes arguments of the constants of modules that have at least this many bytes, in place.

    Equal constants become one argument, and all modules get all of them: a program and its pullback stay alike.

    Args:
        modules: a program's, and its pullback's.
        position: where the new arguments are put among those of each `@main`.
        limit: in bytes.
        fits: which dtypes may leave.

    Returns:
        The constants by their parameters' names.
    """
    table: dict[str, tuple[str, Array]] = {}
    taken = {argument.name for module in modules for argument in signatures.read(module).arguments}
    found = []
    for module in modules:
        holding = cache(lambda function: any(True for _ in _large_constants(function, limit)))
        inline_calls(module, fixed=True, implementing=True, only=holding)
        run_pipeline(module, "symbol-dce")
        constants = []
        for operation in list(_large_constants(main_function(module), limit)):
            array = large_value(operation)
            if array is not None and fits(array.dtype):
                key = f"{array.dtype} {array.shape} {digest_of(array)}"
                if key not in table:
                    table[key] = (fresh(_name(operation, len(table)), taken), array)
                constants.append((operation, key))
        found.append((module, constants))
    for module, constants in found if table else ():
        _replace(module, constants, table, position)
    return dict(table.values())


def _replace(
    module: ir.Module,
    constants: Sequence[tuple[ir.Operation, str]],
    table: Mapping[str, tuple[str, Array]],
    position: int,
) -> None:
    """Gives `@main` an argument at a position for each entry of the table, in place of constants with its key."""
    signature, main = signatures.read(module), main_function(module)
    block = main.regions[0].blocks[0]
    with module.context, ir.Location.unknown():
        types = {key: tensor_type(array.dtype, array.shape) for key, (_, array) in table.items()}
        values = {key: block.add_argument(type_, ir.Location.unknown()) for key, type_ in types.items()}
        for operation, key in constants:
            operation.results[0].replace_all_uses_with(values[key])
            operation.erase()
        _retype(main)
    count = len(signature.arguments)
    _reorder(main, [*range(position), *range(count, count + len(table)), *range(position, count)])
    added = [Argument(name, array.dtype, array.shape, parameter=name) for name, array in table.values()]
    arguments = (*signature.arguments[:position], *added, *signature.arguments[position:])
    signatures.write(main, replace(signature, arguments=arguments))


def _large_constants(function: ir.Operation, limit: int) -> Iterator[ir.Operation]:
    """A function's constants of at least this many bytes that may leave it."""
    for operation in walk(function):
        if operation.name == "stablehlo.constant" and (static_bytes(operation.results[0].type) or 0) >= limit:
            attribute = constant_attribute(operation)
            inside = takewhile(lambda op: op.name != "func.func", ancestors(operation))
            if (attribute is None or not attribute.is_splat) and {op.name for op in inside} <= _CAPTURING:
                yield operation


def _retype(function: ir.Operation) -> None:
    """Makes a function's type that of its block, and its attributes as many as its arguments."""
    block = function.regions[0].blocks[0]
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, old.results))
    if "arg_attrs" in function.attributes:
        entries = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        entries += [ir.DictAttr.get({})] * (len(inputs) - len(entries))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries[: len(inputs)])


def _reorder(function: ir.Operation, order: Sequence[int]) -> None:
    """Puts a function's arguments into another order."""
    if list(order) == list(range(len(order))):
        return
    block = function.regions[0].blocks[0]
    old = list(block.arguments)
    with function.context:
        for place in order:
            old[place].replace_all_uses_with(block.add_argument(old[place].type, ir.Location.unknown()))
        for place in reversed(range(len(old))):
            block.erase_argument(place)
        _retype(function)


def _name(operation: ir.Operation, number: int) -> str:
    named = re.fullmatch(r'loc\("([A-Za-z_]\w*)"\)', str(operation.location))
    return named[1] if named else f"parameter_{number}"


# ---- back into it -------------------------------------------------------------------------------------------------


def put_in(module: ir.Module, arrays: Mapping[int, Array]) -> None:
    """Makes constants of arguments of `@main`, in place.

    Args:
        module: it is changed.
        arrays: values by the arguments' places.
    """
    signature = signatures.read(module)
    main = main_function(module)
    block = main.regions[0].blocks[0]
    with module.context, ir.InsertionPoint.at_block_begin(block):
        for place in sorted(arrays, reverse=True):
            with ir.Location.name(signature.arguments[place].name):
                block.arguments[place].replace_all_uses_with(constant(arrays[place]))
            block.erase_argument(place)
        _retype(main)
    left = [argument for place, argument in enumerate(signature.arguments) if place not in arrays]
    signatures.write(main, replace(signature, arguments=tuple(left)))


# ---- data -----------------------------------------------------------------------------------------------------------

_TABLE = 16  # bytes from which a constant may differ with the data
MANY = 256  # elements of data: of fewer, what is computed in advance does not pay
_PREPARING = frozenset({"fold_constants", "compress_rows"})


def prepare(module: ir.Module, data: Mapping[int, Array], passes: Sequence[str]) -> tuple[list[Array], bool]:
    """Computes what data alone decide, in place; the module then takes the tables that are left of them, at the end.

    Args:
        module: its sizes are known.
        data: values by the arguments' places.
        passes: what it goes through.

    Returns:
        The tables; and whether it pays.
    """
    from .passes.specialize import without_decided_checks  # which calls of what was compiled need not import

    put_in(module, data)
    reports = run_all(module, passes, promising=True)
    count = len(signatures.read(module).arguments)
    tables = take_out([module], count, _TABLE, fits=lambda dtype: dtype.kind in "biuf" and dtype.isbuiltin == 1)
    signature, main = signatures.read(module), main_function(module)
    arguments = tuple(replace(argument, parameter="") for argument in signature.arguments)
    signatures.write(main, without_decided_checks(replace(signature, arguments=arguments), main))
    # A check of indices that data decide is cheaper than to compare the data in each call.
    pays = any(x.pass_name in _PREPARING and x.rewritten.keys() - {"fold_flags"} for x in reports)
    return list(tables.values()), pays and max(array.size for array in data.values()) >= MANY
