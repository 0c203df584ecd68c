"""Attributes of ops: constants, lists of integers, dimension numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .bindings import RELEASE, ir, stablehlo
from .types import element_type, numpy_dtype

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
    if start < 0 or (dtype.kind == "V" and _bits(str(kind.element_type)) < 8):
        return None
    start += len('dense<"0x')
    data = np.frombuffer(bytes.fromhex(text[start : text.index('"', start)]), dtype)
    return data.reshape(shape) if data.size == math.prod(shape) else None


def _bits(element: str) -> int:
    """Of an element type's name, the number of bits: 4 of `i4` and `f4E2M1FN`."""
    return int(re.findall(r"\d+", element)[0])


def _complex_splat(text: str) -> np.ndarray[Any, Any] | None:
    match = re.search(r"dense<\(([^(),]+),([^(),]+)\)> : tensor<.*complex<(f32|f64)>", text)
    if match is None:
        return None
    try:
        value = complex(float(match[1]), float(match[2]))
    except ValueError:  # hexadecimal: inf or NaN
        return None
    return np.asarray(value, np.complex64 if match[3] == "f32" else np.complex128)


def dot_numbers(attribute: ir.Attribute) -> Any:
    """The dimension numbers of a dot: `lhs_contracting_dimensions`, `rhs_batching_dimensions`, ..."""
    return stablehlo.DotDimensionNumbers(attribute)


def gather_numbers(attribute: ir.Attribute) -> Any:
    """The dimension numbers of a gather: `offset_dims`, `start_index_map`, ..."""
    return stablehlo.GatherDimensionNumbers(attribute)


def scatter_numbers(attribute: ir.Attribute) -> Any:
    """The dimension numbers of a scatter: `update_window_dims`, `scattered_dims_to_operand_dims`, ..."""
    return stablehlo.ScatterDimensionNumbers(attribute)


def convolution_numbers(attribute: ir.Attribute) -> Any:
    """The dimension numbers of a convolution: `input_batch_dimension`, `kernel_spatial_dimensions`, ..."""
    return stablehlo.ConvDimensionNumbers(attribute)
