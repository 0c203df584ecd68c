"""Fourier transforms of real data."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.fft import irfft, irfft_op, rfft, rfft_op
from support import check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedGraphError

pytestmark = pytest.mark.sampled(4)

RANDOM = np.random.default_rng(0)
table, cube, four, k = pt.dmatrix("table"), pt.dtensor3("cube"), pt.dtensor4("four"), pt.lscalar("k")


@pytest.mark.parametrize("norm", [None, "ortho", "no_norm"])
@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_there_and_back(norm, length):
    data = RANDOM.normal(size=(3, length))
    spectrum = rfft(table, norm=norm)
    wanted = np.fft.rfft(data, norm="ortho" if norm == "ortho" else None)
    wanted = np.stack([wanted.real, wanted.imag], -1)
    check_lowering([table], spectrum, data, expected=[wanted])
    back = irfft(spectrum, norm=norm, is_odd=bool(length % 2))
    check_lowering([table], back, data)


@pytest.mark.parametrize("shape", [(2, 4, 6), (2, 5, 3), (0, 2, 2), (1, 3, 4)])
def test_two_axes(shape):
    data = RANDOM.normal(size=shape)
    spectrum = np.fft.rfftn(data, axes=(1, 2))
    pair = np.stack([spectrum.real, spectrum.imag], -1)
    check_lowering([cube], rfft(cube), data, expected=[pair])
    back = np.fft.irfftn(spectrum, s=shape[1:], axes=(1, 2)) * np.prod(shape[1:])
    check_lowering([four], irfft(four, norm="no_norm", is_odd=bool(shape[2] % 2)), pair, expected=[back])


def test_three_axes_and_no_more():
    data = RANDOM.normal(size=(2, 3, 4, 2))
    spectrum = np.fft.rfftn(data, axes=(1, 2, 3))
    check_lowering([four], rfft(four), data, expected=[np.stack([spectrum.real, spectrum.imag], -1)])
    five = pt.dtensor5("five")
    with pytest.raises(UnsupportedGraphError, match="RFFTOp over 4 axes"):
        hlograph.emit_stablehlo(([five], rfft(five)))


@pytest.mark.parametrize("length", [3, 5, 9])
def test_lengths_of_their_own(length):
    """PyTensor's gradient by the data has the transform's length in place of the data's."""
    data = RANDOM.normal(size=(2, 5))
    spectrum = np.fft.rfft(data, n=length)
    pair = np.stack([spectrum.real, spectrum.imag], -1)
    check_lowering(
        [table, k], rfft_op(table, pt.stack([k])), data, length, expected=[pair], static=False, transformed=False
    )
    check_lowering([table], rfft_op(table, [length]), data, expected=[pair], interpret=False, transformed=False)
    back = np.fft.irfft(np.fft.rfft(data), n=length) * length
    pair = np.stack([np.fft.rfft(data).real, np.fft.rfft(data).imag], -1)
    check_lowering(
        [cube, k], irfft_op(cube, pt.stack([k])), pair, length, expected=[back], static=False, transformed=False
    )


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_dtypes(dtype):
    x = pt.matrix("x", dtype=dtype)
    data = RANDOM.normal(size=(2, 6)).astype(dtype)
    spectrum = np.fft.rfft(data.astype("float64"))
    wanted = np.stack([spectrum.real, spectrum.imag], -1).astype(dtype)
    check_lowering([x], rfft(x), data, expected=[wanted])
    check_lowering([x], irfft(rfft(x)), data, expected=[data], rtol=1e-6 if dtype == "float32" else 2e-3)


@pytest.mark.parametrize("length", [6, 7])
def test_gradients(length):
    spectrum = rfft(table)
    weights = pt.arange(spectrum.size).reshape(spectrum.shape)
    data = RANDOM.normal(size=(2, length))
    check_lowering([table], pytensor.grad((spectrum**2 * weights).sum(), table), data, rtol=1e-11)
    back = irfft(cube, is_odd=bool(length % 2))
    pair = RANDOM.normal(size=(2, length // 2 + 1, 2))
    check_lowering([cube], pytensor.grad((back**2).sum(), cube), pair, rtol=1e-11)


def _pair(spectrum):
    return np.stack([spectrum.real, spectrum.imag], -1)


def test_one_executable_for_all_lengths():
    """Padded along the transformed axis, along the batch, and back; also where the other axis is known."""
    there = hlograph.function([table], [rfft(table), irfft(rfft(table), is_odd=True)], policy=16)
    back = hlograph.function([cube], irfft(cube), dims={"cube": (3, "n", 2)}, policy=16)
    for size in (1, 2, 3, 7, 11, 16):
        data = RANDOM.normal(size=(size % 5, size))
        spectrum, again = there(data)
        np.testing.assert_allclose(spectrum, _pair(np.fft.rfft(data)), atol=1e-13)
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
        np.testing.assert_allclose(function(data), _pair(np.fft.rfftn(data, axes=(1, 2))), atol=1e-12)
    assert function.stats.compiles == 1


def test_nothing_to_transform():
    with pytest.raises(ArgumentShapeError, match="length 0 of RFFTOp"):
        hlograph.function([table], rfft(table))(np.ones((2, 0)))
