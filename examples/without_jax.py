"""A model in a process without JAX: one file, one compile, any length.

    python examples/without_jax.py write FOLDER              writes logistic.mlirbc and logistic.json; needs hlograph
    python examples/without_jax.py run FOLDER PLUGIN.so      runs them; needs NumPy, pypjrt and a PJRT plugin

The model is the loss of a logistic regression and its gradient. `examples/c/run_model.c` runs the same file from C.
"""

import json
import sys
from pathlib import Path

import numpy as np

BOUND, FEATURES = 1000, 3
LENGTHS = (1, 100, 1000, 1001)
BETA = np.array([0.5, -0.25, 0.125])


def sample(i):
    """Numbers that any language makes alike."""
    return i * 7919 % 2003 / 1001.5 - 1.0


X = sample(np.arange(BOUND * FEATURES)).reshape(BOUND, FEATURES)
Y = (sample(np.arange(BOUND) ** 2) > 0).astype("float64")


def write(folder):
    """The model as portable bytecode, and what a caller must know of it as JSON."""
    import pytensor
    import pytensor.tensor as pt

    import hlograph

    features, labels, beta = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("beta")
    eta = features @ beta
    loss = (pt.softplus(eta) - labels * eta).sum()
    loss.name, gradient = "loss", pytensor.grad(loss, beta)
    gradient.name = "gradient"
    dims = {"X": ("n", FEATURES), "y": ("n",), "beta": (FEATURES,)}
    program = hlograph.emit_stablehlo(([features, labels, beta], [loss, gradient]), dims=dims, name="logistic")
    plain = program.plain(bounds={"n": BOUND})
    plain.save(folder / "logistic.mlirbc", target="1.9.0")
    (folder / "logistic.json").write_text(json.dumps(plain.describe(), indent=1))


def run(folder, plugin):
    """One executable, several lengths; what lies behind the rows that count is left as it is."""
    import pypjrt

    model = json.loads((folder / "logistic.json").read_text())
    types = {"float64": 12, "int32": 4}  # PJRT_Buffer_Type
    with pypjrt.Client.create(pypjrt.Plugin(plugin)) as client, client.devices() as devices:
        executable = client.compile((folder / "logistic.mlirbc").read_bytes())
        for n in LENGTHS:
            given = {"X": X, "y": Y, "beta": BETA, "n": np.array(n, "int32")}
            arrays = [given[argument["name"]] for argument in model["arguments"]]
            buffers = [client.buffer_from_host(x, types[x.dtype.name], x.shape, devices[0]) for x in arrays]
            results = {}
            for result, buffer in zip(model["results"], executable(*buffers), strict=True):
                results[result["name"]] = np.empty(result["shape"], result["dtype"])
                buffer.to_host(results[result["name"]])
            failed = np.flatnonzero(~results["flags"])
            if failed.size:
                print(f"{n}: {model['checks'][failed[0]]['message']}")
            else:
                print(f"{n}: loss {results['loss']:.15g} gradient", *(f"{x:.15g}" for x in results["gradient"]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
        case ["run", folder, plugin]:
            run(Path(folder), plugin)
        case _:
            sys.exit(__doc__)
