"""Functions that JAX already writes as plain StableHLO (incomplete gamma, random draws, ...), used as they are.

In: a JAX function and handles. Out: handles. The function is exported once per dtype and shape, with symbolic
dimensions where the operands have them, and becomes a private function of the module; nothing of the user's graph is
traced.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dims import Dim, DimSyntaxError, parse, substitute
from ..errors import UnsupportedGraphError
from ..ir.bindings import new_context
from ..ir.functions import adopt, flat
from ..ir.jax_compat import enable_x64
from ..ir.modules import parse_module, to_bytecode
from .core import Tensor
from .elementwise import unify
from .types import DType

# Calls in JAX's modules that are dropped, or that specialization and padding know.
_KNOWN = {"shape_assertion", "stablehlo.dynamic_reduce_window"}


def import_elementwise(name: str, function: Callable[..., Any], operands: Sequence[Tensor]) -> Tensor:
    """Applies a JAX elementwise function to floating-point tensors of one shape; see `import_functions`."""
    return import_function(name, function, unify(*operands))


def import_function(
    name: str, function: Callable[..., Any], operands: Sequence[Tensor], rules: tuple[tuple[Any, Any], ...] = ()
) -> Tensor:
    """Applies a JAX function that has one result; see `import_functions`."""
    [result] = import_functions(name, function, operands, rules)
    return result


def import_functions(
    name: str, function: Callable[..., Any], operands: Sequence[Tensor], rules: tuple[tuple[Any, Any], ...] = ()
) -> list[Tensor]:
    """Applies a JAX function of arrays to an array, or to several.

    Args:
        name: base of the private function's symbol.
        function: hashable; equal functions are exported once per process, in x64 mode.
        operands: of any shapes; dimensions that are equal, or are known to be, are one size to JAX.
        rules: (primitive, lowering rule) pairs in place of JAX's own.

    Raises:
        UnsupportedGraphError: JAX cannot trace it with symbolic sizes, or makes it a library's call; or a size of a
            result is no function of the operands' that we know.
    """
    builder = operands[0].builder
    sizes: dict[Any, str] = {}
    dim_of: dict[str, Dim] = {}

    def size(dim: Any) -> Any:
        if type(dim) is int:
            return dim
        symbol = sizes.setdefault(builder.constraints.canonical(dim), f"d{len(sizes)}")
        dim_of.setdefault(symbol, dim)  # not the canonical one: that may be a number, where the function has `?`
        return symbol

    shapes = tuple(tuple(size(dim) for dim in x.dims) for x in operands)
    dtypes = tuple(x.dtype for x in operands)
    code, results = _exported(name, function, shapes, dtypes, rules)
    types = [(tuple(_dim(entry, dim_of, name) for entry in shape), dtype) for shape, dtype in results]
    # Shape refinement wants a function of its own for each set of sizes.
    key = ("jax", name, function, shapes, tuple(sizes), dtypes)
    symbol = builder.functions.get(key)
    if symbol is None:
        source = parse_module(code, builder.context, f"the lowering of {name}")
        symbol = builder.functions[key] = adopt(builder.module, source, name)
    attributes = (("callee", f"@{symbol}"),)
    if len(types) == 1:
        return [builder.op("func.call", operands, *types[0], attributes)]
    return builder.region_op("func.call", operands, types, [], attributes, key=key)


def _dim(entry: int | str, dim_of: Mapping[str, Dim], name: str) -> Dim:
    """A result's size, from JAX's expression of the operands' sizes."""
    if isinstance(entry, int):
        return entry
    try:
        return substitute(parse(entry), dim_of)
    except DimSyntaxError:
        raise UnsupportedGraphError(f"{name} has a result of size {entry}, which is no operand's") from None


@functools.lru_cache(maxsize=512)
def _exported(
    name: str,
    function: Callable[..., Any],
    shapes: tuple[tuple[int | str, ...], ...],
    dtypes: tuple[DType, ...],
    rules: tuple[tuple[Any, Any], ...],
) -> tuple[bytes, tuple[tuple[tuple[int | str, ...], DType], ...]]:
    """The module of a function as bytecode, and its results' sizes and dtypes; symbolic sizes as text."""
    import jax
    from jax import export

    operands = [f"{dtype}[{', '.join(map(str, shape))}]" for shape, dtype in zip(shapes, dtypes, strict=True)]
    what = f"{name} of {', '.join(operands)}"
    scope = export.SymbolicScope()
    with enable_x64(True), jax.threefry_partitionable(True):  # the default, whatever it is set to: see docs/random.md
        specs = [
            jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(map(str, shape)), scope=scope), dtype)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        try:
            jitted = jax.jit(function, keep_unused=True)
            exported = export.export(jitted, platforms=("cpu",), _override_lowering_rules=rules)(*specs)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise UnsupportedGraphError(f"JAX cannot trace {what}: {reason}") from error
    text = exported.mlir_module()
    targets = set(re.findall(r"custom_call @([\w.]+)", text)) - _KNOWN
    if targets:
        called = ", ".join(sorted(targets))
        raise UnsupportedGraphError(f"JAX makes {what} a call of {called}, which is not portable; give known sizes")
    code = to_bytecode(flat(parse_module(text, new_context(), name)))
    results = [(tuple(x if isinstance(x, int) else str(x) for x in r.shape), r.dtype) for r in exported.out_avals]
    return code, tuple(results)
