"""Programs run by a PJRT plugin that comes in a wheel, through its C functions: nothing of JAX or of hlograph runs.

`Plugin` is the client of one; `run` pads arguments as a user would, and cuts the results.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from padded_runs import padded_array

import hlograph
from hlograph.builder import dims as dimension
from hlograph.codegen.artifact.programs import to_portable

# PJRT_Buffer_Type, by the names of dtypes.
TYPES = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
    "bfloat16": 13,
    "complex64": 14,
    "complex128": 15,
}
VERSION = "1.9.0"  # of StableHLO, which the plugin reads


def library() -> Path | None:
    """The CPU plugin of the wheel `xla-cpu-pjrt`; None where it, or the client `pypjrt`, is not installed."""
    try:
        found = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt")
    except ModuleNotFoundError:
        return None
    if found is None or found.origin is None or importlib.util.find_spec("pypjrt") is None:
        return None
    return Path(found.origin).parent / "xla_cpu_pjrt.so"


MISSING = "the wheels xla-cpu-pjrt (Linux on x86-64) and pypjrt are not installed: pip install 'hlograph[plugin]'"


_open = ExitStack()  # until the process ends


@cache
def client() -> tuple[Any, Any]:
    """One client for the process, and its first device."""
    import pypjrt

    made = pypjrt.Client.create(pypjrt.Plugin(str(library())))
    return made, _open.enter_context(made.devices())[0]


class Compiled:
    """A plain program, compiled by the plugin from its portable bytecode."""

    def __init__(self, program: hlograph.Program) -> None:
        self.described = program.describe()
        self._executable = client()[0].compile(to_portable(program, VERSION))

    def call(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Arrays of the executable's shapes to arrays of its results' shapes."""
        for array, entry in zip(arrays, self.described["arguments"], strict=True):
            assert (array.dtype.name, list(array.shape)) == (entry["dtype"], entry["shape"]), entry
        owner, device = client()
        buffers = [
            owner.buffer_from_host(np.ascontiguousarray(x), TYPES[x.dtype.name], list(x.shape), device) for x in arrays
        ]
        results = []
        for buffer, entry in zip(self._executable(*buffers), self.described["results"], strict=True):
            results.append(np.empty(entry["shape"], entry["dtype"]))
            if results[-1].size:
                buffer.to_host(results[-1])
            buffer.close()
        for buffer in buffers:
            buffer.close()
        return results

    def run(self, arrays: Sequence[np.ndarray], sizes: Mapping[str, int], *, poison: bool = True) -> Run:
        """Arrays of any sizes within the bounds, padded; the results, cut."""
        given = [np.asarray(x) for x in arrays]
        described = self.described["arguments"]
        padded = [padded_array(x, entry["shape"], poison=poison) for x, entry in zip(given, described, strict=False)]
        padded += [np.asarray(sizes[entry["size"]], np.int32) for entry in described[len(given) :]]
        return Run(self.described, self.call(padded), sizes)


class Run:
    """What a call returned.

    Attributes:
        results: the program's own, cut to their live sizes.
        beyond: what lies behind these.
        failed: the messages of the checks that failed.
    """

    def __init__(self, described: Mapping[str, Any], outputs: Sequence[np.ndarray], sizes: Mapping[str, int]) -> None:
        entries = list(zip(described["results"], outputs, strict=True))
        known = {**sizes, **{entry["size"]: int(x) for entry, x in entries if "size" in entry}}
        self.results, self.beyond, self.failed = [], [], []
        for entry, x in entries:
            if entry.get("is") == "flags":
                self.failed = [c["message"] for c, flag in zip(described["checks"], x, strict=True) if flag <= 0]
            elif "is" not in entry:
                live = [_evaluate(dim, known) for dim in entry.get("live", entry["shape"])]
                place = tuple(map(slice, live))
                self.results.append(x[place])
                rest = x.copy()
                rest[place] = 0
                self.beyond.append(rest)


def _evaluate(dim: int | str, sizes: Mapping[str, int]) -> int:
    from hlograph.codegen.dims import parse

    return dim if isinstance(dim, int) else dimension.evaluate(parse(dim, signed=set(sizes)), sizes)
