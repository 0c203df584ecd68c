"""pack_results: where each result is found in what the packed module returns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewritten_runs import as_arrays

import hlograph
from hlograph import Program
from hlograph.codegen.ir.modules import verify
from hlograph.codegen.passes.pack_results import SMALL, PackedResult, pack_results

LARGE = SMALL // 8 + 1

# Name to functions of one float64[4], each a result.
RESULTS = {
    "two scalars": (lambda x: x.sum(), lambda x: x.prod()),
    "shapes": (lambda x: x[0], lambda x: x * 2, lambda x: jnp.outer(x, x), lambda x: x.reshape(2, 1, 2)),
    "dtypes": (
        lambda x: x > 1,
        lambda x: x.sum(),
        lambda x: x.astype("i4"),
        lambda x: x * 1j,
        lambda x: x.argmax() > 1,
    ),
    "complex": (lambda x: x * 1j, lambda x: x, lambda x: (x * 2j)[0]),
    "dtypes in turns": (
        lambda x: x[0],
        lambda x: x.astype("f4"),
        lambda x: x[1],
        lambda x: x.astype("f4")[2],
        lambda x: x,
    ),
    "no elements": (lambda x: x[:0], lambda x: x[:0].reshape(0, 3), lambda x: x.sum()),
    "nothing but no elements": (lambda x: x[:0], lambda x: x[4:]),
    "arguments": (lambda x: x, lambda x: x, lambda x: x.sum()),
    "constants": (lambda x: jnp.arange(3.0), lambda x: x, lambda x: jnp.float64(2)),
    "large": (lambda x: jnp.resize(x, LARGE), lambda x: x[0], lambda x: jnp.resize(x, LARGE) + 1, lambda x: x[1]),
    "one": (lambda x: x,),
    "many": tuple(lambda x, i=i: x[i % 4] + i for i in range(60)),
}
X = np.array([1.5, -2.0, 0.0, 3.0])


def program(name: str) -> Program:
    with jax.enable_x64(True):
        return Program.parse(jax.jit(lambda x: tuple(f(x) for f in RESULTS[name])).lower(X).as_text())


def unpacked(places: tuple[PackedResult, ...], outputs: list[np.ndarray]) -> list[np.ndarray]:
    """The results, cut out as a reader of `PackedResult` would."""
    found = []
    for place in places:
        array = outputs[place.output]
        if place.start is not None:
            array = array[place.start : place.start + int(np.prod(place.shape))].reshape(place.shape)
        found.append(array)
    return found


def packed(before: Program, wanted: list[int], **options) -> tuple[tuple[PackedResult, ...], list[np.ndarray]]:
    """Places, and what the packed module returns."""
    module = before.copy_module()
    places = pack_results(module, wanted, **options)
    verify(module, "the packed module")
    return places, Program.parse(str(module)).interpret(X)


@pytest.mark.sampled(6)
# The interpreter gives no complex arrays out (jaxlib 0.10).
@pytest.mark.parametrize("name", sorted(RESULTS.keys() - {"complex"}))
@pytest.mark.parametrize("order", ["all", "backwards", "every other", "twice"])
def test_every_result_is_found_again(name, order):
    before = program(name)
    count = len(RESULTS[name])
    numbers = list(range(count))
    wanted = {"all": numbers, "backwards": numbers[::-1], "every other": numbers[::2], "twice": numbers + numbers}[
        order
    ]
    places, outputs = packed(before, wanted)
    expected = before.interpret(X)
    assert len(places) == len(wanted)
    for number, found in zip(wanted, unpacked(places, outputs), strict=True):
        assert found.dtype == expected[number].dtype
        assert found.shape == expected[number].shape
        np.testing.assert_array_equal(found, expected[number])


@pytest.mark.parametrize(
    ("name", "outputs"),
    [("two scalars", 1), ("shapes", 1), ("dtypes", 4), ("dtypes in turns", 2), ("large", 3), ("one", 1), ("many", 1)],
)
def test_small_results_of_a_dtype_share_one_array(name, outputs):
    assert len(packed(program(name), list(range(len(RESULTS[name]))))[1]) == outputs


def test_results_that_are_to_stay_alone_do():
    places, outputs = packed(program("many"), list(range(60)), alone={3, 59})
    assert [number for number, place in enumerate(places) if place.start is None] == [3, 59]
    assert [output.shape for output in outputs].count(()) == 2
    assert len(outputs) == 3


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("client", ["jax", "sync"])
def test_calls_unpack_them(name, client):
    fn = program(name).compile(
        cpu=hlograph.CpuOptions(client=client, forms=False, math=False, regions=False), outputs="numpy"
    )
    results = as_arrays(fn(X))
    with jax.enable_x64(True):
        wanted = [np.asarray(f(jnp.asarray(X))) for f in RESULTS[name]]
    for found, expected in zip(results, wanted, strict=True):
        assert type(found) is np.ndarray
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    for i, one in enumerate(results):
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in results[i + 1 :])
