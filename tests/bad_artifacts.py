"""Artifacts that somebody made by hand to do harm: words of a signature, `bad_artifacts.mlir`, and long texts.

    python tests/bad_artifacts.py NAME ...

Loads those of these names that are not refused, compiles and calls them, and prints what becomes of each, a line each.
"""

import re
import sys
from pathlib import Path

import numpy as np

from hlograph import Program
from hlograph.codegen.artifact.files import marks, seal
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


# Words of a signature: a name | the type of argument and result | the words of the argument | of the result | of @main,
# without their prefix | and why that is refused; nothing where it runs.
SIGNATURES = r"""
div zero | ?xf32 | dims = ["n//0"] | | | (n)//0
div by n-n | ?xf32 | dims = ["n"] | dims = ["n//(n-n)"] | | (n)//0
div by n | ?xf32 | dims = ["n"] | dims = ["n//n + n - 1"] |
2^62 | ?xf32 | dims = ["2^62"] | | | '2^62', column 2: expected a number, a name or an operator, found '^62
2**62 number | ?xf32 | dims = ["4611686018427387904"] | |
neg | ?xf32 | dims = ["-n"] | | | argument arg0: float32[-n] has the size 'n', which is no size or value of an a
neg const | ?xf32 | dims = ["-3"] | | | arg0: float32[-3] has a negative size
only expr | ?xf32 | dims = ["2*n"] | | | argument arg0: float32[2*n] has the size 'n', which is no size or value of an
unknown root res | ?xf32 | dims = ["n"] | dims = ["q"] | | result result0: float32[q] has the size 'q', which is no size
res lies static | 4xf32 | dims = ["4"] | dims = ["5"] | | result result0: float32[5] is declared as tensor<4xf32> in the
res lies ? | ?xf32 | dims = ["n"] | dims = ["n+1"] |
two roots | ?xf32 | dims = ["n"]}, %y: tensor<?xf32> {dims = ["m"] | dims = ["m"] |
constraint false | ?xf32 | dims = ["n"] | | constraints = [["0 >= 1"]] | no sizes fulfil its constraints: 0 >= 1 is dema
constraint unsat | ?xf32 | dims = ["n"] | | constraints = [["n == n + 1"]] | no sizes fulfil its constraints: n == n + 1
constraint relation | ?xf32 | dims = ["n"] | | constraints = [["n < 3"]] | 'n < 3', column 3: expected '==', '>=' or '!=
constraint no lists | ?xf32 | dims = ["n"] | | constraints = ["n >= 1"] | the attributes of @main cannot be read
constraint unknown | ?xf32 | dims = ["n"] | | constraints = [["q >= 1"]] | constraint q >= 1 has the size 'q', which is
constraint kind | ?xf32 | dims = ["n"] | | constraints = [["n >= 9","where","zzz"]]
name empty | ?xf32 | name = "", dims = ["n"] | | | the name '' is not one: 1 to 1000 printable characters
name newline | ?xf32 | name = "a\0Ab", dims = ["n"] | | | the name 'a\nb' is not one: 1 to 1000 printable characters
name braces | ?xf32 | name = "{0} %s {x}", dims = ["n"] | |
typo dim | ?xf32 | dim = ["n"] | | | attribute 'hlograph.dim' is unknown (did you mean 'hlograph.dims'?), on arg
typo checks | ?xf32 | dims = ["n"] | | chekcs = [["AssertionError","m"]] | attribute 'hlograph.chekcs' is unknown (did y
dims no list | ?xf32 | dims = "n" | | | the attributes of @main cannot be read
dims too many | ?xf32 | dims = ["n","m"] | | | argument arg0: float32[n, m] is declared as tensor<?xf32> in the module
dims empty text | ?xf32 | dims = [""] | | | '', column 1: expected a number, a name or '(', found ''
shared false | ?xf32 | dims = ["n"], shared = false | | | attribute 'hlograph.shared' must be true, and is false, on arg
values on float | f32 | values = ["k"] | | | hlograph.values on argument arg0: float32[]: sizes are integers, in a kno
values wrong count | 3xi64 | values = ["k","l"] | | | hlograph.values on argument arg0: int64[3] has 2 names for 3 eleme
values bad name | i64 | values = ["k l"] | | | hlograph.values on argument arg0: int64[]: 'k l' cannot name a size
values unused | i64 | values = ["k"] | |
values == size | ?xi64 | dims = ["n"], values = ["n"] | | | hlograph.values on argument arg0: int64[n]: sizes are intege
key on float | 2xf32 | key = "threefry2x32" | | | hlograph.key on argument arg0: float32[2], which is no key: an array o
key unknown | 2xui32 | key = "zzz" | |
sparse short | 3xf32 | sparse = ["W"] | | | hlograph.sparse on arg0: float32[3] is ['W'], which is no part of a sparse m
sparse of another form | 3xf32 | sparse = ["W", "coo", "data"] | | | hlograph.sparse on arg0: float32[3] is ['W', 'coo',
sparse without data | 3xf32 | sparse = ["W", "csr", "indices"] | | | arg0: float32[3] is a part of the sparse matrix 'W'
sparse alone | 3xf32 | sparse = ["W", "csr", "data"] | | | a sparse matrix has the parts data: one or more is missing
sparse with a size | 3xf32 | sparse = ["W", "csr", "data", "x"] | | | hlograph.sparse on arg0: float32[3] is ['W', 'csr'
sparse none | 3xf32 | sparse = [] | |
checks none | ?xf32 | dims = ["n"] | | checks = [["AssertionError","m"]] | hlograph.flags marks the results [], and the
checks float flags | ?xf32 | dims = ["n"] | flags = true | checks = [["AssertionError","m"]] | the last result is tensor
counts no marker | ?xf32 | dims = ["n"] | | counts = [["c","n"]] | the size 'c' has 0 calls of @hlograph.size and is 1 t
counts one | ?xf32 | dims = ["n"] | | counts = [["c"]] | the attributes of @main cannot be read
live bad | 8xf32 | live = ["n"] | | | argument arg0: float32[8] has the size 'n', which is no size or value of an ar
live+size | 8xf32 | live = ["n"]}, %n: tensor<i32> {size = "n" | live = ["n"] |
live res lies | 8xf32 | live = ["n"]}, %n: tensor<i32> {size = "n" | live = ["n+100"] |
size float | 8xf32 | live = ["n"]}, %n: tensor<f32> {size = "n" | live = ["n"] | | hlograph.size on argument arg1: float
live rank | 8xf32 | live = ["n","m"] | | | hlograph.live on argument arg0: float32[8] has 2 sizes for 1 axes
"""


def _signed(type_: str, argument: str, result: str, function: str) -> str:
    argument, result, function = (
        re.sub(r"(^|, |\{)(\w+)(?= ?= ?)", r"\1hlograph.\2", x) for x in (argument, result, function)
    )
    return (
        f"func.func @main(%x: tensor<{type_}> {{{argument}}}) -> (tensor<{type_}> {{{result}}}) "
        f"attributes {{{function}}} {{ return %x : tensor<{type_}> }}"
    )


def _with_dims(dims: str) -> str:
    return _signed("?xf32", f'dims = ["{dims}"]', "", "")


def _with_constraint(size: str) -> str:
    return _signed("?xf32", 'dims = ["n"]', "", f'constraints = [["n >= {size}", "there"]]')


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
for _line in SIGNATURES.strip().splitlines():
    _name, *_words, _message = [*map(str.strip, _line.split("|")), "", "", ""][:6]
    if _message:
        REFUSED[_name] = (_signed(*_words), _message)
    else:
        RUNS[_name] = _signed(*_words)
REFUSED |= {
    "typo prefix": (
        _signed("?xf32", 'dims = ["n"]', "", "").replace("hlograph.dims", "hlogarph.dims"),
        "'hlogarph.dims' is unknown (did you",
    ),
    "power by names": (
        _with_constraint(f"0 - {{a0: n; {'; '.join(f'a{k + 1}: a{k}*a{k}' for k in range(59))}}} a59"),
        "'n >= 0 - {a0: n; a1: a0*a0; a2: a1*a1; a3: a2*a2; a4: a3*a3; a5: a4*a",
    ),
    "product of sums": (_with_constraint("*".join(f"(n+{k}*m{k})" for k in range(1, 40))), "constraint n >= {_1: ("),
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
    "nested min": _with_constraint("min(1," * 190 + "n" + ")" * 190),
    "nested div": _with_constraint("(" * 190 + "n" + "+1)//2" * 190),
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
