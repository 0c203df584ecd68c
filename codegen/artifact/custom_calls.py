"""Custom calls that a file may hold: by their names, and by what they take, give and are told.

In: a module that was read. Out: nothing, or an error that names the call. What a custom call names is machine code of
the process that runs it, which believes the shapes that it is given: a result that is too short is memory of somebody
else. So a file's calls are those of a list, with the shapes that JAX's own lowerings give them; all others are opened
by hand. Decisions to know: sizes that are open fit until they are known, so a program from a file is checked again when
it is specialized. Layouts and alias pairs of equal types are not dangerous; a call in the wrong calling convention is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..errors import ArtifactError
from ..ir.attributes import attributes_of, call_target
from ..ir.bindings import ir
from ..ir.walk import walk
from .library_calls import TARGETS, Misfit, Sizes, fit, forms

EVERY = "*"  # in `allow`: all names

_ABOUT_SHARDING = ("mhlo.sharding", "mhlo.frontend_attributes", "sdy.sharding", "sdy.sharding_rule")
_PLAIN = frozenset(
    {
        *("api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect"),
        *("indices_of_shape_operands", "operand_layouts", "output_operand_aliases", "result_layouts"),
        *("mhlo.backend_config", *_ABOUT_SHARDING),
    }
)
# Those that `specialize` puts ops in the place of, which it verifies.
_REFINED = frozenset(f"stablehlo.dynamic_{name}" for name in ("reduce_window", "rng_bit_generator", "top_k"))
_RANDOM = "stablehlo.dynamic_rng_bit_generator"
_SAME = frozenset({"Sharding", "annotate_device_placement"})  # give what they take
_MARKS: Mapping[str, Collection[str]] = {
    "hlograph.size": ("hlograph.dim", "hlograph.bound"),
    "hlograph.fft": (),
    "hlograph.library": (),
}
_WORDS = {
    **_MARKS,
    "shape_assertion": ("error_message",),
    _RANDOM: ("rng_algorithm",),
    "stablehlo.dynamic_top_k": ("is_stable",),
}
_TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")
KNOWN = frozenset({*TARGETS, *_REFINED, *_SAME, *_MARKS, "shape_assertion"})


def check(module: ir.Module, filename: str, allow: Collection[str] = ()) -> None:
    """Refuses a module with a custom call that is not on the list, or does not fit it.

    Args:
        module: one that verifies.
        filename: for messages.
        allow: names that are taken as they are; `EVERY` for all.

    Raises:
        ArtifactError: with the call's name, what is wrong with it, its place, and what to do.
    """
    if isinstance(allow, str):
        allow = (allow,)
    if EVERY in allow:
        return
    for operation in walk(module):
        target = call_target(operation)
        if operation.name != "stablehlo.custom_call" or target in allow:
            continue
        if target not in KNOWN:
            raise ArtifactError(f"{filename}: {_unknown(target)}{_place(operation)}")
        try:
            _check(operation, target)
        except Misfit as misfit:
            raise ArtifactError(
                f"{filename}: custom call {target!r} does not fit what runs under this name: {misfit}"
                f"{_place(operation)}. {_BY_HAND.format(target)}"
            ) from None


_BY_HAND = "Where you trust the file all the same: hlograph.load(path, allow=[{!r}])"


def _unknown(target: str) -> str:
    close = difflib.get_close_matches(target, sorted(KNOWN), 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    why = "it calls Python of another process" if "callback" in target or target == "hlograph.host" else ""
    why = why or "it runs code that StableHLO says nothing about"
    return f"custom call {target[:200]!r} is not one that a file may hold: {why}{hint}. {_BY_HAND.format(target[:200])}"


def _place(operation: ir.Operation) -> str:
    """`, line 7`, or the op's location where it says more than the text."""
    line = re.search(r":(\d+):\d+", str(operation.location))
    function = operation.parent
    while function is not None and function.operation.name != "func.func":
        function = function.operation.parent
    name = "" if function is None else f", in @{ir.StringAttr(function.operation.attributes['sym_name']).value}"
    return f"{name}{f', line {line[1]}' if line else ''}"


def _check(operation: ir.Operation, target: str) -> None:
    attributes = attributes_of(operation.attributes)
    known = {*_PLAIN, *_WORDS.get(target, ())}
    strange = sorted(name for name in attributes if name not in known and not name.startswith("jax."))
    if strange:
        raise Misfit(f"it has an attribute {strange[0]!r}")
    called = ir.ArrayAttr(attributes["called_computations"]) if "called_computations" in attributes else ()
    if target not in _REFINED and len(called):
        raise Misfit("it calls functions of the module")
    if target in TARGETS:
        _check_library(operation, target, attributes)
    elif target in _SAME:
        if [str(x.type) for x in operation.operands] != [str(x.type) for x in operation.results]:
            raise Misfit("it gives another type than it takes")
        _untyped(attributes)
    elif target == "shape_assertion":
        if len(operation.results):
            raise Misfit("it has results")
        _untyped(attributes)
    elif target in _MARKS:
        _check_mark(operation, target, attributes)


def _check_library(operation: ir.Operation, target: str, attributes: Mapping[str, ir.Attribute]) -> None:
    shapes = _shape_operands(operation, attributes)
    operands = [_tensor(x.type) for x in operation.operands][: len(operation.operands) - shapes]
    results = [_tensor(x.type) for x in operation.results]
    known = forms(target)
    config: Mapping[str, Any] | str = _untyped(attributes) if known[0].config is None else _typed(attributes)
    problems = []
    for form in known:
        try:
            fit(form, operands, results, config)
            return
        except Misfit as misfit:
            problems.append(str(misfit))
    raise Misfit("; or ".join(dict.fromkeys(problems)))


def _shape_operands(operation: ir.Operation, attributes: Mapping[str, ir.Attribute]) -> int:
    """How many operands say nothing but the results' shapes: the last ones."""
    if "indices_of_shape_operands" not in attributes:
        return 0
    places = np.array(ir.DenseIntElementsAttr(attributes["indices_of_shape_operands"])).tolist()
    count = len(operation.results)
    if places != list(range(len(operation.operands) - count, len(operation.operands))):
        raise Misfit(f"its last {count} operands are not the shapes of its results")
    return count


def _tensor(type_: ir.Type) -> tuple[str, Sizes]:
    """Element type and sizes; None where one is open."""
    if not isinstance(type_, ir.RankedTensorType):
        raise Misfit(f"{type_} is no tensor")
    tensor = ir.RankedTensorType(type_)
    sizes = (None if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis) for axis in range(tensor.rank))
    return str(tensor.element_type), tuple(sizes)


def _version(attributes: Mapping[str, ir.Attribute]) -> int:
    return ir.IntegerAttr(attributes["api_version"]).value if "api_version" in attributes else 1


def _untyped(attributes: Mapping[str, ir.Attribute]) -> str:
    """The configuration of a call that has none, or a text."""
    config = attributes.get("backend_config")
    if "mhlo.backend_config" in attributes or _version(attributes) not in (1, 2, 3):
        raise Misfit("it is called as a typed FFI target, which it is not")
    if config is not None and not isinstance(config, ir.StringAttr):
        raise Misfit(f"its configuration {str(config)[:80]} is no text")
    return "" if config is None else ir.StringAttr(config).value


def _typed(attributes: Mapping[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """The configuration of a typed FFI target: in `backend_config`, or as JAX's export puts it beside an empty one."""
    plain = attributes.get("backend_config")
    beside = attributes.get("mhlo.backend_config")
    if beside is not None and (plain is None or str(plain) in ('""', "{}")):
        plain = beside
    elif beside is not None or _version(attributes) != 4:
        raise Misfit("it is not called as a typed FFI target, which it is")
    if plain is None or str(plain) == '""':  # what portable bytecode makes of an empty one
        return {}
    if not isinstance(plain, ir.DictAttr):
        raise Misfit("its configuration is no dictionary")
    return attributes_of(plain)


def _check_mark(operation: ir.Operation, target: str, attributes: Mapping[str, ir.Attribute]) -> None:
    config = _typed(attributes)
    shapes = _shape_operands(operation, attributes)
    operands = [_tensor(x.type) for x in operation.operands][: len(operation.operands) - shapes]
    results = [_tensor(x.type) for x in operation.results]
    if target == "hlograph.size":
        if "hlograph.dim" not in attributes:
            raise Misfit("it has no hlograph.dim")
        if operands != [("i64", ())] or results != [("i64", ())] or config:
            raise Misfit("it takes an int64 scalar and gives one")
    elif target == "hlograph.fft":
        _check_transform(operands, results, config)
    elif len(operands) != 1 or config.keys() != {"name"} or _text(config["name"]) not in ("eig", "schur"):
        raise Misfit("it is one of the matrix functions 'eig' and 'schur'")


def _check_transform(operands: list[Any], results: list[Any], config: Mapping[str, ir.Attribute]) -> None:
    if len(operands) != 1 or len(results) != 1 or config.keys() != {"kind", "rank"}:
        raise Misfit("it takes an array and gives one, of a kind and a rank")
    kind, rank = _text(config["kind"]), config["rank"]
    if kind not in _TRANSFORMS:
        raise Misfit(f"its kind {kind!r} is none of {', '.join(_TRANSFORMS)}")
    if not isinstance(rank, ir.IntegerAttr) or not 1 <= ir.IntegerAttr(rank).value <= min(3, len(operands[0][1])):
        raise Misfit(f"its rank {rank} is none of 1 to 3, or more than the array's")
    if len(operands[0][1]) != len(results[0][1]):
        raise Misfit("it gives an array of another rank")


def _text(attribute: ir.Attribute) -> str:
    return ir.StringAttr(attribute).value if isinstance(attribute, ir.StringAttr) else ""
