"""What an artifact's words say together: whether it can be true of the module that they stand on.

In: a program that was read, whose words are known (`vocabulary`) and could be read (`signature`). Out: nothing, or an
error. Decision to know: what cannot be seen before sizes are known, that a result has the size that is said of it, is
found when the program is specialized.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from .. import dims as dimension
from ..analysis.platforms import PLATFORMS, in_the_way, listed
from ..constraints import DimMismatch
from ..dims import Dim
from ..errors import ArtifactError
from ..ir.attributes import names_of
from ..ir.bindings import ir
from ..ir.types import numpy_dtype
from ..ir.walk import main_function, walk
from ..signature import Argument, Result, Signature, flags_type, known_constraints

LONGEST_NAME = 1000
_SPARSE_PARTS = ("data", "indices", "indptr", "rows", "columns")
_FORMATS = ("csr", "csc", "bsr")


def check(module: ir.Module, signature: Signature, filename: str) -> None:
    """Refuses a signature that contradicts itself or its module.

    Raises:
        ArtifactError: with what is wrong.
    """
    problem = next(_problems(module, signature), "")
    if problem:
        raise ArtifactError(f"{filename}: {problem}")


def _problems(module: ir.Module, signature: Signature) -> Iterator[str]:
    function = main_function(module)
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    yield from _about_names(signature)
    described: tuple[Argument | Result, ...] = (*signature.arguments, *signature.results)
    for item in described:
        if any(isinstance(dim, int) and dim < 0 for dim in (*item.dims, *item.live)):
            yield f"{item} has a negative size"
    for argument in signature.arguments:
        yield from _about_argument(argument)
    yield from _about_sparse("argument", signature.arguments)
    yield from _about_sparse("result", signature.results)
    yield from _about_flags(function, type_, signature)
    yield from _about_counts(module, signature)
    yield from _about_sizes(function, signature)
    yield from _about_platforms(module, signature)
    try:
        known_constraints(signature)
    except DimMismatch as error:
        yield f"no sizes fulfil its constraints: {error}"


def _about_platforms(module: ir.Module, signature: Signature) -> Iterator[str]:
    own = signature.platforms
    strange = [name for name in own if name not in PLATFORMS]
    if strange or len({*own}) != len(own):
        yield f"hlograph.platforms is {list(own)!r:.200}, and holds some of {', '.join(PLATFORMS)}, each once"
    elif own and (calls := in_the_way(module, own)):
        yield f"hlograph.platforms says that it is for {listed(own)}, and it calls {', '.join(calls)}"


def _about_names(signature: Signature) -> Iterator[str]:
    sides: tuple[tuple[str, tuple[Argument | Result, ...]], ...] = (
        ("argument", signature.arguments),
        ("result", signature.results),
    )
    for what, items in sides:
        for number, item in enumerate(items):
            if not item.name or len(item.name) > LONGEST_NAME or not item.name.isprintable():
                yield (
                    f"the name of {what} {number}, {item.name[:80]!r}, is not one: 1 to {LONGEST_NAME} printable "
                    "characters"
                )
    names = Counter(argument.name for argument in signature.arguments)
    name, times = names.most_common(1)[0] if names else ("", 0)
    if times > 1:
        yield f"{times} arguments are called {name[:80]!r}"
    for size in [root.name for root in signature.roots] + [count.name for count in signature.counts]:
        if len(size) > LONGEST_NAME:
            yield f"a size has a name of {len(size)} characters, {size[:80]!r}..."


def _about_argument(argument: Argument) -> Iterator[str]:
    integer = argument.dtype.kind in "iu"
    for word, names in (("values", argument.values), ("live_values", argument.live_values)):
        if not names:
            continue
        sizes = [dim for dim in argument.dims if isinstance(dim, int)]
        if not integer or len(argument.dims) > 1 or len(sizes) != len(argument.dims):
            yield f"hlograph.{word} on argument {argument}: sizes are integers, in a known number"
        elif len(names) != math.prod(sizes):
            yield f"hlograph.{word} on argument {argument} has {len(names)} names for {math.prod(sizes)} elements"
        for name in filter(None, names):
            if not dimension.NAME.fullmatch(name) or name in dimension.RESERVED:
                yield f"hlograph.{word} on argument {argument}: {name[:80]!r} cannot name a size"
    if argument.size and (not integer or argument.dims):
        yield f"hlograph.size on argument {argument}, which is no integer scalar"
    if argument.key and (argument.dtype.kind != "u" or not argument.dims):
        yield f"hlograph.key on argument {argument}, which is no key: an array of unsigned integers"
    if argument.live and len(argument.live) != len(argument.dims):
        yield f"hlograph.live on argument {argument} has {len(argument.live)} sizes for {len(argument.dims)} axes"


def _about_sparse(what: str, items: tuple[Argument, ...] | tuple[Result, ...]) -> Iterator[str]:
    last: tuple[str, ...] = ()
    parts: list[str] = []
    for item in items:
        words = item.sparse
        if not words:
            last, parts = (), []
            continue
        fits = 3 <= len(words) <= 4 and words[1] in _FORMATS and words[2] in _SPARSE_PARTS
        fits = fits and (len(words) == 3 or (words[3].isascii() and words[3].isdigit() and len(words[3]) < 19))
        if not fits:
            yield f"hlograph.sparse on {what} {item} is {list(words)!r:.200}, which is no part of a sparse matrix"
            return
        parts = [*parts, words[2]] if words[:2] == last and words[2] != "data" else [words[2]]
        last = words[:2]
        if parts[0] != "data" or len(set(parts)) != len(parts):
            yield f"{what} {item} is a part of the sparse matrix {words[0]!r:.80}, and does not stand behind its data"
    counts = Counter(item.sparse[0] for item in items if item.sparse and item.sparse[2] == "data")
    for item in items:
        if item.sparse and item.sparse[2] == "data":
            given = [x.sparse[2] for x in items if x.sparse and x.sparse[0] == item.sparse[0]]
            if len(given) != 4 * counts[item.sparse[0]]:
                yield f"the sparse matrix {item.sparse[0]!r:.80} has the parts {', '.join(given)}, and needs four"


def _about_flags(function: ir.Operation, type_: ir.FunctionType, signature: Signature) -> Iterator[str]:
    marked = [number for number, words in enumerate(_result_words(function)) if "hlograph.flags" in words]
    if not signature.checks:
        if marked:
            yield "a result is marked hlograph.flags, and @main has no hlograph.checks"
        return
    results = list(type_.results)
    if marked not in ([], [len(results) - 1]) or not results:
        yield f"hlograph.flags marks results {marked}, and only the last one holds the checks' flags"
        return
    if not marked:
        yield "@main has hlograph.checks, and its last result is not marked hlograph.flags"
        return
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
    counts = [count.name for count in (*signature.counts, *signature.local_counts)]
    roots = {root.name for root in signature.roots}
    for name in counts:
        if counts.count(name) > 1 or name in roots or not dimension.NAME.fullmatch(name):
            yield f"the size {name[:80]!r} of hlograph.counts has two meanings, or is no name of a size"
            return
    marked = Counter(
        ir.StringAttr(operation.attributes["hlograph.dim"]).value
        for operation in walk(module)
        if "hlograph.dim" in operation.attributes
    )
    for name in marked.keys() | set(counts):
        if marked[name] != 1 or name not in counts:
            yield (
                f"the size {name[:80]!r} has {marked[name]} calls of @hlograph.size and is "
                f"{counts.count(name)} times in hlograph.counts: both are once"
            )


def _about_sizes(function: ir.Operation, signature: Signature) -> Iterator[str]:
    known = {root.name for root in signature.roots} | {count.name for count in signature.counts}
    sized: tuple[Argument | Result, ...] = (*signature.arguments, *signature.results)
    live = known | {x.size for x in sized if x.size}
    live |= {name for x in signature.arguments for name in x.live_values if name}
    local = live | {count.name for count in signature.local_counts}
    described = ["hlograph.dims" in words for words in _result_words(function)]

    def strange(dims: tuple[Dim, ...], names: set[str]) -> str:
        return min((name for dim in dims for name in dimension.roots(dim) - names), default="")

    for argument in signature.arguments:
        name = strange(argument.dims, known) or strange(argument.live, live)
        if name:
            yield f"argument {argument} has the size {name!r}, which is not by itself a size or a value of any argument"
    for result, is_described in zip(signature.results, described, strict=False):
        name = strange(result.dims, known) if is_described else ""
        name = name or strange(result.live, live)
        if name:
            yield f"result {result} has the size {name!r}, which is no size or value of an argument, nor computed"
    # A padded program may demand something of sizes that are not among its arguments any more.
    for constraint in () if live != known else signature.constraints:
        name = strange((constraint.lhs, constraint.rhs), live)
        if name:
            yield f"constraint {constraint} is about the size {name!r}, which is no size or value of an argument"
    for count in (*signature.counts, *signature.local_counts):
        name = "" if count.bound is None else strange((count.bound,), local - {count.name})
        if name:
            yield f"the bound {count.bound} of the size {count.name} has the size {name!r}, which nothing tells"
