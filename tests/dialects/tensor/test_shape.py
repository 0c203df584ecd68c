"""Shapes: reshaping, allocating, joining, ranges, diagonals, and sizes that are used as data."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import Join
from pytensor.tensor.shape import shape_i
from support import DYNAMIC, assert_same, check_lowering, numbers, reference

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedGraphError

x, y = pt.dvector("x"), pt.dvector("y")
matrix, other, cube = pt.dmatrix("matrix"), pt.dmatrix("other"), pt.dtensor3("cube")
singles, ints = pt.fmatrix("singles"), pt.imatrix("ints")
scalar = pt.dscalar("scalar")
k, i, j = pt.iscalar("k"), pt.lscalar("i"), pt.lscalar("j")
tiny, byte = pt.bscalar("tiny"), pt.scalar("byte", dtype="uint8")
sizes = pt.lvector("sizes")
CUBE = numbers(3, 4, 5)


def refused(error, match, inputs, output, *values, dims=None):
    """The graph is refused: when it is emitted, or, for these values, when it is called."""
    with pytest.raises(error, match=match):
        hlograph.emit_stablehlo((inputs, [output]), dims=dims).compile()(*values)


# ---- reshape --------------------------------------------------------------------------------------------------------


def test_reshape():
    a, b, c = (cube.shape[axis] for axis in range(3))
    outputs = [cube.reshape((-1,)), cube.ravel(), cube.flatten(2), cube.flatten(1), cube.reshape((a * b, c))]
    outputs += [cube.reshape((a, -1)), cube.reshape((c, a, b)), cube.reshape(cube.shape[::-1])]
    outputs += [cube.reshape((1, -1, 1)), cube.reshape((-1, c)).reshape(cube.shape), cube[:, :1].reshape((a, c))]
    outputs += [cube[:1, :1, :1].reshape(()), cube.reshape(pt.concatenate([cube.shape[:1], [-1]]))]
    outputs += [cube.reshape(pt.concatenate([[a * b], cube.shape[2:]])), x.reshape((x.shape[0] // 2, 2))]
    outputs += [x.reshape((-1, 2)), x.reshape((2, -1)), x.reshape((3, 4)), cube.reshape((a * 2, b // 2, -1))]
    outputs += [matrix.reshape((matrix.shape[1], matrix.shape[0]))]
    check_lowering([x, matrix, cube], outputs, numbers(12), numbers(2, 3), CUBE)


def test_reshape_to_runtime_sizes():
    outputs = [x.reshape((k, i)), x.reshape((k, -1)), x.reshape((tiny, -1)), x.reshape((-1, k + 2))]
    outputs += [x.reshape((k * i,)), cube.reshape(pt.stack([i, k, -1]))]
    check_lowering([x, cube, k, i, tiny], outputs, numbers(12), numbers(4, 4, 3), 4, 3, 6)
    check_lowering([x, sizes], [x.reshape(sizes, ndim=2), x.reshape((sizes[1], sizes[0]))], numbers(12), [4, 3],
                   dims={"sizes": (2,)})  # fmt: skip


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 1, 1), (2, 0, 3), (3, 2, 0)])
def test_reshape_of_no_elements(shape):
    a, b, c = (cube.shape[axis] for axis in range(3))
    outputs = [cube.reshape((-1,)), cube.reshape((a * b, c)), cube.reshape((c, a, b)), cube.ravel()]
    check_lowering([cube], outputs, numbers(*shape))


def test_reshape_infers_what_numpy_cannot():
    """With n = 0, NumPy cannot tell the -1 of (n, -1); here the sizes cancel as expressions do."""
    output = cube.reshape((cube.shape[0], -1))
    check_lowering([cube], output, numbers(0, 3, 2), expected=[np.zeros((0, 6))], static=False)


def test_join_and_split_dims():
    joined = pt.join_dims(cube, 0, 2)
    outputs = [joined, pt.join_dims(cube), pt.join_dims(cube, -2, 2), pt.join_dims(cube, 1, 1)]
    outputs += [pt.join_dims(cube, 1, 0), pt.split_dims(cube, shape=(2, 2), axis=1)]
    outputs += [pt.split_dims(cube, shape=(2, cube.shape[1] // 2), axis=1)]
    outputs += [pt.split_dims(joined, shape=cube.shape[:2], axis=0), pt.split_dims(x, shape=(k, -1), axis=0)]
    check_lowering([cube, x, k], outputs, CUBE, numbers(12), 4)


@pytest.mark.parametrize(
    ("target", "match"),
    [
        ((5, 2), r"10 == x_0.*x_0 = 12"),
        ((5, -1), r"x_0 % 5 == 0.*x_0 = 12"),
        ((k, 2), r"2\*k == x_0.*k = 5.*x_0 = 12"),
        ((-k, 2), r"-k >= -1.*k = 5"),
        ((k - 5, -1), r"x_0 % \(k - 5\) == 0.*k = 5"),
        ((pt.constant(-3), -4), r"-3 >= 0 .*size 0 of "),
    ],
)
def test_sizes_that_do_not_fit(target, match):
    inputs = [x, k]
    refused(ArgumentShapeError, match, inputs, x.reshape(target), numbers(12), np.int32(5))
    refused(ArgumentShapeError, match, inputs, pt.split_dims(x, shape=target, axis=0), numbers(12), np.int32(5))


def test_reshape_refuses():
    refused(UnsupportedGraphError, "only one size may be -1", [x], x.reshape((pt.constant(-1), -1)))
    refused(UnsupportedGraphError, "only one size may be -1", [x], pt.split_dims(x, shape=(-1, -1), axis=0))
    refused(UnsupportedGraphError, "the size given as -1 is not determined", [x], x.reshape((0, -1)))
    refused(ArgumentShapeError, "SpecifyShape", [x, sizes], x.reshape(sizes, ndim=2), dims={"sizes": (3,)})


# ---- new tensors ----------------------------------------------------------------------------------------------------


def test_alloc():
    n, m = matrix.shape
    outputs = [pt.zeros((n, 3)), pt.full((m, n), scalar), pt.full((k, i), 2), pt.ones_like(cube)]
    outputs += [pt.alloc(y, 2, y.shape[0]), pt.zeros_like(matrix, dtype="int32"), pt.alloc(y[None], k, y.shape[0])]
    outputs += [pt.alloc(y[:, None], y.shape[0], 4), pt.alloc(scalar, k - 3, i), pt.alloc(scalar, k - 1, i)]
    outputs += [pt.second(matrix, scalar), pt.fill(matrix, 1), pt.broadcast_to(y, (2, y.shape[0]))]
    outputs += [pt.broadcast_to(scalar, (k, 2)), pt.broadcast_to(y[:, None], (4, i)), pt.empty((k, n)).shape]
    outputs += [pt.empty((k, n)) * 0, pt.alloc(pt.constant([1, 2]), k, 2), pt.zeros((), dtype="int8")]
    check_lowering([matrix, cube, y, scalar, k, i], outputs, numbers(2, 3), CUBE, numbers(4), 2.5, 3, 4)


def test_make_vector():
    n = x.shape[0]
    outputs = [pt.stack([scalar, x[0], 2.0]), pt.stack([i, k, n]), pt.as_tensor([scalar, 1, n])]
    outputs += [pt.stack([n, n * 2])[::-1], pt.stack([k > 2, n > 9]), pt.stack([tiny, byte]), pt.as_tensor([k, 0.5])]
    check_lowering([x, scalar, i, k, tiny, byte], outputs, numbers(3), 2.5, 4, 3, -6, 7)


def test_refused_sizes():
    negative = np.int64(-2)
    for output, where in [(pt.zeros((i,)), "Alloc"), (pt.eye(i), "Eye"), (pt.empty((2, i)), "AllocEmpty")]:
        refused(ArgumentShapeError, rf"i >= 0, got i = -2.*{where}", [i], output, negative)
    refused(ArgumentShapeError, "Alloc, axis 0", [x, i], pt.alloc(x, i), numbers(3), np.int64(4))


@pytest.mark.parametrize("parts", [(0, 7, 2), (7, 0, -2), (3, 3, 5), (-5, 5, 3), (5, -5, -10), (0, 7, -1), (5, 2, 1)])
def test_arange_with_runtime_ends(parts):
    outputs = [pt.arange(i, k, j), pt.arange(i), pt.arange(i, k), pt.arange(k, i, -3), pt.arange(i, 10, 2)]
    outputs += [pt.arange(i, k, j, dtype="float32"), pt.arange(tiny), pt.arange(byte), pt.arange(i - 3, x.shape[0])]
    check_lowering([x, i, k, j, tiny, byte], outputs, numbers(4), *parts, parts[0], abs(parts[1]), static=False)


def test_arange():
    n, m = matrix.shape
    constant = [(5,), (2, 17, 4), (10, -1, -3), (3, 3), (5, 2), (0.0, 1.0, 0.1), (1.0, -1.0, -0.25), (0, 300)]
    outputs = [pt.arange(*parts) for parts in constant]
    outputs += [pt.arange(n), pt.arange(1, m, 2), pt.arange(m, 0, -2), pt.arange(n, m), pt.arange(n, m, -1)]
    outputs += [pt.arange(m, dtype="float64"), pt.arange(m, dtype="int8"), pt.arange(n * m)[::2]]
    outputs += [pt.arange(m)[None] * n]
    check_lowering([matrix], outputs, numbers(2, 7))


def test_arange_refuses():
    refused(UnsupportedGraphError, "step 0", [i], pt.arange(0, i, 0))
    refused(UnsupportedGraphError, "step 0", [i], pt.arange(0, i, 0.0))
    refused(ArgumentShapeError, "step of ARange.*", [i], pt.arange(0, 8, i), np.int64(0))


def test_eye_and_triangles():
    n, m = matrix.shape
    outputs = [pt.eye(3), pt.eye(n), pt.eye(n, m, 1), pt.eye(k, i, tiny), pt.eye(4, n, -2, dtype="int32")]
    outputs += [pt.eye(k, k, i - 4), pt.identity(n), pt.identity_like(matrix), pt.tri(3, 4, 1), pt.tri(n, m, -1)]
    outputs += [pt.tri(k, i, k - 3), pt.tril(matrix), pt.tril(matrix, 1), pt.triu(matrix, k - 3), pt.triu(cube, -1)]
    outputs += [pt.tril(pt.ones((n, n)))]
    check_lowering([matrix, cube, k, i, tiny], outputs, numbers(2, 3), CUBE, 3, 4, -1)


def test_diagonals():
    outputs = [pt.diag(matrix, offset) for offset in (0, 1, -2, 9, -9)]
    outputs += [pt.diag(x, offset) for offset in (0, 1, -2)]
    for offset, first, second in [(0, 0, 1), (1, 1, 2), (-1, 0, 2), (1, 2, 0), (-1, 2, 1)]:
        outputs.append(pt.diagonal(cube, offset, first, second))
    outputs += [pt.trace(matrix), pt.basic.alloc_diag(x, offset=-1), pytensor.grad(pt.diag(matrix).sum(), matrix)]
    outputs += [pt.basic.alloc_diag(matrix, offset=1, axis1=0, axis2=2), pt.basic.alloc_diag(matrix, offset=-1)]
    check_lowering([x, matrix, cube], outputs, numbers(3), numbers(4, 3), CUBE)
    empty = [pt.diag(matrix), pt.diag(matrix, 1), pt.diag(matrix, -1), pt.diag(x), pt.diag(x, 2)]
    for shape in [(0, 0), (0, 2), (1, 1)]:
        check_lowering([x, matrix], empty, numbers(shape[0]), numbers(*shape))


# ---- joining and splitting ------------------------------------------------------------------------------------------


def test_join():
    outputs = [pt.concatenate([matrix, other]), pt.concatenate([matrix, other], axis=-2), pt.join(0, x)]
    outputs += [pt.join(1, matrix), pt.concatenate([matrix, matrix * 2, matrix], axis=1)]
    outputs += [pt.concatenate([matrix, matrix], axis=-1), pt.concatenate([matrix, singles, ints])]
    outputs += [pt.concatenate([ints, pt.cast(singles, "int64")]), pt.concatenate([matrix > 1, singles > 1])]
    outputs += [pt.concatenate([x, [1.0, 2.0], y, x[:0]]), pt.concatenate([x, [k]])]
    outputs += [pt.concatenate([cube, cube[:, :1]], axis=1), pt.stack([x, x * 2]), pt.stack([matrix, matrix], axis=1)]
    outputs += [pt.stack([matrix, matrix + 1], axis=-1), pt.vertical_stack(matrix, other)]
    outputs += [pt.horizontal_stack(other, other), pt.stacklists([[scalar, scalar], [2.0, scalar]])]
    outputs += [pt.concatenate([cube.shape, [3], x.shape])]
    outputs += [pt.concatenate([cube.shape, pt.constant([3], dtype="int32")]), pt.concatenate([cube.shape, x])]
    values = [numbers(7), numbers(4), numbers(2, 3), numbers(4, 3), CUBE, numbers(2, 3), numbers(4, 3), 2.5, 3]
    check_lowering([x, y, matrix, other, cube, singles, ints, scalar, k], outputs, *values)


def test_join_of_no_elements():
    outputs = [pt.concatenate([x, y]), pt.concatenate([matrix, matrix]), pt.concatenate([matrix, matrix], axis=1)]
    for size in (0, 1):
        check_lowering([x, y, matrix], outputs, numbers(size), numbers(0), numbers(size, 2))


def test_split():
    n = x.shape[0]
    pieces = [*pt.split(x, [1, 2, n - 3], n_splits=3)]
    pieces += [*pt.split(cube, [cube.shape[1] // 2, cube.shape[1] - cube.shape[1] // 2], n_splits=2, axis=1)]
    pieces += [*pt.split(cube, [2, 0, 3], n_splits=3, axis=-1), *pt.split(x, pt.stack([k, n - k]), n_splits=2)]
    pieces += [pt.split(matrix, [matrix.shape[0]], n_splits=1)]
    # A gradient is left out: that of Split would need one for every piece.
    outputs = [*pieces, pytensor.grad((pt.split(x, [1, n - 1], n_splits=2)[1] ** 2).sum(), x)]
    check_lowering([x, cube, matrix, k], outputs, numbers(7), CUBE, numbers(2, 3), 2)


def test_the_gradient_of_a_long_stack():
    """Split into more pieces than a vector of sizes is kept for."""
    x = pt.dmatrix("x")
    values = np.random.default_rng(0).normal(size=(20, 2))
    gradient = pytensor.grad((pt.stack([x[i] * i for i in range(20)]) ** 2).sum(), x)
    expected = 2 * np.arange(20.0)[:, None] ** 2 * values
    for dims in (None, {"x": (20, 2)}):
        np.testing.assert_allclose(hlograph.function([x], gradient, dims=dims)(values), expected, rtol=1e-12)


def test_join_and_split_refuse():
    refused(ArgumentShapeError, r"X_1|matrix_1 == other_1.*join, axis 1", [matrix, other],
            pt.concatenate([matrix, other]), numbers(3, 3), numbers(3, 2))  # fmt: skip
    refused(ArgumentShapeError, "join", [x, y], pt.stack([x, y]), numbers(3), numbers(2))
    refused(ArgumentShapeError, "add up to the axis", [x], pt.split(x, [1, 2], n_splits=2)[0], numbers(4))
    refused(ArgumentShapeError, "size 0 of Split", [x], pt.split(x, [-1, 4], n_splits=2)[0], numbers(3))
    refused(ArgumentShapeError, "number of sizes", [x, sizes], pt.split(x, sizes, n_splits=2)[0],
            numbers(3), np.ones(3, "int64"))  # fmt: skip
    if not Join.__props__:  # since PyTensor 3.3 the library itself refuses it
        refused(UnsupportedGraphError, "axis of Join.*constant", [matrix, i], pt.join(i, matrix, matrix))


# ---- axes -----------------------------------------------------------------------------------------------------------


def test_axes():
    thin = pt.dtensor3("thin")
    outputs = [cube.dimshuffle(2, "x", 0, 1), cube.dimshuffle("x", 0, 1, "x", 2), cube.T, cube.mT]
    outputs += [cube.transpose(1, 0, 2), pt.specify_broadcastable(thin, 0, 2).dimshuffle(1), pt.squeeze(x[:1])]
    outputs += [x[:1].dimshuffle(), thin[0:1].squeeze(0), pt.expand_dims(matrix, (0, 2)), pt.atleast_1d(scalar)]
    outputs += [pt.atleast_2d(x), pt.atleast_3d(matrix), pt.atleast_Nd(x, n=4), pt.swapaxes(cube, 0, -1)]
    outputs += [pt.moveaxis(cube, 0, -1), pt.shape_padright(x, 2), pt.moveaxis(cube, (0, 1), (-1, -2)), pt.flip(cube)]
    outputs += [pt.flip(cube, 1), pt.diff(x), pt.diff(matrix, n=2), *pt.broadcast_arrays(x[:, None], y[None])]
    values = [numbers(3), numbers(4), numbers(4, 3), CUBE, numbers(1, 3, 1), 2.5]
    check_lowering([x, y, matrix, cube, thin, scalar], outputs, *values)


def test_repeated_and_rolled():
    outputs = [pt.tile(matrix, (2, 3)), pt.tile(x, 2), pt.tile(x, (k,)), pt.tile(x, (2, 1, 2)), pt.repeat(x, 3)]
    outputs += [pt.repeat(matrix, 2, axis=0), pt.repeat(matrix, k, axis=1), pt.roll(x, 2)]
    outputs += [pt.roll(matrix, -1, axis=1), pt.roll(x, k), pt.roll(matrix, 1), *pt.mgrid[0:3, 0:4]]
    outputs += [*pt.ogrid[0:3, 0:2]]
    check_lowering([x, matrix, k], outputs, numbers(5), numbers(2, 3), 3)
    check_lowering([x], [pt.tile(x, 2), pt.roll(x, 2), pt.repeat(x, 3)], numbers(0))


def test_take_and_pad():
    at = pt.cast(ints % 2, "int64")
    outputs = [pt.take(cube, [0, -1], axis=1), pt.take(cube, np.array([[0, 1], [2, 0]]), axis=-1)]
    outputs += [pt.take(cube, [0, 7]), pt.take_along_axis(other, pt.argmax(other, axis=1, keepdims=True), axis=1)]
    outputs += [pt.take_along_axis(other, at, axis=0), pt.pad(matrix, [(1, 2), (0, 1)])]
    outputs += [pt.pad(x, 2, constant_values=3), pt.pad(x, (1, 2), mode="edge"), pt.pad(x, 2, mode="mean")]
    outputs += [pt.linspace(scalar, 3.0, k), pt.outer(x, x)]
    values = [numbers(7), numbers(2, 3), numbers(4, 3), CUBE, numbers(4, 3), 2.5, 3]
    check_lowering([x, matrix, other, cube, ints, scalar, k], outputs, *values, rtol=1e-12)


def test_specify_shape():
    outputs = [pt.specify_shape(cube, (3, None, None)), pt.specify_shape(matrix, (matrix.shape[0], k))]
    outputs += [pt.specify_shape(x, y.shape), pt.specify_shape(x, (3,)) * y, pt.specify_shape(scalar, ())]
    program = check_lowering([x, y, matrix, cube, scalar, k], outputs, *map(numbers, (3, 3)), numbers(2, 3), CUBE, 1, 3)
    assert program.signature.results[0].dims[0] == 3
    refused(ArgumentShapeError, "k == matrix_0.*matrix_0 = 3, k = 4|k = 4.*matrix_0 = 3", [matrix, k],
            pt.specify_shape(matrix, (k, None)), numbers(3, 2), np.int32(4))  # fmt: skip
    fixed = pt.specify_shape(matrix, (None, 2))
    refused(ArgumentShapeError, "SpecifyShape: axis 1", [matrix], fixed, numbers(3, 3))
    refused(ArgumentShapeError, "SpecifyShape: axis 1", [matrix], fixed, numbers(3, 3), dims={"matrix": (3, 3)})
    computed = pt.specify_shape(x, (pt.argmax(y),))
    check_lowering([x, y], computed * 2, numbers(2), numbers(3))
    refused(AssertionError, "SpecifyShape: axis 0 of size x_0", [x, y], computed, numbers(3), numbers(3))


def test_sizes_read_from_shapes():
    shape = cube.shape
    outputs = [shape, shape[1], shape[-1], shape_i(cube, 2), shape[1:], shape[::-1], shape[:-1], shape[5:]]
    outputs += [shape[[0, 2]], pt.prod(shape), shape.sum(), cube.size, shape / 2, pt.eq(shape, shape[0])]
    outputs += [shape[k - 1], shape[pt.argmax(x) - 2], pt.set_subtensor(shape[0], 9), shape[None]]
    outputs += [pt.concatenate([shape[:1], shape[2:]]), pt.max(shape), shape * x, x.shape[0], scalar.shape]
    outputs += [pt.inc_subtensor(shape[::-1], shape[0]), pt.inc_subtensor(shape[1:2], -shape[2])]
    outputs += [pt.zeros(shape[::-1]), pt.constant([7, 8, 9])[1], pt.constant([[1, 2], [3, 4]])[1, ::-1]]
    check_lowering([cube, x, k, scalar], outputs, CUBE, numbers(3), 2, 1.0)


def test_arithmetic_on_sizes():
    n, m = x.shape[0], y.shape[0]
    whole = [-n, n % 5, n // -5, (n - 9) // 4, (n - 9) % 4, n**2, n & 6, n | 16, pt.maximum(n, k), abs(k - i * 9)]
    whole += [pt.clip(n, 0, 2), pt.sign(k - 9), k // i, (k - 9) % i, k % -i, (k - 9) // i, pt.minimum(n, m) * k + 1]
    truth = [pt.eq(n, m), pt.neq(k, i), k < n, n >= 7, pt.and_(n > 5, m > 5), pt.or_(n > 5, m > 5), ~(n > 5)]
    real = [x.sum() / n, pt.cast(n, "float64") ** 2, pt.sqrt(n), pt.log(m * 1.5), n / 5, pt.cast(n, "float32"), n * x]
    cast = [pt.cast(n, d) for d in ("int8", "uint8", "int32", "bool", "complex128")] + [pt.cast(n, "int8") * x]
    chosen = [pt.switch(n > 5, x.sum(), 0.0), pt.switch(n > 5, k, i), pt.switch(m > 5, k, i), pt.switch(n > m, n, m)]
    narrow = [tiny * tiny * tiny, -tiny, -byte, tiny + byte, byte - pt.constant(9, dtype="uint8")]
    scalars = [pt.scalar_from_tensor(i) + 1, pt.tensor_from_scalar(pt.scalar_from_tensor(i) + 1)]
    outputs = [*whole, *truth, *real, *cast, *chosen, *narrow, *map(pt.as_tensor, scalars)]
    values = [numbers(7), numbers(4), 3, 4, 6, 7]
    check_lowering([x, y, k, i, tiny, byte], outputs, *values, rtol=1e-6, interpret=False)


@pytest.fixture(scope="module")
def mixed():
    n, m = matrix.shape
    outputs = [matrix.reshape((m, n)), matrix.ravel(), pt.concatenate([matrix, matrix * 2], axis=1), pt.arange(n, m)]
    outputs += [pt.eye(n, m), pt.split(matrix, [n // 2, n - n // 2], n_splits=2)[1], pt.diag(matrix)]
    outputs += [pt.alloc(matrix[:, None], n, 2, m), pt.tile(matrix, (2, 1)), pt.stack([n, m]), matrix.sum() / n]
    outputs += [pt.triu(matrix), pt.pad(matrix, 1), pt.roll(matrix, 1)]
    return outputs, hlograph.emit_stablehlo(([matrix], outputs), dims={"matrix": ("n", "m")})


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (1, 0), (2, 5), (7, 4)])
def test_exact_specialization(mixed, shape):
    outputs, program = mixed
    values = [numbers(*shape)]
    for actual, wanted in zip(program.compile()(*values), reference([matrix], outputs, values), strict=True):
        assert_same(actual, wanted, rtol=0)
    assert DYNAMIC.search(program.specialize({"n": shape[0], "m": shape[1]}).text) is None


# ---- integer scalars that are sizes and data at once ---------------------------------------------------------------


def test_integer_arithmetic_wraps_as_data():
    u = pt.tensor("u", shape=(), dtype="uint32")
    outputs = [(u * np.uint32(1664525) + np.uint32(1013904223)) // np.uint32(65536), u - np.uint32(2**31)]
    check_lowering([u], outputs, 123456789)
    k = pt.iscalar("k")
    outputs = [(k * k) // 7, (k * k) % 5, pt.cast(k * k, "int64"), k * k > 0, pt.abs(k * k), -k]
    outputs += [pt.stack([k * k, k]), pt.stack([k * k, k])[0], pt.stack([k * k, k]).sum()]
    check_lowering([k], outputs, 65537)
    i = pt.lscalar("i")
    outputs = [(i + i) // 2, i + i < i, pt.maximum(i + i, 3), pt.switch(i + i < 0, i, 7)]
    check_lowering([i], outputs, 2**62)
    x, signed = pt.dvector("x"), pt.cast(byte, "int8")
    check_lowering([x, byte], [signed, x[:signed], x[: pt.cast(signed, "int64")]], np.arange(8.0), 200)


def test_the_same_arithmetic_gives_sizes():
    i, k, x = pt.lscalar("i"), pt.iscalar("k"), pt.dvector("x")
    outputs = [pt.arange(i + 1) * 2, x[: i - 1], pt.zeros((i * 2, 3)), x.reshape((i + 1, -1)), x[: i * 4 // 3]]
    outputs += [pt.arange(pt.stack([i, i]).sum()), pt.arange(k + 1), x[k:], x[:-k], x[::k]]
    check_lowering([i, k, x], outputs, 3, 2, np.arange(8.0))


def test_arithmetic_that_served_as_a_size_only_leaves_no_code():
    i = pt.lscalar("i")
    text = hlograph.emit_stablehlo(([i], [pt.zeros((i * 2) // 3)])).text
    assert text.count("stablehlo.multiply") == 1, text
