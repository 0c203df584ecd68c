"""From a file to a program, after imports: hlograph's own files of 1,000 ops, through the child process and without.

The baseline is the parse alone, of the same bytes, without limits, digest and signature. The first file of a process
starts the child, in 0.3 s, which is not in these times.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness import Report, Target, compare

OPS = 1000
LIMIT = 50.0  # ms
PARSE = "parse alone"


def model() -> Any:
    """A program of 1,000 ops with a symbolic size."""
    import hlograph

    kind = "tensor<?x8xf64>"
    names = ["%x", *[f"%v{i}" for i in range(OPS)]]
    body = [f"{b} = stablehlo.{'sine' if i % 2 else 'tanh'} {a} : {kind}" for i, (a, b) in enumerate(pairwise(names))]
    argument = f'%x: {kind} {{hlograph.name = "x", hlograph.dims = ["n", "8"]}}'
    text = "\n".join([f"func.func @main({argument}) -> {kind} {{", *body, f"return {names[-1]} : {kind}", "}"])
    return hlograph.Program.parse(text)


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """The times, of both formats."""
    import hlograph
    from hlograph.codegen.artifact import files

    columns = (PARSE, "load", "trusted=True")
    report = Report(f"Load of {OPS:,} ops (ratio to the parse alone)", ("file", *columns))
    with tempfile.TemporaryDirectory() as folder:
        program = model()
        for suffix in (".mlir", ".mlirbc"):
            progress(suffix)
            path = program.save(Path(folder) / f"ours{suffix}")
            data = path.read_bytes()
            calls: dict[str, Callable[[], Any]] = {
                PARSE: lambda data=data: files.parse(data, "file"),
                "load": lambda path=path: hlograph.load(path),
                "trusted=True": lambda path=path: hlograph.load(path, trusted=True),
            }
            timings = compare(calls, PARSE, rounds=3 if quick else 7)
            report.add(f"{suffix}, {len(data) / 1e3:.0f} kB", timings, "ms")
            for name in columns[1:]:
                milliseconds = timings[name].seconds * 1e3
                report.targets.append(Target(f"{name} of {OPS:,} ops from {suffix}, ms", milliseconds, LIMIT))
    return report
