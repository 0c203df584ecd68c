"""What a caller must know of a static program, as plain data: for JSON beside the file, and for other languages.

    {"arguments": [{"name": "x", "dtype": "float64", "shape": [1000, 3], "live": ["n", 3]},
                   {"name": "n", "dtype": "int32", "shape": [], "is": "size"}],
     "results": [{"name": "loss", "dtype": "float64", "shape": []},
                 {"name": "flags", "dtype": "bool", "shape": [2], "is": "flags"}],
     "padding": "any", "checks": [{"exception": "ValueError", "message": "n >= 0 must hold: ..."}, ...]}

In: a program. Out: the dictionary; arguments and results stand in the order in which a compiled module has them. `live`
says how much of an axis counts, as an expression of sizes; where it is missing, everything does.
"""

from __future__ import annotations

from typing import Any

from ..errors import PassError
from ..program import Program
from ..signature import Argument, Result, flags_type
from .plain import padding_of


def describe(program: Program) -> dict[str, Any]:
    """The arguments and results of a static program, and what the flags among these say.

    Raises:
        PassError: sizes are open.
    """
    signature = program.signature
    if not signature.is_static:
        raise PassError(f"{program.name} has open sizes: {signature}; make it static first, with plain(bounds=...)")
    results = [_entry(result) for result in signature.results]
    if signature.checks:
        shape, dtype = flags_type(signature.checks)
        results.append({"name": "flags", "dtype": dtype.name, "shape": list(shape), "is": "flags"})
    return {
        "format": 1,
        "name": program.name,
        "arguments": [_entry(argument) for argument in signature.arguments],
        "results": results,
        "padding": padding_of(program),
        "checks": [
            {"exception": x.exception, "message": x.message, **({"place": x.place} if x.place else {})}
            for x in signature.checks
        ],
    }


def _entry(item: Argument | Result) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": item.name, "dtype": item.dtype.name, "shape": list(item.dims)}
    if item.live != () and item.live != item.dims:
        entry["live"] = [dim if isinstance(dim, int) else str(dim) for dim in item.live]
    if item.size:
        entry["is"] = "size"
        entry["size"] = item.size
    return entry
