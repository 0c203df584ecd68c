"""A `?` module through XLA's own bounded dimensions: what XLA's padder makes of it.

Arguments have the bound as their static size, a further one is the live size; `set_dimension_size` at the top gives
the rest of the module bounded types (`tensor<?x8xf64, #stablehlo.bounds<16, ?>>`), which XLA pads and masks by itself.
Works for modules with one symbolic size that is some axis as it is, and for the ops that XLA takes so.
"""

from __future__ import annotations

import re
from typing import Any

_TYPE = re.compile(r"tensor<((?:\?x|\d+x)*)([a-z]\w*)>")


def bounded(program: Any, bound: int) -> Any:
    """The program with the size `n` bounded: static arguments, and `n` (int32) as the last one."""
    import hlograph

    lines = []
    for line in program.text.splitlines():
        if "func.func public @main" in line:
            lines += _header(line, bound)
        elif "dynamic_broadcast_in_dim" in line:
            lines += _broadcast(line, bound)
        else:
            lines.append(_bounded(line, bound))
    return hlograph.Program.parse("\n".join(lines))


def _header(line: str, bound: int) -> list[str]:
    names = re.findall(r"(%\w+): (tensor<[^>]*>)", line.partition(" -> ")[0])
    results = re.findall(r"tensor<[^>]*>", line.partition(" -> ")[2])
    arguments = [f"{name}_: {_static(type_, bound)}" for name, type_ in names]
    lines = [f"func.func public @main({', '.join(arguments)}, %n: tensor<i32>) -> ({', '.join(results)}) {{"]
    for name, type_ in names:
        if "?" in type_:
            lines.append(
                f'{name} = "stablehlo.set_dimension_size"({name}_, %n) <{{dimension = 0 : i64}}> : '
                f"({_static(type_, bound)}, tensor<i32>) -> {_bounded(type_, bound)}"
            )
        else:
            lines.append(f"{name} = stablehlo.convert {name}_ : {type_}")
    return lines


def _broadcast(line: str, bound: int) -> list[str]:
    match = re.match(
        r"\s*(%\w+) = stablehlo.dynamic_broadcast_in_dim (%\w+), %\w+, dims = (\[.*?\]) : "
        r"\((tensor<[^>]*>), .*\) -> (.*)",
        line,
    )
    assert match is not None, line
    result, operand, dims, source, target = match.groups()
    if "?" in source:
        return [
            f"{result} = stablehlo.broadcast_in_dim {operand}, dims = {dims} : "
            f"({_bounded(source, bound)}) -> {_bounded(target, bound)}"
        ]
    return [
        f"%s{result[1:]} = stablehlo.broadcast_in_dim {operand}, dims = {dims} : "
        f"({source}) -> {_static(target, bound)}",
        f'{result} = "stablehlo.set_dimension_size"(%s{result[1:]}, %n) <{{dimension = 0 : i64}}> : '
        f"({_static(target, bound)}, tensor<i32>) -> {_bounded(target, bound)}",
    ]


def _static(text: str, bound: int) -> str:
    return text.replace("?", str(bound))


def _bounded(text: str, bound: int) -> str:
    def replace(match: re.Match[str]) -> str:
        sizes = match[1].split("x")[:-1]
        if "?" not in sizes:
            return match[0]
        bounds = ", ".join(str(bound) if size == "?" else "?" for size in sizes)
        return f"tensor<{match[1]}{match[2]}, #stablehlo.bounds<{bounds}>>"

    return _TYPE.sub(replace, text)
