"""Artifacts that somebody made by hand to do harm: `bad_artifacts.mlir`, and texts too long to be written down.

    python tests/bad_artifacts.py NAME ...

Loads those of these names that are not refused, compiles and calls them, and prints what becomes of each, a line each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hlograph.codegen.artifact.digest import marks, seal
from hlograph.codegen.program import Program
from hlograph.errors import HlographError

SIZE = 4  # of what is open


def _read() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    refused: dict[str, tuple[str, str]] = {}
    runs: dict[str, str] = {}
    for section in Path(__file__).with_suffix(".mlir").read_text().split("// -----\n"):
        head, _, text = section.partition("\n")
        kind, _, name = head.removeprefix("// ").partition(" ")
        if kind == "REFUSED":
            name, _, message = name.partition(": ")
            refused[name] = (text, message)
        else:
            runs[name] = text
    return refused, runs


def _with_dims(dims: str) -> str:
    return f'func.func @main(%x: tensor<?xf32> {{hlograph.dims = ["{dims}"]}}) {{ return }}'


def _with_constraint(size: str) -> str:
    return (
        'func.func @main(%x: tensor<?xf32> {hlograph.dims = ["n"]}) '
        f'attributes {{hlograph.constraints = [["n >= {size}", "there"]]}} {{ return }}'
    )


def _calls(depth: int, times: int) -> str:
    """Functions that call each other so deep, each the next one so many times."""
    texts = []
    for number in range(depth):
        name = f"private @f{number}" if number else "@main"
        call = f"func.call @f{number + 1}(%x) : (tensor<f32>) -> tensor<f32>"
        body = "\n".join([*[f"%{k} = {call}" for k in range(times)], "return %0 : tensor<f32>"])
        texts.append(f"func.func {name}(%x: tensor<f32>) -> tensor<f32> {{ {body} }}")
    end = f"func.func private @f{depth}(%x: tensor<f32>) -> tensor<f32> {{ return %x : tensor<f32> }}"
    return "\n".join([*texts, end])


REFUSED, RUNS = _read()
REFUSED |= {
    "10,000 brackets": (_with_dims("(" * 4900 + "n" + ")" * 4900), "at most 200 nested parentheses"),
    "a megabyte of dims": (_with_dims("n+" * 500_000 + "n"), "more than 10000 characters"),
    "a long number": (_with_dims("9" * 4400), "cannot be read"),
    "thousands of sizes": (_with_constraint("+".join(f"m{k}" for k in range(1500))), "no size or value of an argument"),
    "many long constraints": (
        _with_constraint("n").replace('["n >= n", "there"]', ", ".join([f'["n >= {"n*" * 4000}n", "there"]'] * 30)),
        "more than 200000 in all",
    ),
    "calls 3,000 deep": (_calls(3000, 1), "functions call each other 3001 deep"),
    "calls that are 2^40 ops": (_calls(40, 2), "it has more than 20000000 ops"),
}
RUNS |= {
    "a long minimum": _with_constraint(f"0 - min({','.join(f'n//{k}' for k in range(1, 1200))})"),
    "a long product": _with_constraint(f"0 - {'*'.join(f'(n+{k})' for k in range(1, 400))}"),
    "a high power": _with_constraint(f"0 - {'n*' * 4000}n"),
}


def forged(text: str) -> bytes:
    """The text of a module, or bytecode of it, with a digest that is right: anyone can write one."""
    return seal(f"// {marks()['hlograph.digest']}\n{text}".encode())


def outcome(text: str) -> str:
    """What becomes of an artifact that is loaded, compiled and called: "runs", or an error's class."""
    try:
        program = Program.parse(text)
        if any(
            isinstance(dim, int) and dim > 2**20 for argument in program.signature.arguments for dim in argument.dims
        ):
            return "an argument that nobody has"
        arguments = [
            np.ones([dim if isinstance(dim, int) else SIZE for dim in argument.dims], argument.dtype)
            for argument in program.signature.arguments
        ]
        found = program.compile(policy="exact", cpu="plain")(*arguments)
        for result in found if isinstance(found, tuple) else (found,):
            np.asarray(result)
    except HlographError as error:
        return type(error).__name__
    return "runs"


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(f"{wanted}: {outcome(RUNS[wanted])}", flush=True)
