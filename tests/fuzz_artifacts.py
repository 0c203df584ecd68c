"""Mutated artifacts, loaded, compiled and called in processes of their own: none may die, hang, or raise raw errors.

    python tests/fuzz_artifacts.py --count 5000 --jobs 2 --first 0 [--forged]

Seeds are programs as hlograph saves them, and the same without a digest, in text and bytecode. A mutation is a number;
`--first NUMBER --count 1` makes it again. `--forged` gives each file the right digest, as anyone can.

What a program computes is its own affair: loops that do not end and arrays that are too large are counted apart.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workers

SECONDS = 60.0  # that one mutation may take
CHUNK = 250  # mutations of one process
LARGE = 2**24  # elements of arrays that are not made
MEMORY = 2**34  # bytes of address space of a worker


# ---- seeds ---------------------------------------------------------------------------------------------------------


def programs() -> Iterator[Any]:
    """Programs with all that a file can hold: sizes, checks, loops, branches, calls, counts, keys, constants."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
    from pytensor.ifelse import ifelse
    from pytensor.raise_op import Assert

    import hlograph

    X, b, k, v = pt.dmatrix("X"), pt.dvector("b"), pt.lscalar("k"), pt.fvector("v")
    y = Assert("b is not finite")(pt.gammaln(pt.abs(X @ b) + 1), pt.all(pt.lt(pt.abs(b), 1e6)))[:k]
    yield hlograph.emit_stablehlo(([X, b, k], [y]), dims={"X": ("n", 3)}, name="checked")
    steps = pytensor.scan(lambda x, s: s * 0.5 + x, sequences=[v], outputs_info=[pt.zeros((), "float32")])
    yield hlograph.emit_stablehlo(([v], [steps if not isinstance(steps, tuple) else steps[0]]), name="loop")
    yield hlograph.emit_stablehlo(([X], [pt.linalg.cholesky(X @ X.T + pt.eye(X.shape[0]))]), name="factor")
    yield hlograph.emit_stablehlo(([v], [v[pt.nonzero(v > 0)[0]]]), name="counted")
    yield hlograph.emit_stablehlo(([X, k], [ifelse(k > 1, pt.sort(X, axis=0), X * 2)]), name="branch")
    table = np.random.default_rng(0).normal(size=(40, 3))
    yield hlograph.emit_stablehlo(([X, b], [pt.sum((X @ table.T) ** 2) + b[0]]), dims={"X": ("n", 3)}, name="table")
    specs = [jax.ShapeDtypeStruct(("n", 2), "complex64"), jax.ShapeDtypeStruct(("m",), "int32")]
    yield hlograph.emit_stablehlo(lambda x, i: jnp.take(x, i, axis=0) * 2j, *specs, name="taken")


def seeds(folder: Path, forge: bool = False) -> list[Path]:
    """Files to be mutated."""
    made = []
    for program in programs():
        name = program.name
        made.append(program.save(folder / f"{name}.mlir"))
        if forge or name == "checked":  # each change of it is found by its digest
            made.append(program.save(folder / f"{name}.mlirbc"))
        (folder / f"{name}.foreign.mlir").write_text(program.text)
        (folder / f"{name}.foreign.mlirbc").write_bytes(program.to_bytecode())
        made += [folder / f"{name}.foreign.mlir", folder / f"{name}.foreign.mlirbc"]
    return made


# ---- mutations -----------------------------------------------------------------------------------------------------


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One file with one to three mutations."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = chance.choice(MUTATIONS)(data, chance)
    return data


def _place(data: bytes, chance: random.Random) -> int:
    return chance.randrange(max(len(data), 1))


def flip(data: bytes, chance: random.Random) -> bytes:
    """One bit."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 4)) if data else 0):
        found[_place(data, chance)] ^= 1 << chance.randrange(8)
    return bytes(found)


def cut(data: bytes, chance: random.Random) -> bytes:
    """The end, or a part, is not there."""
    start = _place(data, chance)
    return data[:start] if chance.random() < 0.3 else data[:start] + data[start + chance.randrange(1, 40) :]


def insert(data: bytes, chance: random.Random) -> bytes:
    """Bytes that do not belong there."""
    start = _place(data, chance)
    return data[:start] + chance.choice(INSERTED)(chance) + data[start:]


def repeat(data: bytes, chance: random.Random) -> bytes:
    """A part, several times."""
    start = _place(data, chance)
    part = data[start : start + chance.randrange(1, 200)]
    return data[:start] + part * chance.choice((2, 3, 300)) + data[start + len(part) :]


def swap_lines(data: bytes, chance: random.Random) -> bytes:
    """Two lines, of bytecode two parts."""
    lines = data.split(b"\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def swap_tokens(data: bytes, chance: random.Random) -> bytes:
    """One word or number in place of another."""
    words = list(re.finditer(rb"[\w.%@#]+", data))
    if len(words) < 2:
        return data
    a = chance.choice(words)
    b = chance.choice([word for word in words if word[0][:1].isalpha() == a[0][:1].isalpha() and word != a] or words)
    return data[: a.start()] + b[0] + data[a.end() :]


def number(data: bytes, chance: random.Random) -> bytes:
    """Another number."""
    found = list(re.finditer(rb"-?\d+", data))
    if not found:
        return data
    place = chance.choice(found)
    other = chance.choice((b"0", b"1", b"2", b"-1", b"7", b"65", b"1000000", b"4611686018427387904", b"9" * 400))
    return data[: place.start()] + other + data[place.end() :]


def nest(data: bytes, chance: random.Random) -> bytes:
    """Something in very many brackets."""
    words = list(re.finditer(rb"\w+", data))
    if not words:
        return data
    place, depth = chance.choice(words), chance.choice((3, 100, 20000))
    opening, closing = chance.choice(((b"[", b"]"), (b"(", b")"), (b"tuple<", b">"), (b"{a = ", b"}"), (b"-", b"")))
    return data[: place.start()] + opening * depth + place[0] + closing * depth + data[place.end() :]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip, flip, flip, cut, insert, repeat),
    *(swap_lines, swap_tokens, swap_tokens, number, number, nest),
)
INSERTED: tuple[Callable[[random.Random], bytes], ...] = (
    lambda chance: chance.randbytes(chance.randrange(1, 9)),
    lambda chance: b"\xff\xfe",
    lambda chance: b"\\FF",
    lambda chance: b"\0",
    lambda chance: chance.choice(
        (b'"', b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b"?", b"x", b"//", b"//0", b"%")
    ),
    lambda chance: b"n + " * 5000,
)


# ---- one process's mutations ---------------------------------------------------------------------------------------


def forged(data: bytes) -> bytes:
    """A file with the right digest; without one where it cannot have one."""
    from hlograph.codegen.artifact import files
    from hlograph.codegen.ir.modules import MAGIC
    from hlograph.errors import ArtifactError

    if files.mark(data) is None and not data.startswith(MAGIC):
        data = f"// {files.marks()['hlograph.digest']}\n".encode() + data
    try:
        return files.seal(re.sub(rb"(sha256 )[0-9a-f]{64}", rb"\g<1>" + b"0" * 64, data))
    except ArtifactError:
        return data


def work(items: str, folder: Path, forge: bool) -> None:
    """What becomes of mutations."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    files = sorted(folder.iterdir())
    workers.serve(items, lambda mutation: _one(files, mutation, forge))


def _one(files: list[Path], mutation: int, forge: bool) -> str:
    """What became of a mutation: where it was refused or ended, or the exception that is no error of hlograph's."""
    import jax

    import hlograph

    chance = random.Random(mutation)
    seed = chance.choice(files)
    data = mutated(seed.read_bytes(), chance)
    data = forged(data) if forge else data
    stage = "load"
    try:
        with tempfile.NamedTemporaryFile(suffix=seed.suffix) as file:
            file.write(data)
            file.flush()
            program = hlograph.load(file.name)
        text = program.text
        if _large(text):
            return "large"
        stage = "compile"
        workers.tell(mutation, "compile", "while" if "stablehlo.while" in text else "")
        function = program.compile()
        arguments = _arguments(program)
        stage = "call"
        jax.block_until_ready(function(*arguments))
    except hlograph.errors.HlographError:
        return f"refused by {stage}"
    except AssertionError as error:
        return (
            "check" if any(str(error).startswith(check.message) for check in program.signature.checks) else _raw(error)
        )
    except Exception as error:
        return _raw(error)
    return "called"


def _raw(error: Exception) -> str:
    import traceback

    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"raw {type(error).__name__}: {str(error)[:150]} at {' '.join(frames[-3:])}"


def _large(text: str) -> bool:
    sizes = re.findall(r"<([0-9?][0-9?x]*)x[a-z!]", text)
    elements = [[int(size) for size in shape.split("x") if size != "?"] for shape in sizes]
    return any(len(shape) > 8 or math.prod(shape) > LARGE for shape in elements)


def _arguments(program: Any) -> list[Any]:
    import numpy as np

    from hlograph.builder import dims

    signature = program.signature
    sizes = {root.name: 3 if root.kind == "size" else 2 for root in signature.roots}
    arrays = []
    for argument in signature.arguments:
        shape = [dims.evaluate(dim, sizes) if dims.roots(dim) <= sizes.keys() else 3 for dim in argument.dims]
        arrays.append(np.full(shape if min(shape, default=0) >= 0 else [3] * len(shape), 2, argument.dtype))
    return arrays


# ---- all of them ---------------------------------------------------------------------------------------------------

BAD = ("raw", "died", "hung")  # the first words of what must not be


@dataclass
class Outcome:
    """What became of mutations.

    Attributes:
        counts: of each kind how many.
        wrong: the mutations that ended a process, hung, or raised something else than an `HlographError`.
    """

    counts: Counter[str]
    wrong: list[str]

    @staticmethod
    def of(found: workers.Found) -> Outcome:
        """Counted and sorted."""
        found = [(mutation, "endless loop" if what == "hung in compile while" else what) for mutation, what in found]
        kinds = [(what.partition(" ")[0], mutation, what) for mutation, what in sorted(found)]
        wrong = [f"{mutation}: {what}" for kind, mutation, what in kinds if kind in BAD]
        return Outcome(Counter(kind if kind in BAD else what for kind, _, what in kinds), wrong)

    def __str__(self) -> str:
        shown = ", ".join(f"{number} {kind}" for kind, number in self.counts.most_common())
        return "\n".join([f"{self.counts.total()} mutations: {shown}", *self.wrong])


def fuzz(first: int, count: int, jobs: int, forge: bool = False) -> Outcome:
    """What becomes of mutations, by number."""
    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder), forge)
        options = ["--quiet", "--folder", folder, *(["--forged"] if forge else [])]
        items = range(first, first + count)
        return Outcome.of(workers.all_of(__file__, items, CHUNK, *options, jobs=jobs, seconds=SECONDS))


def main() -> None:
    """Prints what became of them; the status is 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="how many mutations")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--forged", action="store_true", help="with the right digest")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.folder, options.forged)
        return
    started = time.monotonic()
    outcome = fuzz(options.first, options.count, options.jobs, options.forged)
    print(outcome, f"{time.monotonic() - started:.0f} s", sep="\n")
    sys.exit(bool(outcome.wrong))


if __name__ == "__main__":
    main()
