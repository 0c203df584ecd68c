"""Sizes that come from data: masks, nonzero, unique, repeat, computed slices and ranges; and searchsorted."""

import re

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.ifelse import ifelse
from support import assert_same, check_lowering

import hlograph
import hlograph.pytensor
from hlograph.codegen.artifact.foreign_dims import name_sizes
from hlograph.errors import (
    ArgumentShapeError,
    DataDependentSizeError,
    IndexOutOfBoundsError,
    OpenSizeError,
    UnsupportedGraphError,
)


def booleans(name: str, rank: int):
    return pt.TensorType("bool", (None,) * rank)(name)


x, y, matrix, cube = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("matrix"), pt.dtensor3("cube")
flags, table = booleans("flags", 1), booleans("table", 2)
k, i, real, single = pt.lvector("k"), pt.lscalar("i"), pt.dscalar("real"), pt.fscalar("single")

RANDOM = np.random.default_rng(0)
SEVEN = RANDOM.normal(size=7)
GRID = RANDOM.normal(size=(4, 5))
BOX = RANDOM.normal(size=(3, 4, 5))
FOUR = np.array([True, False, True, True])
FIVE = np.array([True, False, True, True, False])
CELLS = RANDOM.random((4, 5)) < 0.5
LAYERS = RANDOM.random((3, 4)) < 0.5


def names(program):
    return {count.name: None if count.bound is None else str(count.bound) for count in program.signature.counts}


def compiled(inputs, output):
    return hlograph.emit_stablehlo((inputs, output)).compile()


# ---- masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("inputs", "output", "values"),
    [
        ([matrix], matrix[matrix > 0], [GRID]),
        ([matrix], matrix[matrix > 0].sum(), [GRID]),
        ([matrix, flags], matrix[flags], [GRID, FOUR]),
        ([cube, table], cube[table], [BOX, LAYERS]),
        ([cube, table], cube[:, table], [BOX, CELLS]),
        ([cube, flags], cube[0, :, flags], [BOX, FIVE]),
        ([matrix, flags], matrix[flags, 1:], [GRID, FOUR]),
        ([matrix, flags], matrix[flags, -1], [GRID, FOUR]),
        ([matrix, flags], matrix[flags, None], [GRID, FOUR]),
        ([matrix, flags], matrix[flags].T @ matrix[flags], [GRID, FOUR]),
        ([matrix], matrix[matrix > -10].reshape((4, -1)), [GRID]),
        ([matrix], list(matrix.nonzero()), [np.round(GRID)]),
        ([cube], list(cube.nonzero()), [np.round(BOX)]),
        ([matrix], pt.flatnonzero(matrix), [np.round(GRID)]),
        ([matrix], pt.nonzero_values(matrix), [np.round(GRID)]),
        ([matrix], pt.nonzero(matrix, return_matrix=True), [np.round(GRID)]),
        ([k], list(k.nonzero()), [[0, 3, 0, -1]]),
        ([x], list(x.nonzero()), [[0.0, np.nan, -0.0, 1.0]]),
    ],
)
def test_reading(inputs, output, values):
    program = check_lowering(inputs, output, *values)
    assert list(names(program)) == ["nonzero_0"]
    assert program.signature.counts[0].bound is not None
    assert not program.signature.checks


@pytest.mark.parametrize("values", [SEVEN, SEVEN + 100, SEVEN - 100, SEVEN[:1], SEVEN[:0]])
def test_any_number_of_elements(values):
    outputs = [x[x > 0], x[x > 0].shape[0], x[x > 0].sum(), pt.sort(x[x > 0]), x[x > 0][::-1].cumsum()]
    check_lowering([x], outputs, values, dims={"x": ("n",)})


def test_with_other_indices():
    outputs = [matrix[flags, k], pt.compress(flags, matrix, axis=0), matrix[flags.nonzero()].set(0.0)]
    program = check_lowering([matrix, flags, k], outputs, GRID, FOUR, [4, 0, 1])
    assert {check.exception for check in program.signature.checks} == {"IndexError"}
    assert "k_0 == nonzero_0" in map(str, program.signature.constraints)


def test_the_size_is_a_dimension_as_any_other():
    above, below = x[x > 0], x[x <= 0]
    program = check_lowering([x], [above, below, pt.concatenate([above, below]), pt.outer(above, below)], SEVEN)
    assert names(program) == {"nonzero_0": "x_0", "nonzero_1": "x_0"}
    assert [list(map(str, result.dims)) for result in program.signature.results] == [
        ["nonzero_0"],
        ["nonzero_1"],
        ["nonzero_0 + nonzero_1"],
        ["nonzero_0", "nonzero_1"],
    ]


def test_one_size_for_one_mask():
    program = check_lowering([x, y, flags], x[flags] + y[flags] * x[flags].mean(), SEVEN, SEVEN, SEVEN > 0)
    assert names(program) == {"nonzero_0": "x_0"}
    assert program.text.count("custom_call @hlograph.size") == 1


def test_a_size_that_nothing_needs_is_forgotten(tmp_path):
    """By emission, where an op's other results are asked for, and by passes that leave out what made it."""
    tall, sides = pt.dmatrix("tall"), pt.dmatrix("sides")
    solution = pt.linalg.lstsq(tall, sides, np.float64(-1))[0]
    program = hlograph.emit_stablehlo(([tall, sides], [solution]))
    assert not program.signature.has_data_sizes
    text = hlograph.emit_stablehlo(([x], [x[x > 0], x + 1])).text
    kept = text.replace('tensor<?xf64> {hlograph.dims = ["nonzero_0"], hlograph.name = "out0"}, ', "")
    result = re.search(r"return (%[\w#]+), (%[\w#]+) : ", kept)
    kept = kept.replace(result[0], f"return {result[2]} : ").replace(
        "tensor<?xf64>, tensor<?xf64>\n  }", "tensor<?xf64>\n  }"
    )
    loaded = hlograph.Program.parse(kept)
    assert names(loaded) == {"nonzero_0": "x_0"}
    optimized = loaded.optimize(["simplify", "sink_reductions"])
    for suffix, each in (("mlir", program), ("mlirbc", optimized)):
        each.save(tmp_path / f"p.{suffix}")
        assert not hlograph.load(tmp_path / f"p.{suffix}").signature.has_data_sizes
    assert_same(optimized.compile()(SEVEN), SEVEN + 1)


def test_a_sum_of_a_mask_is_its_size():
    count = (x > 0).sum()
    for output in (pt.zeros((count,)) + x[x > 0], x[x > 0] + pt.arange(count), pt.zeros(count), pt.arange(count)):
        program = check_lowering([x], output, SEVEN)
        assert list(names(program).values()) == ["x_0"]
    assert not names(check_lowering([x], x[x > 0], SEVEN[:0], dims={"x": (0,)}))


def test_the_bound_of_a_later_size_is_an_earlier_one():
    first = x[x > 0]
    program = check_lowering([x], [first[first > 0.5], first[0]], SEVEN)
    assert names(program) == {"nonzero_0": "x_0", "nonzero_1": "nonzero_0"}
    assert [str(c) for c in program.signature.constraints] == ["nonzero_0 >= 1"]


def test_constant_masks_have_known_sizes():
    mask = pt.constant(FOUR)
    program = check_lowering([matrix], [matrix[mask], *mask.nonzero()], GRID)
    assert not program.signature.counts


def test_functions_of_a_selection():
    square = matrix[:, :4][:, x > 0]
    square = square.T @ square + pt.eye(square.shape[1])
    outputs = [pt.gammainc(2.0, x[x > 0]), pt.linalg.cholesky(square), pt.linalg.solve(square, x[x > 0])]
    check_lowering([matrix, x], outputs, GRID, [1.0, -1.0, 2.0, 3.0], rtol=1e-9)


def test_gradients():
    outputs = [pytensor.grad((x[x > 0] ** 2).sum(), x), pytensor.grad((pt.repeat(x, k) ** 2).sum(), x)]
    check_lowering([x, k], outputs, SEVEN, [2, 0, 1, 3, 0, 0, 1])


def test_masks_that_do_not_fit():
    with pytest.raises(IndexOutOfBoundsError, match="boolean mask, its axis 0"):
        hlograph.emit_stablehlo(([x, flags], x[flags]), dims={"x": (3,), "flags": (4,)})
    program = hlograph.emit_stablehlo(([matrix, table], matrix[table]))
    assert [str(c) for c in program.signature.constraints] == ["matrix_0 == table_0", "matrix_1 == table_1"]


def test_sizes_from_data_that_must_agree():
    program = check_lowering([x, y], x[x > 0] + y, SEVEN, np.ones((SEVEN > 0).sum()))
    assert [str(c) for c in program.signature.constraints] == ["y_0 == nonzero_0"]
    with pytest.raises(ArgumentShapeError, match="== nonzero_0, got nonzero_0 = "):
        program.compile()(SEVEN, np.ones(1))
    with pytest.raises(IndexOutOfBoundsError, match="nonzero_0 >= 1"):
        compiled([x], x[x > 0][0])(-np.ones(2))


# ---- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "value", "inputs", "values"),
    [
        (matrix[flags], y, [matrix, flags, y], [GRID, FOUR, SEVEN[:5]]),
        (matrix[flags], y[None], [matrix, flags, y], [GRID, FOUR, SEVEN[:5]]),
        (matrix[table], y, [matrix, table, y], [GRID, CELLS, np.arange(float(CELLS.sum()))]),
        (cube[:, table], real, [cube, table, real], [BOX, CELLS, 5.0]),
        (cube[table], y, [cube, table, y], [BOX, LAYERS, SEVEN[:5]]),
        (cube[:, table], y[:, None], [cube, table, y], [BOX, CELLS, SEVEN[:3]]),
    ],
)
def test_writing_needs_no_size(target, value, inputs, values):
    program = check_lowering(inputs, [target.set(value), target.inc(value)], *values)
    assert not program.signature.counts


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("target", "inputs", "values"),
    [
        (x[flags], [x, flags], [SEVEN, SEVEN > 0]),
        (x[flags], [x, flags], [SEVEN, SEVEN > 100]),
        (cube[table], [cube, table], [BOX, LAYERS]),
        (cube[:, table], [cube, table], [BOX, CELLS]),
        (matrix[flags, 1:3], [matrix, flags], [GRID, FOUR]),
    ],
)
def test_writing_a_selection(target, inputs, values):
    outputs = [target.set(target * 2), target.inc(target[::-1]), target.set(3.0)]
    program = check_lowering(inputs, outputs, *values)
    assert list(names(program)) == ["nonzero_0"]
    assert not program.signature.checks


def test_masks_of_open_size_on_what_is_static():
    """A constant has a static shape; the mask gets it from there."""
    fixed = pt.tensor("fixed", shape=(4, 5))
    numbers = pt.constant(np.arange(4.0))
    outputs = [numbers[flags], fixed[flags, 1], fixed[flags, 1:].sum(0), fixed[flags, 2].set(7.0)]
    outputs += [fixed[flags].inc(1.0)]
    check_lowering([fixed, flags], outputs, GRID, FOUR)
    check_lowering([fixed, table], [fixed[table], fixed[table].set(0.5), fixed[table] ** 2], GRID, CELLS)
    check_lowering([fixed, flags], pytensor.grad((fixed[flags, 1:] ** 2).sum(), fixed), GRID, FOUR)
    program = hlograph.emit_stablehlo(([fixed], fixed[fixed > 0]))
    assert name_sizes(program, {"fixed": [4, 5]}).signature == program.signature


def test_a_mask_beside_more_places_than_it_has_elements():
    mask, place = pt.tensor("mask", dtype="bool", shape=(1,)), pt.constant([3, 3])
    picked = matrix[mask, place]
    given = GRID[:1], np.array([True])
    np.testing.assert_array_equal(hlograph.function([matrix, mask], picked)(*given), GRID[0, [3, 3]])
    with pytest.raises(ArgumentShapeError, match="index"):
        hlograph.emit_stablehlo(([matrix, mask], picked)).interpret(*given)
    with pytest.raises(ArgumentShapeError, match="index"):
        hlograph.function([matrix, mask], pytensor.grad(picked.sum(), matrix))


def test_writing_another_number_of_values():
    program = hlograph.emit_stablehlo(([x, flags, y], x[flags].set(y)))
    for run in (program.compile(), program.interpret):
        for count in (1, 3, 5):
            with pytest.raises(ValueError, match="as many slices as the mask has true elements"):
                run(SEVEN[:3], np.array([True, True, False]), np.ones(count))


# ---- unique ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("variable", "values", "axis"),
    [
        (k, [3, 1, 2, 3, 1, 7, 3], None),
        (k, [5], None),
        (x, [3.0, 1.0, np.nan, 3.0, 1.0, -np.inf, np.nan, 0.0, np.inf], None),
        (x, [], None),
        (flags, [True, False, True], None),
        (matrix, np.round(GRID), None),
        (matrix, [[1, 2, 3], [0, 5, 1], [1, 2, 3], [1, 2, 0]], 0),
        (matrix, [[1, 2, 1, 2], [0, 5, 0, 5], [1, 2, 1, 3]], 1),
        (matrix, [[1, np.nan], [0, 5], [1, np.nan], [0, 5]], 0),
        (cube, np.round(BOX), 1),
    ],
)
def test_unique(variable, values, axis):
    everything = pt.unique(variable, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    program = check_lowering([variable], everything, values)
    assert list(names(program)) == ["unique_0"]
    check_lowering([variable], pt.unique(variable, axis=axis), values)
    check_lowering([variable], pt.unique(variable, return_inverse=True, axis=axis), values)


def test_unique_of_constants():
    constant = pt.constant(np.array([2, 1, 2]))
    program = check_lowering([x], [x.sum(), *pt.unique(constant, True, True, True)], SEVEN)
    assert not program.signature.counts


def test_unique_complex_numbers():
    z = pt.zvector("z")
    values = [2 + 1j, 1j, 2 - 1j, complex(np.nan, 1), 1j, complex(1, np.nan), 2 + 1j, complex(0, np.inf)]
    check_lowering([z], pt.unique(z, return_index=True, return_inverse=True, return_counts=True), values)


# ---- new shapes and pieces ----


@pytest.mark.parametrize("counts", [[2, 10], [20, 1], [4, 5]])
def test_reshape_to_a_computed_shape(counts):
    check_lowering([matrix, k], matrix.reshape(k, ndim=2), GRID, counts)
    check_lowering([matrix, k], matrix.reshape((k.min(), -1)), GRID, counts)
    check_lowering([matrix, k], matrix.reshape((-1, k[0], 1)).sum(0), GRID, counts)


@pytest.mark.parametrize("counts", [[4, -1], [-1, 2], [-1, 20]])
def test_reshape_to_a_computed_shape_with_an_open_size(counts):
    shape = k[:2] + 0 * matrix.sum().astype("int64")
    check_lowering([matrix, k], [matrix.reshape(shape, ndim=2), matrix.reshape((shape[0], 1, shape[1]))], GRID, counts)


def test_reshape_to_a_shape_that_follows_from_arguments():
    """Arithmetic on a vector of sizes gives sizes, which are not negative unless the program is to take a -1."""
    k = pt.tensor("k", dtype="int64", shape=(2,))
    graph = [matrix, k], matrix.reshape(k[:2] + 0 * k.sum(), ndim=2)
    with pytest.raises(OpenSizeError, match="k_1 >= 0"):
        hlograph.emit_stablehlo(graph).interpret(GRID, np.array([4, -1]))
    for fn in (hlograph.function(*graph), pytensor.function(*graph, mode=hlograph.Mode())):
        np.testing.assert_array_equal(fn(GRID, np.array([4, -1])), GRID.reshape(4, -1))


def test_reshape_to_a_shape_that_does_not_fit():
    fn = hlograph.function([matrix, k], matrix.reshape(k, ndim=2))
    for counts in ([2, 9], [-2, -10], [0, 10], [-1, -1], [0, -1], [3, -1]):
        with pytest.raises((ArgumentShapeError, ValueError), match=r"reshape|negative dimensions"):
            fn(GRID, np.array(counts))
    with pytest.raises(ValueError, match="the size that is -1 is not determined"):
        fn(GRID[:0], np.array([0, -1]))


@pytest.mark.parametrize("counts", [[1, 3, 0], [0, 0, 4], [4, 0, 0]])
def test_split_into_computed_sizes(counts):
    pieces = pt.split(matrix, k, n_splits=3)
    check_lowering([matrix, k], [*pieces], GRID, counts)
    check_lowering([matrix, k], [pieces[0].sum(0), pieces[2] * 2], GRID, counts)


def test_split_into_sizes_that_do_not_fit():
    fn = hlograph.function([matrix, k], [*pt.split(matrix, k, n_splits=3)])
    for counts, message in [([1, 3, 1], "do not sum"), ([1, 1, 1], "do not sum"), ([5, -2, 1], "cannot be negative")]:
        with pytest.raises(ValueError, match=message):
            fn(GRID, np.array(counts))


PAD_MODES = ["constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", PAD_MODES)
def test_pad_with_widths_that_come_with_the_call(mode):
    widths = pt.lmatrix("widths")
    for amounts in ([[1, 2], [3, 0]], [[0, 0], [2, 9]]):
        fn = hlograph.function([matrix, widths], pt.pad(matrix, widths, mode=mode))
        assert_same(fn(GRID, np.array(amounts)), np.pad(GRID, amounts, mode=mode))


# ---- repeat ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("counts", [[2, 0, 3, 1], [0, 0, 0, 0], [0, 1, 0, 0], [5, 0, 0, 0], [0, 0, 0, 4]])
def test_repeat(counts):
    program = check_lowering([matrix, k], pt.repeat(matrix, k, axis=0), GRID, counts)
    assert names(program) == {"repeat_0": None}
    check_lowering([matrix, k], pt.repeat(matrix.T, k, axis=1).sum(), GRID, counts)


def test_repeat_with_sizes_known_before():
    constant = pt.repeat(matrix, [2, 0, 3, 1], axis=0)
    program = check_lowering([matrix, k], [constant, pt.repeat(matrix, k, axis=0)], GRID, [1, 2, 0, 1], dims={k: (4,)})
    assert not program.signature.counts
    with pytest.raises(ArgumentShapeError, match="count 1 of Repeat"):
        program.compile()(GRID, np.array([1, -2, 0, 1]))
    with pytest.raises(UnsupportedGraphError, match="negative count"):
        hlograph.emit_stablehlo(([matrix], pt.repeat(matrix, [2, -1, 3, 1], axis=0)))


def test_repeat_with_negative_counts():
    with pytest.raises(ValueError, match="repeats may not contain negative values"):
        compiled([x, k], pt.repeat(x, k))(SEVEN[:3], np.array([2, -5, 1]))


# ---- sizes computed as integers -------------------------------------------------------------------------------------

CUT = pt.argmax(x)


def test_computed_slices():
    parts = [x[:CUT], x[CUT:], x[CUT::2], x[1:-CUT], x[:CUT:-1], x[CUT::-2], x[1:CUT:2], x[-CUT:], x[CUT + 9 :]]
    program = check_lowering([x], parts, SEVEN)
    assert set(names(program).values()) == {"x_0", "(x_0 + 1)//2"}
    check_lowering([x, matrix], matrix[: CUT - 2, CUT - 3 :], SEVEN, GRID)
    check_lowering([x], [x[::CUT], x[::-CUT], x[5:1:-CUT], x[CUT : CUT + 2 : CUT], x[::CUT].set(0.0)], SEVEN)
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        hlograph.function([x], x[:: CUT - CUT.copy()])(SEVEN)


def test_writing_computed_slices():
    for part in (x[:CUT], x[CUT:], x[CUT::2], x[:CUT:-1]):
        check_lowering([x], [part.set(0.0), part.inc(part[::-1])], SEVEN)


def test_computed_shapes():
    outputs = [pt.zeros((CUT, 2)), pt.eye(CUT)]
    assert set(names(check_lowering([x], outputs, SEVEN)).values()) == {None}
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        compiled([k], pt.zeros((k[0],)))(np.array([-3]))


def test_bincount():
    assert names(check_lowering([k], pt.bincount(k), [0, 3, 3, 1])) == {"alloc_0": None}
    weighted = pt.bincount(k, x, minlength=3)
    assert names(check_lowering([k, x], weighted, [0, 1, 0, 1], SEVEN[:4])) == {"alloc_0": None}


def test_computed_ranges():
    outputs = [pt.arange(CUT), pt.arange(CUT + 3, 1, -2), pt.arange(1, CUT, dtype="float32"), pt.arange(0, 9, CUT)]
    check_lowering([x], outputs, SEVEN)
    with pytest.raises(ZeroDivisionError):
        compiled([x], pt.arange(0, 9, CUT))(-np.arange(3.0))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("value", [1.6, 2.0, -3.0, 0.0, 1e-9])
def test_ranges_of_floats(value):
    small = np.float32(0.3)
    outputs = [pt.arange(real), pt.arange(0.0, real, 0.25), pt.arange(real, 5, single), pt.arange(2, real, -single)]
    check_lowering([real, single], outputs, value, small, rtol=1e-6)


def test_a_range_without_a_length():
    with pytest.raises(ValueError, match="cannot compute length"):
        compiled([real], pt.arange(real))(np.nan)


# ---- branches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [0, 1])
def test_sizes_inside_a_branch(taken):
    outputs = [ifelse(i > 0, x[x > 0].sum(), x.sum()), ifelse(i > 0, x[x > 0].shape[0], np.int64(3))]
    outputs += [ifelse(i > 0, (x[x > 0.1] * x[x < 0][0]).sum(), x[x > 1].sum())]
    outputs += [ifelse(i > 0, pt.concatenate([x[x > 0.2], x[x <= 0.2]]).sum(), x[0])]
    program = hlograph.emit_stablehlo(([x, i], outputs))
    assert not program.signature.counts
    assert [str(count.bound) for count in program.signature.local_counts] == ["x_0"] * 7
    assert program.signature.has_data_sizes
    assert program.text.count("custom_call @hlograph.size") == 7
    check_lowering([x, i], outputs, SEVEN, taken)


def test_a_size_inside_a_branch_and_behind_it():
    output = ifelse(i > 0, x[x > 0].sum(), x.sum()) + x[x > 0].mean()
    assert list(names(check_lowering([x, i], output, SEVEN, 1)).values()) == ["x_0"]


def test_demands_on_sizes_inside_a_branch_are_checks():
    output = [ifelse(i > 0, (x[x > 0] + y).sum(), x.sum()), y * 2]  # behind the branch y is as long as it was
    program = check_lowering([x, y, i], output, SEVEN, np.ones((SEVEN > 0).sum()), 1)
    assert [check.exception for check in program.signature.checks] == ["ValueError"]
    assert not program.signature.constraints
    check_lowering([x, y, i], output, SEVEN, np.ones(20), 0, expected=[SEVEN.sum(), np.full(20, 2.0)])
    program = check_lowering([x, i], ifelse(i > 0, x[x > 0][0], x.sum()), SEVEN, 1)
    (check,) = program.signature.checks
    assert check.message.startswith("size nonzero_0 must be at least 1: index 0 of axis 0")


def trace_of(steps, **options):
    start = pt.constant(np.float64(1.0), dtype="float64")
    return pytensor.scan(
        lambda *a: sum(a) * 0.5 + a[-1] ** 2, outputs_info=start, n_steps=steps, return_updates=False, **options
    )


@pytest.mark.parametrize(
    ("data", "steps", "values"),
    [
        (k, k.max(), ([2, 1, 3], [1], [7, 0])),
        (real, pt.cast(real, "int8"), (3.9, 1.0, 7.0)),
        (k, pt.switch(k.sum() > 3, k[0] + 1, 2), ([2, 2], [1, 1])),
    ],
    ids=["reduction", "cast", "choice"],
)
def test_a_loop_whose_number_of_steps_is_computed_from_data(data, steps, values):
    trace = trace_of(steps, sequences=[x])
    whole = [trace, *pytensor.grad((trace**2).sum() + trace[-1], [x])]
    function = compiled([x, data], whole)
    reference = pytensor.function([x, data], whole, mode=pytensor.compile.Mode("py", None))
    for value in values:
        for found, wanted in zip(function(SEVEN, value), reference(SEVEN, value), strict=True):
            assert_same(found, wanted)


def test_numbers_of_steps_that_data_give_and_that_cannot_be():
    function = compiled([x, k], trace_of(k.max(), sequences=[x]))
    assert len(function(SEVEN, [0])) == 0
    for value, error in (([8], "slice_0 >= n_steps_0"), ([-2], ">= 1")):
        with pytest.raises(ArgumentShapeError, match=error):
            function(SEVEN, value)
    inner = lambda a: trace_of(k.max() + pt.cast(a, "int64"))[-1]  # noqa: E731
    with pytest.raises(DataDependentSizeError, match="inside a branch or a loop"):
        hlograph.emit_stablehlo(([x, k], pytensor.map(inner, sequences=[x], return_updates=False)))


def test_a_size_that_is_only_demanded_is_counted():
    function = compiled([x, y, k], trace_of(k.max(), sequences=[x[: k.sum()]])[-1])
    assert function(SEVEN, SEVEN, [2, 1]).shape == ()
    with pytest.raises(ArgumentShapeError):
        function(SEVEN, SEVEN, [2, -1])


def test_what_cannot_leave_a_branch():
    chosen = ifelse(i > 0, x[x > 0], x)
    chosen.name = "chosen"
    with pytest.raises(
        UnsupportedGraphError, match=r"node 'chosen' has size nonzero_0.*outside, or return a reduction"
    ):
        hlograph.emit_stablehlo(([x, i], chosen))
    with pytest.raises(DataDependentSizeError, match=r"inside a branch or a loop.*Repeat node; compute it outside"):
        hlograph.emit_stablehlo(([x, k, i], ifelse(i > 0, pt.repeat(x, k).sum(), x.sum())))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 7])
def test_searchsorted(side, size):
    places = np.sort(np.round(SEVEN[:size], 1))
    values = np.concatenate([places, SEVEN, [np.nan, np.inf, -np.inf]])
    program = check_lowering([x, y], pt.searchsorted(x, y, side=side), places, values)
    assert not program.signature.counts
    order = np.argsort(-places)
    check_lowering([x, y, k], pt.searchsorted(x, y, side=side, sorter=k), -places, values, order)


def test_searchsorted_converts():
    whole = [pt.searchsorted(k, matrix), pt.searchsorted(k, real), pt.searchsorted(x, i)]
    check_lowering([k, matrix, real, x, i], whole, [1, 2, 2, 3], GRID * 2, 2.5, np.sort(SEVEN), 1)
    check_lowering([x, y], pt.searchsorted(x, y), [1.0, np.nan, np.nan], [0.0, np.nan, 2.0])
