"""Convolutions, windows, Fourier transforms."""

from collections.abc import Iterator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.fft import irfft, irfft_op, rfft, rfft_op
from pytensor.tensor.signal import convolve1d, convolve2d
from pytensor.tensor.signal.conv import Convolve1d
from scipy.signal import convolve
from support import Case, cases

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedGraphError

RANDOM = np.random.default_rng(0)
x, y, table, other, cube, mode = (
    *(pt.dvector("x"), pt.dvector("y"), pt.dmatrix("table"), pt.dmatrix("other"), pt.dtensor3("cube")),
    pt.TensorType("bool", ())("mode"),
)
MODES = ["full", "valid", "same"]
SAME = [(dtype, dtype) for dtype in ("float32", "float16", "int8", "bool", "complex64")]


def normal(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RANDOM.normal(size=shape) for shape in shapes]


@cases(sampled=4)
def test_convolve1d() -> Iterator[Case]:
    for mode_ in MODES:
        result = convolve1d(x, y, mode=mode_)
        gradients = pytensor.grad((result**2 * pt.arange(result.shape[0])).sum(), [x, y])
        for sizes in ((7, 3), (3, 7), (4, 4), (5, 1), (1, 5), (1, 1)):
            yield f"{mode_} {sizes}", [x, y], result, normal(*[(n,) for n in sizes])
        for sizes in ((7, 3), (3, 7), (4, 4)):
            yield f"gradient {mode_} {sizes}", [x, y], gradients, normal(*[(n,) for n in sizes])
        for shapes in (((5,), (4, 3)), ((4, 5), (3,)), ((4, 5), (4, 3)), ((4, 3), (4, 5))):
            xs = [
                pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in zip("ab", shapes, strict=True)
            ]
            yield f"batch {mode_} {shapes}", xs, convolve1d(*xs, mode=mode_), normal(*shapes)
    for dtypes in [*SAME, ("int64", "float64"), ("complex128", "float64")]:
        xs = [pt.vector(name, dtype=dtype) for name, dtype in zip("ab", dtypes, strict=True)]
        values = [(RANDOM.normal(size=6) * 5).astype(dtype) for dtype in dtypes]
        values = [v + v[::-1] * 1j if v.dtype.kind == "c" else v for v in values]
        for mode_ in ("full", "valid"):
            yield f"{dtypes} {mode_}", xs, convolve1d(*xs, mode=mode_), [values[0], values[1][:4]]
    known, chosen = Convolve1d()(x, y, mode), Convolve1d()(x, y, (x > 0).any())
    for full in (False, True):  # a mode that comes with the call
        yield f"mode {full}", [x, y, mode], known, [*normal((6,), (3,)), full], {"static": False}
        values = [np.abs(RANDOM.normal(size=6)) * (1 if full else -1), *normal((3,))]
        yield f"computed mode {full}", [x, y], chosen, values, {"static": False}
    options = {"expected": [np.ones((0, 7))], "interpret": False}
    yield "an empty batch", [table, y], convolve1d(table, y), [np.ones((0, 5)), np.ones(3)], options
    gradients = pytensor.grad((convolve1d(table, y, mode="valid") ** 2).sum(), [table, y])
    yield "gradient of a batch", [table, y], gradients, normal((3, 6), (4,))


@cases(sampled=3, rtol=1e-11)
def test_convolve2d() -> Iterator[Case]:
    for mode_ in MODES:
        for shapes in (((6, 5), (2, 3)), ((2, 3), (6, 5)), ((3, 3), (3, 3))):
            if mode_ != "same" or shapes[0] != (2, 3):  # padded with zeros of the kernel's size: PyTensor's affair
                static = mode_ != "same"  # the widths of the padding are written to a matrix
                graph = convolve2d(table, other, mode=mode_)
                yield f"{mode_} {shapes}", [table, other], graph, normal(*shapes), {"static": static}
    for boundary in ("fill", "wrap", "symm"):
        graph = convolve2d(table, other, mode="same", boundary=boundary, fillvalue=2)
        yield boundary, [table, other], graph, normal((6, 5), (3, 2)), {"static": False}
    second = pt.dtensor3("second")
    for mode_ in ("full", "valid"):
        gradients = pytensor.grad((convolve2d(table, other, mode=mode_) ** 2).sum(), [table, other])
        yield f"gradient {mode_}", [table, other], gradients, normal((5, 4), (2, 3))
        images, kernels = normal((3, 5, 4), (3, 2, 2))
        pairs = {second: (kernels, kernels), other: (kernels[0], [kernels[0]] * 3)}
        for by, (value, each_one) in pairs.items():
            wanted = [convolve(a, b, mode=mode_, method="direct") for a, b in zip(images, each_one, strict=True)]
            graph = convolve2d(cube, by, mode=mode_)
            yield f"batch {mode_} {by}", [cube, by], graph, [images, value], {"expected": [np.stack(wanted)]}


@cases(sampled=4)
def test_bartlett() -> Iterator[Case]:
    k = pt.lscalar("k")
    for length in (-2, 0, 1, 2, 5, 8):
        yield f"{length}", [k], pt.bartlett(k), [length]
        yield f"constant {length}", [k], pt.bartlett(pt.constant(length)) * k, [1]
        yield f"computed {length}", [x], pt.bartlett(pt.cast(x.sum(), "int64")), [[length]], {"static": False}


def test_what_cannot_be() -> None:
    whole = hlograph.function([table, other], convolve2d(table, other, mode="valid"))
    with pytest.raises(ArgumentShapeError, match="covers the other"):
        whole(np.ones((5, 2)), np.ones((2, 3)))
    with pytest.raises(ArgumentShapeError, match="operand of Convolve1d"):
        hlograph.function([x, y], convolve1d(x, y))(np.ones(0), np.ones(2))


# ---- Fourier transforms of real data ---------------------------------------------------------------------------------

four, k = pt.dtensor4("four"), pt.lscalar("k")


def pair(spectrum):
    return np.stack([spectrum.real, spectrum.imag], -1)


@cases(sampled=3)
def test_transforms() -> Iterator[Case]:
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


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(4)
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


def test_transforms_that_are_refused():
    five = pt.dtensor5("five")
    with pytest.raises(UnsupportedGraphError, match="RFFTOp over 4 axes"):
        hlograph.emit_stablehlo(([five], rfft(five)))
    with pytest.raises(ArgumentShapeError, match="length 0 of RFFTOp"):
        hlograph.function([table], rfft(table))(np.ones((2, 0)))
