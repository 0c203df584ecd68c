"""What a module that was read must be, for others than MLIR's parser to survive it and to believe what it says.

In: a module, verified; or one of known sizes that was made of it; its signature. Out: nothing, or an `ArtifactError`
that names what is wrong; and sorts that say all that StableHLO lets them leave out. Decisions to know: MLIR's verifier
takes modules that end the process in XLA's compiler or where it allocates, or that never end. Numbers are far above
those of programs that somebody waits for. Every `hlograph.*` attribute that may stand in a module is among `WORDS`, and
whoever gives modules a new one adds it: most words forbid something, and a check whose name is misspelt is one that
nobody makes. What cannot be seen before sizes are known, that a result has its stated size, is found when
the program is specialized.
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, TypeAlias

from .. import dims as dimension
from ..analysis.platforms import PLATFORMS, in_the_way, listed
from ..constraints import DimMismatch
from ..dims import Dim, parse
from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.functions import IMPLEMENTS, called, of_fft
from ..ir.values import (
    PREFIX,
    call_target,
    main_function,
    module_name,
    names_of,
    numpy_dtype,
    shape_of,
    static_bytes,
    symbol_of,
    walk,
)
from ..signature import Argument, Result, Signature, entries_of, flags_type, known_constraints
from ..sparse_parts import OTHER_SIZE, grouped
from . import custom_calls

DEEPEST_CALL = 500  # functions inside of each other; XLA goes through them by recursion
MOST_OPS = 20_000_000  # of a module whose calls are inlined
_DIALECTS = ("stablehlo.", "chlo.", "sdy.")
_OPS = frozenset({"func.func", "func.call", "func.return"})  # functions are called by name, and are no values
_WAITING = frozenset(f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv"))
_FRONTEND = "mhlo.frontend_attributes"


def check(module: ir.Module, filename: str, allow: Collection[str] = (), *, trusted: bool = False) -> None:
    """Refuses a module that others do not survive.

    Args:
        module: one that verifies.
        filename: for messages.
        allow: names of custom calls, and of instructions to XLA's compiler, that are taken as they are; "*" for all.
        trusted: whether functions without a body may stand there, if nothing calls them or a pass knows what they do.

    Raises:
        ArtifactError: with what it is.
    """
    calls: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for view in module.body.operations:
        operations = walk(view.operation)
        for operation in operations:
            problem = _problem(operation, allow)
            if problem:
                raise ArtifactError(f"{filename}: {problem}")
        if view.operation.name != "func.func":  # a mesh
            continue
        name = symbol_of(view.operation)
        if list(view.operation.regions[0].blocks) or (trusted and IMPLEMENTS in view.operation.attributes):
            calls[name], counts[name] = list(called(operations)), len(operations)
        elif not trusted:
            raise ArtifactError(f"{filename}: the function @{name[:100]} has no body")
    missing = {name for called in calls.values() for name in called} - calls.keys()
    if missing:
        raise ArtifactError(f"{filename} calls the function @{min(missing)[:100]}, which it does not hold")
    _check_calls(calls, counts, filename)
    _check_memory(module, filename)


def _problem(operation: ir.Operation, allow: Collection[str]) -> str:
    """What is wrong with an op by itself; "" where nothing is."""
    name = operation.name
    if not name.startswith(_DIALECTS) and name not in _OPS:
        return f"it has the op {name[:100]}, which is not StableHLO"
    if name in _WAITING:
        return f"it has the op {name}, which would wait for another program forever"
    if _FRONTEND in operation.attributes:
        for told in names_of(ir.DictAttr(operation.attributes[_FRONTEND])):
            if told.startswith("xla_cpu_") and told not in allow and custom_calls.EVERY not in allow:
                return (
                    f"it tells XLA's compiler {told[:100]!r} on {name}, which can end the process; take the attribute "
                    f"out of the file, or trust it: hlograph.load(path, allow=[{told[:100]!r}])"
                )
    if name == "stablehlo.custom_call":
        return custom_calls.problem(operation, allow)
    return _PROBLEMS[name](operation) if name in _PROBLEMS else ""


def _bitcast(operation: ir.Operation) -> str:
    """To XLA a boolean is a byte here and a bit there: its result has another size than its type."""
    ends = operation.operands[0], operation.results[0]
    types = [str(ir.RankedTensorType(value.type).element_type) for value in ends]
    if types[0] == types[1] or "i1" not in types:
        return ""
    return (
        f"it has a stablehlo.bitcast_convert from {types[0]} to {types[1]}, which XLA compiles to a result of another "
        "size; convert to and from booleans with stablehlo.compare and stablehlo.convert"
    )


def _transform(operation: ir.Operation) -> str:
    """A Fourier transform of another length than its array's reads past the array."""
    kind, lengths = of_fft(operation)
    sizes = shape_of(operation.results[0] if kind == "IRFFT" else operation.operands[0])
    fits = all(size in (None, length) for size, length in zip(sizes[-len(lengths) :], lengths, strict=False))
    return "" if fits else f"it has a Fourier transform of length {lengths} of an array of size {sizes}"


def _sort(operation: ir.Operation) -> str:
    """None; but from here on it is a stable one, which is an answer to what is asked in any case, and says its axis.

    XLA:CPU's other sort reads and writes past the array, or never ends, where the comparison is no order. An axis may
    count from the end, and be the last one where nothing is said; passes want a number.
    """
    given = operation.attributes
    axis = ir.IntegerAttr(given["dimension"]).value if "dimension" in given else -1
    with operation.context:
        given["is_stable"] = ir.BoolAttr.get(True)
        if axis < 0:
            rank = ir.RankedTensorType(operation.operands[0].type).rank
            given["dimension"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis + rank)
    return ""


_PROBLEMS: Mapping[str, Callable[[ir.Operation], str]] = {
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.fft": _transform,
    "stablehlo.sort": _sort,
}


def _check_calls(calls: Mapping[str, list[str]], counts: Mapping[str, int], filename: str) -> None:
    """How deep functions call each other, and how much they are where each call is its callee's body."""
    depths: dict[str, int] = {}
    sizes: dict[str, int] = {}
    try:
        for name in TopologicalSorter(calls).static_order():
            depths[name] = 1 + max((depths[callee] for callee in calls[name]), default=0)
            sizes[name] = min(counts[name] + sum(sizes[callee] for callee in calls[name]), MOST_OPS + 1)
    except CycleError as error:
        name = error.args[1][0]
        raise ArtifactError(f"{filename}: the function @{name[:100]} calls itself, or one that does") from None
    deepest = max(depths.values(), default=0)
    if deepest > DEEPEST_CALL:
        raise ArtifactError(f"{filename}: functions call each other {deepest} deep; at most {DEEPEST_CALL} are read")
    if max(sizes.values(), default=0) > MOST_OPS:
        raise ArtifactError(f"{filename}: with its calls inlined it has more than {MOST_OPS} ops")


def _check_memory(module: ir.Module, filename: str) -> None:
    """XLA:CPU ends the process where it cannot have the memory for a result."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = 2**40
    type_ = ir.FunctionType(ir.TypeAttr(main_function(module).attributes["function_type"]).value)
    for number, result in enumerate(type_.results):
        size = static_bytes(result) or 0
        if size > memory:
            raise ArtifactError(f"{filename}: result {number} is {result} of {size} bytes, and there are {memory}")


# ---- words ----------------------------------------------------------------------------------------------------------

Place: TypeAlias = Literal["module", "pullback", "function", "private function", "argument", "result", "op"]

LONGEST_NAME = 1000
LONGEST_TEXT, LONGEST_ALL = 10_000, 200_000  # characters of one text, and of all of an attribute
LONGEST_MESSAGES = 1_000_000  # of what checks say, which nobody takes apart
_SPARSE_PARTS = ("data", "indices", "indptr", "rows", "columns")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')

# Of each place its words.
WORDS: Mapping[Place, Sequence[str]] = {
    "module": ("format", "digest", "padding", "parameters", "of", "from"),
    "pullback": ("of", "from"),
    "function": ("constraints", "checks", "counts", "local_counts", "platforms"),
    "private function": ("implements",),
    "argument": ("name", "key", "size", "parameter", "dims", "values", "sparse", "live", "live_values", "shared"),
    "result": ("name", "size", "dims", "sparse", "live", "weak", "flags"),
    "op": ("value", "dim", "bound", "live"),
}
_TRUE = ("shared", "weak", "flags")
_ONE_TEXT = ("format", "digest", "padding", "implements", "name", "key", "size", "parameter", "value", "dim", "bound")


def wrong_words(module: ir.Module, filename: str) -> Iterator[str]:
    """The `hlograph.*` attributes that have no meaning where they stand, with the nearest word, or are too long."""
    for place, where, source, operation in _places(module, main_function(module, filename)):
        for name in names_of(source):
            problem = _about_word(place, name, source[name], operation) if _is_ours(name) else ""
            if problem:
                yield f"attribute {name[:200]!r} {problem}, on {where}"


def _places(module: ir.Module, entry: ir.Operation) -> Iterator[tuple[Place, str, Any, ir.Operation]]:
    """Where attributes stand: the place, what it is called, the attributes, and the op."""
    yield "module", f"the module {module_name(module)[:100]!r}", module.operation.attributes, module.operation
    for view in module.body.operations:
        for op in [view.operation] if view.operation.name == "builtin.module" else walk(view.operation):
            attributes = op.attributes
            if op.name == "builtin.module":
                yield "pullback", "a module in it", attributes, op
            elif op.name == "func.func":
                yield "function" if op == entry else "private function", f"@{symbol_of(op)}", attributes, op
                sides: tuple[tuple[Place, str], ...] = (("argument", "arg_attrs"), ("result", "res_attrs"))
                for place, side in sides:
                    for number, item in enumerate(ir.ArrayAttr(attributes[side]) if side in attributes else ()):
                        yield place, f"{place} {number} of @{symbol_of(op)}", ir.DictAttr(item), op
            else:
                yield "op", op.name, attributes, op


@functools.lru_cache(1024)
def _is_ours(name: str) -> bool:
    return len(name) >= len(PREFIX) and sum(map(operator.ne, name, PREFIX)) <= 2


def _about_word(place: Place, name: str, attribute: ir.Attribute, operation: ir.Operation) -> str:
    """What is wrong with one attribute, besides what `signature.read` finds; "" where nothing is."""
    word = name[len(PREFIX) :]
    if word not in WORDS[place] or not name.startswith(PREFIX):
        close = difflib.get_close_matches(word[:200], WORDS[place], 1, 0.5)
        known = f"did you mean {PREFIX + close[0]!r}?" if close else f"known there: {', '.join(sorted(WORDS[place]))}"
        return f"is unknown ({known})"
    if word in _TRUE and str(attribute) != "true":
        return f"must be true, and is {str(attribute)[:80]}"
    if word in _ONE_TEXT and not isinstance(attribute, ir.StringAttr):
        return f"must be a text, and is {str(attribute)[:80]}"
    texts = _TEXT.findall(str(attribute))
    longest, most = (LONGEST_MESSAGES,) * 2 if word == "checks" else (LONGEST_TEXT, LONGEST_ALL)
    if max(map(len, texts), default=0) > longest or sum(map(len, texts)) > most:
        return f"has texts of more than {longest} characters, or more than {most} in all"
    if place != "op":
        return ""
    marks_size = call_target(operation) == "hlograph.size"
    if (word in ("dim", "bound") and not marks_size) or (word == "value" and len(operation.results) != 1):
        return "has no meaning there"
    try:
        sizes = [ir.StringAttr(x).value for x in (ir.ArrayAttr(attribute) if word == "live" else [attribute])]
        for size in sizes if word != "dim" else ():
            parse(size)
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        return f"is no size: {str(error)[:200]}"
    return ""


# ---- together -------------------------------------------------------------------------------------------------------


def contradictions(module: ir.Module, signature: Signature) -> Iterator[str]:
    """In what a signature contradicts itself or its module."""
    items: list[Argument | Result] = [*signature.arguments, *signature.results]
    for item in items:
        if not 0 < len(item.name) <= LONGEST_NAME or not item.name.isprintable():
            yield f"the name {item.name[:80]!r} is not one: 1 to {LONGEST_NAME} printable characters"
        if any(isinstance(dim, int) and dim < 0 for dim in (*item.dims, *item.live)):
            yield f"{item} has a negative size"
    for name, times in Counter(argument.name for argument in signature.arguments).items():
        if times > 1:
            yield f"{times} arguments are called {name[:80]!r}"
    for argument in signature.arguments:
        yield from _about_argument(argument)
    yield from _about_sparse(signature.arguments)
    yield from _about_sparse(signature.results)
    yield from _about_flags(main_function(module), signature)
    yield from _about_counts(module, signature)
    yield from _about_sizes(main_function(module), signature)
    own = signature.platforms
    if len({*own} & {*PLATFORMS}) != len(own):
        yield f"hlograph.platforms is {list(own)!r:.200}, and holds some of {', '.join(PLATFORMS)}, each once"
    elif own and (calls := in_the_way(module, own)):
        yield f"hlograph.platforms says that it is for {listed(own)}, and it calls {', '.join(calls)}"
    try:
        known_constraints(signature)
    except DimMismatch as error:
        yield f"no sizes fulfil its constraints: {error}"


def _about_argument(argument: Argument) -> Iterator[str]:
    integer = argument.dtype.kind in "iu"
    for word, names in (("values", argument.values), ("live_values", argument.live_values)):
        sizes = [dim for dim in argument.dims if isinstance(dim, int)]
        if names and (not integer or len(argument.dims) > 1 or len(sizes) != len(argument.dims)):
            yield f"hlograph.{word} on argument {argument}: sizes are integers, in a known number"
        if names and len(names) != math.prod(sizes):
            yield f"hlograph.{word} on argument {argument} has {len(names)} names for {math.prod(sizes)} elements"
        for name in filter(None, names):
            if not dimension.NAME.fullmatch(name) or name in dimension.RESERVED or len(name) > LONGEST_NAME:
                yield f"hlograph.{word} on argument {argument}: {name[:80]!r} cannot name a size"
    if argument.size and (not integer or argument.dims):
        yield f"hlograph.size on argument {argument}, which is no integer scalar"
    if argument.key and (argument.dtype.kind != "u" or not argument.dims):
        yield f"hlograph.key on argument {argument}, which is no key: an array of unsigned integers"
    if argument.live and len(argument.live) != len(argument.dims):
        yield f"hlograph.live on argument {argument} has {len(argument.live)} sizes for {len(argument.dims)} axes"


def _about_sparse(items: Sequence[Argument] | Sequence[Result]) -> Iterator[str]:
    """A matrix is its data and three parts more, each once, one behind the other."""
    before: tuple[str, ...] = ()
    for item in items:
        words = item.sparse
        known = len(words) in (3, 4) and words[1] in OTHER_SIZE and words[2] in _SPARSE_PARTS
        if words and not (known and re.fullmatch(r"|\d{1,18}", "".join(words[3:]), re.ASCII)):
            yield f"hlograph.sparse on {item} is {list(words)!r:.200}, which is no part of a sparse matrix"
            return
        if words and words[2] != "data" and words[:2] != before[:2]:
            yield f"{item} is a part of the sparse matrix {words[0]!r:.80}, and does not stand behind its data"
            return
        before = words
    for parts in (group.parts for group in grouped(items) if group.sparse):
        if len(parts) < 4 or len({*parts}) < len(parts):
            yield f"a sparse matrix has the parts {', '.join(parts)}: one or more is missing, or is there twice"


def _about_flags(function: ir.Operation, signature: Signature) -> Iterator[str]:
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    marked = [number for number, words in enumerate(entries_of(function, "res_attrs")) if "hlograph.flags" in words]
    if marked != ([len(results) - 1] if signature.checks else []):
        yield f"hlograph.flags marks the results {marked}, and the last one alone holds the flags of hlograph.checks"
    elif signature.checks:
        shape, dtype = flags_type(signature.checks)
        last = ir.RankedTensorType(results[-1])
        if not last.has_static_shape or tuple(last.shape) != shape or numpy_dtype(last.element_type) != dtype:
            yield f"the last result is {last}, and the flags of {shape[0]} checks are {dtype}{list(shape)}"
    for check_ in signature.checks:
        if not check_.exception.isprintable() or not 0 < len(check_.exception) <= LONGEST_NAME:
            yield f"a check's exception, {check_.exception[:80]!r}, is no name of one"


def _about_counts(module: ir.Module, signature: Signature) -> Iterator[str]:
    counts = Counter(count.name for count in (*signature.counts, *signature.local_counts))
    roots = {root.name for root in signature.roots}
    marked = Counter(
        ir.StringAttr(operation.attributes["hlograph.dim"]).value
        for operation in walk(module)
        if "hlograph.dim" in operation.attributes
    )
    for name in marked.keys() | counts.keys():
        if name in roots or not dimension.NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            yield f"the size {name[:80]!r} of hlograph.counts has two meanings, or is no name of a size"
        elif (marked[name], counts[name]) != (1, 1):
            yield (
                f"the size {name[:80]!r} has {marked[name]} calls of @hlograph.size and is {counts[name]} times in "
                "hlograph.counts: both are once"
            )


def _about_sizes(function: ir.Operation, signature: Signature) -> Iterator[str]:
    """Every name in a size is that of a size."""
    known = {root.name for root in signature.roots} | {count.name for count in signature.counts}
    items: list[Argument | Result] = [*signature.arguments, *signature.results]
    live = known | {x.size for x in items if x.size}
    live |= {name for x in signature.arguments for name in x.live_values if name}
    local = live | {count.name for count in signature.local_counts}
    described = ["hlograph.dims" in words for words in entries_of(function, "res_attrs")]
    described += [False] * (len(signature.results) - len(described))
    uses: list[tuple[str, Iterable[Dim], set[str]]] = []
    for argument in signature.arguments:
        uses += [(f"argument {argument}", argument.dims, known), (f"argument {argument}", argument.live, live)]
    for result, is_described in zip(signature.results, described, strict=False):
        uses += [(f"result {result}", result.dims if is_described else (), known)]
        uses += [(f"result {result}", result.live, live)]
    # A padded program may demand something of sizes that are not among its arguments any more.
    for constraint in () if live != known else signature.constraints:
        uses.append((f"constraint {constraint}", (constraint.lhs, constraint.rhs), live))
    for count in (*signature.counts, *signature.local_counts):
        bounds = () if count.bound is None else (count.bound,)
        uses.append((f"the bound of the size {count.name}", bounds, local - {count.name}))
    for what, dims, names in uses:
        for name in sorted(name for dim in dims for name in dimension.roots(dim) - names):
            yield f"{what} has the size {name[:80]!r}, which is no size or value of an argument, nor computed"
