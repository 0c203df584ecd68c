"""Calls: what goes in, what comes out, what is compiled when, and what is refused before anything runs."""

import copy
import functools
import inspect
import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
import hlograph.pytensor
from hlograph.errors import ArgumentShapeError, ArgumentTypeError, HlographError


@pytest.fixture
def add():
    x, y = pt.dvector("x"), pt.dvector("y")
    return hlograph.function([x, y], x + y)


@pytest.fixture
def count():
    k, b = pt.lscalar("k"), pt.dscalar("b")
    return hlograph.function([k, b], pt.arange(k) * b)


def test_values_that_decide_sizes_and_python_numbers_which_convert_upwards_only(count):
    np.testing.assert_array_equal(count(3, 2), [0.0, 2.0, 4.0])
    for k in (2, 3, 2, 0, -5):
        np.testing.assert_array_equal(count(k, 2), 2.0 * np.arange(k))
    assert count.stats.compiles == 2  # the first size as it is, and a bucket for the others
    for k in [2, 3, 2, 0, -5] * 4:
        np.testing.assert_array_equal(count(jnp.asarray(k), 2.0), 2.0 * np.arange(k))
    with pytest.raises(ArgumentTypeError, match="argument 'k': expected dtype int64, got float64"):
        count(3.0, 2.0)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("way", ["jax", "numpy", "mode"])
def test_types_are_those_of_the_graph_whatever_the_flag_says(way, flag, jax_x64):
    for dtype in ("float32", "float64", "int64", "bool", "complex128"):
        x, y = pt.vector("x", dtype=dtype), pt.scalar("y", dtype=dtype)
        graph = [x, y], pt.switch(pt.eq(x, y), x, y)
        made = pytensor.function(*graph, mode="STABLEHLO") if way == "mode" else hlograph.function(*graph, outputs=way)
        given = np.array([0, 1, 0], dtype), np.array(1 + 1e-12, dtype)
        on_device = given if way == "mode" else tuple(map(jnp.asarray, given))
        jax.config.update("jax_enable_x64", flag)
        for arguments in (given, on_device):
            for _ in range(10):
                found = made(*arguments)
                assert found.dtype == dtype
                np.testing.assert_array_equal(np.asarray(found), np.where(given[0] == given[1], *given))
        assert jax.config.jax_enable_x64 is flag
        jax.config.update("jax_enable_x64", True)


def test_a_failed_compile_leaves_nothing_behind(add, monkeypatch):
    def refuse(self, sizes):
        raise HlographError("no")

    with monkeypatch.context() as patch:
        patch.setattr(hlograph.Program, "specialize", refuse)
        with pytest.raises(HlographError, match="no"):
            add(np.ones(2), np.ones(2))
    assert add.stats.executables == 0
    np.testing.assert_array_equal(add(np.ones(2), np.ones(2)), [2.0, 2.0])


def test_devices_by_name_by_object_and_of_another_client():
    from jaxlib import xla_client

    x, (cpu, *_) = pt.dvector("x"), jax.devices("cpu")
    other = xla_client.make_cpu_client(asynchronous=False).local_devices()[0]
    for device, wanted in (("cpu", cpu), (cpu, cpu), (other, other)):
        functions = [hlograph.function([x], x * 2, device=device)]
        functions += [hlograph.jit(lambda x: x * 2, dims={"x": "n"}, device=device)] if wanted is cpu else []
        for function, size in itertools.product(functions, (2, 3, 0)):  # jax.jit runs the size 0
            result = function(np.ones(size))
            assert next(iter(result.devices())) is wanted
            np.testing.assert_array_equal(np.asarray(result), np.full(size, 2.0))


@pytest.mark.gpu
def test_runs_on_a_gpu():
    x = pt.dmatrix("x")
    values = np.random.default_rng(0).normal(size=(50, 50))
    spd = values @ values.T + 50 * np.eye(50)
    result = hlograph.function([x], pt.linalg.cholesky(x), device="gpu")(spd)
    assert next(iter(result.devices())).platform == "gpu"
    np.testing.assert_allclose(np.asarray(result), np.linalg.cholesky(spd), rtol=1e-10)


def test_static_and_named_sizes_are_checked():
    x, y = pt.dmatrix("x"), pt.dvector("y")
    function = hlograph.function([x, y], [x.sum(), y.sum()], dims={"x": ("n", 8), "y": ("2*n",)})
    assert float(function(np.ones((2, 8)), np.ones(4))[1]) == 4.0
    with pytest.raises(ArgumentShapeError, match=r"'y', axis 0: expected size 4 = 2\*n \(n is argument 'x', axis 0\)"):
        function(np.ones((2, 8)), np.ones(5))
    with pytest.raises(ArgumentShapeError, match="'x', axis 1: expected size 8, got 7"):
        function(np.ones((2, 7)), np.ones(4))


def test_cache_size_must_be_positive(add):
    with pytest.raises(ValueError, match="at least 1"):
        add.program.compile(cache_size=0)


@pytest.mark.parametrize("jitted", [False, True])
def test_what_runs_stands_in_the_instance_and_python_sees_a_callable(jitted):
    x = pt.fvector("x")
    made = hlograph.jit(lambda x: x * 2, dims={"x": "n"}) if jitted else hlograph.function([x], x * 2)
    value = np.ones(3, np.float32)
    assert callable(made)
    assert "__call__" not in vars(made)
    assert copy.deepcopy({"f": made})["f"] is copy.copy(made) is made
    with pytest.raises(TypeError, match="cannot be pickled: save its program"):
        pickle.dumps(made)
    assert list(inspect.signature(made).parameters) == ["x"]
    wrapped = functools.wraps(made)(lambda *args: made(*args))
    for call in (made, made.__call__, wrapped, functools.partial(made), jax.jit(made), lambda x: made(x=x)):
        np.testing.assert_array_equal(call(value), 2 * value)

    class Counted(type(made)):
        calls = 0

        def __call__(self, *args):
            self.calls += 1
            return super().__call__(*args)

    kind = Counted.__new__(Counted)
    type(made).__call__.__set__(kind, made.__call__)
    np.testing.assert_array_equal(kind(value), 2 * value)
    assert kind.calls == 1
