"""Compiled functions on several devices: XLA's partitioner splits the inlined module, and nothing gathers the data."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from densities import MODELS, logistic_data

FOLDER = Path(__file__).parents[2]


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(FOLDER), "JAX_PLATFORMS": "cpu"}
    environment.pop("XLA_FLAGS", None)
    command = [sys.executable, str(FOLDER / script), *arguments]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def eight() -> dict[str, Any]:
    return finish(start("eight_devices.py"))


@pytest.mark.parametrize(
    "case",
    [
        "graph's gradient, called with sharded arguments",
        "eager value_and_grad of sharded arguments",
        "jit with in_shardings",
        "shard_map",
        "vmap over sharded batch",
    ],
)
def test_results_on_eight_devices_are_those_on_one(eight: dict[str, Any], case: str) -> None:
    assert eight["devices"] == 8
    assert eight[case] < 1e-12


def test_the_data_stay_where_they_are(eight: dict[str, Any]) -> None:
    assert eight["collectives of it"] == ["all-reduce"]
    assert eight["collectives of jit"] == ["all-reduce"]
    assert eight["shapes on one device"] == ["3", "8", "8,3"]
    assert eight["batch sharding"].endswith("('rows',)")


def test_sharded_arguments_are_never_padded(eight: dict[str, Any]) -> None:
    assert eight["policies"] == ["exact"]


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_types_say_how_results_lie_on_explicit_axes(eight: dict[str, Any], policy: str) -> None:
    assert any("@rows" in text for text in eight["types of jax.jit"])
    assert eight[f"types under {policy}"] == eight["types of jax.jit"]


def test_two_processes() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    processes = [start("two_processes.py", port, str(number)) for number in range(2)]
    with jax.enable_x64(True):
        value, gradient = jax.jit(jax.value_and_grad(MODELS["logistic"].value, 2))(*logistic_data(64))
    for found in map(finish, processes):
        assert found["devices"] == [2, 4]
        assert found["rows here"] == 32
        np.testing.assert_allclose([found["value"], found["direct"]], float(value), rtol=1e-12)
        np.testing.assert_allclose(found["gradient"], gradient, rtol=1e-12)
