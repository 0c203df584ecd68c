"""The only module that touches jaxlib's MLIR bindings beyond plain IR objects.

In: numpy dtypes and arrays, module text or bytes. Out: `ir` types, attributes and modules. Whatever differs between
jaxlib releases is absorbed here. The one decision to know: every `Program` has an MLIR context of its own, because a
context is not safe to share between threads; modules travel between contexts as MLIR bytecode, never as text.
"""

from __future__ import annotations

import functools
import io
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, cast

import numpy as np

# JAX sets this default before it loads jaxlib, to keep XLA's info lines from the terminal; whoever imports hlograph
# first loads jaxlib here.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _jax
from jaxlib.mlir import ir as ir
from jaxlib.mlir import passmanager
from jaxlib.mlir._mlir_libs import _jax_mlir_ext, _mlir
from jaxlib.mlir.dialects import chlo as chlo
from jaxlib.mlir.dialects import func as func
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as stablehlo

from .errors import ArtifactError, PassError

_RELEASE = ".".join(version("jaxlib").split(".")[:2])
DYNAMIC: int = ir.ShapedType.get_dynamic_size()


@functools.cache
def _registry() -> Any:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    stablehlo.register_stablehlo_passes()
    return registry


def new_context() -> ir.Context:
    """A fresh MLIR context with the func, StableHLO, CHLO and sdy dialects loaded (about 1 ms).

    JAX's other dialects are registered: a module that holds them loads them when it is parsed. Loading them all takes
    ten times as long, and each copy of a module has a context of its own.
    """
    context = ir.Context()
    context.append_dialect_registry(_registry())
    context.get_dialect_descriptor("func")  # which loads it
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    sdy.register_dialect(context)
    return context


def current_context() -> ir.Context:
    """The context of the `with` statement that this thread is in; there must be one."""
    context: Any = ir.Context.current
    return context


_FLOATS = {
    "float16": "F16Type",
    "bfloat16": "BF16Type",
    "float32": "F32Type",
    "float64": "F64Type",
    # Those that JAX has beside NumPy's own (ml_dtypes); an older jaxlib may lack one.
    "float4_e2m1fn": "Float4E2M1FNType",
    "float8_e3m4": "Float8E3M4Type",
    "float8_e4m3": "Float8E4M3Type",
    "float8_e4m3b11fnuz": "Float8E4M3B11FNUZType",
    "float8_e4m3fn": "Float8E4M3FNType",
    "float8_e4m3fnuz": "Float8E4M3FNUZType",
    "float8_e5m2": "Float8E5M2Type",
    "float8_e5m2fnuz": "Float8E5M2FNUZType",
    "float8_e8m0fnu": "Float8E8M0FNUType",
}
_NARROW = re.compile(r"(u?)int([24])")


def element_type(dtype: np.dtype[Any], context: ir.Context) -> ir.Type:
    """The MLIR element type of a numpy dtype: `i1` for bool, signless and `ui` integers, floats, complex."""
    kind = dtype.kind
    with context:
        narrow = _NARROW.fullmatch(dtype.name)
        if narrow is not None:
            width = int(narrow[2])
            return ir.IntegerType.get_unsigned(width) if narrow[1] else ir.IntegerType.get_signless(width)
        if kind == "b":
            return ir.IntegerType.get_signless(1)
        if kind == "i":
            return ir.IntegerType.get_signless(8 * dtype.itemsize)
        if kind == "u":
            return ir.IntegerType.get_unsigned(8 * dtype.itemsize)
        if kind == "c":
            return ir.ComplexType.get(ir.F32Type.get() if dtype.itemsize == 8 else ir.F64Type.get())
        if hasattr(ir, _FLOATS.get(dtype.name, "")):
            return getattr(ir, _FLOATS[dtype.name]).get()
    raise TypeError(f"dtype {dtype} has no StableHLO element type")


def dtype_of(type_: ir.Type) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type (the inverse of `element_type`)."""
    text = str(type_)
    if text == "i1":
        return np.dtype(bool)
    if text.startswith("complex<"):
        return np.dtype(np.complex64 if "f32" in text else np.complex128)
    names = {"ui": "uint", "i": "int", "f": "float", "bf": "bfloat"}
    prefix = text.rstrip("0123456789")
    if prefix in names and text != prefix:
        name = names[prefix] + text[len(prefix) :]
        return np.dtype(name) if hasattr(np, name) else _dtype_beside_numpy(name)
    if text.startswith("f") and "E" in text:  # f8E4M3FN is float8_e4m3fn
        return _dtype_beside_numpy("float{}_e{}".format(*text[1:].lower().split("e", 1)))
    raise TypeError(f"element type {text} has no numpy dtype")


def _dtype_beside_numpy(name: str) -> np.dtype[Any]:
    import ml_dtypes

    try:
        return np.dtype(getattr(ml_dtypes, name))
    except AttributeError:
        raise TypeError(f"element type {name} has no numpy dtype") from None


def dense_attr(array: np.ndarray[Any, Any], context: ir.Context) -> ir.DenseElementsAttr:
    """A constant's attribute, made from the array's buffer (no text)."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    # jaxlib 0.7 and 0.8 take eight booleans a byte, but one as it is.
    packed = array.dtype == bool and array.size > 1 and _RELEASE in ("0.7", "0.8")
    with context:
        buffer: Any = np.packbits(array, bitorder="little") if packed else array
        return ir.DenseElementsAttr.get(buffer, type=element_type(array.dtype, context), shape=list(array.shape))


def attributes_of(source: Any) -> dict[str, ir.Attribute]:
    """An operation's attributes, or a dictionary attribute's entries, by name."""
    names = [item if isinstance(item, str) else item.name for item in source]
    return {name: source[name] for name in names}


@contextmanager
def _diagnostics(context: ir.Context) -> Iterator[list[str]]:
    """Collects MLIR's diagnostics, which would go to stderr."""
    messages: list[str] = []

    def handle(diagnostic: Any) -> bool:
        messages.append(diagnostic.message)
        return True

    handler: Any = context.attach_diagnostic_handler(handle)
    try:
        yield messages
    finally:
        handler.detach()


def parse_module(text: str | bytes, context: ir.Context, filename: str = "<module>") -> ir.Module:
    """Parses module text or MLIR bytecode.

    Raises:
        ArtifactError: with the parser's message (line, column) when it is malformed.
    """
    try:
        return ir.Module.parse(text, context)
    except (ir.MLIRError, ValueError, UnicodeDecodeError) as error:
        # MLIR calls what it parses "-".
        message = str(error).replace('"-":', f"{filename}:")
        raise ArtifactError(f"{filename} is not a well-formed StableHLO module: {message}") from None


def to_bytecode(module: ir.Module) -> bytes:
    """MLIR bytecode of a module: how modules travel between contexts."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def run_pipeline(module: ir.Module, pipeline: str, *, name: str | None = None) -> None:
    """Runs an MLIR pass pipeline on the module, in place.

    Raises:
        PassError: with MLIR's diagnostics when the pipeline does not parse or a pass fails.
    """
    with module.context:
        try:
            manager = passmanager.PassManager.parse(f"builtin.module({pipeline})")
        except ValueError as error:
            raise PassError(f"pass {name or pipeline!r} cannot be built: {error}") from None
        try:
            manager.run(module.operation)
        except (ir.MLIRError, RuntimeError) as error:
            raise PassError(f"pass {name or pipeline!r} failed: {error}") from None


Pattern = Callable[[ir.Operation], "list[ir.Value] | None"]


def apply_rewrites(module: ir.Module, patterns: Sequence[tuple[str, Pattern]]) -> None:
    """Applies patterns to a module in place until none applies, by MLIR's greedy driver where jaxlib has it.

    Args:
        module: the module.
        patterns: the name of an op, and what gives the values that take the place of its results, or None.

    Raises:
        PassError: the rewrites do not come to rest.
        Exception: what a pattern raises.
    """
    driver: Any = getattr(_mlir, "rewrite", None)
    limit = 1000 + 20 * sum(1 for _ in _operations(module.operation))
    if not hasattr(driver, "RewritePatternSet") or not hasattr(driver, "GreedyRewriteConfig"):
        _apply_without_driver(module, patterns, limit)
        return
    failures: list[BaseException] = []
    applied = visited = 0

    def guarded(pattern: Pattern) -> Callable[[Any, Any], bool]:
        def match(op: Any, rewriter: Any) -> bool:
            """MLIR's convention: False for a match. An exception must not cross the driver."""
            nonlocal applied, visited
            if failures:
                return True
            try:
                visited += 1
                if visited > 10 * limit:
                    # The driver drops such ops, and begins again because it has changed something.
                    raise PassError(f"rewrites of {op.operation.name} make ops before they refuse, which they must not")
                values = pattern(op.operation)
                if values is None:
                    return True
                applied += 1
                if applied > limit:
                    raise PassError(_endless(op.operation.name))
                rewriter.replace_op(op.operation, values)
            except BaseException as error:
                failures.append(error)
                return True
            return False

        return match

    config = driver.GreedyRewriteConfig()
    config.enable_folding = False
    config.enable_constant_cse = False
    config.region_simplification_level = driver.GreedySimplifyRegionLevel.DISABLED
    config.max_iterations = -1
    with module.context:
        found = driver.RewritePatternSet()
        for root, pattern in patterns:
            found.add(root, guarded(pattern))
        try:
            driver.apply_patterns_and_fold_greedily(module, found.freeze(), config)
        except (ir.MLIRError, RuntimeError) as error:
            if not failures:
                raise PassError(f"MLIR's rewrite driver failed: {error}") from None
    if failures:
        raise failures[0]


def _endless(name: str) -> str:
    return f"rewrites of {name} do not come to rest: one makes again what it, or another, matches"


def _operations(operation: ir.Operation) -> Iterator[ir.Operation]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _operations(inner.operation)


def _apply_without_driver(module: ir.Module, patterns: Sequence[tuple[str, Pattern]], limit: int) -> None:
    """Rounds over all ops, for a jaxlib without a driver for Python's patterns (0.7), or without its settings (0.8)."""
    applied, changed = 0, True
    while changed:
        changed = False
        # An op that is gone must not be touched: it is known by its hash, taken while it was there.
        gone: set[int] = set()
        for key, operation in [(hash(found), found) for found in _operations(module.operation)]:
            if key in gone:
                continue
            for root, pattern in patterns:
                if operation.name != root:
                    continue
                values = pattern(operation)
                if values is None:
                    continue
                applied += 1
                if applied > limit:
                    raise PassError(_endless(operation.name))
                for result, value in zip(operation.results, values, strict=True):
                    result.replace_all_uses_with(value)
                _erase(operation, gone)
                changed = True
                break
    run_pipeline(module, "cse")


def _erase(operation: ir.Operation, gone: set[int]) -> None:
    """Erases an op, with what it holds, and the ops that have no other use than to be its operands."""
    pending = [operation]
    while pending:
        erased = pending.pop()
        gone.update(map(hash, [erased, *_operations(erased)]))
        owners = [operand.owner for operand in erased.operands]
        erased.erase()
        for owner in dict.fromkeys(owner.operation for owner in owners if not isinstance(owner, ir.Block)):
            pure = owner.name.startswith(("stablehlo.", "chlo.")) and not owner.name.endswith((".custom_call", ".rng"))
            if pure and not owner.regions and not any(next(iter(result.uses), None) for result in owner.results):
                pending.append(owner)


def refine_custom_calls(module: ir.Module) -> None:
    """XLA's shape refinement, in place: it also knows JAX's custom calls such as `stablehlo.dynamic_reduce_window`.

    Raises:
        PassError: when a size stays open.
    """
    try:
        data = _jax.mlir.refine_polymorphic_shapes(
            to_bytecode(module), enable_shape_assertions=False, validate_static_shapes=False
        )
    except (ValueError, RuntimeError) as error:
        raise PassError(f"specialize: XLA's shape refinement failed: {error}") from None
    replace_body(module, ir.Module.parse(data, module.context))


def forget_operations(module: ir.Module) -> None:
    """Makes Python's handles of a module's operations invalid.

    To be called before an op with regions is erased: a handle of an op inside that outlives it would be taken for that
    of whatever is made at the same address later.
    """
    with module.context:
        passmanager.PassManager.parse("builtin.module()").run(module.operation)


def replace_body(module: ir.Module, other: ir.Module) -> None:
    """Puts the functions of another module of the same context in place of a module's own."""
    forget_operations(module)
    for operation in list(module.body.operations):
        operation.operation.erase()
    for operation in other.body.operations:
        operation.operation.clone(ip=ir.InsertionPoint(module.body))


def erase_unused(module: ir.Module, pure: Collection[str] = ()) -> None:
    """Erases ops that nothing uses, in functions and in the blocks of their ops.

    MLIR's `cse` erases only those that are the last of a chain.

    Args:
        module: the module.
        pure: functions without side effects; other calls stay, and so do custom calls.
    """
    erased = True
    while erased:  # an op may stand before what it uses: the passes that call this move ops and leave dead ones behind
        forget_operations(module)
        found = [_erase_unused(function.operation, pure) for function in module.body.operations]
        erased = any(found)


def _erase_unused(parent: ir.Operation, pure: Collection[str]) -> bool:
    erased = False
    for region in parent.regions:
        for block in region.blocks:
            # No handle of what an op holds may be there when it is erased; of the ops themselves there is one each.
            operations = [(hash(item.operation), item.operation) for item in block.operations][:-1]
            left = {address for address, _ in operations}
            while operations:
                address, op = operations.pop()
                if address not in left:
                    continue
                used = any(next(iter(result.uses), None) is not None for result in op.results)
                if used or not op.results or _has_effects(op, pure):
                    erased |= bool(len(op.regions)) and _erase_unused(op, pure)
                    continue
                owners = [x.owner.operation for x in op.operands if not isinstance(x.owner, ir.Block)]
                makers = [(hash(owner), owner) for owner in owners]
                op.erase()
                left.remove(address)
                erased = True
                operations += [(address, owner) for address, owner in makers if address in left]
    return erased


def _has_effects(op: ir.Operation, pure: Collection[str]) -> bool:
    if op.name == "func.call":
        return ir.FlatSymbolRefAttr(op.attributes["callee"]).value not in pure
    return op.name in ("stablehlo.custom_call", "stablehlo.rng")


def verify(module: ir.Module, what: str) -> None:
    """MLIR's verifier.

    Raises:
        PassError: with its message, what was being done, and the path of a file that the module is written to.
    """
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise PassError(f"{what} is not valid StableHLO: {error}{_kept(module)}") from None


def _kept(module: ir.Module) -> str:
    """Writes a module that is no valid one to a file; a line that says where."""
    text = str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="hlograph-", suffix=".mlir", delete=False) as file:
            file.write(text)
    except OSError as error:
        return f"\nThe module could not be written to a file: {error.strerror}"
    return f"\nThe module, in generic form: {file.name}"


def reference_eval(module: ir.Module, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Runs a static module (no CHLO, no calls out of it) in StableHLO's reference interpreter.

    The interpreter changes the module: give it a copy.
    """
    context = module.context
    with context:
        attrs = [dense_attr(np.asarray(array), context) for array in arrays]
        return [np.array(result) for result in stablehlo.eval_module(module, attrs)]


def current_version() -> str:
    """The StableHLO version of the jaxlib in use, e.g. `1.17.0`."""
    return stablehlo.get_current_version()


def minimum_version() -> str:
    """The oldest StableHLO version that portable bytecode can target."""
    return stablehlo.get_minimum_version()


def serialize_portable(module: ir.Module, version: str) -> bytes:
    """StableHLO's portable (VHLO) bytecode for the given target version.

    Raises:
        PassError: when the module holds what that version cannot express.
    """
    with _diagnostics(module.context) as messages:
        try:
            return stablehlo.serialize_portable_artifact(module, version)
        except (ValueError, RuntimeError) as error:
            reason = "; ".join(messages) or error
            raise PassError(f"the module cannot be written as portable StableHLO {version}: {reason}") from None


def deserialize_portable(data: bytes, context: ir.Context, filename: str) -> ir.Module:
    """The module in portable bytecode; the inverse of `serialize_portable`.

    Raises:
        ArtifactError: when the bytes are malformed, truncated or from a newer StableHLO.
    """
    with _diagnostics(context) as messages:
        try:
            return stablehlo.deserialize_portable_artifact(context, data)
        except (ValueError, RuntimeError) as error:
            written = _producer(data)
            hint = f" (written for {written}; this jaxlib reads up to StableHLO {current_version()})" if written else ""
            reason = "; ".join(messages) or error
            raise ArtifactError(
                f"{filename} cannot be read as portable StableHLO bytecode{hint}: {reason}. It is truncated, damaged "
                "or written by a newer StableHLO; save it again with an older target_version, or upgrade jaxlib."
            ) from None


def _producer(data: bytes) -> str | None:
    """The producer string in MLIR bytecode's header, e.g. `StableHLO_v1.17.0`."""
    end = data.find(b"\0", 4, 80)
    text = data[5:end].decode("ascii", "replace") if end > 5 else ""
    return text if text.isprintable() and text else None


def clone_module(module: ir.Module) -> ir.Module:
    """A copy in the same context: a `builtin.module` op, which can all that `ir.Module` can but be serialized.

    In jaxlib 0.7 the ops of such a copy find no way up to it ("detached operations have no parent"): it is read again.
    """
    if _RELEASE == "0.7":
        return ir.Module.parse(to_bytecode(module), module.context)
    return cast(ir.Module, module.operation.clone(ip=False).opview)


def is_portable(data: bytes) -> bool:
    """Whether bytes are bytecode that `serialize_portable` wrote, and not MLIR's own."""
    return data[:4] == b"ML\xefR" and (_producer(data) or "").startswith("StableHLO")


def clone_bytes(data: bytes) -> ir.Module:
    """A module from MLIR bytecode, in a new context."""
    return ir.Module.parse(data, new_context())


def constant_value(operation: ir.Operation) -> np.ndarray[Any, Any] | None:
    """The value of a `stablehlo.constant`, a splat as a 0-d array; None where the bindings cannot read it."""
    try:
        attribute = ir.DenseElementsAttr(operation.attributes["value"])
    except TypeError:  # complex elements
        return _complex_splat(str(operation))
    if attribute.is_splat:
        dtype = dtype_of(ir.RankedTensorType(operation.results[0].type).element_type)
        splat: Any = attribute.get_splat_value()
        return np.asarray(
            splat.value if dtype.kind not in "iu" else int(splat.value) % (1 << 8 * dtype.itemsize)
        ).astype(dtype)
    array = np.array(attribute)
    return None if array.dtype == object else array


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
