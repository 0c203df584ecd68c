"""Fourier transforms of real data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.fft import irfft, irfft_op, rfft, rfft_op
from support import Case, check_case, each

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedGraphError

pytestmark = pytest.mark.sampled(4)

RANDOM = np.random.default_rng(0)
table, cube, four, k = pt.dmatrix("table"), pt.dtensor3("cube"), pt.dtensor4("four"), pt.lscalar("k")


def pair(spectrum):
    return np.stack([spectrum.real, spectrum.imag], -1)


def transforms() -> Iterator[Case]:
    for norm in (None, "ortho", "no_norm"):
        for length in (1, 2, 7, 8):
            data, spectrum = RANDOM.normal(size=(3, length)), rfft(table, norm=norm)
            wanted = pair(np.fft.rfft(data, norm="ortho" if norm == "ortho" else None))
            yield f"there {norm} {length}", [table], spectrum, [data], {"expected": [wanted]}
            yield f"and back {norm} {length}", [table], irfft(spectrum, norm=norm, is_odd=bool(length % 2)), [data]
    for shape in ((2, 4, 6), (2, 5, 3), (0, 2, 2), (1, 3, 4)):
        data = RANDOM.normal(size=shape)
        spectrum = np.fft.rfftn(data, axes=(1, 2))
        yield f"two axes {shape}", [cube], rfft(cube), [data], {"expected": [pair(spectrum)]}
        back = np.fft.irfftn(spectrum, s=shape[1:], axes=(1, 2)) * np.prod(shape[1:])
        graph = irfft(four, norm="no_norm", is_odd=bool(shape[2] % 2))
        yield f"back from two axes {shape}", [four], graph, [pair(spectrum)], {"expected": [back]}
    data = RANDOM.normal(size=(2, 3, 4, 2))
    yield "three axes", [four], rfft(four), [data], {"expected": [pair(np.fft.rfftn(data, axes=(1, 2, 3)))]}
    for length in (3, 5, 9):  # PyTensor's gradient by the data has the transform's length in place of the data's
        data = RANDOM.normal(size=(2, 5))
        options = {"expected": [pair(np.fft.rfft(data, n=length))], "transformed": False}
        graph = rfft_op(table, pt.stack([k]))
        yield f"own length {length}", [table, k], graph, [data, length], {**options, "static": False}
        yield f"constant length {length}", [table], rfft_op(table, [length]), [data], {**options, "interpret": False}
        back = np.fft.irfft(np.fft.rfft(data), n=length) * length
        options = {"expected": [back], "static": False, "transformed": False}
        values = [pair(np.fft.rfft(data)), length]
        yield f"back to {length}", [cube, k], irfft_op(cube, pt.stack([k])), values, options
    for dtype in ("float32", "float16"):
        x, data = pt.matrix("x", dtype=dtype), RANDOM.normal(size=(2, 6)).astype(dtype)
        wanted = pair(np.fft.rfft(data.astype("float64"))).astype(dtype)
        yield dtype, [x], rfft(x), [data], {"expected": [wanted]}
        rtol = 1e-6 if dtype == "float32" else 2e-3
        yield f"{dtype} and back", [x], irfft(rfft(x)), [data], {"expected": [data], "rtol": rtol}
    spectrum = rfft(table)
    weights = pt.arange(spectrum.size).reshape(spectrum.shape)
    for length in (6, 7):
        graph, values = pytensor.grad((spectrum**2 * weights).sum(), table), [RANDOM.normal(size=(2, length))]
        yield f"gradient {length}", [table], graph, values, {"rtol": 1e-11}
        graph = pytensor.grad((irfft(cube, is_odd=bool(length % 2)) ** 2).sum(), cube)
        values = [RANDOM.normal(size=(2, length // 2 + 1, 2))]
        yield f"gradient back {length}", [cube], graph, values, {"rtol": 1e-11}


@pytest.mark.sampled(3)
@each(transforms())
def test_transforms(case: Case) -> None:
    check_case(case)


def test_one_executable_for_all_lengths():
    """Padded along the transformed axis, along the batch, and back; also where the other axis is known."""
    there = hlograph.function([table], [rfft(table), irfft(rfft(table), is_odd=True)], policy=16)
    back = hlograph.function([cube], irfft(cube), dims={"cube": (3, "n", 2)}, policy=16)
    for size in (1, 2, 3, 7, 11, 16):
        data = RANDOM.normal(size=(size % 5, size))
        spectrum, again = there(data)
        np.testing.assert_allclose(spectrum, pair(np.fft.rfft(data)), atol=1e-13)
        if size % 2:
            np.testing.assert_allclose(again, data, atol=1e-13)
        half = RANDOM.normal(size=(3, size // 2 + 2, 2))
        np.testing.assert_allclose(back(half), np.fft.irfft(half[..., 0] + 1j * half[..., 1]), atol=1e-13)
    assert there.stats.compiles <= 2
    assert back.stats.compiles == 1


@pytest.mark.parametrize("dims", [(2, "n", "m"), (2, 4, "n"), (2, "n", 6)])
def test_one_executable_for_all_sizes_of_two_axes(dims):
    function = hlograph.function([cube], rfft(cube), dims={"cube": dims}, policy=8)
    for rows, columns in ((1, 1), (3, 5), (4, 6), (7, 2), (8, 8)):
        shape = (
            2,
            *[known if isinstance(known, int) else size for known, size in zip(dims[1:], (rows, columns), strict=True)],
        )
        data = RANDOM.normal(size=shape)
        np.testing.assert_allclose(function(data), pair(np.fft.rfftn(data, axes=(1, 2))), atol=1e-12)
    assert function.stats.compiles == 1


def test_what_is_refused():
    five = pt.dtensor5("five")
    with pytest.raises(UnsupportedGraphError, match="RFFTOp over 4 axes"):
        hlograph.emit_stablehlo(([five], rfft(five)))
    with pytest.raises(ArgumentShapeError, match="length 0 of RFFTOp"):
        hlograph.function([table], rfft(table))(np.ones((2, 0)))
