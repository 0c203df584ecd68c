"""What is asked of modules: of their ops and functions, of values, of attributes and types.

In: what a module consists of. Out: answers, or `Refused` with the reason in the user's terms where a rewrite cannot do
without (`defining`, `only_user`, `static_shape`). Nothing here changes what exists.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from ..dtypes import kind_of
from ..errors import ArtifactError
from .bindings import DYNAMIC, RELEASE, ir, stablehlo
from .refused import Refused, require

Key = TypeVar("Key", bound=Hashable)

# ---- element types and dtypes -----------------------------------------------------------------------------------

# Those that NumPy has, and XLA:CPU code of ours is written for.
REAL_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

_FLOATS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    # Those that JAX has beside NumPy's own (ml_dtypes); an older jaxlib may lack one.
    "f4E2M1FN": "float4_e2m1fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
}
_CLASSES = {name: f"Float{text[1:]}Type" if "E" in text else f"{text.upper()}Type" for text, name in _FLOATS.items()}
_DTYPES = _FLOATS | {"i1": "bool", "complex<f32>": "complex64", "complex<f64>": "complex128"}
_DTYPES |= {f"{sign}i{width}": f"{sign}int{width}" for sign in ("", "u") for width in (2, 4, 8, 16, 32, 64)}


def element_type(dtype: np.dtype[Any], context: ir.Context) -> ir.Type:
    """The MLIR element type of a numpy dtype: `i1` for bool, signless and `ui` integers, floats, complex."""
    with context:
        if dtype.kind == "b":
            return ir.IntegerType.get_signless(1)
        if dtype.kind == "c":
            return ir.ComplexType.get(ir.F32Type.get() if dtype.itemsize == 8 else ir.F64Type.get())
        sign, is_integer, width = dtype.name.partition("int")
        if is_integer and width.isdecimal():
            make = ir.IntegerType.get_unsigned if sign else ir.IntegerType.get_signless
            return make(int(width))
        if hasattr(ir, _CLASSES.get(dtype.name, "")):
            return getattr(ir, _CLASSES[dtype.name]).get()
    raise TypeError(f"dtype {dtype} has no StableHLO element type")


def numpy_dtype(type_: ir.Type) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type (the inverse of `element_type`)."""
    name = _DTYPES.get(str(type_), "")
    if name == "bool" or hasattr(np, name):  # NumPy 1 has no `np.bool`
        return np.dtype(name)
    import ml_dtypes

    if not hasattr(ml_dtypes, name):
        raise TypeError(f"element type {type_} has no numpy dtype")
    return np.dtype(getattr(ml_dtypes, name))


def is_static(type_: ir.Type) -> bool:
    """Whether a type is a tensor whose sizes are all known."""
    return isinstance(type_, ir.RankedTensorType) and type_.has_static_shape


def elements_of(type_: ir.Type) -> int:
    """The number of elements of a tensor; 0 where a size is not known."""
    return math.prod(ir.RankedTensorType(type_).shape) if is_static(type_) else 0


def bytes_of(type_: ir.Type) -> int:
    """The size of a static tensor."""
    return elements_of(type_) * numpy_dtype(ir.RankedTensorType(type_).element_type).itemsize


def static_bytes(type_: ir.Type) -> int | None:
    """The size of a tensor; None where it has no static one, for what is no tensor, and for what NumPy has no dtype."""
    try:
        return bytes_of(type_) if is_static(type_) else None
    except TypeError:
        return None


# ---- attributes: constants, lists of integers, dimension numbers ------------------------------------------------

Array = np.ndarray[Any, Any]
PREFIX = "hlograph."  # of our own attributes


def dense_attr(array: np.ndarray[Any, Any], context: ir.Context) -> ir.DenseElementsAttr:
    """A constant's attribute, made from the array's buffer (no text)."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    # jaxlib 0.7 and 0.8 take eight booleans a byte, but one as it is.
    packed = array.dtype == bool and array.size > 1 and RELEASE in ("0.7", "0.8")
    with context:
        buffer: Any = np.packbits(array, bitorder="little") if packed else array
        return ir.DenseElementsAttr.get(buffer, type=element_type(array.dtype, context), shape=list(array.shape))


def attributes_of(source: Any) -> dict[str, ir.Attribute]:
    """An operation's attributes, or a dictionary attribute's entries, by name."""
    return {name: source[name] for name in names_of(source)}


def names_of(source: Any) -> list[str]:
    """The names of an operation's attributes; the values of some (complex constants) cannot be had from Python."""
    if isinstance(source, ir.OpAttributeMap) and hasattr(source, "keys"):  # in older releases it has not
        return list(source.keys())
    return [item if isinstance(item, str) else item.name for item in source]


def integers(op: ir.Operation, name: str) -> tuple[int, ...]:
    """An attribute that is a list of integers, such as `dimensions` or `start_indices`; () where there is none."""
    return tuple(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else ()


def call_target(op: ir.Operation) -> str:
    """What a custom call calls; "" of any other op."""
    return ir.StringAttr(op.attributes["call_target_name"]).value if op.name == "stablehlo.custom_call" else ""


def text_attribute(op: ir.Operation, name: str) -> str:
    """An attribute as MLIR writes it; "" where there is none."""
    return str(op.attributes[name]) if name in op.attributes else ""


def flag_of(operation: ir.Operation, name: str, default: bool) -> bool:
    """A boolean attribute of an operation."""
    return ir.BoolAttr(operation.attributes[name]).value if name in operation.attributes else default


def constant_attribute(operation: ir.Operation) -> ir.DenseElementsAttr | None:
    """The elements of a `stablehlo.constant`; None for complex ones.

    The bindings have no class for those, and old ones end the process when they are asked for one.
    """
    kind = ir.RankedTensorType(operation.results[0].type).element_type
    return None if numpy_dtype(kind).kind == "c" else ir.DenseElementsAttr(operation.attributes["value"])


def constant_value(operation: ir.Operation) -> np.ndarray[Any, Any] | None:
    """The value of a `stablehlo.constant`, a splat as a 0-d array; None where the bindings cannot read it."""
    attribute = constant_attribute(operation)
    if attribute is None:
        return _complex_splat(str(operation))
    if attribute.is_splat:
        dtype = numpy_dtype(ir.RankedTensorType(operation.results[0].type).element_type)
        splat: Any = attribute.get_splat_value()
        return np.asarray(
            splat.value if dtype.kind not in "iu" else int(splat.value) % (1 << 8 * dtype.itemsize)
        ).astype(dtype)
    array = np.array(attribute)
    return None if array.dtype == object else array


def large_value(operation: ir.Operation) -> Array | None:
    """The value of a `stablehlo.constant` that is no splat and has over 100 elements, of whole bytes each.

    None of others, and where the bytes cannot be had. What the bindings cannot read is read as MLIR prints it: twice
    the bytes of the array, for a moment.
    """
    attribute = constant_attribute(operation)
    array = None if attribute is None or attribute.is_splat else np.array(attribute)
    if array is not None and array.dtype != object:
        return array
    kind = ir.RankedTensorType(operation.results[0].type)
    dtype, shape = numpy_dtype(kind.element_type), tuple(kind.shape)
    text = str(operation.get_asm(large_elements_limit=None))
    start = text.find('dense<"0x')
    narrow = dtype.kind == "V" and int(re.findall(r"\d+", str(kind.element_type))[0]) < 8  # i4, f4E2M1FN
    if start < 0 or narrow:
        return None
    start += len('dense<"0x')
    data = np.frombuffer(bytes.fromhex(text[start : text.index('"', start)]), dtype)
    return data.reshape(shape) if data.size == math.prod(shape) else None


def _complex_splat(text: str) -> np.ndarray[Any, Any] | None:
    match = re.search(r"dense<\(([^(),]+),([^(),]+)\)> : tensor<.*complex<(f32|f64)>", text)
    if match is None:
        return None
    try:
        value = complex(float(match[1]), float(match[2]))
    except ValueError:  # hexadecimal: inf or NaN
        return None
    return np.asarray(value, np.complex64 if match[3] == "f32" else np.complex128)


def dot_sides(op: ir.Operation) -> tuple[list[list[int]], list[list[int]]]:
    """The axes that a `dot_general` contracts, and those of batches, of its left operand and of its right one."""
    found = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    contracting = [list(found.lhs_contracting_dimensions), list(found.rhs_contracting_dimensions)]
    return contracting, [list(found.lhs_batching_dimensions), list(found.rhs_batching_dimensions)]


def convolution_numbers(attribute: ir.Attribute) -> Any:
    """The dimension numbers of a convolution: `input_batch_dimension`, `kernel_spatial_dimensions`, ..."""
    return stablehlo.ConvDimensionNumbers(attribute)


# ---- values: types, definitions, uses, places -------------------------------------------------------------------


def shape_of(value: ir.Value | ir.Type) -> tuple[int | None, ...]:
    """A tensor's sizes, or those of a type; None for a dynamic one."""
    type_ = value.type if isinstance(value, ir.Value) else value
    return tuple(None if size == DYNAMIC else size for size in ir.RankedTensorType(type_).shape)


def sizes_of(value: ir.Value) -> list[int]:
    """A tensor's sizes, where they are known to be static."""
    return list(ir.RankedTensorType(value.type).shape)


def static_shape(value: ir.Value) -> tuple[int, ...]:
    """A tensor's sizes.

    Raises:
        Refused: one of them is dynamic.
    """
    shape = shape_of(value)
    require(None not in shape, f"{value.type} has a dynamic dimension (specialize the program first)")
    return tuple(size for size in shape if size is not None)


def dtype_of(value: ir.Value) -> np.dtype[Any]:
    """A tensor's numpy dtype.

    Raises:
        Refused: numpy has none for it.
    """
    try:
        return numpy_dtype(ir.RankedTensorType(value.type).element_type)
    except TypeError as error:
        raise Refused(str(error)) from None


def owner(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for a block argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def key_of(op: ir.Operation) -> int:
    """What tells an op from all others while it is there, to be taken then; of those without results, their blocks.

    The hash of an op itself is that of what it reads.
    """
    return hash(op.results[0]) if len(op.results) else hash(op.block)


def defining(value: ir.Value, *names: str) -> ir.Operation:
    """The op that a value is a result of, which must have one of these names (any, if none is given).

    Raises:
        Refused: it is a block argument, or another op.
    """
    op = owner(value)
    if op is None:
        raise Refused(f"an operand is an argument, not the result of {' or '.join(names) or 'an op'}")
    require(not names or op.name in names, f"an operand is the result of {op.name}, not of {' or '.join(names)}")
    return op


_SPREADING = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape", "dynamic_reshape", "transpose")
)

_ARITHMETIC = {
    "stablehlo.add": np.add,
    "stablehlo.subtract": np.subtract,
    "stablehlo.multiply": np.multiply,
}


def constant(value: ir.Value) -> Array | None:
    """The value of a constant, a splat as a 0-d array; None if it is none.

    Also of one number that is broadcast, by a static or a dynamic op, reshaped, or converted without rounding, and of
    the sum, difference or product of two such numbers.
    """
    op = owner(value)
    if op is not None and op.name in _ARITHMETIC:
        return _computed(op)
    if op is not None and op.name in _SPREADING:
        found = constant(op.operands[0])
        return found if found is not None and found.ndim == 0 else None
    if op is not None and op.name == "stablehlo.convert":
        return _converted(constant(op.operands[0]), value)
    if op is None or op.name != "stablehlo.constant":
        return None
    try:
        return constant_value(op)
    except TypeError:  # of a type that numpy lacks
        return None


def _computed(op: ir.Operation) -> Array | None:
    """Arithmetic on two numbers that are no results of arithmetic themselves, so that long chains are not followed."""
    if any(getattr(owner(unspread(operand)), "name", "") in _ARITHMETIC for operand in op.operands):
        return None
    one, other = (constant(operand) for operand in op.operands)
    if one is None or other is None or one.ndim or other.ndim or one.dtype.char not in "fd":
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(_ARITHMETIC[op.name](one, other))
    tiny = np.finfo(found.dtype).tiny  # what is smaller may be zero on a device
    return found if np.isfinite(found) and (found == 0 or abs(found) >= tiny) else None


def _converted(number: Array | None, value: ir.Value) -> Array | None:
    """One number as another type holds it, if it is the same there."""
    if number is None or number.ndim:
        return None
    try:
        dtype = numpy_dtype(ir.RankedTensorType(value.type).element_type)
    except TypeError:
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(number.astype(dtype))
        same = kind_of(number.dtype) != "c" or kind_of(dtype) == "c"
        back = found.astype(number.dtype) if same else found
    return found if same and back.tobytes() == number.tobytes() else None


def unspread(value: ir.Value) -> ir.Value:
    """What a value was before it was broadcast or reshaped."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        value, op = op.operands[0], owner(op.operands[0])
    return value


def unit_root(value: ir.Value) -> ir.Value:
    """What a value is, up to axes of size 1 added or taken away."""
    op = owner(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        inner, outer = shape_of(op.operands[0]), shape_of(op.results[0])
        if None in inner or [size for size in inner if size != 1] != [size for size in outer if size != 1]:
            break
        axes = integers(op, "broadcast_dimensions")
        if list(axes) != sorted(axes):
            break
        value = op.operands[0]
        op = owner(value)
    return value


def is_constant(value: ir.Value, number: complex) -> bool:
    """Whether all elements of a value are known to be this number."""
    found = constant(value)
    return found is not None and found.ndim == 0 and bool(found == number)


def users(value: ir.Value) -> list[ir.Operation]:
    """The ops that use a value, each as often as it does."""
    return [use.owner.operation for use in value.uses]


def only_user(value: ir.Value, *names: str) -> ir.Operation:
    """The one op that uses a value, once.

    Raises:
        Refused: there are other uses, or the user has another name.
    """
    found = users(value)
    require(len(found) == 1, f"the value has {len(found)} uses, not one ({', '.join(op.name for op in found[:4])})")
    require(not names or found[0].name in names, f"it is used by {found[0].name}, not by {' or '.join(names)}")
    return found[0]


def single_use(value: ir.Value) -> bool:
    """Whether a value is used exactly once."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def reached(starts: Iterable[Key], following: Callable[[Key], Iterable[Key]]) -> Iterator[Key]:
    """What can be reached from some things, they themselves included: each once, before `following` is asked of it."""
    pending, seen = list(starts), set[Key]()
    while pending:
        found = pending.pop()
        if found not in seen:
            seen.add(found)
            yield found
            pending.extend(following(found))


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that an op lies in, innermost first, up to the module."""
    parent = op.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def enclosing(op: ir.Operation, name: str = "stablehlo.while") -> ir.Operation | None:
    """The innermost op of this name that an op lies in."""
    return next((parent for parent in ancestors(op) if parent.name == name), None)


def dominates(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value can be used at the place before an op."""
    definer = owner(value)
    block = value.owner if definer is None else definer.block
    place: ir.Operation | None = op
    while place is not None and place.block != block:
        parent = place.parent
        place = None if parent is None or parent.operation.parent is None else parent.operation
    if place is None:
        return False
    return definer is None or (definer != place and definer.is_before_in_block(place))


# ---- ops and functions of a module, and the ends of blocks ------------------------------------------------------


def walk(root: ir.Module | ir.Operation) -> list[ir.Operation]:
    """An operation (a module's own) and all that its regions hold, in the order of the text."""
    found: list[ir.Operation] = []
    add, go_on = found.append, ir.WalkResult.ADVANCE

    def visit(operation: ir.Operation) -> ir.WalkResult:
        add(operation)
        return go_on

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def holds(root: ir.Module | ir.Operation, test: Callable[[ir.Operation], bool]) -> bool:
    """Whether an operation, or one that it holds, passes a test; the walk ends there."""
    found = False

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = test(operation)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def has_operations(module: ir.Module, count: int) -> bool:
    """Whether a module holds this many operations, itself included."""
    numbers = itertools.count(1)
    return holds(module, lambda _: next(numbers) >= count)


def terminator(block: ir.Block) -> ir.Operation:
    """A block's last op, without a walk along the block."""
    last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    assert last is not None, "a block with a terminator"
    return last.operation


def returned_by(block: ir.Block) -> list[ir.Value]:
    """The operands of a block's terminator."""
    return list(terminator(block).operands)


def loops_by_depth(module: ir.Module) -> list[ir.Operation]:
    """All loops of a module, those that lie deepest first, otherwise in order."""
    found: list[tuple[int, int, ir.Operation]] = []
    for number, op in enumerate(walk(module)):
        if op.name == "stablehlo.while":
            depth, parent = 0, op.parent
            while parent is not None and parent.operation.name != "builtin.module":  # jaxlib 0.7: it has no parent
                depth, parent = depth + 1, parent.operation.parent
            found.append((-depth, number, op))
    return [op for _, _, op in sorted(found, key=lambda entry: entry[:2])]


def symbol_of(function: ir.Operation) -> str:
    """A function's name."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def free_name(wanted: str, taken: Container[str]) -> str:
    """A name that is not taken: `wanted`, or `wanted_1`, ..."""
    names = (f"{wanted}_{number}" if number else wanted for number in itertools.count())
    return next(name for name in names if name not in taken)


def free_symbol(module: ir.Module | ir.Operation, wanted: str, others: Collection[str] = ()) -> str:
    """A symbol that the module does not hold, and that is not one of others."""
    operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
    return free_name(wanted, {*others, *(symbol_of(op) for op in operations if "sym_name" in op.attributes)})


def module_name(module: ir.Module) -> str:
    """The module's name; `main` where it has none."""
    attributes = module.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else "main"


def main_function(module: ir.Module, filename: str = "<module>") -> ir.Operation:
    """The module's entry: `@main`, or the only public function.

    Raises:
        ArtifactError: when there is none, or it is ambiguous.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    for function in functions:
        if ir.StringAttr(function.attributes["sym_name"]).value == "main":
            return function
    public = [f for f in functions if "private" not in str(attributes_of(f.attributes).get("sym_visibility"))]
    if len(public) == 1:
        return public[0]
    names = ", ".join(str(f.attributes["sym_name"]) for f in functions) or "none"
    raise ArtifactError(f"{filename} has no function @main (functions: {names})")


def location_text(location: ir.Location) -> str:
    """A location in short: the graph's variable, or what JAX calls the op. JAX's own text is a whole call stack."""
    _before, quote, rest = str(location).partition('"')
    return rest.partition('"')[0] if quote else "unknown location"


def place_text(location: ir.Location | None) -> str:
    """The line that an op comes from, as far as JAX has said: `model.py:12 in loss`; "" for others."""
    found = re.search(r'"([^"]*)"\("([^"]+)":(\d+)', str(location))
    return f"{os.path.basename(found[2])}:{found[3]} in {found[1]}" if found else ""


# ---- what is in a module -------------------------------------------------------------------------------------------


_NOT_COUNTED = frozenset(["func.func", "func.return", "stablehlo.return", "builtin.module"])


def op_counts(module: ir.Module) -> Counter[str]:
    """How often each op occurs; terminators and functions are not counted."""
    return Counter(operation.name for operation in walk(module) if operation.name not in _NOT_COUNTED)


def constants(module: ir.Module) -> list[tuple[str, int, str]]:
    """The constants, largest first: (type, bytes, location). A splat counts the bytes of one element."""
    found = []
    for operation in walk(module):
        if operation.name != "stablehlo.constant":
            continue
        type_ = ir.RankedTensorType(operation.results[0].type)
        value = constant_value(operation)
        count = 1 if value is not None and not value.ndim else int(np.prod(type_.shape, dtype=np.int64))
        found.append((str(type_), count * numpy_dtype(type_.element_type).itemsize, str(operation.location)))
    return sorted(found, key=lambda item: -item[1])


def has_reduction(module: ir.Module, bodies: Collection[str], elements: int) -> bool:
    """Whether a static module reduces at least this many elements by one of these ops."""
    for operation in walk(module):
        if operation.name == "stablehlo.reduce":
            size = int(np.prod(ir.RankedTensorType(operation.operands[0].type).shape, dtype=np.int64))
            body = operation.regions[0].blocks[0]
            if size >= elements and any(inner.operation.name in bodies for inner in body.operations):
                return True
    return False
