"""Modules that others wrote, with names for their sizes, are programs like ours."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from foreign_modules import MODULES, Foreign, i32

import hlograph
from hlograph import Program
from hlograph.codegen.artifact.foreign_dims import name_sizes
from hlograph.errors import ArgumentShapeError, ArtifactError, HlographError, PaddingRefusedWarning, PassError

ADD = MODULES["two arguments of one size"].text
SPREAD = MODULES["rows spread"]
IOTA = MODULES["iota of a scalar"].text


def named(module: Foreign) -> Program:
    return name_sizes(Program.parse(module.text), module.dims)


def assert_runs(function: Any, module: Foreign, which: int) -> None:
    arguments = module.arguments(which)
    found, wanted = function(*arguments), module.expected(*arguments)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MODULES)
def test_a_named_module_runs_for_all_sizes(name: str, tmp_path: Path) -> None:
    module = MODULES[name]
    path = tmp_path / "foreign.mlir"
    path.write_text(module.text)
    program = hlograph.load(path, dims=module.dims, trusted=True)
    assert [[str(dim) for dim in result.dims] for result in program.signature.results] == list(module.results)
    exact = program.compile(policy="exact", cpu="plain", optimize="none")
    for which in (0, 1):
        assert_runs(exact, module, which)
    saved = hlograph.load(program.save(tmp_path / "named.mlirbc"))
    assert saved.signature == program.signature
    padded = saved.compile(policy="padded", cpu="plain", optimize="none")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", PaddingRefusedWarning)
        for which in (1, 0):
            assert_runs(padded, module, which)
    assert bool(said) != module.padded, [str(each.message) for each in said]


VALUED = [name for name, module in MODULES.items() if any(type(given) is not tuple for given in module.shapes[0])]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", VALUED)
def test_a_size_that_is_a_value_without_a_name_is_an_error_that_says_how_to_name_it(name: str, tmp_path: Path) -> None:
    module = MODULES[name]
    path = tmp_path / "foreign.mlir"
    path.write_text(module.text)
    with pytest.raises(PassError, match="load") as caught:
        hlograph.load(path, trusted=True).compile(policy="exact", cpu="plain")(*module.arguments(0))
    dims = json.loads(str(caught.value).partition("dims=")[2].removesuffix(")"))
    function = hlograph.load(path, dims=dims, trusted=True).compile(policy="exact", cpu="plain")
    assert_runs(function, module, 0)


def test_a_size_from_data_needs_more_than_a_name() -> None:
    text = """func.func @main(%a: tensor<i32>, %x: tensor<4xf32>, %i: tensor<3xi32>) -> (tensor<?xi32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %k = stablehlo.convert %s : (tensor<f32>) -> tensor<i32>
  %0 = stablehlo.add %k, %a : tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %3 = stablehlo.slice %i [0:2] : (tensor<3xi32>) -> tensor<2xi32>
  return %2, %3 : tensor<?xi32>, tensor<2xi32> }"""
    with pytest.raises(PassError, match="dynamic_iota") as caught:
        Program.parse(text).compile(policy="exact")(i32(1), np.ones(4, np.float32), i32(1, 2, 3))
    assert "load(" not in str(caught.value)


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_sizes_that_contradict_their_names_are_errors_of_the_call(policy: Any) -> None:
    add = name_sizes(Program.parse(ADD), {"arg0": "n", "arg1": "n"}).compile(policy=policy)
    with pytest.raises(ArgumentShapeError, match="arg1"):
        add(np.ones(3, np.float32), np.ones(4, np.float32))
    half = named(MODULES["an expression"]).compile(policy=policy)
    with pytest.raises(ArgumentShapeError, match=r"2\*n"):
        half(np.ones(3, np.float32), np.ones(5, np.float32))
    sizes = named(MODULES["jax: sizes as arguments"]).compile(policy=policy)
    with pytest.raises(ArgumentShapeError, match="both n"):
        sizes(np.int32(4), np.ones(5, np.float32))
    iota = name_sizes(Program.parse(IOTA), {0: "k"}).compile(policy=policy)
    with pytest.raises(ArgumentShapeError, match="size k"):
        iota(np.int32(-1))
    assert iota(np.int32(0)).shape == (0,)


FIVE = """func.func @main(%arg0: tensor<?xf32>) -> tensor<5xf32> {
  %0 = stablehlo.slice %arg0 [0:5] : (tensor<?xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32> }"""
FIVE_SOMEWHERE = """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<i32>) -> tensor<5xf32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [5] : (tensor<?xf32>, tensor<i32>) -> tensor<5xf32>
  return %0 : tensor<5xf32> }"""
FIVE_WRITTEN = """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<i32>) -> tensor<?xf32> {
  %v = stablehlo.constant dense<1.0> : tensor<5xf32>
  %0 = stablehlo.dynamic_update_slice %arg0, %v, %arg1 : (tensor<?xf32>, tensor<5xf32>, tensor<i32>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }"""
ROWS_OF_FIVE = """func.func @main(%arg0: tensor<4x?xf32>, %arg1: tensor<2xi64>) -> tensor<2x5xf32> {
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}>
    : (tensor<4x?xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32> }"""


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize(
    ("text", "shape", "more"),
    [
        (FIVE, (7,), []),
        (FIVE_SOMEWHERE, (7,), [np.int32(1)]),
        (FIVE_WRITTEN, (7,), [np.int32(1)]),
        (ROWS_OF_FIVE, (4, 7), [np.array([1, 2])]),
        (MODULES["the first k"].text, (7,), [np.array([5])]),
    ],
)
def test_a_slice_does_not_leave_its_array(policy: Any, text: str, shape: tuple[int, ...], more: list[Any]) -> None:
    dims = {0: [None, "n"] if len(shape) > 1 else "n", **({1: "k"} if "tensor<1xi64>" in text else {})}
    function = name_sizes(Program.parse(text), dims).compile(policy=policy, cpu="plain")
    assert 5 in np.shape(function(np.ones(shape, np.float32), *more)) or text is FIVE_WRITTEN
    with pytest.raises(HlographError):
        function(np.ones((*shape[:-1], 3), np.float32), *more)


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_sizes_without_names_are_not_taken_to_be_equal(policy: Any) -> None:
    with pytest.raises(HlographError):
        Program.parse(ADD).compile(policy=policy)(np.ones(3, np.float32), np.ones(4, np.float32))


@pytest.mark.parametrize(
    ("text", "dims", "message"),
    [
        (ADD, {"x": "n"}, "the argument 'x'; there are 0: arg0, 1: arg1"),
        (ADD, {2: "n"}, "the argument 2"),
        (ADD, {-1: "n"}, "the argument -1"),
        (ADD, {0: "n", "arg0": "m"}, "'arg0' twice"),
        (ADD, {0: ["n", "m"]}, "2 entries for 1 axes"),
        (ADD, {0: "2*n"}, "n is nowhere the size"),
        (ADD, {0: "n", 1: "n +"}, "expected"),
        (ADD, {0: "n", 1: "n//0"}, "arg1"),
        (ADD, {0: 1.5}, "arg0"),
        (ADD, {0: [1.5]}, r"got 1\.5"),
        (ADD, {0: -3}, "cannot be -3"),
        (ADD, {0: [..., "n", ...]}, "may stand once"),
        (MODULES["by number"].text, {0: ["n", "m"]}, "always 4 and takes no name"),
        (MODULES["by number"].text, {0: ["n", 5]}, "cannot be 5"),
        (IOTA, {0: "2*k"}, "a value has a name"),
        (IOTA, {0: 3}, "a value has a name"),
        (IOTA, {0: ["a", "b"]}, "2 entries for 1 values"),
        (MODULES["iota of a shape"].text, {0: ["a", None]}, "all of the values"),
        (named(SPREAD).text, {0: "m"}, r"names in the file \(n\)"),
        (named(SPREAD).text, {1: "m"}, r"names in the file \(rows\)"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, dims: Any, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        name_sizes(Program.parse(text), dims)


def test_transformations_of_results_whose_sizes_have_no_names() -> None:
    """Of an op without a padding rule the module does not say them; a size that is known does."""
    module = MODULES["torch: batch norm"]
    function, arrays = named(module).compile(policy="exact"), module.arguments(0)
    np.testing.assert_allclose(jax.jit(function)(*arrays), module.expected(*arrays), rtol=1e-6)
    text = ADD.replace("arg1: tensor<?xf32>", "arg1: tensor<3xf32>").replace(
        "add %arg0, %arg1 : tensor<?xf32>", "add %arg0, %arg1 : (tensor<?xf32>, tensor<3xf32>) -> tensor<?xf32>"
    )
    half = Program.parse(text).compile()
    np.testing.assert_array_equal(jax.jit(half)(np.ones(3, np.float32), np.ones(3, np.float32)), [2, 2, 2])


def test_attributes_of_others_stay() -> None:
    text = """func.func @main(%arg0: tensor<?xf32> {mhlo.layout_mode = "default", tf.aliasing_output = 0 : i32})
      -> (tensor<?xf32> {jax.result_info = "y"}) { return %arg0 : tensor<?xf32> }"""
    program = name_sizes(Program.parse(text), {0: "n"})
    for changed in (program, program.specialize({"n": 3}), program.optimize(["canonicalize"])):
        for kept in ('mhlo.layout_mode = "default"', "tf.aliasing_output = 0 : i32", 'jax.result_info = "y"'):
            assert kept in changed.text
    np.testing.assert_array_equal(program.compile()(np.ones(3, np.float32)), np.ones(3))


# ---- what StableHLO lets modules leave out means the same ------------------------------------------------------------

SORT = """
func.func @main(%x: tensor<?x?xf32> {{hlograph.name = "x", hlograph.dims = ["n", "m"]}}) -> tensor<?x?xf32> {{
  %0 = "stablehlo.sort"(%x) {properties} ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }}) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}}
"""


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize(
    ("properties", "axis"),
    [("", -1), ("<{dimension = -1 : i64}>", -1), ("<{dimension = -2 : i64}>", 0), ("<{dimension = 0 : i64}>", 0)],
)
def test_a_sort_is_along_its_last_axis_and_may_count_from_the_end(properties: str, axis: int, policy: str) -> None:
    program = Program.parse(SORT.format(properties=properties))
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    np.testing.assert_array_equal(program.compile(policy=policy)(x), np.sort(x, axis))
    np.testing.assert_array_equal(program.interpret(x)[0], np.sort(x, axis))
