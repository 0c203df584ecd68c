"""What callers may write: arguments by name, lists and numbers for arrays; and what they are told when they may not."""

import inspect
from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
import hlograph.pytensor
from hlograph.errors import ArgumentShapeError, ArgumentTypeError, HlographError

ROWS, OUTCOMES, WEIGHTS = np.arange(6.0).reshape(3, 2), np.array([1.0, -2.0, 0.5]), np.array([3.0, 7.0])


@pytest.fixture(scope="module")
def score() -> Any:
    """`(X @ beta) * y + scale` for fixed three rows in `y`: one argument decides sizes, one none, one is a number."""
    x, y, beta = pt.dmatrix("X"), pt.tensor("y", shape=(3,), dtype="float64"), pt.dvector("beta")
    scale = pt.dscalar("the scale")
    return hlograph.emit_stablehlo(([x, y, beta, scale], (x @ beta) * y + scale), name="score").compile()


def wanted(x: Any, y: Any, beta: Any, scale: Any) -> Any:
    return (np.asarray(x) @ np.asarray(beta)) * np.asarray(y) + scale


def test_arguments_by_name_in_any_order_the_first_time_and_later(score):
    for _ in range(2):
        found = score(ROWS, beta=WEIGHTS, **{"the scale": 2}, y=OUTCOMES)
        np.testing.assert_array_equal(found, wanted(ROWS, OUTCOMES, WEIGHTS, 2.0))


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_lists_tuples_and_numbers_are_arrays(outputs):
    x, y, k = pt.dmatrix("x"), pt.tensor("y", shape=(2,), dtype="float64"), pt.lvector("k")
    function = hlograph.function([x, y, k], x[:, 0] * y + k, outputs=outputs)
    for _ in range(3):
        np.testing.assert_array_equal(function([[1, 2.5], (3, 4)], (5, 6), [1, 2]), [6.0, 20.0])
        np.testing.assert_array_equal(function(np.ones((2, 1)), [OUTCOMES[0], 6], k=[True, 2]), [2.0, 8.0])
    assert function.stats.compiles == 2
    with pytest.raises(ArgumentTypeError, match=r"argument 'k': expected dtype int64, got a list that holds 1\.5"):
        function([[1, 2]], [1, 2], [1.5])
    with pytest.raises(ArgumentTypeError, match=r"argument 'k': 9223372036854775808 does not fit dtype int64"):
        function([[1, 2]], [1, 2], [2**63])
    with pytest.raises(ArgumentTypeError, match=r"argument 'y': expected dtype float64, got float32"):
        function([[1, 2]], [np.float32(1), np.float32(2)], [1])
    with pytest.raises(ArgumentTypeError, match=r"argument 'y': .* a list that holds str: 'a'"):
        function([[1, 2]], ["a", 2], [1])
    with pytest.raises(ArgumentShapeError, match=r"argument 'x': .* whose entries differ in length"):
        function([[1, 2], [1]], [1, 2], [1])


def test_lists_with_tracers_and_objects_that_say_what_they_are(score):
    class Weights:
        def __jax_array__(self) -> Any:
            return jnp.asarray(WEIGHTS)

    def total(t: Any) -> Any:
        return score(ROWS, [t, -2.0, t * t], beta=[3, 7], **{"the scale": 0}).sum()

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(total)(2.0), (ROWS @ WEIGHTS)[0] + 4 * (ROWS @ WEIGHTS)[2])
        found = score(ROWS, OUTCOMES, Weights(), 0)
    np.testing.assert_array_equal(found, wanted(ROWS, OUTCOMES, WEIGHTS, 0.0))


def test_names_go_through_the_transformations(score):
    with jax.enable_x64(True):
        by_name = jax.jit(score)(ROWS, y=OUTCOMES, beta=WEIGHTS, **{"the scale": 1.0})
        batch = jax.vmap(lambda b: score(ROWS, OUTCOMES, beta=b, **{"the scale": 1.0}))(np.stack([WEIGHTS, -WEIGHTS]))
        named = jax.vmap(score)(X=ROWS[None], y=OUTCOMES[None], beta=WEIGHTS[None], **{"the scale": np.ones(1)})
    for found in (by_name, batch[0], named[0]):
        np.testing.assert_allclose(found, wanted(ROWS, OUTCOMES, WEIGHTS, 1.0))


def test_shared_variables_keys_and_sparse_matrices_by_name():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    sparse = pytest.importorskip("pytensor.sparse")
    x, matrix = pt.dvector("x"), sparse.csr_matrix("W", dtype="float64")
    function = hlograph.function([x, matrix], sparse.dot(matrix, x[:, None]) * pytensor.shared(2.0), name="product")
    found = function(W=scipy_sparse.csr_matrix(ROWS), x=WEIGHTS)
    np.testing.assert_array_equal(found[:, 0], ROWS @ WEIGHTS * 2)
    assert str(inspect.signature(function)) == "(x: 'float64[x_0]', W: 'float64 matrix in csr')"
    with pytest.raises(ArgumentTypeError, match="unexpected keyword argument 'w'; its arguments: x, W"):
        function(WEIGHTS, w=ROWS)
    with pytest.raises(ArgumentTypeError, match=r"product\(\) got multiple values for argument 'x'"):
        function(WEIGHTS, x=ROWS)


def test_the_signature_says_what_goes_in(score):
    assert str(inspect.signature(score)).startswith("(X: 'float64[X_0, X_1]', y: 'float64[3]', beta: 'float64[")
    assert "arg3" in inspect.signature(score).parameters, "a name that is no identifier has its place"


GOOD = ROWS, OUTCOMES, WEIGHTS, 1.0


@pytest.mark.parametrize("way", ["jax", "numpy", "file"])
@pytest.mark.parametrize(
    ("arguments", "names", "error", "text"),
    [
        ((ROWS,), {"beta": WEIGHTS, "the scale": 1.0}, ArgumentTypeError, r"argument 'y' \(float64\[3\]\) is missing"),
        ((ROWS, OUTCOMES), {"the scale": 1.0}, ArgumentTypeError, "argument 'beta' .* is missing"),
        ((ROWS, OUTCOMES), {}, ArgumentTypeError, r"expected 4 arguments \(X: .* got 2; missing: 'beta', 'the scale'"),
        ((*GOOD, 1.0), {}, ArgumentTypeError, "expected 4 arguments .* got 5"),
        (GOOD, {"beat": 1}, TypeError, r"score\(\) got an unexpected keyword argument 'beat'"),
        (GOOD, {"X": 1}, TypeError, r"score\(\) got multiple values for argument 'X'"),
        (("ab", *GOOD[1:]), {}, ArgumentTypeError, "argument 'X': expected an array .* got str"),
        ((np.array([["a"]]), *GOOD[1:]), {}, ArgumentTypeError, "argument 'X': .*<U1"),
        (({"a": 1.0}, *GOOD[1:]), {}, ArgumentTypeError, "argument 'X': expected an array .* got dict.*numpy.asarray"),
        ((namedtuple("P", "a")(1), *GOOD[1:]), {}, ArgumentTypeError, "argument 'X': expected an array .* got P"),
        ((ROWS.astype("f"), *GOOD[1:]), {}, ArgumentTypeError, "'X': expected dtype float64, got float32.*astype"),
        ((ROWS, np.arange(3), *GOOD[2:]), {}, ArgumentTypeError, "'y': expected dtype float64, got int64"),
        ((ROWS, OUTCOMES + 0j, *GOOD[2:]), {}, ArgumentTypeError, "'y': expected dtype float64, got complex128"),
        ((ROWS, None, *GOOD[2:]), {}, ArgumentTypeError, "argument 'y': expected an array .* got NoneType"),
        ((*GOOD[:3], "1"), {}, ArgumentTypeError, "argument 'the scale': expected an array .* got str"),
        ((ROWS, OUTCOMES[:, None], *GOOD[2:]), {}, ArgumentShapeError, r"'y': expected 1 axes.*\(3, 1\)"),
        ((ROWS, 1.0, *GOOD[2:]), {}, ArgumentShapeError, "argument 'y': expected 1 axes.* got 0"),
        ((ROWS, OUTCOMES[:2], *GOOD[2:]), {}, ArgumentShapeError, "'y', axis 0: expected size 3, got 2"),
        ((*GOOD[:2], np.ones(5), 1.0), {}, ArgumentShapeError, "X_1 = 2, beta_0 = 5 .*'X', axis 1.*'beta', axis 0"),
    ],
)
def test_what_is_wrong_names_the_argument(score, way, arguments, names, error, text, tmp_path):
    program = hlograph.load(score.program.save(tmp_path / "a.mlir")) if way == "file" else score.program
    function = program.compile(outputs="numpy" if way == "numpy" else "jax")
    for compiles in (0, 1):  # before there is an executable, and with one
        with pytest.raises(error, match=text) as caught:
            function(*arguments, **names)
        assert isinstance(caught.value, HlographError) or error is TypeError
        assert function.stats.compiles == compiles
        function(*GOOD)


def test_names_may_be_keywords_of_python(tmp_path):
    values, factor = pt.dvector("lambda"), pt.dscalar("in")
    given, wanted = (np.arange(3.0), 2.0), [0.0, 2.0, 4.0]
    by_name = dict(zip(("lambda", "in"), given, strict=True))
    program = hlograph.emit_stablehlo(([values, factor], [values * factor]))
    program.save(tmp_path / "saved.mlirbc")
    functions = {
        "function": hlograph.function([values, factor], values * factor),
        "padded": hlograph.function([values, factor], values * factor, policy="padded", dims={"lambda": ["class"]}),
        "text": hlograph.Program.parse(program.text).compile(),
        "file": hlograph.load(tmp_path / "saved.mlirbc").compile(),
        "mode": pytensor.function([values, factor], values * factor, mode="STABLEHLO"),
        "jit": hlograph.jit(lambda **named: named["lambda"] * named["in"]),
        "sizes in jit": hlograph.jit(lambda **named: named["lambda"] * named["in"], dims={"lambda": ("n",)}),
    }
    for name, function in functions.items():
        np.testing.assert_array_equal(function(**by_name), wanted, err_msg=name)
        if "jit" not in name:
            np.testing.assert_array_equal(function(*given), wanted, err_msg=name)
    rows = hlograph.function([values, factor], (values * factor).sum(), dims={"lambda": ("b", "n[b]")})
    np.testing.assert_array_equal(rows(**{"lambda": [given[0], given[0][:2]], "in": 2.0}), [6, 2])
    with pytest.raises(ArgumentShapeError, match="is argument 'lambda', axis 0"):
        hlograph.function([values], values[5])(given[0])


def test_an_argument_may_be_called_self():
    x, row = pt.dvector("self"), np.ones(3)
    rows = hlograph.function([x], 2 * x, dims={"self": ("b", "n[b]")})
    for function, given in (
        (hlograph.function([x], 2 * x), row),
        (rows, [row]),
        (hlograph.jit(lambda self: 2 * self), row),
        (hlograph.jit(lambda self: 2 * self, dims={"self": ("n",)}), row),
    ):
        np.testing.assert_array_equal(np.ravel(function(self=given)), [2, 2, 2])
