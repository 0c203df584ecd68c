"""What becomes of `x / y` written three times: graph, module, optimized HLO, forward and reverse mode; and of loops.

python examples/stages.py

`python examples/stages.py docs/explanation/stages.md` writes its output, which is the text of that page, there.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import jax
import jax.numpy as jnp
import pytensor
import pytensor.tensor as pt

import hlograph
from hlograph.runtime.lowered.hlo import readable
from hlograph.runtime.lowered.stages import Lowered
from hlograph.tools.console import columns

jax.config.update("jax_enable_x64", True)

SPEC = jax.ShapeDtypeStruct((1000,), "float64")


def loss(library, x, y):  # type: ignore[no-untyped-def]
    """The same in PyTensor and in JAX."""
    return (library.sin(x / y) + library.cos(x / y) + library.exp(x / y)).sum()


def loss_of_quotient(library, x, y):  # type: ignore[no-untyped-def]
    """The quotient has a name, and is one node of the graph."""
    q = x / y
    return (library.sin(q) + library.cos(q) + library.exp(q)).sum()


def in_pytensor(function) -> hlograph.Function:  # type: ignore[no-untyped-def]
    """The PyTensor graph of a loss, compiled without a plan for CPU."""
    x, y = pt.dvector("x"), pt.dvector("y")
    return hlograph.function([x, y], function(pt, x, y), dims={"x": ("n",), "y": ("n",)}, name="loss", cpu="plain")


def in_jax(function, mode: str) -> hlograph.Program:  # type: ignore[no-untyped-def]
    """JAX's value, forward or reverse mode of a loss, as a module."""

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return function(jnp, x, y)

    def forward(x: jax.Array, y: jax.Array, dx: jax.Array, dy: jax.Array) -> jax.Array:
        return jax.jvp(value, (x, y), (dx, dy))[1]

    made = {"value": value, "forward": forward, "reverse": jax.grad(value, (0, 1))}[mode]
    return hlograph.emit_stablehlo(made, *[SPEC] * (4 if mode == "forward" else 2))


def unrolled(x: jax.Array) -> jax.Array:
    """A loop of Python's: JAX sees 300 steps, one after the other."""
    for _ in range(300):
        x = x * (0.5 * x - 0.25 * x * x)
    return x.sum()


def stacked(x: jax.Array, data: jax.Array) -> jax.Array:
    """The mean squared error of all states of a loop."""

    def step(state: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        state = jnp.sin(state) * 0.9 + jnp.cos(state)
        return state, state

    states = jax.lax.scan(step, x, None, length=512)[1]
    return ((states - data) ** 2).mean()


def stages(lowered: Lowered) -> str:
    """The table of stages without its times, which differ from run to run."""
    return columns([(*row[:5], row[-1]) for row in lowered.table()])


def derivatives(function: hlograph.Function) -> tuple[hlograph.Program, hlograph.Program]:
    """The programs that `jax.jvp` and `jax.grad` of a compiled function run, by both arguments."""
    derived = function.derived
    pushforward, pullback = derived.made("pushforward", (0, 1)), derived.made("pullback", (0, 1), (0,))
    assert pushforward is not None and pullback is not None
    return tuple(each.program.specialize({"n": 1000}) for each, _ in (pushforward, pullback))  # type: ignore


def body(program: hlograph.Program) -> list[str]:
    """The lines of a module's function, without types."""
    lines = [line.strip() for line in program.text.splitlines()]
    inside = [line for line in lines if re.match(r"%|return", line)]
    return [re.sub(r" : .*", "", line).replace("stablehlo.", "") for line in inside]


def side_by_side(left: Sequence[str], right: Sequence[str], heads: tuple[str, str]) -> str:
    """Two texts, beside each other."""
    return columns([heads, *zip_longest(left, right, fillvalue="")])


def sections() -> Iterator[tuple[str, str]]:
    """The name and the text of each part."""
    x, y = pt.dvector("x"), pt.dvector("y")
    stream = io.StringIO()
    pytensor.dprint(loss(pt, x, y), file=stream)
    yield "graph", stream.getvalue()

    function = in_pytensor(loss)
    yield "module", re.sub(r" \{hlograph[^}]*\}", "", function.program.text)

    lowered = function.lower(sizes={"n": 1000})
    yield "stages", stages(lowered)
    yield "optimized HLO", re.sub(r", metadata=\{[^}]*\}", "", readable(lowered.compile().as_text() or ""))

    forward, reverse = derivatives(function)
    yield "forward and reverse", side_by_side(body(forward), body(reverse), ("forward mode", "reverse mode"))

    table = [("", "", "value", "forward", "reverse")]
    for title, each in (("x / y three times", loss), ("q = x / y", loss_of_quotient)):
        compiled = in_pytensor(each)
        graphs = compiled.program, *derivatives(compiled)
        modules = [in_jax(each, mode) for mode in ("value", "forward", "reverse")]
        for library, programs in (("PyTensor", graphs), ("JAX", modules)):
            counts = [str(program.text.count("stablehlo.divide")) for program in programs]
            table.append((title, library, *counts))
    yield "divides", columns(table)

    for loop, shapes in ((unrolled, [(100,)]), (stacked, [(64, 256), (512, 64, 256)])):
        program = hlograph.emit_stablehlo(loop, *[jax.ShapeDtypeStruct(shape, "float32") for shape in shapes])
        yield loop.__name__, stages(program.compile(cpu="plain").lower())


def main(*files: str) -> None:
    """Prints all parts, or writes them into files, below the comments with their names."""
    for name, text in sections():
        print(f"---- {name}\n{text.rstrip()}\n")
        for file in map(Path, files):
            block = re.compile(rf"(?<=<!-- {name} -->\n```\n).*?(?=\n```)", re.DOTALL)
            file.write_text(block.sub(lambda _, text=text: text.rstrip(), file.read_text()))  # type: ignore[misc]


if __name__ == "__main__":
    main(*sys.argv[1:])
