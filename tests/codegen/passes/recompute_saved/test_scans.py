"""What a Scan keeps for its gradient: how often the costly ops are done, from what, and that numbers are the same."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import scan
from pytensor.graph.traversal import explicit_graph_inputs
from support import assert_same

import hlograph

pytestmark = pytest.mark.sampled(6)

x, w, n, h0 = pt.dmatrix("x"), pt.dmatrix("w"), pt.lscalar("n"), pt.dvector("h0")
XS, WS, HS = np.random.default_rng(0).normal(size=(7, 3)), np.eye(3) * 0.4 + 0.2, np.array([0.1, -0.2, 0.3])


def traces(*args, **kwargs):
    return scan(*args, return_updates=False, **kwargs)


def tanh_net(**options):
    return traces(lambda row, h: row * pt.tanh(row + w @ h), sequences=x, outputs_info=h0, **options)


def sines():
    """No state: the gradient reads the same sequence."""
    return traces(lambda row: pt.sin(row) * pt.sin(w @ row), sequences=x)


def second_order():
    start = {"initial": pt.stack([h0, 2 * h0]), "taps": [-1, -2]}
    return traces(lambda row, a, b: pt.sin(a) + row * pt.sin(b), sequences=x, outputs_info=start)


def windowed():
    taps = {"input": x, "taps": [-1, 0, 1]}
    return traces(lambda a, b, c, h: h * pt.sin(a) + pt.sin(b * c), sequences=taps, outputs_info=h0)


def normalized():
    return traces(lambda row, h: row + pt.logsumexp(h[:, None] + w, axis=0), sequences=x, outputs_info=h0)


def nested():
    def of_row(row, total):
        inner = traces(lambda e, s: pt.sin(s) + e, sequences=row, outputs_info=pt.constant(np.float64(0)))
        return total + inner[-1]

    return traces(of_row, sequences=x, outputs_info=pt.constant(np.float64(0)))


# The loop, and for some op of its step how often it is done in a step and its gradient together.
MODELS = {
    "tanh": (tanh_net, "tanh", 1),
    "products": (tanh_net, "dot_general", 3),
    "backwards": (lambda: tanh_net(go_backwards=True), "tanh", 1),
    "sines": (sines, "sine", 2),
    "two taps": (second_order, "sine", 2),
    "windows": (windowed, "sine", 2),
    "logsumexp": (normalized, "exponential", 1),
    "nested": (nested, "sine", 1),
    "some steps": (lambda: tanh_net(n_steps=n), "tanh", 1),
}


def used(model):
    """The model's inputs, without those that it does not need."""
    roots = set(explicit_graph_inputs([model]))
    return [v for v in (x, w, n, h0) if v in roots]


VALUES = {x: XS, w: WS, n: 5, h0: HS}


def value_and_gradients(make):
    trace = make()
    loss = (trace**2).sum()
    inputs = used(loss)
    wanted = [v for v in inputs if v.dtype == "float64"]
    return inputs, [trace, *pytensor.grad(loss, wanted)]


def check(inputs, outputs, rtol=1e-12, values=(), **options):
    """The values are PyTensor's without rewrites."""
    values = [VALUES[v] for v in inputs] if values == () else values
    wanted = pytensor.function(inputs, outputs, mode="FAST_COMPILE")(*values)
    found = hlograph.function(inputs, outputs, **options)(*values)
    for result, expected in zip(found if len(outputs) > 1 else [found], wanted, strict=True):
        assert_same(result, expected, rtol=rtol)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_same_numbers(name, policy):
    check(*value_and_gradients(MODELS[name][0]), rtol=1e-10, policy=policy)


def count_of(op, inputs, outputs, values):
    """How often an op stands in the program as it is written, and after the passes."""
    fn = hlograph.function(inputs, outputs, policy="exact", cpu="plain")
    stages = fn.lower(*values).stages
    return [str(stages[place].program()).count(f"stablehlo.{op} ") for place in (0, -1)]


@pytest.mark.parametrize("name", MODELS)
def test_costly_work_is_done_once(name):
    make, op, count = MODELS[name]
    inputs, outputs = value_and_gradients(make)
    before, after = count_of(op, inputs, outputs, [VALUES[v] for v in inputs])
    assert before > after == count


@pytest.mark.parametrize("shape", [(7, 3), (7, None), (None, 3)])
@pytest.mark.parametrize("start", [h0, pt.zeros(3), pt.as_tensor(HS)])
def test_shapes_that_are_known(shape, start):
    """Where types know more in one place than in another, differentiation puts their shapes between."""
    rows = pt.tensor(shape=shape, dtype="float64")
    trace = traces(lambda row, h: row * pt.tanh(row + w @ h), sequences=rows, outputs_info=start)
    inputs = [v for v in (rows, w, h0) if v is not h0 or start is h0]
    outputs = [pytensor.grad((trace[-1] ** 2).sum(), w)]
    values = [XS, WS, HS][: len(inputs)]
    assert count_of("tanh", inputs, outputs, values)[1] == 1
    check(inputs, outputs, rtol=1e-10, values=values)


def test_cheap_work_is_done_again():
    row_major = pt.tensor(shape=(7, 3), dtype="float64")
    trace = traces(lambda row, h: (row + 1) * h, sequences=row_major, outputs_info=pt.as_tensor(HS))
    program = hlograph.emit_stablehlo(([row_major], [pytensor.grad((trace**2).sum(), row_major)]), rewrite=True)
    forward = next(line for line in str(program.optimize()).splitlines() if "stablehlo.while(" in line)
    assert forward.count("tensor<7x3xf64>") <= 1  # the state before each step at most, and not `row + 1`


def test_states_far_behind_a_shift_are_not_mistaken():
    """A user's loop over the trace from its end, one row off, with the same step: other numbers."""
    trace = traces(lambda row, h: pt.sin(row) + 0 * h, sequences=x, outputs_info=h0)
    again = traces(lambda row, h, g: g + pt.sin(row), sequences=[x[:-1][::-1], trace[1:][::-1]], outputs_info=h0)
    forward = traces(lambda row, h, g: g + pt.sin(row), sequences=[x, trace], outputs_info=h0)
    check([x, h0], [again, forward])


@pytest.mark.parametrize("shorter", [0, 1, 3])
def test_loops_over_parts_of_the_same_sequence(shorter):
    """A loop over fewer steps reads other rows from the end than its reverse over all."""
    count = len(XS) - shorter
    first = traces(lambda row, h: pt.sin(row) + h, sequences=x, outputs_info=h0, n_steps=count)
    second = traces(
        lambda row, g, h: pt.sin(row) * g + h, sequences=[x[::-1], first[::-1]], outputs_info=h0, n_steps=count
    )
    check([x, h0], [second])


def test_truncated_gradients():
    trace = traces(lambda row, h: row * pt.tanh(row + w @ h), sequences=x, outputs_info=h0, truncate_gradient=3)
    check([x, w, h0], [pytensor.grad(trace[-1].sum(), w)])


def test_second_derivatives():
    loss = (tanh_net() ** 2).sum()
    slope = pytensor.grad(loss, h0)
    check([x, w, h0], [slope, pytensor.grad((slope**2).sum(), h0), pytensor.grad(slope[0], w)], rtol=1e-9)


def test_sizes_stay_sizes():
    """What a step computes of sizes is computed again: as a number from a trace it could be no size."""

    def of_row(row, total):
        k = row.shape[0] - 1
        return total + traces(lambda e, s: pt.sin(s) + e, sequences=row[:k], outputs_info=pt.zeros(()), n_steps=k)[-1]

    trace = traces(of_row, sequences=x, outputs_info=pt.constant(np.float64(0)))
    check([x], [trace, pytensor.grad(trace[-1], x)])
