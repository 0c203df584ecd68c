"""What a call's arguments may be and must satisfy, checked before anything runs; and checks in a graph, after it.

In: a signature and the arguments' dtypes, shapes and, for integer arguments that decide a size, values. Out: the size
of every root. Errors name the argument, the axis, what was expected and what was found. Lists of numbers or arrays and
other libraries' arrays become arrays, arguments by name their order; calls with arrays do not come here for that: what
is no array shows where the code of a call, or JAX, refuses it. Decision to know: Python's numbers in a list convert as
they do alone, where no information is lost (`[1, 2]` for floats, never `[1.5]` for integers), and arrays in a list keep
their dtype. Flags of checks come back with the results; the check's own exception is raised, with its own message.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.dtypes import kind_of, limits
from ...codegen.errors import (
    ArgumentShapeError,
    ArgumentTypeError,
    CheckFailedError,
    UnsupportedGraphError,
    demand_error,
)
from ...codegen.graph import root_base
from ...codegen.renamed import nearest
from ...codegen.signature import Argument, CheckSpec, Signature, describe
from ...codegen.sparse_parts import Group

# In the place of an argument that a call leaves out.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


def check_count(signature: Signature, count: int, shared: int = 0) -> None:
    """Raises `ArgumentTypeError` when a call has too many or too few arguments."""
    expected = len(signature.arguments) - shared
    if count != expected:
        names = ", ".join(str(a) for a in signature.arguments[:expected]) or "none"
        missing = "".join(f", {a.name!r}" for a in signature.arguments[count:expected])
        hint = f"; missing: {missing[2:]}" if missing else ""
        raise ArgumentTypeError(f"expected {expected} argument{'s' * (expected != 1)} ({names}), got {count}{hint}")


def check_type(argument: Argument, dtype: Any, *, weak: bool = False, narrow: bool = False) -> None:
    """Raises `ArgumentTypeError` for a wrong dtype; a Python number (`weak`) converts where no information is lost.

    With `narrow`, JAX has no 64-bit types now, and what it has in their place will do.
    """
    if dtype == argument.dtype or (narrow and dtype == narrowed(argument.dtype)):
        return
    kinds = "biufc"
    wanted = kinds.index(kind_of(argument.dtype).replace("u", "i"))
    if weak and dtype.kind in kinds and kinds.index(dtype.kind) <= wanted:
        return
    hint = f"; convert it with .astype({argument.dtype.name!r})"
    raise ArgumentTypeError(f"argument {argument.name!r}: expected dtype {argument.dtype}, got {dtype}{hint}")


def narrowed(dtype: Any) -> np.dtype[Any]:
    """The dtype that JAX has in place of one with 64 bits when its x64 mode is off."""
    dtype = np.dtype(dtype)
    smaller = {"f": "float32", "i": "int32", "u": "uint32", "c": "complex64"}
    wide = dtype.itemsize // (2 if dtype.kind == "c" else 1) == 8
    return np.dtype(smaller[dtype.kind]) if wide else dtype


def key_data(argument: Argument, value: Any) -> Any:
    """The integers of a PRNG key, which may be typed (`jax.random.key`) or those integers already.

    Raises:
        ArgumentTypeError: a key of another implementation than the program was made for.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or not jax.numpy.issubdtype(dtype, jax.dtypes.prng_key):
        return value
    implementation = str(jax.random.key_impl(value))
    if implementation != argument.key:
        raise ArgumentTypeError(
            f"argument {argument.name!r}: expected a PRNG key of implementation {argument.key!r}, got "
            f"{implementation!r}; use jax.random.key(seed, impl={argument.key!r})"
        )
    return jax.random.key_data(value)


def check_fits(argument: Argument, value: int) -> None:
    """Raises `ArgumentTypeError` for a Python int that the argument's dtype cannot hold."""
    least, greatest = map(int, limits(argument.dtype))
    if not least <= value <= greatest:
        raise ArgumentTypeError(
            f"argument {argument.name!r}: {value} does not fit dtype {argument.dtype} ({least} to {greatest})"
        )


def find_sizes(
    signature: Signature, shapes: Sequence[tuple[int, ...]], values: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The size of every root, from shapes and values; every other dimension and constraint is checked against them.

    Args:
        signature: the program's.
        shapes: one per argument.
        values: the roots that are integer arguments' values.

    Raises:
        ArgumentShapeError: wrong rank, wrong size, or two arguments that must agree and do not.
        IndexOutOfBoundsError: a size that an index in the graph does not fit.
    """
    for argument, shape in zip(signature.arguments, shapes, strict=True):
        if len(shape) != len(argument.dims):
            raise ArgumentShapeError(
                f"argument {argument.name!r}: expected {len(argument.dims)} axes "
                f"({describe(argument.dtype, argument.dims)}), got {len(shape)} (shape {shape})"
            )
    sizes = dict(values or {})
    for root in signature.roots:
        if root.axis is not None:
            sizes[root.name] = shapes[root.argument][root.axis]
    for argument, shape in zip(signature.arguments, shapes, strict=True):
        for axis, (dim, found) in enumerate(zip(argument.dims, shape, strict=True)):
            expected = dimension.evaluate(dim, sizes)
            if expected != found:
                names = dimension.roots(dim)
                why = f" = {dim}{origin(signature, names, argument.name, axis)}" if names else ""
                raise ArgumentShapeError(
                    f"argument {argument.name!r}, axis {axis}: expected size {expected}{why}, got {found}"
                )
    # What depends on sizes from data is checked when they are known.
    decided = [c for c in signature.constraints if dimension.roots(c.lhs) | dimension.roots(c.rhs) <= sizes.keys()]
    check_constraints(signature, decided, sizes)
    return sizes


def check_constraints(signature: Signature, constraints: Sequence[Constraint], sizes: Mapping[str, int]) -> None:
    """Raises `ArgumentShapeError` (or `IndexOutOfBoundsError`) for a constraint that the sizes violate."""
    broken = [constraint for constraint in constraints if not _holds(constraint, sizes)]
    if not broken:
        return
    told = _told(broken)
    error = demand_error(told.kind)(_constraint_message(signature, told, sizes))
    if error.option:
        error.add_note("a function of the graph itself (hlograph.function, the PyTensor mode) may take it")
    raise error


def _told(broken: Sequence[Constraint]) -> Constraint:
    """The one that is told: a demand that an option of the program does without, since others may follow from it.

    Of others the last one from which the one before follows: `n >= 0` says what `n + 1 >= 0` says, and more.
    """
    optional = [constraint for constraint in broken if demand_error(constraint.kind).option]
    if optional:
        return optional[0]
    constraint, *others = broken
    for other in others:
        if constraint.relation == other.relation == ">=":
            least = dimension.bounds(constraint.lhs - constraint.rhs - (other.lhs - other.rhs))[0]
            if least is not None and least >= 0:
                constraint = other
    return constraint


def _holds(constraint: Constraint, sizes: Mapping[str, int]) -> bool:
    try:
        return constraint.holds(sizes)
    except ZeroDivisionError:
        return False


def origin(signature: Signature, names: frozenset[str], besides: str = "", axis: int | None = None) -> str:
    """Where roots come from, in words."""
    places = []
    for root in signature.roots:
        if root.name in names:
            argument = signature.arguments[root.argument]
            if root.axis is None:
                element = "" if root.element is None else f"[{root.element}]"
                places.append(f"{root.name} is the value of argument {argument.name!r}{element}")
            elif (argument.name, root.axis) != (besides, axis):
                places.append(f"{root.name} is argument {argument.name!r}, axis {root.axis}")
    return f" ({', '.join(places)})" if places else ""


def _constraint_message(signature: Signature, constraint: Constraint, sizes: Mapping[str, int]) -> str:
    names = dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)
    found = ", ".join(f"{name} = {sizes[name]}" for name in sorted(names))
    where = f", demanded by {constraint.where}" if constraint.where else ""
    return f"expected {constraint}, got {found}{origin(signature, names)}{where}{_in_other_words(constraint, sizes)}"


def _in_other_words(constraint: Constraint, sizes: Mapping[str, int]) -> str:
    """What the libraries call it, for those who search for it: NumPy would stretch a 1, PyTensor's types say not to."""
    if constraint.relation != "==":
        return ""
    ones = [dim for dim in (constraint.lhs, constraint.rhs) if sizes.get(str(dim)) == 1]
    if ones:
        return f"; {ones[0]} = 1 is not stretched: Runtime broadcasting not allowed"
    return "; Input dimension mismatch" if "elementwise" in constraint.where else ""


def shape_and_dtype(argument: Argument, value: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Shape, dtype and weakness of a call's value.

    Raises:
        ArgumentTypeError: when it is no array and no number.
    """
    if value is MISSING:
        raise ArgumentTypeError(f"argument {argument.name!r} ({describe(argument.dtype, argument.dims)}) is missing")
    if type(value) is int and kind_of(argument.dtype) in "iu":
        check_fits(argument, value)
        return (), np.dtype(np.int64), True
    if isinstance(value, bool | int | float | complex):
        return (), np.asarray(value).dtype, True
    if type(value).__name__ == "DataArray":
        raise ArgumentTypeError(
            f"argument {argument.name!r} is a DataArray with axes {', '.join(map(str, value.dims))}, and axes count by "
            f"their order here ({describe(argument.dtype, argument.dims)}); pass x.transpose(...).values"
        )
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        raise ArgumentTypeError(
            f"argument {argument.name!r}: expected an array ({describe(argument.dtype, argument.dims)}), got "
            f"{type(value).__name__}; convert it with numpy.asarray(..., {argument.dtype.name!r})"
        )
    if not isinstance(dtype, np.dtype):
        raise ArgumentTypeError(f"argument {argument.name!r}: expected dtype {argument.dtype}, got {dtype}")
    if is_misread(value) and dtype.isnative:
        raise ArgumentTypeError(f"argument {argument.name!r} has masked elements; give values to them by x.filled(...)")
    return tuple(shape), dtype, bool(getattr(value, "weak_type", False))


def is_misread(value: Any) -> bool:
    """Whether the elements of an array are others than its memory shows: masked, or in another order of bytes.

    `jax.jit` takes either for what the memory shows, where it knows the dtype and shape from an earlier call.
    """
    if not getattr(getattr(value, "dtype", None), "isnative", True):
        return True
    return type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def shapes_of(arguments: Sequence[Argument], arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """The arrays' shapes; their dtypes are checked."""
    return [_shape_of(argument, array) for argument, array in zip(arguments, arrays, strict=True)]


def _shape_of(argument: Argument, value: Any, narrow: bool = False) -> tuple[int, ...]:
    shape, dtype, weak = shape_and_dtype(argument, value)
    check_type(argument, dtype, weak=weak, narrow=narrow)
    return shape


def check_call(
    signature: Signature, args: Sequence[Any], shared: int = 0, *, narrow: bool = False
) -> list[tuple[int, ...]]:
    """Checks count, dtypes and ranks of a call's arguments; returns the shapes.

    Args:
        signature: the program's.
        args: those of shared variables included.
        shared: how many of them are shared variables'.
        narrow: JAX has no 64-bit types now.
    """
    check_count(signature, len(args) - shared, shared)
    shapes: list[tuple[int, ...]] = []
    for argument, value in zip(signature.arguments, args, strict=True):
        shape = _shape_of(argument, value, narrow and isinstance(value, jax.Array))
        if len(shape) != len(argument.dims):
            find_sizes(signature, [*shapes, shape, *[()] * len(args)][: len(args)])
        shapes.append(shape)
    return shapes


def key_of(signature: Signature, args: Sequence[Any]) -> tuple[int, ...]:
    """The sizes and values that decide on the executable, of arguments that are checked.

    Raises:
        UnsupportedGraphError: a value that decides a size is traced.
    """
    key = []
    for root in signature.roots:
        value = args[root.argument]
        if root.axis is not None:
            key.append(np.shape(value)[root.axis])
        elif isinstance(value, jax.core.Tracer):
            name = signature.arguments[root.argument].name
            raise UnsupportedGraphError(
                f"argument {name!r} decides a size, so its value must be known when the program is compiled; "
                "inside jax.jit, mark it static"
            )
        else:
            key.append(operator.index(value if root.element is None else value[root.element]))
    return tuple(key)


def sizes_of_call(
    signature: Signature, args: Sequence[Any], shared: int = 0, *, narrow: bool = False
) -> dict[str, int]:
    """The size of every root in a call, which is checked; arguments as for `check_call`.

    Raises:
        ArgumentTypeError, ArgumentShapeError, IndexOutOfBoundsError: something is wrong with the arguments.
    """
    shapes = check_call(signature, args, shared, narrow=narrow)
    sizes = dict(zip([root.name for root in signature.roots], key_of(signature, args), strict=True))
    return find_sizes(signature, shapes, values_of(signature, sizes))


def values_of(signature: Signature, sizes: Mapping[str, int]) -> dict[str, int]:
    """Those of the sizes that are an argument's value."""
    return {root.name: sizes[root.name] for root in signature.value_roots}


def converted(arguments: Sequence[Argument], arrays: Sequence[Any], narrow: bool = False) -> list[Any]:
    """Arrays of the arguments' dtypes (as JAX has them without 64-bit types, if `narrow`)."""
    found = []
    for argument, array in zip(arguments, arrays, strict=True):
        wanted = narrowed(argument.dtype) if narrow else argument.dtype
        known = isinstance(array, jax.Array) and array.dtype == wanted  # what JAX makes of it takes long
        found.append(array if known else jax.lax.convert_element_type(array, wanted))
    return found


# ---- lists, and other libraries' arrays -----------------------------------------------------------------------------


_LISTS = (list, tuple)  # and no named tuples, which are pytrees to JAX
_ARRAYS = (np.ndarray, np.generic, jax.Array)
_NUMBERS = (bool, int, float, complex)


def to_arrays(arguments: Sequence[Argument], args: Sequence[Any]) -> Sequence[Any]:
    """A call's arguments as arrays; `args` itself where there is nothing to convert.

    Raises:
        ArgumentTypeError: a list of what does not fit the argument's dtype.
        ArgumentShapeError: lists of unequal lengths.
    """
    found = [to_array(argument, value) for argument, value in zip(arguments, args, strict=False)]
    if all(one is other for one, other in zip(found, args, strict=False)):
        return args
    return (*found, *args[len(found) :])


def to_array(argument: Argument, value: Any) -> Any:
    """A value as an array; the value itself if it is one, or nothing that can be one."""
    if type(value) in _LISTS:
        return _of_list(argument, value)
    if isinstance(value, _ARRAYS):
        return value
    if hasattr(value, "__jax_array__"):
        return value.__jax_array__()
    has_dtype = isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "__array__")
    return np.asarray(value) if has_dtype and type(value).__name__ != "DataArray" else value


def _of_list(argument: Argument, value: Sequence[Any]) -> Any:
    leaves = _leaves(value)
    wanted = f"argument {argument.name!r}: expected an array ({describe(argument.dtype, argument.dims)}), got"
    for leaf in leaves:
        if not isinstance(leaf, (*_ARRAYS, *_NUMBERS)):
            raise ArgumentTypeError(f"{wanted} a {type(value).__name__} that holds {type(leaf).__name__}: {leaf!r:.60}")
    try:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return jax.numpy.asarray(value)
        found = np.asarray(value)
    except (ValueError, TypeError):
        raise ArgumentShapeError(f"{wanted} a {type(value).__name__} whose entries differ in length") from None
    if any(type(leaf) not in _NUMBERS for leaf in leaves):
        return found
    for leaf in leaves:
        if _NUMBERS.index(type(leaf)) > "bifc".index(kind_of(argument.dtype).replace("u", "i")):
            raise ArgumentTypeError(
                f"argument {argument.name!r}: expected dtype {argument.dtype}, got a list that holds {leaf!r}; convert "
                f"it with numpy.asarray(..., {argument.dtype.name!r})"
            )
        shape_and_dtype(argument, leaf)  # whether it fits
    return found.astype(argument.dtype)


def _leaves(value: Any) -> list[Any]:
    return [leaf for entry in value for leaf in _leaves(entry)] if type(value) in _LISTS else [value]


# ---- arguments by name ----------------------------------------------------------------------------------------------


def names_of(groups: Sequence[Group]) -> list[str]:
    """What callers name their arguments by: a sparse matrix is one."""
    return [group.items[0].sparse[0] if group.sparse else group.items[0].name for group in groups]


def signature_of(groups: Sequence[Group]) -> inspect.Signature:
    """The signature that `inspect.signature` and `help` show: names, dtypes and dimensions.

    An argument whose name is no identifier is shown by its number, and cannot be given by that.
    """
    names = names_of(groups)
    shown = [root_base(name, number) for number, name in enumerate(names)]
    first = next((i + 1 for i in reversed(range(len(names))) if names[i] != shown[i]), 0)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = []
    for number, (name, group) in enumerate(zip(shown, groups, strict=True)):
        item = group.items[0]
        annotation = str(group).split(": ", 1)[1] if group.sparse else describe(item.dtype, item.dims)
        parameters.append(inspect.Parameter(name, kinds[number >= first], annotation=annotation))
    return inspect.Signature(parameters)


def in_order(function: str, groups: Sequence[Group], args: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """A call's arguments in their order, with `MISSING` for those that are left out before another one.

    Raises:
        ArgumentTypeError: a name that no argument has, or one that is given twice.
    """
    names = names_of(groups)
    found = [*args, *[MISSING] * (len(names) - len(args))]
    for name, value in keywords.items():
        if name not in names:
            hint = nearest(name, names, f"its arguments: {', '.join(names) or 'none'}")
            raise ArgumentTypeError(f"{function}() got an unexpected keyword argument {name!r}; {hint}")
        place = names.index(name)
        if place < len(args):
            raise ArgumentTypeError(f"{function}() got multiple values for argument {name!r}")
        found[place] = value
    while found and found[-1] is MISSING:
        found.pop()
    return found


# ---- checks in a graph -----------------------------------------------------------------------------------------------


def exception_class(name: str) -> type[Exception]:
    """The class that `ValueError` or `package.module.Name(ValueError)` names.

    The module is not imported for it: where it is not loaded, the built-in base in parentheses is raised.
    """
    match = re.fullmatch(r"([\w.]+)(?:\((\w+)\))?", name)
    if match is None:
        return CheckFailedError
    path, base = match.groups()
    module, _, attribute = path.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None) if module else getattr(builtins, path, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = getattr(builtins, base or "", None)
    return found if isinstance(found, type) and issubclass(found, Exception) else CheckFailedError


def raise_failed(checks: Sequence[CheckSpec], flags: Any) -> None:
    """Raises for the first check whose flag is false, or not positive."""
    values = np.asarray(flags)
    if (values > 0).all():
        return
    number = int(np.argmin(values > 0))
    failed = checks[number]
    place = f" (in {failed.place.replace('{}', str(-int(values[number])))})" if failed.place else ""
    raise exception_class(failed.exception)(failed.message + place)
