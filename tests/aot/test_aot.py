"""What `make aot` is made of: how programs are found and sizes chosen, what counts as a difference or as known."""

from __future__ import annotations

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


def test_a_size_from_data_without_a_bound_gets_one():
    counts = pt.lvector("counts")
    program = hlograph.emit_stablehlo(([counts], [pt.repeat(counts, counts)]))
    (size,) = program.signature.counts
    assert programs.choose_sizes(program, (8,))[size.name] == 8


def test_what_scripts_emit_and_parse_is_recorded(tmp_path, monkeypatch):
    """A lit test of a rule, which emits by another name than `hlograph.emit_stablehlo`, and one of the builder."""
    lit = programs.REPOSITORY / "lit_tests"
    for folder in (lit / "ops", lit / "builder", lit):
        monkeypatch.syspath_prepend(str(folder))
    collection = programs.Collection(tmp_path)
    parse = hlograph.Program.parse
    collection.run("rules", lit / "ops" / "shapes.py")
    collection.run("builder", lit / "builder" / "functions.py")
    assert collection.problems == []
    assert {case.group for case in collection.cases} == {"rules", "builder"}
    assert "Eye" in {case.name.partition(".")[0] for case in collection.cases}
    assert hlograph.Program.parse is parse


def test_a_script_has_no_arguments(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["programs.py", "a folder"])
    script = tmp_path / "script.py"
    script.write_text("import sys\nraise KeyError(len(sys.argv))")
    collection = programs.Collection(tmp_path)
    collection.run("examples", script)
    assert collection.problems == ["examples: script.py failed: KeyError: 1"]


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


def test_an_exception_is_equal_to_the_same_exception():
    assert worker.difference("IndexError", "IndexError") == ""
    assert worker.difference("IndexError", [np.zeros(1)]).startswith("IndexError here")


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
    keys = [f"cuda/{policy}/1/builder/custom_call.dynamic" for policy in ("exact", "padded")]
    error = "No FFI handler registered for a_target"
    assert refusals.known(keys[0], error) is refusal
    assert refusals.known(keys[0], "out of memory") is None
    assert refusal not in refusals.stale(keys, {keys[0]: error, keys[1]: ""})
    assert refusal in refusals.stale(keys, dict.fromkeys(keys, ""))
    assert refusal not in refusals.stale(keys, {keys[0]: ""})  # the other one may still be refused
