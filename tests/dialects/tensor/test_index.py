"""Indexing: slices, integer indices, index tensors and masks; reading, writing, accumulating, and their gradients.

Indices that come with a value each, and what is written to diagonals.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.tensor.basic import permute_row_elements
from support import Case, cases, check_lowering, numbers

import hlograph
import hlograph.pytensor
from hlograph.errors import ArgumentShapeError, IndexOutOfBoundsError, IndexShapeError, UnsupportedGraphError


def both(region, y) -> list:
    """Writing and accumulating."""
    return [pt.set_subtensor(region, y), pt.inc_subtensor(region, y)]


def call(inputs, outputs, *values, dims=None):
    return hlograph.emit_stablehlo((list(inputs), outputs), dims=dims).compile()(*values)


x, y = pt.dvector("x"), pt.dvector("y")
matrix, cube = pt.dmatrix("matrix"), pt.dtensor3("cube")
scalar = pt.dscalar("scalar")
k, i = pt.iscalar("k"), pt.lscalar("i")
CUBE = numbers(3, 4, 5)

ENDS = [None, -7, -2, -1, 0, 1, 4, 7]
SLICES = [slice(*parts) for parts in itertools.product(ENDS, ENDS, [None, 2, -1, -3])]


def test_writing_backwards_beside_axes_of_size_1() -> None:
    thin = pt.tensor("thin", shape=(2, 1, 1, 2))
    region = thin[-3::3, i::-1, -1, i]
    outputs = [*both(region, 5.0), pytensor.grad(pt.sin(region).sum(), thin)]
    check_lowering([thin, i], outputs, numbers(2, 1, 1, 2), -1)


# ---- slices ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_constant_slices(size):
    check_lowering([x], [x[s] for s in SLICES], numbers(size), interpret=size == 5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sizes", [(0, 0), (1, 2), (2, 1), (5, 3)])
def test_symbolic_ends(sizes):
    n, m = x.shape[0], y.shape[0]
    ends = [None, n // 2, n - 1, n, n + 2, -n, -(n // 2), m, m - 3, -m]
    slices = [slice(*parts) for parts in itertools.product(ends, ends, [None, 2, -1])]
    check_lowering([x, y], [x[s] for s in slices], *map(numbers, sizes), interpret=sizes == (5, 3))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_runtime_ends_and_steps(dtype):
    ends = [pt.scalar(name, dtype=dtype) for name in ("start", "stop", "step")]

    def regions(x, cube, a, b, c):
        some = [x[a:b:c], x[a:], x[:b], x[::c], x[a:b], x[a:b:-2], x[a:b:2], x[a::c], x[:b:c]]
        return [*some, cube[1, a:b, ::c], cube[a, :b:c]]

    run = hlograph.emit_stablehlo(([x, cube, *ends], regions(x, cube, *ends))).compile()
    calls = [(1, 4, 1), (0, 0, 1), (2, 1, 2), (2, 9, 3), (0, 100, 7)]
    if dtype != "uint8":
        calls += [(2, 0, -1), (-1, -4, -2), (-3, -1, 1), (1, 9, -1), (0, -9, -3), (-2, 4, 2)]
    for values in calls:
        found = run(numbers(5), CUBE, *np.array(values, dtype))
        for actual, wanted in zip(found, regions(numbers(5), CUBE, *values), strict=True):
            np.testing.assert_array_equal(actual, wanted, err_msg=str(values))


def test_ends_of_any_magnitude():
    huge = 2**63 - 1
    slices = [slice(None, huge), slice(huge, None), slice(None, huge, -1), slice(huge, None, -1), slice(-huge, huge)]
    slices += [slice(-huge, None, -1), slice(None, -huge, -2)]
    check_lowering([x], [x[s] for s in slices], numbers(4))
    for value in (huge, -huge):
        check_lowering([x, i], [x[i:], x[:i], x[:i:-1], x[i::-1]], numbers(4), value, static=False)


def test_slices_of_three_axes():
    n = x.shape[0]
    outputs = [cube[1:, ::-1, 1:3], cube[::2, :, ::-2], cube[..., 1:], cube[:, 5:], cube[-2:, :n]]
    outputs += [cube[:n, n // 2 :, -n:], cube[::-1, ::-1, ::-1], cube[1:][:, :2][..., ::2], cube[None, 1:, :, None]]
    outputs += [cube[:, :0]]
    check_lowering([x, cube], outputs, numbers(3), CUBE)


# ---- integer indices ------------------------------------------------------------------------------------------------


def test_constant_and_symbolic_indices():
    n = x.shape[0]
    outputs = [x[0], x[2], x[-1], x[-3], x[n - 1], x[n // 2], x[-n], x[n - 4], x[pt.constant(1, dtype="uint8")]]
    outputs += [cube[0, -1, 2], cube[1], cube[:, -4], cube[..., 4], cube[-1, :, 1:3], cube[1:, 2, ::-1]]
    outputs += [cube[n - 1, :, -n], cube[::-2, -1, ::2], cube[2, 1:3], cube[None, 1, :, None, -1]]
    check_lowering([x, cube], outputs, numbers(3), CUBE)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint32"])
def test_runtime_indices(dtype):
    places = pt.scalar("a", dtype=dtype), pt.scalar("b", dtype=dtype)

    def regions(x, cube, a, b):
        return [x[a], cube[a], cube[:, b], cube[a, b], cube[a, :, b], cube[a, 1:, ::-1], cube[b, ::2], cube[:b, a, a:]]

    run = hlograph.emit_stablehlo(([x, cube, *places], regions(x, cube, *places))).compile()
    for at in [(0, 1), (2, 0), (1, 2)] + [(-1, -2), (-3, -3)] * (dtype[0] == "i"):
        found = run(numbers(3), CUBE, *np.array(at, dtype))
        for actual, wanted in zip(found, regions(numbers(3), CUBE, *at), strict=True):
            np.testing.assert_array_equal(actual, wanted, err_msg=str(at))


def test_computed_indices():
    top = pt.argmax(x)
    outputs = [x[top], cube[pt.argmin(x)], cube[top - 2, :, 1], x[pt.cast(x[0], "int32")], cube[top, 1:3, ::-1]]
    check_lowering([x, cube], outputs, numbers(3), CUBE)


# ---- what is out of range -------------------------------------------------------------------------------------------

u64 = pt.scalar("u64", dtype="uint64")
i8 = pt.bscalar("i8")
j, l = pt.lvector("j"), pt.lvector("l")  # noqa: E741
flags = pt.vector("flags", dtype=bool)
MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    ("inputs", "output", "values"),
    [
        ([x], x[3], [numbers(3)]),
        ([x], x[-4], [numbers(3)]),
        ([x], x[x.shape[0]], [numbers(3)]),
        ([x], x[[0, 3]], [numbers(3)]),
        ([x], x[[0, -4]], [numbers(3)]),
        ([x], pt.set_subtensor(x[3], 0.0), [numbers(3)]),
        ([x], pt.inc_subtensor(x[[0, 3]], 0.0), [numbers(3)]),
        ([x, i], x[i], [numbers(0), 0]),
        ([x, i], pt.set_subtensor(x[i], 0.0), [numbers(0), 0]),
        ([x, j], x[j], [numbers(0), np.array([0])]),
        ([matrix, j, l], matrix[j, l], [numbers(3, 0), np.array([0]), np.array([0])]),
        ([matrix, j, l], matrix[j, l], [numbers(3, 2), np.array([0, 1]), np.array([0, 1, 1])]),
        ([x], x[MASK], [numbers(4)]),
        ([x], pt.set_subtensor(x[MASK], 0.0), [numbers(4)]),
        ([x, flags], pt.set_subtensor(x[flags], 0.0), [numbers(4), MASK]),
        ([x], x.shape[1], [numbers(3)]),
    ],
)
def test_known_index_out_of_range(inputs, output, values):
    """What is known before the run is refused before the run, when the program is emitted or called."""
    for dims in (None, {v: a.shape for v, a in zip(inputs, values, strict=True) if isinstance(a, np.ndarray)}):
        with pytest.raises(IndexOutOfBoundsError, match="index") as caught:
            call(inputs, [output], *values, dims=dims)
        assert isinstance(caught.value, IndexError)
        assert isinstance(caught.value, ArgumentShapeError)


@pytest.mark.parametrize(
    ("inputs", "output", "values"),
    [
        ([x, i], x[i], [numbers(3), 3]),
        ([x, i], x[i], [numbers(3), -4]),
        ([x], x[x.shape[0] - 7], [numbers(3)]),
        ([x], x[pt.argmax(x) + 1], [numbers(3)]),
        ([x, i8], x[i8], [numbers(3), np.int8(100)]),
        ([x, u64], x[u64], [numbers(3), np.uint64(2**64 - 1)]),
        ([x, i], pt.set_subtensor(x[i], 0.0), [numbers(3), 3]),
        ([x, i], pt.inc_subtensor(x[i], 1.0), [numbers(3), -4]),
        ([matrix, i], pt.inc_subtensor(matrix[i, ::2], 1.0), [numbers(3, 3), -4]),
        ([x, j], x[j], [numbers(3), np.array([0, 3])]),
        ([x, j], x[j], [numbers(3), np.array([0, -4])]),
        ([x, j], pt.set_subtensor(x[j], 0.0), [numbers(3), np.array([0, 3])]),
        ([x, j], pt.inc_subtensor(x[j], 0.0), [numbers(3), np.array([0, -4])]),
        ([matrix, j, l], matrix[j, l], [numbers(3, 2), np.array([0, 2]), np.array([0, 2])]),
        ([matrix, j, l], pt.inc_subtensor(matrix[j, l], 1.0), [numbers(3, 2), np.array([0, 2]), np.array([0, 2])]),
    ],
)
def test_runtime_index_out_of_range(inputs, output, values):
    program = hlograph.emit_stablehlo((inputs, [output]))
    for run in (program.compile(), program.interpret):
        with pytest.raises(IndexError, match="out of bounds for axis"):
            run(*values)


def test_step_zero():
    with pytest.raises(UnsupportedGraphError, match="axis 0 has step 0"):
        hlograph.emit_stablehlo(([x], [x[:: pt.constant(0)]]))
    with pytest.raises(ArgumentShapeError, match="step of a slice of axis 0"):
        call([x, i], [x[::i]], numbers(3), 0)


# ---- writing to slices ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_write_constant_slices(size):
    outputs = []
    for s in SLICES[::2]:
        outputs += both(x[s], scalar) + both(x[s], 10.0 * pt.arange(x[s].shape[0]))
    check_lowering([x, scalar], outputs, numbers(size), 9.0, interpret=False)


row, column, ints = pt.drow("row"), pt.dcol("column"), pt.ivector("ints")
WRITTEN = [x, matrix, cube, scalar, row, column, ints]
WRITTEN_VALUES = [numbers(3), 10 * numbers(4, 5), CUBE, 7.0, 10 * numbers(1, 5), 10 * numbers(4, 1)]
WRITTEN_VALUES += [np.arange(1, 6)]


def test_write_to_three_axes():
    n = x.shape[0]
    regions = [
        (cube[0], matrix),
        (cube[0], row),
        (cube[0], column),
        (cube[0], ints),
        (cube[:, 1], scalar),
        (cube[:], scalar),
        (cube[1:, ::2], scalar),
        (cube[::-1, :, 1::2], scalar),
        (cube[::2], matrix),
        (cube[..., -1], scalar),
        (cube[:, 2:n], scalar),
        (cube[: n // 2, 1], ints),
        (cube[0, 0, 0], scalar),
        (cube[1:2, 1:2], scalar),
        (cube[None, 1:], scalar),
        (cube.dimshuffle(2, 0, 1)[1:], scalar),
        (cube[0, 1::2], row),
        (cube[-1, ::-1], column),
        (cube[:, n - 1, ::-2], scalar),
        (cube[:, :0], scalar),
    ]
    outputs = [output for region, value in regions for output in both(region, value)]
    check_lowering(WRITTEN, outputs, *WRITTEN_VALUES)


def test_write_at_runtime_indices():
    regions = [
        (cube[i], matrix),
        (cube[i], row),
        (cube[i], column),
        (cube[i], ints),
        (cube[:, i], scalar),
        (cube[i, :, k], scalar),
        (cube[i, 1:3], row),
        (cube[i, k, i], scalar),
        (cube[:, ::-2, i], scalar),
        (cube[i, ::2], row),
        (cube[i, ::-1], matrix),
        (cube[1:, i, ::3], scalar),
        (cube[pt.argmax(x), 1:], ints),
    ]
    outputs = [output for region, value in regions for output in both(region, value)]
    program = check_lowering([*WRITTEN, i, k], outputs, *WRITTEN_VALUES, 2, 1, static=False)
    assert program.signature.value_roots == (), "an index is data: another one is no new size"
    check_lowering([*WRITTEN, i, k], outputs, *WRITTEN_VALUES, -2, -1, interpret=False)


def test_write_to_runtime_slices():
    step = pt.lscalar("step")
    regions = [cube[i:], cube[:, :i], cube[k:i, :, -1], cube[i, k:], cube[::step], cube[i::step, 1]]
    regions += [cube[:, k, ::step], cube[::step, 1:3, ::step], cube[::step, ::-2]]
    outputs = [output for region in regions for output in both(region, scalar)]
    outputs += both(cube[::step], 100.0 * pt.arange(5))
    for values in [(1, 0, 2), (2, 1, -1), (-1, -2, -2), (0, 2, 7)]:
        check_lowering([cube, scalar, i, k, step], outputs, CUBE, 7.0, *values, static=False, interpret=values[0] == -1)


def test_write_other_dtypes():
    xi, xf = pt.ivector("xi"), pt.fvector("xf")
    outputs = [*both(xf[1:], xi[1:]), *both(xf[::2], xi[::2]), *both(xi[1:], xi[:-1]), *both(xf[0], xi[0])]
    check_lowering([xi, xf], outputs, np.arange(4), np.arange(4) / 8)


def test_written_size_must_agree():
    output = pt.set_subtensor(x[1:], y)
    for size in (2, 1):  # a vector of unknown size does not stretch, as in PyTensor
        with pytest.raises(ArgumentShapeError, match="the written value, axis 0"):
            call([x, y], [output], numbers(4), numbers(size))


def test_gradients_of_writing():
    outputs = []
    for region, value in [(x[1:], y), (x[::2], y[:3]), (x[::-1], y), (x[i], scalar), (x[:-1], scalar), (x[::-2], y)]:
        value = value[: region.shape[0]] if value is y else value
        for written in both(region, value):
            loss = (written**2 * pt.arange(x.shape[0])).sum()
            outputs += pytensor.grad(loss, [x, scalar if value is scalar else y])
    outputs.append(pytensor.grad((cube[1:, i, ::-2] ** 2).sum(), cube))
    outputs.append(pytensor.grad((cube[::2, :, 1] ** 2).sum() + cube[-1].sum(), cube))
    check_lowering([x, y, scalar, i, cube], outputs, numbers(6), numbers(6), 3.0, -2, CUBE)


# ---- index tensors --------------------------------------------------------------------------------------------------

small = pt.ivector("small")
unsigned = pt.vector("unsigned", dtype="uint8")
places = pt.lmatrix("places")
place_row, place_column = pt.lrow("place_row"), pt.lcol("place_column")
TENSORS = [x, cube, j, small, places, unsigned, place_row, place_column, i]
TENSOR_VALUES = [numbers(3), CUBE, [0, -1, 2], [1, -3, 1], [[0, 1, -1], [2, 2, -2]], [0, 1, 2], [[0, -2, 1]]]
TENSOR_VALUES += [[[-1], [0]], -2]


def selections() -> list:
    n = cube.shape[1]
    of_a_vector = [x[j], x[small], x[unsigned], x[places], x[[0, 2]], x[[-1, 0]], x[np.zeros(0, "int64")]]
    of_one_axis = [cube[j], cube[places], cube[:, j], cube[:, :, j], cube[:, places], cube[..., j]]
    of_several = [cube[j, small], cube[j, :, small], cube[:, j, small], cube[j, small, unsigned], cube[j, ..., small]]
    of_several += [cube[place_column, small], cube[place_column, place_row], cube[place_column, :, place_row]]
    of_several += [cube[places, small], cube[:, places, small], cube[[0, 1], [2, -1]]]
    beside_integers = [cube[j, i], cube[i, j], cube[i, :, j], cube[j, :, i], cube[0, :, j], cube[0, j], cube[:, 0, j]]
    beside_slices = [cube[1:, j], cube[::-1, j], cube[::2, 1:3, j], cube[j, ::-1], cube[places, :, 1:], cube[j, i:]]
    beside_slices += [cube[j, : n // 2]]
    beside_axes = [cube[None, j], cube[j, None], cube[j, None, small], cube[None, j, :, small], cube[:, None, j]]
    beside_axes += [cube[j, :, None, small]]
    computed = [x[pt.cast(x - 1, "int32")], cube[pt.arange(3), pt.arange(cube.shape[0])]]
    of_bytes = [cube[np.array([1, 0], "int8")], cube[np.array([1, 0], "uint8"), :, j[:2]]]
    return [
        *(*of_a_vector, *of_one_axis, *of_several, *beside_integers),
        *(*beside_slices, *beside_axes, *computed, *of_bytes),
    ]


CUBE_REGIONS = [(cube, region) for region in selections() if region.owner.inputs[0] is cube][::3]


def test_read_with_index_tensors():
    check_lowering(TENSORS, selections(), *TENSOR_VALUES)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["set", "inc", "inc once"])
def test_write_with_index_tensors(kind):
    outputs = []
    for region in selections():
        full = pt.cumsum(pt.ones_like(region).ravel()).reshape(region.shape)
        for value in (scalar, full) if kind == "inc" else (full,):
            if kind == "set":
                outputs.append(pt.set_subtensor(region, value))
            else:
                outputs.append(pt.inc_subtensor(region, value, ignore_duplicates=kind == "inc once"))
    check_lowering([*TENSORS, scalar], outputs, *TENSOR_VALUES, 7.0, static=False, interpret=False)


def test_gradients_of_index_tensors():
    outputs = []
    for source, region in [*[(x, region) for region in (x[j], x[places], x[[0, 2, 0]])], *CUBE_REGIONS]:
        outputs.append(pytensor.grad((region**2).sum(), source))
        for written in both(region, scalar):
            outputs += pytensor.grad((written**2).sum(), [source, scalar])
    check_lowering([*TENSORS, scalar], outputs, *TENSOR_VALUES, 7.0, static=False, interpret=False)


def test_duplicates_and_dtypes():
    vectors = [pt.vector(d, dtype=d) for d in ("float64", "float32", "int32", "int8", "complex128")]
    outputs = []
    for v in vectors:
        outputs += [*both(v[j], 2), pt.inc_subtensor(v[j], 1, ignore_duplicates=True)]
    outputs += [flags[j], pt.set_subtensor(flags[j], np.array(True))]
    outputs += [*both(vectors[0][j], ints), *both(vectors[1][j], pt.cast(ints, "int8"))]
    values = [numbers(3).astype(v.dtype) for v in vectors]
    check_lowering([*vectors, flags, j, ints], outputs, *values, [True, False, False], [0, 0, -1, 2, 0], range(5))


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_any_number_of_indices(size, count):
    if count and not size:
        pytest.skip("nothing to index; see test_known_index_out_of_range")
    at = np.arange(count) % max(size, 1)
    outputs = [x[j], matrix[j], matrix[:, j], matrix[j, j], *both(x[j], 1.0), *both(matrix[:, j], 1.0)]
    outputs += [pytensor.grad((x[j] ** 2).sum(), x), *both(matrix[j, j], 1.0)]
    check_lowering([x, matrix, j], outputs, numbers(size), numbers(size, size), at)


def test_many_constant_indices():
    at = np.random.default_rng(0).integers(-100, 100, 300)
    check_lowering([x], [x[at], pt.inc_subtensor(x[at], 1.0)], numbers(100))


# ---- masks ----------------------------------------------------------------------------------------------------------


def test_constant_masks():
    plane = np.array([[True, False], [True, True], [False, False]])
    outputs = [x[MASK], matrix[MASK], matrix[:, MASK[:2]], matrix[plane], x[np.zeros(3, bool)], *both(x[MASK], y)]
    outputs += [*both(matrix[plane], scalar), *both(x[MASK], y[0]), pytensor.grad((x[MASK] ** 2).sum(), x)]
    check_lowering([x, matrix, y, scalar], outputs, numbers(3), numbers(3, 2), numbers(2), 9.0)


def test_computed_masks_are_written_through():
    outputs = [*both(x[x > 1], 0.5), *both(x[x > 1], scalar), *both(matrix[matrix > 2], scalar)]
    outputs += [*both(matrix[x > 1], 3), pt.set_subtensor(x[flags], np.array([3.0]))]
    outputs += [pytensor.grad(pt.set_subtensor(x[flags], 2.0).sum(), x)]
    check_lowering([x, matrix, scalar, flags], outputs, numbers(3), numbers(3, 2), 9.0, MASK)


def test_indices_that_select_nothing_together():
    """An index counts where all index tensors together select something; NumPy raises nothing else."""
    x, i, j = pt.dmatrix("x"), pt.tensor("i", dtype="int64", shape=(None, 1)), pt.lvector("j")
    for graph in (
        x[i, j],
        pt.set_subtensor(x[i, j], 1.0),
        pt.inc_subtensor(x[i, j], 1.0),
        x[pt.constant([[-1], [4]]), j],
    ):
        function = hlograph.function([x, i, j], [graph, i.sum()])
        wanted = pytensor.function([x, i, j], graph, mode="FAST_COMPILE", on_unused_input="ignore")
        for shape, rows, columns in (((0, 0), [[0], [0]], []), ((3, 3), [[7]], []), ((5, 5), np.zeros((0, 1)), [1])):
            given = np.ones(shape), np.array(rows, "int64"), np.array(columns, "int64")
            if graph.owner.inputs[1] is i or not len(columns):
                np.testing.assert_array_equal(function(*given)[0], wanted(*given))
    with pytest.raises(IndexError):
        hlograph.function([x, i, j], x[i, j])(np.ones((3, 3)), np.array([[7]]), np.array([0]))


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_index_tensors_stretch_where_a_call_has_a_size_of_1(policy: str) -> None:
    x, i, j = pt.dmatrix("x"), pt.lmatrix("i"), pt.lvector("j")
    outputs = [x[i, j], pytensor.grad((x[i, j] ** 2).sum(), x), pt.inc_subtensor(x[i, j], 2.0)]
    functions = [
        hlograph.function([x, i, j], outputs, policy=policy),
        pytensor.function([x, i, j], outputs, mode="STABLEHLO"),
    ]
    wanted = pytensor.function([x, i, j], outputs, mode=Mode("py", None))
    data = np.arange(12.0).reshape(3, 4)
    for rows, columns in (((2, 1), 0), ((2, 3), 1), ((2, 1), 3), ((0, 1), 2), ((1, 1), 1), ((2, 3), 3)):
        given = data, np.arange(np.prod(rows)).reshape(rows) % 3, np.arange(columns)
        for function in functions:
            for found, expected in zip(function(*given), wanted(*given), strict=True):
                np.testing.assert_array_equal(found, expected)
    for function in functions:
        with pytest.raises(IndexError, match="broadcast together, axis 1"):
            function(data, np.zeros((2, 3), int), np.zeros(2, int))
    with pytest.raises(IndexShapeError):
        hlograph.emit_stablehlo(([x, i, j], x[i, j])).interpret(data, np.zeros((2, 1), int), np.zeros(0, int))


# ---- diagonals, flat indices, choices -------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
bytes_, wide, shape_of = pt.bvector("bytes_"), pt.vector("wide", dtype="uint64"), pt.lvector("shape")


@cases(sampled=4)
def test_diagonals() -> Iterator[Case]:
    for shape in ((4, 4), (3, 5), (5, 3), (1, 4), (0, 3), (3, 0)):
        yield f"fill {shape}", [matrix, scalar], pt.fill_diagonal(matrix, scalar), [RANDOM.normal(size=shape), 7.0]
    yield "fill a cube", [cube, scalar], pt.fill_diagonal(cube, scalar), [RANDOM.normal(size=(3, 3, 3)), 7.0]
    graph = pt.fill_diagonal_offset(matrix, scalar, i)
    for shape in ((4, 4), (3, 5), (5, 3), (1, 2)):
        for offset in (0, 1, -2, 4, -9):
            data, (rows, columns) = RANDOM.normal(size=shape), np.indices(shape)
            wanted = np.where(columns - rows == offset, 7.0, data)  # PyTensor's own writes past the matrix for some
            yield f"{shape} {offset}", [matrix, scalar, i], graph, [data, 7.0, offset], {"expected": [wanted]}
    for offset in (0, 1, -2):
        filled = pt.fill_diagonal(matrix, scalar) if offset == 0 else pt.fill_diagonal_offset(matrix, scalar, offset)
        gradients = pytensor.grad((filled**2 * pt.arange(4)).sum(), [matrix, scalar])
        options = {"static": offset == 0}
        yield f"gradient {offset}", [matrix, scalar], gradients, [RANDOM.normal(size=(5, 4)), 3.0], options


@cases(sampled=4)
def test_flat_indices() -> Iterator[Case]:
    modes = {"raise": ([0, 2, 1], [3, 0, 1]), "wrap": ([-1, 7, 3], [4, -9, 11]), "clip": ([-1, 7, 1], [4, -9, 3])}
    for order in "CF":
        for shape, data in (((3, 4), [0, 11, 5, 7]), ((2, 3, 5), [29, 0, 13]), ((6,), [5, 0]), ((3, 4), [])):
            yield f"unravel {order} {shape} {data}", [j], [*pt.unravel_index(j, shape, order=order)], [data]
        for mode, data in modes.items():
            graph = pt.ravel_multi_index([j, bytes_], (3, 4), mode=mode, order=order)
            yield f"ravel {order} {mode}", [j, bytes_], graph, data
    outputs = [*pt.unravel_index(places, pt.specify_shape(shape_of, 2))]
    yield "a shape of the call", [places, shape_of], outputs, [[[0, 11], [5, 7]], [3, 4]], {"dims": {"shape": (2,)}}
    yield "a shape of an array", [j, matrix], [*pt.unravel_index(j, matrix.shape)], [[0, 7], np.ones((2, 4))]


@cases(sampled=4)
def test_choices_and_orders() -> Iterator[Case]:
    for mode, data in (("raise", [0, 1, 3, 2, 0]), ("wrap", [-1, 4, 9, 2, 0]), ("clip", [-1, 4, 9, 2, 0])):
        yield mode, [j, matrix], pt.choose(j, matrix, mode=mode), [data, RANDOM.normal(size=(4, 5))]
    yield "matrix", [places, matrix], pt.choose(places, matrix), [[[0, 1, 2], [2, 2, 0]], RANDOM.normal(size=(3, 3))]
    yield "cube", [j, cube], pt.choose(j, cube), [[0, 2, 1], RANDOM.normal(size=(3, 2, 3))]
    yield "list", [j, x, scalar], pt.choose(j, [x, scalar * x, -x]), [[2, 0, 1], RANDOM.normal(size=3), 2.0]
    orders, rows = np.array([RANDOM.permutation(5) for _ in range(4)]), RANDOM.normal(size=(4, 5))
    for inverse in (False, True):
        for of, by in ((x, j), (matrix, j), (matrix, places), (x, places)):
            values = [rows if of is matrix else rows[0], orders if by is places else orders[0]]
            yield f"permuted {of} {by} {inverse}", [of, by], permute_row_elements(of, by, inverse), values
        gradient = pytensor.grad((permute_row_elements(x, places, inverse) ** 2 * matrix).sum(), x)
        yield f"gradient {inverse}", [x, places, matrix], gradient, [rows[0], orders, rows]
    for other in (bytes_, wide):  # index tensors of several dtypes
        data = [RANDOM.normal(size=(4, 5)), [0, 1, 1], [1, -2, 4]]
        yield f"read {other}", [matrix, other, j], [matrix[other, j], matrix[other, j].set(1.0)], data
        yield f"add {other}", [matrix, other, j, x], matrix[other, j].inc(x), [*data, [1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("inputs", "graph", "values", "message"),
    [
        ([j], [*pt.unravel_index(j, (3, 4))], ([0, -1],), "out of bounds"),
        ([j], [*pt.unravel_index(j, (3, 4))], ([0, 12],), "out of bounds"),
        ([j, l], pt.ravel_multi_index([j, l], (3, 4)), ([0, 3], [0, 0]), "invalid entry"),
        ([j, l], pt.ravel_multi_index([j, l], (3, 4)), ([0, 1], [0, -1]), "invalid entry"),
        ([j, matrix], pt.choose(j, matrix), ([0, 4], np.ones((4, 2))), "invalid entry in choice array"),
        ([x, j], permute_row_elements(x, j), (np.ones(3), [0, 1, 3]), "out of bounds"),
    ],
)
def test_indices_are_checked(inputs, graph, values, message):
    with pytest.raises((ValueError, IndexError), match=message):
        hlograph.function(inputs, graph)(*map(np.array, values))


def test_a_box_with_several_sizes_has_no_diagonal():
    with pytest.raises(ArgumentShapeError):
        hlograph.function([cube], pt.fill_diagonal(cube, 1.0))(np.ones((3, 3, 2)))
