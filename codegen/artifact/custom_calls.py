"""Custom calls that a file may hold: by their names, and by what they take, give and are told.

In: a custom call of a module that was read. Out: nothing, or why it is refused. What a custom call names is machine
code of the process that runs it, which believes the shapes that it is given: a result that is too short is memory of
somebody else. So a file's calls are those of a list, with the shapes that JAX's own lowerings give them; all others are
opened by hand. Decisions to know: sizes that are open fit until they are known, so a program from a file is checked
again when it is specialized. Layouts and alias pairs of equal types are not dangerous; a call in the wrong calling
convention is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..ir.attributes import attributes_of, call_target
from ..ir.bindings import ir
from .library_calls import TARGETS, Arrays, Misfit, fit, forms

EVERY = "*"  # in `allow`: all names

# Attributes that any call may have, and those of some.
_PLAIN = frozenset(
    {
        *("api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect"),
        *("indices_of_shape_operands", "operand_layouts", "output_operand_aliases", "result_layouts"),
        *("mhlo.backend_config", "mhlo.sharding", "mhlo.frontend_attributes", "sdy.sharding", "sdy.sharding_rule"),
    }
)
_WORDS: Mapping[str, Collection[str]] = {
    "hlograph.size": ("hlograph.dim", "hlograph.bound"),
    "shape_assertion": ("error_message",),
    "stablehlo.dynamic_rng_bit_generator": ("rng_algorithm",),
    "stablehlo.dynamic_top_k": ("is_stable",),
}
# Those that `specialize` puts ops in the place of, which it verifies.
_REFINED = frozenset(f"stablehlo.dynamic_{name}" for name in ("reduce_window", "rng_bit_generator", "top_k"))
_SAME = frozenset({"Sharding", "annotate_device_placement"})  # give what they take
_MARKS = frozenset({"hlograph.size", "hlograph.fft", "hlograph.library"})
KNOWN = frozenset({*TARGETS, *_REFINED, *_SAME, *_MARKS, "shape_assertion"})
_TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")


def problem(operation: ir.Operation, allow: Collection[str]) -> str:
    """Why a custom call is refused, where it stands, and what to do; "" where it is on the list, and fits it.

    Args:
        operation: the call, verified.
        allow: names that are taken as they are; `EVERY` for all.
    """
    target = call_target(operation)
    if target in allow or EVERY in allow:
        return ""
    by_hand = f". Where you trust the file all the same: hlograph.load(path, allow=[{target[:200]!r}])"
    if target not in KNOWN:
        close = difflib.get_close_matches(target, sorted(KNOWN), 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        python = "callback" in target or target == "hlograph.host"
        why = "it calls Python of another process" if python else "it runs code that StableHLO says nothing about"
        what = f"custom call {target[:200]!r} is not one that a file may hold: {why}{hint}"
        return what + _place(operation) + by_hand
    try:
        _check(operation, target)
    except Misfit as misfit:
        what = f"custom call {target!r} does not fit what runs under this name: {misfit}"
        return what + _place(operation) + by_hand
    return ""


def _place(operation: ir.Operation) -> str:
    line = re.search(r":(\d+):\d+", str(operation.location))
    return f", line {line[1]}" if line else ""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Misfit(what)


def _check(operation: ir.Operation, target: str) -> None:
    attributes = attributes_of(operation.attributes)
    known = {*_PLAIN, *_WORDS.get(target, ())}
    strange = sorted(name for name in attributes if name not in known and not name.startswith("jax."))
    _require(not strange, f"it has the attributes {strange}")
    called = ir.ArrayAttr(attributes["called_computations"]) if "called_computations" in attributes else ()
    _require(target in _REFINED or not len(called), "it calls functions of the module")
    if target in _REFINED:
        return
    if target in _SAME or target == "shape_assertion":
        taken, given = ([str(x.type) for x in side] for side in (operation.operands, operation.results))
        _require(given == (taken if target in _SAME else []), f"its results are {given}")
        _untyped(attributes)
        return
    operands, results = _arrays(operation, attributes)
    if target in _MARKS:
        _check_mark(target, attributes, operands, results)
        return
    known_forms = forms(target)
    config: Mapping[str, Any] | str = _untyped(attributes) if known_forms[0].config is None else _typed(attributes)
    problems = []
    for form in known_forms:
        try:
            return fit(form, operands, results, config)
        except Misfit as misfit:
            problems.append(str(misfit))
    raise Misfit("; or ".join(dict.fromkeys(problems)))


def _arrays(operation: ir.Operation, attributes: Mapping[str, ir.Attribute]) -> tuple[Arrays, Arrays]:
    """Element types and sizes of operands and results; without operands that say nothing but the results' shapes."""
    operands, results = ([_array(x.type) for x in side] for side in (operation.operands, operation.results))
    if "indices_of_shape_operands" in attributes:
        places = np.array(ir.DenseIntElementsAttr(attributes["indices_of_shape_operands"])).tolist()
        last = list(range(len(operands) - len(results), len(operands)))
        _require(places == last, f"its last {len(last)} operands are not the shapes of its results")
        operands = operands[: len(operands) - len(results)]
    return operands, results


def _array(type_: ir.Type) -> tuple[str, tuple[int | None, ...]]:
    _require(isinstance(type_, ir.RankedTensorType), f"{type_} is no tensor")
    tensor = ir.RankedTensorType(type_)
    sizes = (None if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis) for axis in range(tensor.rank))
    return str(tensor.element_type), tuple(sizes)


def _version(attributes: Mapping[str, ir.Attribute]) -> int:
    return ir.IntegerAttr(attributes["api_version"]).value if "api_version" in attributes else 1


def _untyped(attributes: Mapping[str, ir.Attribute]) -> str:
    """The configuration of a call that has none, or a text."""
    config = attributes.get("backend_config")
    typed = "mhlo.backend_config" in attributes or _version(attributes) not in (1, 2, 3)
    _require(not typed, "it is called as a typed FFI target, which it is not")
    _require(config is None or isinstance(config, ir.StringAttr), f"its configuration {str(config)[:80]} is no text")
    return "" if config is None else ir.StringAttr(config).value


def _typed(attributes: Mapping[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """The configuration of a typed FFI target: in `backend_config`, or as JAX's export puts it beside an empty one."""
    plain, beside = attributes.get("backend_config"), attributes.get("mhlo.backend_config")
    is_empty = plain is None or str(plain) in ('""', "{}")  # the first is what portable bytecode makes of an empty one
    fits = is_empty if beside is not None else _version(attributes) == 4
    _require(fits, "it is not called as a typed FFI target, which it is")
    config = beside if is_empty else plain
    if config is None or str(config) == '""':
        return {}
    _require(isinstance(config, ir.DictAttr), "its configuration is no dictionary")
    return attributes_of(config)


def _check_mark(target: str, attributes: Mapping[str, ir.Attribute], operands: Arrays, results: Arrays) -> None:
    config = _typed(attributes)
    told = {name: str(value).strip('"') for name, value in config.items()}
    if target == "hlograph.size":
        _require("hlograph.dim" in attributes, "it has no hlograph.dim")
        number = [("i64", ())]
        _require(operands == number and results == number and not told, "it takes an int64 scalar and gives one")
    elif target == "hlograph.library":
        fits = len(operands) == 1 and told in ({"name": "eig"}, {"name": "schur"})
        _require(fits, "it is one of the matrix functions 'eig' and 'schur'")
    else:
        one = len(operands) == len(results) == 1 and len(operands[0][1]) == len(results[0][1])
        _require(one and told.keys() == {"kind", "rank"}, "it takes an array and gives one, of a kind and a rank")
        _require(told["kind"] in _TRANSFORMS, f"its kind {told['kind']!r} is none of {', '.join(_TRANSFORMS)}")
        rank = re.fullmatch(r"([123]) : i\d+", told["rank"])
        fits = rank is not None and int(rank[1]) <= len(operands[0][1])
        _require(fits, f"its rank {told['rank']} is none of 1 to 3, or more than the array's")
