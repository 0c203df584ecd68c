"""`lower`: JAX's `Lowered` in all that JAX has of it, the stages before it, and what each costs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax.experimental import serialize_executable

import hlograph
from hlograph.codegen.ir.bindings import new_context
from hlograph.errors import PassError
from hlograph.passes import ir
from hlograph.runtime.lowered import hlo
from hlograph.runtime.lowered.hlo import Cost
from hlograph.runtime.lowered.stages import Lowered

SDS = jax.ShapeDtypeStruct

# A sum and a product of the same two arrays, the sum twice.
TWICE = """
module @twice {
  func.func public @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]},
      %y: tensor<?xf32> {hlograph.name = "y", hlograph.dims = ["n"]}) -> tensor<?xf32> {
    %0 = stablehlo.add %x, %y : tensor<?xf32>
    %1 = stablehlo.add %x, %y : tensor<?xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<?xf32>
    return %2 : tensor<?xf32>
  }
}
"""
STATIC = TWICE.replace("?", "4").replace('"n"', '"4"')
X, Y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)


# Without a plan for CPU, which test_recipe.py has.
def lower(text: str, *args: object, passes: object = "none", **options: object) -> Lowered:
    function = hlograph.Program.parse(text).compile(optimize=passes, **{"cpu": "plain", **options})
    return function.lower(*args)


def lowered_by_jax(function: object, *args: object) -> jax.stages.Lowered:
    return jax.jit(function).lower(*args)


def test_it_is_what_jax_lowered() -> None:
    lowered = lower(STATIC, X, Y)
    assert isinstance(lowered, jax.stages.Lowered)
    assert lowered.out_info.shape == (4,)
    assert lowered.out_info.dtype == np.float32
    assert [leaf.shape for leaf in jax.tree.leaves(lowered.in_avals)] == [(4,), (4,)]
    assert lowered.in_tree.num_leaves == 2
    assert lowered.donate_argnums == ()
    assert [each.shape for each in jax.tree.leaves(lowered.args_info, is_leaf=lambda x: hasattr(x, "shape"))] == [
        (4,)
    ] * 2
    assert lowered.cost_analysis()["flops"] == 12  # three ops on four elements, before XLA
    assert lowered.as_text() == lowered.as_text("stablehlo")
    assert "@main(%x: tensor<4xf32>, %y: tensor<4xf32>)" in lowered.as_text()
    module = lowered.compiler_ir("stablehlo")
    assert str(ir.Module.parse(lowered.as_text(), new_context())) == str(module), "names are all that is new"
    assert "loc(" in lowered.as_text(debug_info=True)
    assert lowered.as_text("hlo").startswith("HloModule")


def test_what_it_compiles_to_is_jaxs() -> None:
    executable = lower(STATIC, X, Y).compile()
    assert isinstance(executable, jax.stages.Compiled)
    np.testing.assert_array_equal(executable(X, Y), (X + Y) ** 2)
    assert executable.as_text().count(" multiply(") == 1
    assert executable.cost_analysis()["flops"] == 8
    assert executable.memory_analysis().argument_size_in_bytes == 32
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(executable))
    np.testing.assert_array_equal(again(X, Y), (X + Y) ** 2)


def test_exact_sizes_and_what_each_stage_costs() -> None:
    lowered = lower(TWICE, X, Y)
    program = hlograph.Program.parse(TWICE)
    assert lowered.stages.names == ("emitted", "specialize", "lowered")
    assert lowered.stages["specialize"].spec == "specialize{n=4}"
    assert lowered.as_text(stage="emitted") == program.text
    assert lowered.as_text("stablehlo", stage="specialize") == program.specialize({"n": 4}).text
    assert lowered.as_text(stage="lowered") == lowered.as_text()
    assert "loc(" in lowered.as_text(stage="emitted", debug_info=True)
    assert lowered.cost("emitted") is None  # its sizes are open
    cost = lowered.cost()
    assert cost == lowered.cost("specialize")
    assert (cost.flops, cost.bytes_accessed, cost.temporary, cost.complete) == (8, 48, 0, True)
    heading, *rows = lowered.table()
    assert heading[:5] == ("stage", "ops", "flops", "bytes", "temporary")
    assert [row[0] for row in rows] == ["emitted", "specialize", "lowered", "optimized HLO"]
    assert (rows[0][2:5], rows[1][2:5]) == (("", "", ""), ("8", "48 B", "0 B"))


def test_padded_sizes_bounds_and_sizes_from_data() -> None:
    lowered = lower(TWICE, X, Y, policy="padded")
    assert lowered.stages.names == ("emitted", "pad", "lowered")
    assert lowered.stages["pad"].text == hlograph.Program.parse(TWICE).pad({"n": 16}).text
    x, y, mask = pt.dvector("x"), pt.dvector("y"), pt.vector("mask", dtype="bool")
    mixed = hlograph.function([x, y], x.sum() * y, dims={"x": ("n",), "y": ("m",)}, policy={"n": 8, "m": "exact"})
    lowered = mixed.lower(np.ones(5), np.ones(3))
    assert lowered.stages.names[:3] == ("emitted", "specialize", "pad")
    assert "tensor<8xf64>" in lowered.as_text()
    assert "tensor<3xf64>" in lowered.as_text()
    chosen = hlograph.function([x, mask], x[mask], dims={"x": ("n",), "mask": ("n",)}, policy="exact")
    assert "pad" in chosen.lower(np.ones(4), np.ones(4, bool)).stages.names
    traced = hlograph.jit(jnp.sum, dims={"a": ("n",)}, policy="padded").lower(X)
    assert [leaf.shape for leaf in jax.tree.leaves(traced.in_avals)] == [(16,), ()]
    assert "pad" in traced.stages.names


def test_passes_that_change_something() -> None:
    lowered = lower(STATIC, X, Y, passes=["canonicalize", "cse", "inline"])
    assert lowered.stages.names == ("emitted", "cse", "lowered")
    assert lowered.stages.unchanged == ("canonicalize", "inline")
    assert [lowered.as_text(stage=name).count("stablehlo.add") for name in lowered.stages.names] == [2, 1, 1]
    # What XLA gets is the last stage, called.
    counts = lowered.stages["lowered"].op_counts
    assert counts.pop("func.call") == 1
    assert counts == lowered.stages["cse"].op_counts
    m = pt.dmatrix("m")
    lowered = hlograph.function([m], pt.linalg.cholesky(m), cpu="plain").lower(np.eye(4))  # calls of libraries are one
    assert lowered.stages.names == ("emitted", "specialize", "device_linalg", "lowered")
    assert "stablehlo.custom_call" in lowered.as_text(stage="device_linalg")


def test_a_stage_that_is_not_there() -> None:
    lowered = lower(STATIC, X, Y, passes=["canonicalize"])
    with pytest.raises(
        PassError, match="no stage 'canonicalize': the pass changed nothing; there are emitted, lowered"
    ):
        lowered.as_text(stage="canonicalize")
    with pytest.raises(PassError, match="stage 'emitted' is StableHLO, and has no text in 'hlo'"):
        lowered.as_text("hlo", stage="emitted")


def test_costs_of_what_is_measured_alone_and_of_the_first_compile() -> None:
    lowered = lower(STATIC, X, Y, passes=["cse"], device=jax.devices("cpu")[-1])
    assert [row[2] for row in lowered.table([])[1:]] == ["", "", ""]
    assert [row[0] for row in lowered.table(["emitted"])[1:]] == ["emitted", "cse", "lowered"]
    assert lowered.table(["emitted"])[1][2] != ""
    assert lowered.cost("emitted").flops == lowered.cost().flops == 8
    lowered.compile()
    first = lowered._seconds
    lowered.compile()  # JAX has kept the executable
    assert lowered.cost().seconds == first > 0


def test_a_loop_counts_once_and_costs_say_so() -> None:
    def halve(x):
        return jax.lax.while_loop(lambda c: c.sum() > 1, lambda c: c * 0.5, x)

    cost = Cost.of(lowered_by_jax(halve, jnp.ones(64)))
    assert not cost.complete
    assert 64 <= cost.flops < 64 * 10


def test_hlo_text_without_the_places_in_files() -> None:
    text = lowered_by_jax(lambda x: jnp.sin(x).sum(), X).compile().as_text()
    shown = hlo.readable(text)
    assert shown.startswith("HloModule jit")
    assert "stack_frame_id" not in shown
    assert "FileNames" not in shown
    assert 'op_name="' in shown
    assert hlo.counts(shown) == hlo.counts(text) != {}


def loss(params, x, y, *, scale, power):
    return {"loss": (((x @ params["w"] + params["b"] - y) * scale) ** power).mean(), "rows": x.shape[0]}


def test_lower_of_a_traced_function_takes_what_the_function_takes() -> None:
    traced = hlograph.jit(loss, dims={"x": ("n", 3), "y": ("n",)}, static_argnames="power")
    params = {"w": np.ones(3, np.float32), "b": np.float32(2)}
    x, y = np.ones((5, 3), np.float32), np.zeros(5, np.float32)
    lowered = traced.lower(params, x, y, scale=2.0, power=2)
    assert lowered.stages.names[:2] == ("emitted", "specialize")
    found = lowered.compile()(params, x, y, scale=2.0)  # as jax.jit's: without what is static
    assert found.keys() == {"loss", "rows"}
    np.testing.assert_allclose(found["loss"], (2 * (3 + 2)) ** 2, rtol=1e-6)
    assert int(found["rows"]) == 5


def test_lower_of_a_traced_function_with_a_key() -> None:
    traced = hlograph.jit(lambda key, x: (jax.random.normal(key, x.shape) + x, key), dims={"x": ("n",)})
    key = jax.random.key(7)
    for given in (key, SDS((), key.dtype)):
        values, same = traced.lower(given, X).compile()(key, X)
        np.testing.assert_array_equal(values, jax.random.normal(key, (4,)) + X)
        assert same == key


def test_what_jax_runs_is_one_stage() -> None:
    lowered = hlograph.jit(lambda x: x + 1).lower(X)
    assert lowered.stages.names == ("lowered",)
    assert "sink_reductions" in lowered.stages.unchanged
    np.testing.assert_array_equal(lowered.compile()(X), X + 1)
    assert [row[0] for row in lowered.table()[1:]] == ["lowered", "optimized HLO"]
