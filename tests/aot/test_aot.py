"""What `make aot` is made of: how programs are found and sizes chosen, what counts as a difference or as known."""

import numpy as np
import pytensor.tensor as pt
import pytest
from aot import programs, refusals, worker
from pytensor.raise_op import Assert

import hlograph


def vectors(body, **dims):
    x, y = pt.dvector("x"), pt.dvector("y")
    return hlograph.emit_stablehlo(([x, y], [body(x, y)]), dims=dims)


def test_sizes_satisfy_the_constraints():
    assert programs.choose_sizes(vectors(lambda x, y: x + y, x=("n",), y=("m",)), (8, 4)) == {"n": 8, "m": 8}
    assert programs.choose_sizes(vectors(lambda x, y: x[9] + y[0], x=("n",), y=("m",)), (8, 12)) == {"n": 12, "m": 8}
    assert programs.choose_sizes(vectors(lambda x, y: x[9] + y[0], x=("n",), y=("m",)), (8, 4)) is None


def test_a_script_that_fails_is_a_problem(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise KeyError('x')")
    collection = programs.Collection(tmp_path)
    collection.run("examples", script)
    assert collection.problems == ["examples: script.py failed: KeyError: 'x'"]


@pytest.mark.parametrize(
    ("found", "expected", "text"),
    [
        ([1.0, np.nan], [1.0 + 1e-12, np.nan], ""),
        ([1.0, 2.0], [1.0, np.nan], "result 0 differs"),
        ([1.0, 2.0], [1.0, 2.1], "result 0 differs by 0.1"),
        ([1.0, 2.0], [1.0], "result 0: float64(2,) here, float64(1,) on the CPU"),
        ([1, 2], [1, 3], "result 0 differs"),
    ],
)
def test_differences(found, expected, text):
    assert worker.difference([np.array(found)], [np.array(expected)]).startswith(text)
    assert bool(worker.difference([np.array(found)], [np.array(expected)])) == bool(text)


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("holds", [True, False])
def test_a_run_beside_the_cpu(tmp_path, policy, holds):
    program = vectors(lambda x, y: Assert("no")(x @ y, (x > (0 if holds else 1)).all()), x=("n",), y=("n",))
    path = program.save(tmp_path / "dot.mlir")
    answer = worker.run_one({"path": str(path), "sizes": {"n": 5}, "policy": policy}, "cpu")
    assert answer == {"error": ""}


@pytest.mark.gpu
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_a_run_on_a_gpu_beside_the_cpu(tmp_path, policy):
    path = vectors(lambda x, y: pt.exp(x) @ y, x=("n",), y=("n",)).save(tmp_path / "dot.mlir")
    assert worker.run_one({"path": str(path), "sizes": {"n": 5}, "policy": policy}, "gpu") == {"error": ""}


def test_refusals_that_no_longer_refuse_are_told():
    refusal = refusals.REFUSALS[0]
    keys = [f"cuda/{policy}/1/rules/Print.dynamic" for policy in ("exact", "padded")]
    error = "ArtifactError: custom call 'hlograph.host' is not one that a file may hold"
    assert refusals.known(keys[0], error) is refusal
    assert refusals.known(keys[0], "out of memory") is None
    assert refusal not in refusals.stale(keys, {keys[0]: error, keys[1]: ""})
    assert refusal in refusals.stale(keys, dict.fromkeys(keys, ""))
    assert refusal not in refusals.stale(keys, {keys[0]: ""})  # the other one may still be refused
