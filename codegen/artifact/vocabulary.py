"""The words of an artifact: every `hlograph.*` attribute that may stand in a module, where, and in what form.

In: a module that was read. Out: nothing, or an error that names the attribute, its place, and the word that was meant.
Whoever gives modules a new attribute adds it to `WORDS`. Decision to know: an unknown word is an error, because most
words forbid something: a check whose name is misspelt is a check that nobody makes.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from ..dims_text import parse
from ..errors import ArtifactError
from ..ir.attributes import PREFIX, names_of
from ..ir.bindings import ir
from ..ir.walk import main_function, symbol_of, walk

Place: TypeAlias = Literal["module", "pullback", "function", "private function", "argument", "result", "op"]

LONGEST_TEXT = 10_000  # characters of one text; a name or a size has some dozens
LONGEST_MESSAGE = 1_000_000  # of a check's message, which nobody takes apart
LONGEST_LIST = 20_000
LONGEST_ALL = 200_000  # characters of all texts of an attribute

# Form -> what it is called in messages.
_FORMS: Mapping[str, str] = {
    "text": "a text",
    "true": "true",
    "texts": "a list of texts",
    "lists": "a list of lists of texts",
}
# Of each place its words, with their forms.
WORDS: Mapping[Place, Mapping[str, str]] = {
    "module": {
        "format": "text",
        "digest": "text",
        "parameters": "texts",
        "padding": "text",
        "of": "texts",
        "from": "texts",
    },
    "pullback": {"of": "texts", "from": "texts"},
    "function": {
        "constraints": "lists",
        "checks": "lists",
        "counts": "lists",
        "local_counts": "lists",
        "platforms": "texts",
    },
    "private function": {"implements": "text"},
    "argument": {
        "name": "text",
        "dims": "texts",
        "values": "texts",
        "shared": "true",
        "sparse": "texts",
        "key": "text",
        "live": "texts",
        "live_values": "texts",
        "size": "text",
        "parameter": "text",
    },
    "result": {
        "name": "text",
        "dims": "texts",
        "weak": "true",
        "sparse": "texts",
        "flags": "true",
        "live": "texts",
        "size": "text",
    },
    "op": {"value": "text", "live": "texts", "dim": "text", "bound": "text"},
}
# Words of ops that stand on some only.
_ON: Mapping[str, Callable[[ir.Operation], bool]] = {
    "dim": lambda op: _is_marker(op),
    "bound": lambda op: _is_marker(op),
    "value": lambda op: len(op.results) == 1,
    "live": lambda op: op.name.startswith("stablehlo."),
}


def check(module: ir.Module, filename: str) -> None:
    """Refuses a module with an `hlograph.*` attribute that has no meaning where it stands, or another form.

    Raises:
        ArtifactError: with the attribute, its place, and the nearest word.
    """
    entry = main_function(module, filename)
    _check(filename, "module", "the module", module.operation.attributes, module.operation)
    for view in module.body.operations:
        operation = view.operation
        if operation.name == "builtin.module":
            _check(filename, "pullback", "a module in it", operation.attributes, operation)
        else:
            for inner in walk(operation):
                if inner.name == "func.func":
                    _check_function(filename, inner, inner == entry)
                else:
                    _check(filename, "op", "", inner.attributes, inner)


def _check_function(filename: str, function: ir.Operation, is_entry: bool) -> None:
    symbol = f"@{symbol_of(function)}"
    _check(filename, "function" if is_entry else "private function", symbol, function.attributes, function)
    places: tuple[tuple[Place, str], ...] = (("argument", "arg_attrs"), ("result", "res_attrs"))
    for place, name in places:
        entries = ir.ArrayAttr(function.attributes[name]) if name in names_of(function.attributes) else ()
        for number, item in enumerate(entries):
            _check(filename, place, f"{place} {number} of {symbol}", ir.DictAttr(item), function)


def _check(filename: str, place: Place, where: str, source: Any, operation: ir.Operation) -> None:
    for name in names_of(source):
        if not _is_ours(name):
            continue
        problem = _problem(place, name, source[name], operation)
        if problem:
            raise ArtifactError(
                f"{filename}: {problem}, on {where or f'{operation.name} at {operation.location}'[:200]}"
            )


@functools.lru_cache(1024)
def _is_ours(name: str) -> bool:
    """Whether a name is one of ours, or was before a letter or two of its prefix were changed."""
    if name.startswith(PREFIX):
        return True
    head = name[: len(PREFIX)]
    return len(head) == len(PREFIX) and sum(a != b for a, b in zip(head, PREFIX, strict=True)) <= 2


def _problem(place: Place, name: str, attribute: ir.Attribute, operation: ir.Operation) -> str:
    """What is wrong with one attribute; "" where nothing is."""
    words = WORDS[place]
    short = name.removeprefix(PREFIX)
    if not name.startswith(PREFIX) or short not in words:
        return _unknown(name, words)
    if place == "op" and not _ON[short](operation):
        return f"attribute {name!r} has no meaning there"
    form = words[short]
    if not _has_form(form, attribute):
        return f"attribute {name!r} must be {_FORMS[form]}, and is {str(attribute)[:80]}"
    lengths = [len(text) for text in _texts(attribute)]
    longest, most = (LONGEST_MESSAGE,) * 2 if short == "checks" else (LONGEST_TEXT, LONGEST_ALL)
    if max(lengths, default=0) > longest:
        return f"attribute {name!r} has a text of more than {longest} characters"
    if sum(lengths) > most:
        return f"attribute {name!r} has texts of more than {most} characters"
    return _bad_size(name, attribute) if place == "op" and short != "dim" else ""


def _bad_size(name: str, attribute: ir.Attribute) -> str:
    for text in _texts(attribute):
        try:
            parse(text)
        except (ValueError, ArithmeticError, RecursionError) as error:
            return f"attribute {name!r} is no size: {str(error)[:200]}"
    return ""


def _unknown(name: str, words: Collection[str]) -> str:
    close = difflib.get_close_matches(name[:200], [PREFIX + word for word in words], 1, 0.5)
    if close:
        hint = f"did you mean {close[0]!r}?"
    else:
        hint = f"known there: {', '.join(sorted(PREFIX + word for word in words)) or 'none'}"
    return f"unknown attribute {name[:200]!r} ({hint})"


def _has_form(form: str, attribute: ir.Attribute) -> bool:
    if form == "text":
        return isinstance(attribute, ir.StringAttr)
    if form == "true":
        return isinstance(attribute, ir.BoolAttr) and ir.BoolAttr(attribute).value
    if not isinstance(attribute, ir.ArrayAttr) or len(ir.ArrayAttr(attribute)) > LONGEST_LIST:
        return False
    inner = "text" if form == "texts" else "texts"
    return all(_has_form(inner, item) for item in ir.ArrayAttr(attribute))


def _texts(attribute: ir.Attribute) -> Iterator[str]:
    if isinstance(attribute, ir.StringAttr):
        yield ir.StringAttr(attribute).value
    elif isinstance(attribute, ir.ArrayAttr):
        for item in ir.ArrayAttr(attribute):
            yield from _texts(item)


def _is_marker(operation: ir.Operation) -> bool:
    return (
        operation.name == "stablehlo.custom_call" and str(operation.attributes["call_target_name"]) == '"hlograph.size"'
    )
