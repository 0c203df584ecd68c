"""The words of an artifact: every `hlograph.*` attribute that may stand in a module, where, in what form, and whether
what they say together can be true of the module that they stand on.

In: a module that was read; its signature. Out: nothing, or an error that names the attribute, its place, and the word
that was meant. Whoever gives modules a new attribute adds it to `WORDS`. Decisions to know: an unknown word is an
error, because most words forbid something: a check whose name is misspelt is a check that nobody makes. What cannot be
seen before sizes are known, that a result has the size that is said of it, is found when the program is specialized.
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .. import dims as dimension
from ..analysis.platforms import PLATFORMS, in_the_way, listed
from ..constraints import DimMismatch
from ..dims import Dim, parse
from ..errors import ArtifactError
from ..ir.bindings import ir
from ..ir.values import PREFIX, call_target, main_function, module_name, names_of, numpy_dtype, symbol_of, walk
from ..signature import Argument, Result, Signature, flags_type, known_constraints
from ..sparse_parts import OTHER_SIZE, grouped

Place: TypeAlias = Literal["module", "pullback", "function", "private function", "argument", "result", "op"]

IMPLEMENTS = "hlograph.implements"
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


# ---- each by itself -------------------------------------------------------------------------------------------------


def check(module: ir.Module, filename: str) -> None:
    """Refuses a module with an `hlograph.*` attribute that has no meaning where it stands, or is too long.

    Raises:
        ArtifactError: with the attribute, its place, and the nearest word.
    """
    entry = main_function(module, filename)
    for place, where, source, operation in _places(module, entry):
        for name in names_of(source):
            problem = _problem(place, name, source[name], operation) if _is_ours(name) else ""
            if problem:
                raise ArtifactError(f"{filename}: attribute {name[:200]!r} {problem}, on {where}")


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
    """Whether a name has our prefix, or one that differs in a letter or two."""
    return len(name) >= len(PREFIX) and sum(map(operator.ne, name, PREFIX)) <= 2


def _problem(place: Place, name: str, attribute: ir.Attribute, operation: ir.Operation) -> str:
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


def check_meaning(module: ir.Module, signature: Signature, filename: str) -> None:
    """Refuses a signature that contradicts itself or its module.

    Raises:
        ArtifactError: with what is wrong.
    """
    problem = next(_problems(module, signature), "")
    if problem:
        raise ArtifactError(f"{filename}: {problem}")


def _problems(module: ir.Module, signature: Signature) -> Iterator[str]:
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
    marked = [number for number, words in enumerate(_result_words(function)) if "hlograph.flags" in words]
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


def _result_words(function: ir.Operation) -> list[list[str]]:
    """The attributes of each result."""
    if "res_attrs" not in function.attributes:
        return []
    return [names_of(ir.DictAttr(entry)) for entry in ir.ArrayAttr(function.attributes["res_attrs"])]


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
    described = ["hlograph.dims" in words for words in _result_words(function)]
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
