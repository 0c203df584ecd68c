"""Scan: loops over sequences, states, traces, gradients, conditions; against PyTensor's own loop in Python."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import scan
from pytensor.graph.replace import vectorize_graph
from pytensor.raise_op import Assert
from pytensor.scan.utils import until
from support import assert_same

import hlograph
from hlograph.errors import ArgumentShapeError, DataDependentSizeError

pytestmark = pytest.mark.sampled(4)

x, y, a, n = pt.dvector("x"), pt.dvector("y"), pt.dscalar("a"), pt.lscalar("n")
X = pt.dmatrix("X")
ZERO, ONE = pt.constant(np.float64(0)), pt.constant(np.float64(1))


def traces(*args, **kwargs):
    return scan(*args, return_updates=False, **kwargs)


def python(inputs, outputs, *values):
    """PyTensor's own loop, without rewrites."""
    return pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")(*values)


def check(inputs, outputs, *values, **options):
    """The compiled function against PyTensor's loop, with the graph as it stands and rewritten."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    wanted = python(inputs, outputs, *values)
    for rewrite in (False, True):
        found = hlograph.function(inputs, outputs, rewrite=rewrite, **options)(*values)
        for result, expected in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert_same(result, np.asarray(expected), rtol=1e-10)


def running_sum():
    return traces(lambda s, total: total + s, sequences=x, outputs_info=ZERO)


def second_order():
    """An autoregression with two taps, and a second output that is no state."""

    def step(s, before, before_that, k):
        value = 0.5 * before + k * before_that + s
        return value, value**2

    return traces(step, sequences=x, outputs_info=[{"initial": y, "taps": [-1, -2]}, None], non_sequences=a)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_any_number_of_steps(count, policy):
    rows = np.linspace(0.5, 2, 3 * count).reshape(count, 3)
    trace = traces(
        lambda row, state: pt.tanh(state * row + row.sum()), sequences=X, outputs_info=pt.zeros(3, "float64")
    )
    gradient = pytensor.grad((trace**2).sum(), X)
    if count:
        check([X], [trace, gradient], rows, policy=policy)
    else:  # for the second PyTensor has no answer
        for found in hlograph.function([X], [trace, gradient], policy=policy)(rows):
            assert_same(found, np.zeros((0, 3)))
    check([a, n], traces(lambda s: s * 1.5 + 1, outputs_info=a, n_steps=n), 2.0, count, policy=policy)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_only_the_last_rows_are_kept(count):
    """The library's rewriting cuts traces: to the states, or to a ring where states are read from far back."""
    trace = traces(lambda s: s * 0.5 + 1, outputs_info=a, n_steps=n)
    check([a, n], [trace[-1], trace[-3:], trace[:2], trace[1:-1]], 2.0, count + 2)
    far = traces(lambda new, old: new * 0.5 + old * a, outputs_info=[{"initial": y, "taps": [-1, -7]}], n_steps=n)
    start = np.linspace(1, 2, 7)
    check([y, a, n], [far[-1], far], start, 0.3, count)
    check([y, a, n], pytensor.grad((far**2).sum(), [y, a]), start, 0.3, count)


@pytest.mark.parametrize("start", [1.0, 90.0, 1e9])
@pytest.mark.parametrize("policy", ["auto", "padded"])
def test_until_cuts_the_trace(start, policy):
    trace = traces(lambda s: (s * 2, until(s * 2 > 100)), outputs_info=a, n_steps=40)
    check([a], [trace, trace[-1], trace.shape[0]], start, policy=policy)


def test_until_with_sequences_and_its_gradient():
    trace = traces(lambda s, p: (p * s, until(p * s > 50)), sequences=x, outputs_info=ONE)
    values = np.arange(1, 9.0)
    fn = hlograph.function([x], [trace, pytensor.grad(trace.sum(), x)])
    products = np.cumprod(values)[:5]  # 120 is the first above 50
    assert_same(fn(values)[0], products, rtol=1e-12)
    step = 1e-6
    moved = [np.cumprod(values + step * np.eye(8)[i])[:5].sum() - products.sum() for i in range(8)]
    np.testing.assert_allclose(fn(values)[1], np.array(moved) / step, rtol=1e-4, atol=1e-4)


def test_a_loop_that_ends_early_runs_no_further():
    """An assert on the step after the last one would fail."""
    trace = traces(
        lambda s: (Assert("went on")(s * 2, s < 64), until(s * 2 >= 64)), outputs_info=a, n_steps=pt.lscalar("most")
    )
    most = next(v for v in pytensor.graph.traversal.explicit_graph_inputs([trace]) if v.name == "most")
    assert_same(hlograph.function([a, most], trace)(1.0, 10_000), 2.0 ** np.arange(1, 7))


def test_backwards_and_shifted_sequences():
    check([x], traces(lambda s, t: s - t, sequences=x, outputs_info=ZERO, go_backwards=True), np.arange(5.0))
    check([x], traces(lambda now, later: now * later, sequences={"input": x, "taps": [0, 2]}), np.arange(6.0))


def test_nested_scans_and_their_gradient():
    def of_row(row):
        return traces(lambda e, total: total + pt.sin(e), sequences=row, outputs_info=ZERO)[-1]

    sums = traces(of_row, sequences=X)
    values = np.arange(12.0).reshape(4, 3) / 7
    check([X], [sums, pytensor.grad((sums**2).sum(), X)], values)
    check([X], sums, values, policy="padded")


@pytest.mark.parametrize("steps", [4, n])
def test_a_batch_of_initial_values(steps):
    """The number of steps gets a batch axis of size 1, and is a size nonetheless."""
    trace = traces(lambda s, k: s * k + 1, outputs_info=a, non_sequences=pt.constant(0.5), n_steps=steps)
    check([x, n], vectorize_graph(trace, {a: x}), np.arange(3.0), 4)
    check([x, n], vectorize_graph(pytensor.grad(trace[-1], a), {a: x}), np.arange(3.0), 4)


def bounded():
    return traces(lambda s, t: Assert("too large")(t + s, t + s < 100), sequences=x, outputs_info=ZERO, name="sums")


LARGE = np.array([1.0, 200.0, 3.0])


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_checks_say_in_which_step(policy):
    fn = hlograph.function([x], bounded(), policy=policy)
    assert_same(fn(np.ones(3)), np.arange(3.0) + 1)
    assert_same(fn(np.ones(0)), np.zeros(0))
    with pytest.raises(AssertionError, match=r"too large \(in step 1 of the scan 'sums'\)"):
        fn(LARGE)
    with pytest.raises(AssertionError, match="in step 0"):
        fn(LARGE[1:])


def test_checks_of_steps_everywhere(tmp_path):
    program = hlograph.emit_stablehlo(([x], bounded()))
    program.save(tmp_path / "sums.mlir")
    fn = hlograph.function([x], bounded())
    ways = [
        hlograph.load(tmp_path / "sums.mlir").compile(),
        program.interpret,
        pytensor.function([x], bounded(), mode=hlograph.Mode()),
        lambda values: jax.vmap(fn)(np.stack([np.ones(3), values])),
        lambda values: hlograph.function([X], vectorize_graph(bounded(), {x: X}))(np.stack([np.ones(3), values])),
        jax.grad(lambda values: fn(values).sum()),
    ]
    for way in ways:
        way(np.ones(3))
        with pytest.raises(AssertionError, match=r"in (step 1 of the scan 'sums'|element 1 of the batch)"):
            way(LARGE)


def test_checks_in_loops_and_beside_them():
    """The flags of a program are one vector: what fails is named, whatever else is checked."""
    rows = traces(lambda row: bounded_sum(row), sequences=X, name="rows")
    total = Assert("the sum is negative")(X.sum(), X.sum() > 0)
    fn = hlograph.function([X], [rows, total])
    values = np.ones((3, 4))
    fn(values)
    values[2, 1] = 200
    with pytest.raises(AssertionError, match=r"too large \(in step 2 of the scan 'rows'\)"):
        fn(values)
    with pytest.raises(AssertionError, match=r"the sum is negative$"):
        fn(-np.ones((3, 4)))


def bounded_sum(row):
    return traces(lambda s, t: Assert("too large")(t + s, t + s < 100), sequences=row, outputs_info=ZERO)[-1]


@pytest.mark.parametrize("axes", [(2, 1), (1, 2), (2, 0), (0, 2), (1, 3)])
def test_batches_of_different_ranks(axes):
    """Sequences with so many batch axes, and initial values and factors with so many others."""
    s = pt.dscalar("s")
    trace = pytensor.scan(lambda a, b, s: a * s + b, sequences=[x], outputs_info=[s], non_sequences=[s],
                          return_updates=False)  # fmt: skip
    many = pt.tensor("many", dtype="float64", shape=(None,) * (axes[0] + 1))
    factors = pt.tensor("factors", dtype="float64", shape=(None,) * axes[1])
    shape = (4, 2, 3)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(*shape[3 - axes[0] :], 5)), rng.normal(size=shape[3 - axes[1] :])]
    batch = vectorize_graph(trace, {x: many, s: factors})
    check([many, factors], [batch, *pytensor.grad((batch**2).sum(), [many, factors])], *arrays)


def test_a_batch_of_none():
    """PyTensor refuses it; NumPy's answer is an array without rows."""
    batch = vectorize_graph(running_sum(), {x: X})
    for policy in ("exact", "padded"):
        assert_same(hlograph.function([X], batch, policy=policy)(np.zeros((0, 3))), np.zeros((0, 3)))


def test_indices_in_a_step():
    places = pt.lvector("places")
    rows = traces(lambda place, v: v[place], sequences=places, non_sequences=x)
    fn = hlograph.function([places, x], rows)
    assert_same(fn(np.array([2, 0]), LARGE), LARGE[[2, 0]])
    with pytest.raises(IndexError, match=r"out of bounds.*\(in step 1 of the scan"):
        fn(np.array([2, 3]), LARGE)


def demo(*args, **kwargs):
    return traces(*args, name="demo", **kwargs)


TWO = {"initial": y, "taps": [-1, -2]}
PAIRS = {"input": x, "taps": [0, 1]}
REFUSED = {
    "sequence 1 of the scan 'demo', for n_steps rows|y_0 >= 5, got y_0 = 4": (
        lambda: ([x, y], demo(lambda s, t: s * t, sequences=[x, y], n_steps=5)),
        (np.ones(5), np.ones(4)),
    ),
    "sequence 0 of the scan 'demo', for n_steps rows|x_0 >= n, got n = 5, x_0 = 3": (
        lambda: ([x, n], demo(lambda s: s + 1, sequences=x, n_steps=n)),
        (np.ones(3), 5),
    ),
    "sequence 0 of the scan 'demo', for n_steps rows|max(x_0 - 1, 0) >= n, got n = 5, x_0 = 5": (
        lambda: ([x, n], demo(lambda s, t: s + t, sequences=PAIRS, n_steps=n, go_backwards=True)),
        (np.ones(5), 5),
    ),
    "n_steps of the scan 'demo'|n >= 0, got n = -1": (
        lambda: ([a, n], demo(lambda s: s + 1, outputs_info=a, n_steps=n)),
        (0.0, -1),
    ),
    "the initial value of state 0 of the scan 'demo', taps [-1, -2]|y_0 >= 2, got y_0 = 1": (
        lambda: ([y, n], demo(lambda s, t: s + t, outputs_info=TWO, n_steps=n)),
        (np.ones(1), 3),
    ),
    "a state of the scan 'demo', before and after a step, axis 0|y_0 == X_1 + y_0": (
        lambda: ([X, y], demo(lambda row, s: pt.concatenate([s, row]), sequences=X, outputs_info=y)),
        (np.ones((3, 4)), np.ones(3)),
    ),
    "a state of the scan 'demo', before and after a step, axis 0|y_0 == max(y_0 - 1, 0)": (
        lambda: ([y], demo(lambda s: s[1:], outputs_info=y, n_steps=2)),
        (np.ones(3),),
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_sizes_that_do_not_fit_are_refused_before_the_run(message):
    """The error says what is expected and found, of which argument, and which part of which loop wants it."""
    make, values = REFUSED[message]
    inputs, outputs = make()
    for rewrite in (False, True):
        with pytest.raises(ArgumentShapeError) as caught:
            hlograph.function(inputs, outputs, rewrite=rewrite)(*values)
        for part in message.split("|"):
            assert part in str(caught.value)
        assert "is argument" in str(caught.value) or "is the value of argument" in str(caught.value)


def test_a_state_whose_size_is_from_data_is_refused():
    with pytest.raises(DataDependentSizeError, match="a state of the scan 'demo', before and after a step, axis 0"):
        hlograph.emit_stablehlo(([y], demo(lambda s: s[s > 0], outputs_info=y, n_steps=2)))


@pytest.mark.parametrize("taps", [[-1, -2], [-2], [-1, -6]])
@pytest.mark.parametrize("known", [True, False])
def test_until_with_states_from_further_back(taps, known):
    """The initial rows may be more than the taps need, and whether they are is known or not."""
    start = pt.as_tensor(np.linspace(0.1, 0.9, 6)) if known else y
    end = lambda *states: (sum(states) + 0.3, until(states[0] > 1.1))  # noqa: E731
    trace = traces(end, outputs_info={"initial": start, "taps": taps}, n_steps=12)
    check([y], [trace, trace[-3:-1], trace[1:], trace[-1], trace.sum()], np.linspace(0.1, 0.9, 6))


def test_a_shared_variable_that_a_step_updates():
    state = pytensor.shared(np.float64(1))
    _, updates = scan(lambda: {state: state * 2}, n_steps=n, return_updates=True)
    fn = pytensor.function([n], [], updates=updates, mode=hlograph.Mode())
    fn(3)
    fn(2)
    assert state.get_value() == 32


def test_the_body_is_emitted_once_and_buffers_are_written_in_place():
    rows = np.ones((64, 16))
    trace = traces(lambda row, s: pt.tanh(s + row), sequences=X, outputs_info=pt.zeros(16, "float64"))
    program = hlograph.emit_stablehlo(([X], [trace]))
    assert program.op_counts()["stablehlo.tanh"] == program.op_counts()["stablehlo.while"] == 1
    compiled = hlograph.function([X], trace).lower(rows).compile()
    loop = max(compiled.as_text().split("\n\n"), key=lambda part: part.count("tanh"))
    assert "f64[64,16] copy(" not in loop.replace("{1,0}", "")
    assert compiled.memory_analysis().temp_size_in_bytes < 3 * rows.nbytes


_VECTORS = {
    "the shortest": lambda a, b, n: -pt.max(-1 * pt.stack([a.shape[0], b.shape[1]])),
    "a product": lambda a, b, n: pt.max(a.shape * 2),
    "a sum": lambda a, b, n: (a.shape + b.shape)[1],
    "a half": lambda a, b, n: (a.shape // pt.constant([2, 3]))[0],
    "a remainder": lambda a, b, n: pt.sum(a.shape % 4),
    "the longer": lambda a, b, n: pt.maximum(a.shape, b.shape)[1],
    "clipped": lambda a, b, n: pt.max(pt.clip(a.shape, 0, 5)),
    "a choice": lambda a, b, n: pt.where(pt.gt(a.shape, 5), b.shape, a.shape)[0],
    "a value": lambda a, b, n: pt.max(a.shape + n),
}


@pytest.mark.parametrize("name", _VECTORS)
def test_steps_from_vectors_of_sizes(name):
    a, b, n = pt.dmatrix("a"), pt.dmatrix("b"), pt.lscalar("n")
    steps = _VECTORS[name](a, b, n)
    states = scan(lambda s: s + 1, outputs_info=pt.constant(0.0, dtype="float64"), n_steps=steps, return_updates=False)
    fn = hlograph.function([a, b, n], [states.sum(), steps])
    evaluated = pytensor.function([a, b, n], steps, mode="FAST_COMPILE", on_unused_input="ignore")
    for shapes in (((6, 4), (5, 7)), ((2, 3), (9, 1))):
        given = *map(np.ones, shapes), 3
        wanted = int(evaluated(*given))
        total, found = fn(*given)
        assert (int(found), float(total)) == (wanted, wanted * (wanted + 1) / 2)
