"""One of two processes of `tests/runtime/transforms/test_sharding.py`: `two_processes.py PORT NUMBER`; prints JSON."""

import json
import sys

import jax
import numpy as np
from densities import MODELS, logistic_data
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def main(port: str, number: str) -> None:
    jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_x64", True)
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=int(number))
    mesh = Mesh(jax.devices(), ("rows",))
    by_rows = NamedSharding(mesh, P("rows"))
    X, y, beta = logistic_data(64)
    mine = slice(32 * int(number), 32 * (int(number) + 1))
    data = [jax.make_array_from_process_local_data(by_rows, x[mine], x.shape) for x in (X, y)]
    function = MODELS["logistic"].function()
    value, gradient = jax.jit(jax.value_and_grad(function, 2))(*data, beta)
    direct = function(*data, jax.device_put(beta, NamedSharding(mesh, P())))
    print(
        json.dumps(
            {
                "devices": [jax.local_device_count(), jax.device_count()],
                "rows here": sum(shard.data.shape[0] for shard in data[0].addressable_shards),
                "value": float(value),
                "direct": float(direct),
                "gradient": np.asarray(gradient).tolist(),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
