"""Ahead of time: lowered and compiled for given devices and sizes. Devices that are not here: `make aot`."""

import pickle
from pathlib import Path

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from jax.experimental import serialize_executable, topologies
from pytensor.raise_op import Assert
from regressions import agrees, data, program
from scripts import run_script

import hlograph
from hlograph.errors import ArgumentError, ArgumentShapeError, ArgumentTypeError, DeviceError, PaddingError, PolicyError

SDS = jax.ShapeDtypeStruct


@pytest.fixture(scope="module")
def regression():
    return program()


@pytest.fixture(scope="module")
def here():
    """The devices that are here, as a topology."""
    return topologies.get_attached_topology()


def run(compiled, *args):
    with jax.enable_x64(True):
        return compiled(*args)


def shapes(lowered):
    return [leaf.shape for leaf in jax.tree.leaves(lowered.in_avals)]


def test_sizes_by_name_from_specs_from_arrays_and_none(regression, here):
    ahead, static = regression.compile(topology=here.devices), regression.specialize({"n": 4}).compile(topology=here)
    specs = [SDS((5, 3), "float64"), SDS((5,), "float64"), SDS((3,), "float64")]
    lowered = [(n, ahead.lower(sizes={"n": n})) for n in (0, 1)]
    for n, each in (*lowered, (5, ahead.lower(*specs)), (5, ahead.lower(*data(5))), (4, static.lower())):
        compiled = each.compile()
        assert isinstance(compiled, jax.stages.Compiled)
        agrees(run(compiled, *data(n)), *data(n))


def test_padded_to_the_bucket_with_the_live_size_behind(regression, here):
    lowered = regression.compile(topology=here, policy="padded").lower(sizes={"n": 5})
    assert shapes(lowered) == [(16, 3), (16,), (3,), ()]
    X, y, w = data(5)
    wide = np.zeros((16, 3)), np.zeros(16)
    wide[0][:5], wide[1][:5] = X, y
    agrees(run(lowered.compile(), *wide, w, np.int32(5)), X, y, w)


@pytest.mark.parametrize(
    ("policy", "sizes", "rows"),
    [
        (32, None, 32),
        ({"n": 32}, {"n": 5}, 32),
        (hlograph.Bucket(start=8), {"n": 5}, 8),
        ("exact", {"n": 5}, 5),
        ("auto", {"n": 5}, 5),
    ],
)
def test_the_policy_decides_on_shapes(regression, here, policy, sizes, rows):
    assert shapes(regression.compile(topology=here, policy=policy).lower(sizes=sizes))[0] == (rows, 3)


def test_a_size_that_follows_from_another_one_need_not_be_given(here):
    x, y = pt.dvector("x"), pt.dvector("y")
    made = hlograph.emit_stablehlo(([x, y], [x + y]), dims={"x": ("n",), "y": ("m",)})
    assert shapes(made.compile(topology=here).lower(sizes={"n": 4})) == [(4,), (4,)]


def test_a_size_that_is_an_arguments_value(here):
    k, b = pt.lscalar("k"), pt.dscalar("b")
    made = hlograph.emit_stablehlo(([k, b], [pt.arange(k) * b]))
    (name,) = [root.name for root in made.signature.roots]
    ahead = made.compile(topology=here)
    specs = SDS((), "int64"), SDS((), "float64")
    for lowered in (ahead.lower(sizes={name: 4}), ahead.lower(*specs, sizes={name: 4}), ahead.lower(4, 0.5)):
        np.testing.assert_array_equal(run(lowered.compile(), np.int64(4), np.float64(0.5)), np.arange(4) * 0.5)
    with pytest.raises(ArgumentError, match=r"the size k is not known \(k is the value of argument 'k'\)"):
        ahead.lower(*specs)


def test_a_size_from_data_is_a_result(here):
    x, mask = pt.dvector("x"), pt.vector("mask", dtype="bool")
    made = hlograph.emit_stablehlo(([x, mask], [x[mask]]), dims={"x": ("n",), "mask": ("n",)})
    compiled = made.compile(topology=here, policy="exact").lower(sizes={"n": 4}).compile()
    found, count, *_ = run(compiled, np.arange(4.0), np.array([True, False, True, False]))
    assert count == 2
    np.testing.assert_array_equal(found[:2], [0.0, 2.0])


def test_a_size_from_data_without_a_bound_must_be_given(here):
    x, counts = pt.dvector("x"), pt.lvector("counts")
    made = hlograph.emit_stablehlo(([x, counts], [pt.repeat(x, counts)]), dims={"x": ("n",), "counts": ("n",)})
    (size,) = made.signature.counts
    ahead = made.compile(topology=here, policy="exact")
    with pytest.raises(ArgumentError, match=f"size {size.name} is computed from data and has no bound"):
        ahead.lower(sizes={"n": 2})
    compiled = ahead.lower(sizes={"n": 2, size.name: 6}).compile()
    found, count, *_ = run(compiled, np.array([1.0, 2.0]), np.array([3, 1]))
    assert (found.shape, int(count)) == ((6,), 4)
    np.testing.assert_array_equal(found[:4], [1.0, 1.0, 1.0, 2.0])


def test_shared_variables_come_after_the_inputs_and_flags_of_checks_last(here):
    x, scale = pt.dvector("x"), pytensor.shared(np.array([2.0, 3.0]), name="scale")
    made = hlograph.emit_stablehlo(([x], [Assert("negative")(x * scale, (x > 0).all())]))
    compiled = made.compile(topology=here).lower(SDS((2,), "float64")).compile()
    for values, holds in (([1.0, 2.0], True), ([1.0, -2.0], False)):
        found, flags = run(compiled, np.array(values), scale.get_value())
        np.testing.assert_array_equal(found, values * scale.get_value())
        assert flags.tolist() == [holds]


def test_a_key_is_its_integers():
    mu, key = pt.dvector("mu"), jax.random.key(3)
    function = hlograph.function([mu], pt.random.normal(mu, 1.0))
    compiled = function.lower(key, np.zeros(3)).compile()
    found = run(compiled, jax.random.key_data(key), np.zeros(3))
    np.testing.assert_array_equal(found, function(key, np.zeros(3)))


def test_lower_of_a_function_is_on_its_device():
    x = pt.dvector("x")
    function = hlograph.function([x], x.max())
    values = np.zeros(4096)
    values[1] = np.nan
    device = jax.devices("cpu")[0]
    for each in (function, function.program.compile(device)):
        lowered = each.lower(values)
        assert float(run(lowered.compile(), np.zeros(4096))) == 0
        assert np.isnan(run(lowered.compile(), values))  # with the options that keep NaN, as calls have them
    with jax.enable_x64(True):
        placed = jax.device_put(values, device)
    assert function.lower(placed).compile().input_shardings[0][0].device_set == {device}


@pytest.mark.parametrize(
    ("args", "sizes", "error", "message"),
    [
        ((), {}, ArgumentError, r"the size n is not known \(n is argument 'X', axis 0\); give sizes={'n': ...}"),
        ((), {"rows": 5}, ArgumentError, "no size 'rows'; its sizes: n"),
        (data(5), {"n": 6}, ArgumentShapeError, "n = 6, but the arguments say 5"),
        (data(5)[:2], {}, ArgumentTypeError, "expected 3 arguments"),
        ([*data(5)[:2], np.ones(3, "float32")], {}, ArgumentTypeError, "argument 'w': expected dtype float64"),
        ([*data(5)[:2], np.ones(4)], {}, ArgumentShapeError, "argument 'w', axis 0: expected size 3, got 4"),
    ],
)
def test_refused_arguments(regression, here, args, sizes, error, message):
    with pytest.raises(error, match=message):
        regression.compile(topology=here).lower(*args, sizes=sizes)


def test_refused_policies(regression, here):
    with pytest.raises(PolicyError, match="no size 'm'"):
        regression.compile(topology=here, policy={"m": 3})
    with pytest.raises(ArgumentShapeError, match="n = 9 is above its bound 8"):
        regression.compile(topology=here, policy=8).lower(sizes={"n": 9})
    made = hlograph.emit_stablehlo(jax.numpy.linalg.eigvals, SDS(("n", "n"), "float32"))
    with pytest.raises(PaddingError, match="geev"):
        made.compile(topology=here, policy="padded").lower(sizes={"n": 4})


def test_it_is_not_called_and_takes_one_place(regression, here):
    with pytest.raises(DeviceError, match="compiled for a topology, whose devices need not be here"):
        regression.compile(topology=here)(*data(3))
    with pytest.raises(ValueError, match="a device or a topology, not both"):
        regression.compile("cpu", topology=here)
    with pytest.raises(DeviceError, match="no devices"):
        regression.compile(topology=[])


def test_arguments_are_divided_as_their_shardings_say():
    code = """
    import jax, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    from regressions import agrees, data, program

    rows = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), P("data"))
    specs = [jax.ShapeDtypeStruct(shape, "float64", sharding=rows) for shape in ((8, 3), (8,))]
    specs.append(jax.ShapeDtypeStruct((3,), "float64"))
    a, b, c = data(8)
    wide = np.zeros((16, 3)), np.zeros(16)
    wide[0][:8], wide[1][:8] = a, b
    for policy, args in (("exact", (a, b, c)), ("padded", (*wide, c, np.int32(8)))):
        compiled = program().compile(topology=jax.devices(), policy=policy).lower(*specs).compile()
        assert "all-reduce" in compiled.as_text() and "all-gather" not in compiled.as_text()
        shardings = compiled.input_shardings[0]
        assert [s.is_fully_replicated for s in shardings] == [False, False, *[True] * (len(args) - 2)]
        with jax.enable_x64(True):
            agrees(compiled(*[jax.device_put(x, s) for x, s in zip(args, shardings, strict=True)]), a, b, c)
    """
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    run_script(code, environment=devices | {"PYTHONPATH": str(Path(__file__).parents[2])})


def test_a_serialized_decomposition_runs_in_a_fresh_process(tmp_path):
    """JAX loads the LAPACK functions where it lowers a call of them; a process that only loads lacks them."""
    a = pt.fmatrix("a")
    compiled = hlograph.function([a], pt.linalg.cholesky(a)).lower(sizes={"a_0": 2, "a_1": 2}).compile()
    file = tmp_path / "cholesky.pickle"
    file.write_bytes(pickle.dumps(serialize_executable.serialize(compiled)))
    code = """
    import pickle, sys
    import numpy as np
    from hlograph.runtime.lowered import ahead
    fn = ahead.deserialize_and_load(*pickle.load(open(sys.argv[1], "rb")))
    np.testing.assert_array_equal(fn(np.array([[4, 0], [0, 9]], np.float32)), [[2, 0], [0, 3]])
    """
    run_script(code, file)
