"""Compiles programs for one platform, one request a line: a process of its own, because a compiler may end it.

    python tests/aot/worker.py tpu|cuda|gpu|cpu

In, on stdin: {"path": "x.mlir", "sizes": {"n": 8}, "policy": "exact", "devices": 4}. Out, on stdout, behind `ANSWER`:
{"error": "", "seconds": 0.3, ...}. `tpu` and `cuda` are devices that are not here; `gpu` is one that is, where the
program is also run, and compared with the CPU.
"""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ANSWER = "ANSWER "
COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")
OF_ANY_SIGN = ("-Eigh.", "-SVD.")  # eigenvectors and singular vectors
TOLERANCES = {2: 1e-2, 4: 2e-4, 8: 1e-9}  # relative, by bytes of a real number


def topology(platform: str, count: int) -> Any:
    """Devices that are not here: chips of a TPU v5e board, or H200s of one host."""
    from jax.experimental import topologies

    if platform == "tpu":
        return topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices[:count]
    target = Path(__file__).with_name("h200.target_config.pbtxt").read_text()
    return topologies.get_topology_desc(
        platform="cuda",
        topology_name="",
        topology=f"1x1x{count}",  # slices x hosts x devices
        target_config=target,
    ).devices


def specs(program: Any, sizes: dict[str, int], devices: Any) -> list[Any]:
    """The arguments at these sizes, their leading axes divided among the devices.

    Of a program with symbolic sizes those axes are divided that are symbolic, of a static one all; but only where the
    size is a multiple of the number of devices.
    """
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from hlograph.builder import dims as dimension

    mesh = Mesh(np.array(devices), ("data",))
    found = []
    for argument in program.signature.arguments:
        shape = tuple(dimension.evaluate(dim, sizes) for dim in argument.dims)
        data = shape and (program.signature.is_static or not isinstance(argument.dims[0], int))
        divides = data and shape[0] and shape[0] % len(devices) == 0
        sharding = NamedSharding(mesh, PartitionSpec("data") if divides else PartitionSpec())
        found.append(jax.ShapeDtypeStruct(shape, argument.dtype, sharding=sharding))
    return found


def compile_one(request: dict[str, Any], platform: str) -> dict[str, Any]:
    """Compiles; how long it took, and what the compiler says of the result."""
    import hlograph

    program = hlograph.load(request["path"])
    sizes, count = request["sizes"], request["devices"]
    devices = topology(platform, count)
    ahead = program.compile(topology=devices, policy=request["policy"])
    start = time.perf_counter()
    if count == 1:
        lowered = ahead.lower(sizes=sizes)
    else:
        lowered = ahead.lower(*specs(program, sizes, devices), sizes=sizes)
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    text = compiled.as_text() or ""
    memory = compiled.memory_analysis()
    return {
        "seconds": round(seconds, 2),
        "temporary_bytes": int(memory.temp_size_in_bytes) if memory is not None else None,
        "collectives": {name: n for name in COLLECTIVES if (n := len(re.findall(rf"\b{name}(?:-start)?\(", text)))},
        "libraries": sorted(set(re.findall(r'custom_call_target="([^"]+)"', text))),
    }


def run_one(request: dict[str, Any], platform: str) -> dict[str, Any]:
    """Runs on a device that is here, and on the CPU; the largest difference."""
    import jax

    import hlograph

    program = hlograph.load(request["path"])
    arguments = values(program, request["sizes"])
    outcomes = []
    with jax.enable_x64(True):
        for device in (platform, "cpu"):
            function = program.compile(device, policy=request["policy"])
            try:
                outputs = function(*arguments)
            except Exception as error:  # a check of the program: both must raise it
                outcomes.append(f"{type(error).__name__}: {error}")
            else:
                outcomes.append(
                    [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in jax.tree.leaves(outputs)]
                )
    if any(name in request["path"] for name in OF_ANY_SIGN):
        outcomes = [found if isinstance(found, str) else [abs(x) for x in found] for found in outcomes]
    return {"error": difference(*outcomes)}


def values(program: Any, sizes: dict[str, int]) -> list[Any]:
    """Arguments that most programs can take: floats in (0, 1), diagonally dominant matrices, small integers."""
    from hlograph.builder import dims as dimension

    rng = np.random.default_rng(0)
    found: list[Any] = []
    for argument in program.signature.arguments:
        shape = tuple(dimension.evaluate(dim, sizes) for dim in argument.dims)
        if any(argument.values):
            elements = [sizes.get(name, 0) for name in argument.values]
            found.append(np.array(elements if shape else elements[0], argument.dtype))
        elif argument.dtype.kind in "iub":
            found.append(rng.integers(0, 2, shape).astype(argument.dtype))
        else:
            x = rng.uniform(0.1, 0.9, shape)
            if len(shape) >= 2 and shape[-1] == shape[-2]:  # all but symmetric: reshaped, such ones are singular
                x = (x + np.swapaxes(x, -1, -2)) / 2 + 0.01 * x + shape[-1] * np.eye(shape[-1])
            found.append(x.astype(argument.dtype))
    return found


def difference(found: Any, expected: Any) -> str:
    """What differs, in words; "" for nothing."""
    if isinstance(found, str) or isinstance(expected, str):
        same = isinstance(found, str) and isinstance(expected, str) and found.split(":")[0] == expected.split(":")[0]
        return "" if same else f"{found} here, {expected} on the CPU"
    floats = [abs(y[np.isfinite(y)]) for y in expected if y.dtype.kind in "fc"]
    scale = max([float(np.max(y, initial=0)) for y in floats], default=0)  # a gradient that is zero has only rounding
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {number}: {x.dtype}{x.shape} here, {y.dtype}{y.shape} on the CPU"
        if x.dtype.kind in "fc":
            tolerance = TOLERANCES[x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)]
            if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
                return f"result {number} differs by {np.nanmax(np.abs(x - y))}"
        elif not np.array_equal(x, y):
            return f"result {number} differs"
    return ""


def main() -> int:
    """Answers requests until there are no more."""
    import jax

    platform = sys.argv[1]
    work = compile_one if platform in ("tpu", "cuda") else run_one
    for line in sys.stdin:
        try:
            answer = {"error": ""} | work(json.loads(line), platform)
        except Exception as error:  # whatever the compiler has to say is the answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(ANSWER + json.dumps(answer), flush=True)
        jax.clear_caches()
    return 0


if __name__ == "__main__":
    # No metadata server is asked for a TPU that is not here, and no other process kept from it.
    os.environ |= {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["JAX_PLATFORMS"] = "cuda,cpu" if sys.argv[1] == "gpu" else "cpu"
    sys.exit(main())
