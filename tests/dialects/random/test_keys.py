"""One key for all random variables: which gets which part of it, and what is refused."""

import warnings

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.null_type import NullType
from pytensor.graph.traversal import ancestors
from pytensor.ifelse import ifelse
from support import with_key

import hlograph
from hlograph.dialects.random.pytensor_ops import Draw, Keys
from hlograph.errors import UnsupportedGraphError

KEY = np.array([3, 1415], np.uint32)


def generator(name=None):
    return pytensor.shared(np.random.default_rng(0), name=name)


def normal(*parameters, rng=None, **options):
    """A normal variable with a generator of its own, unless one is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTensor 2 has no `return_next_rng`
        return pt.random.normal(*parameters, rng=generator() if rng is None else rng, **options)


def following(draw):
    """The state of the generator that a draw leaves behind."""
    return draw.owner.outputs[0]


def places(outputs):
    """For each random variable's name the number of its subkey, and how many there are."""
    found = {}
    for variable in ancestors(outputs):
        if variable.owner is not None and isinstance(variable.owner.op, Draw):
            subtensor = variable.owner.inputs[0].owner
            [place] = subtensor.op.idx_list if not subtensor.inputs[1:] else [subtensor.inputs[1].data]
            found[variable.name or "inner"] = int(place)  # PyTensor 3.3 keeps no names in inner graphs
    [count] = {v.owner.op.count for v in ancestors(outputs) if v.owner and isinstance(v.owner.op, Keys)}
    return found, count


def evaluate(inputs, outputs, *values):
    return jax.tree.map(np.asarray, hlograph.emit_stablehlo((inputs, outputs)).compile()(*values))


def test_the_order_is_that_of_the_walk():
    """Operands from left to right, what they need first, and the first output before the second."""
    a, b, c, d = (normal(name=name) for name in "abcd")
    e = normal(a + b, pt.exp(c), name="e")
    _, _, outputs = with_key([], [e * c, d])
    assert places(outputs) == ({"a": 0, "b": 1, "c": 2, "e": 3, "d": 4}, 5)
    _, _, outputs = with_key([], [d, c * e])
    assert places(outputs) == ({"d": 0, "c": 1, "a": 2, "b": 3, "e": 4}, 5)


def test_outputs_share_a_draw():
    x = normal(size=(4,))
    first, second = hlograph.emit_stablehlo(([], [x, 2 * x])).compile()(KEY)
    np.testing.assert_array_equal(2 * np.asarray(first), second)


def test_one_state_of_a_generator_has_one_subkey():
    """As in PyTensor, where both read the same random numbers; the state that a draw leaves behind is another."""
    rng = generator()
    first, scaled = normal(size=(3,), rng=rng), normal(1.0, 2.0, size=(3,), rng=rng)
    later = normal(size=(3,), rng=following(first))
    _, inputs, outputs = with_key([], [first, scaled, later])
    first, scaled, later = evaluate(inputs, outputs, KEY)
    np.testing.assert_allclose(scaled, 1 + 2 * first, rtol=1e-13)
    assert not (later == first).any()


def test_random_variables_in_an_inner_graph():
    x, rng = pt.dvector("x"), pt.random.type.random_generator_type("rng")
    draw = normal(x, rng=rng, name="inner")
    op = OpFromGraph([x, rng], [following(draw), draw * 2])
    y = pt.dvector("y")
    before = normal(name="before")
    after_rng, inner = op(y + before, generator())
    after = normal(inner, rng=after_rng, name="after")
    key, inputs, outputs = with_key([y], [after])
    assert inputs == [key, y]
    assert places(outputs) == ({"before": 0, "inner": 1, "after": 2}, 3)
    assert not any(isinstance(v.owner.op, OpFromGraph) for v in ancestors(outputs) if v.owner is not None)


def test_the_gradient_of_an_inner_graph_sees_the_same_draw():
    """The pullback of an inner graph holds its random variables a second time."""
    x, rng = pt.dscalar("x"), pt.random.type.random_generator_type("rng")
    op = OpFromGraph([x, rng], [x**2 * normal(rng=rng)])
    y = pt.dscalar("y")
    value = op(y, generator())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = pytensor.grad(value, y)
    _, inputs, outputs = with_key([y], [value, gradient])
    value, gradient = evaluate(inputs, outputs, KEY, 3.0)
    np.testing.assert_allclose(gradient, 2 * value / 3.0, rtol=1e-12)


def test_a_graph_without_random_variables_stays():
    x = pt.dvector("x")
    y = pt.exp(x)
    assert with_key([x], [y]) == (None, [x], [y])


def test_the_graph_that_was_given_stays():
    x = pt.dvector("x")
    draw = normal(pt.exp(x), name="draw")
    output = 2 * draw
    with_key([x], [output])
    assert output.owner.inputs[1] is draw or draw in output.owner.inputs
    assert type(draw.owner.op).__name__ == "NormalRV"


def test_a_given_variable_ends_the_walk():
    """A random variable among the inputs is an input."""
    a = normal(name="a")
    b = normal(a, name="b")
    key, inputs, outputs = with_key([a], [b])
    assert inputs == [key, a]
    assert places(outputs) == ({"b": 0}, 1)


@pytest.mark.parametrize("give", ["pair", "output", "list", "fgraph", "function"])
def test_the_key_is_the_first_argument(give):
    x = pt.dvector("x")
    draw = normal(x)
    graph = {
        "pair": lambda: ([x], draw),
        "output": lambda: draw,
        "list": lambda: [draw],
        "fgraph": lambda: FunctionGraph(outputs=[draw], clone=False),
        "function": lambda: pytensor.function([x], draw, mode=Mode(linker="py", optimizer=None)),
    }[give]()
    arguments = hlograph.emit_stablehlo(graph).signature.arguments
    assert [(a.name, str(a.dtype), a.key) for a in arguments] == [
        ("key", "uint32", "threefry2x32"),
        ("x", "float64", ""),
    ]


def test_an_input_may_be_called_key():
    x = pt.dvector("key")
    arguments = hlograph.emit_stablehlo(([x], normal(x))).signature.arguments
    assert [a.name for a in arguments] == ["key", "key_1"]


def test_generators_are_no_inputs_or_outputs():
    rng = generator("rng")
    draw = normal(rng=rng)
    with pytest.raises(UnsupportedGraphError, match="input rng is a random generator; leave it out"):
        hlograph.emit_stablehlo(([rng], draw))
    with pytest.raises(UnsupportedGraphError, match=r"output .* is a random generator; leave it out"):
        hlograph.emit_stablehlo(([], [draw, following(draw)]))


def test_other_readers_of_a_generator_are_refused():
    condition = pt.bscalar("condition")
    rng = ifelse(condition, generator(), generator())
    with pytest.raises(UnsupportedGraphError, match="IfElse reads a random generator"):
        hlograph.emit_stablehlo(([condition], normal(rng=rng)))


def test_shapes():
    key, size = pt.tensor("key", shape=(2,), dtype="uint32"), pt.lvector("size")
    matrix = pt.dmatrix("matrix")
    op = normal(0.0, 1.0).owner.op
    assert Keys(3)(key).type.shape == (3, 2)
    assert Draw(op)(key, (2, 3), 0.0, 1.0).type.shape == (2, 3)
    assert Draw(op)(key, None, pt.zeros((1, 4)), pt.zeros((3, 1))).type.shape == (3, 4)
    with pytest.raises(TypeError, match=r"expected a key as uint32\[2\]"):
        Keys(2)(size)
    values = np.arange(2, dtype=np.uint32), np.ones((5, 3))
    draws = Draw(op)(key, None, matrix, np.ones((1, 1)))
    shape = pytensor.function([key, matrix], draws.shape, mode="FAST_COMPILE")
    assert tuple(shape(*values)) == evaluate([key, matrix], draws, *values).shape == (5, 3)


def test_a_derivative_forward_is_undefined():
    """Unless nothing that has a tangent comes in; a key never has one."""
    mean = pt.dscalar("mean")
    _, [key, _], [draw] = with_key([mean], [normal(mean)])
    op, inputs = draw.owner.op, draw.owner.inputs
    none = pytensor.gradient.DisconnectedType()
    tangents = [none(), none(), pt.dscalar(), none()]
    [pushed] = op.pushforward(inputs, [draw], tangents)
    assert isinstance(pushed.type, NullType)
    assert isinstance(op.R_op(inputs, [None, None, tangents[2], None])[0].type, NullType)
    [pushed] = op.pushforward(inputs, [draw], [none() for _ in inputs])
    assert isinstance(pushed.type, pytensor.gradient.DisconnectedType)
    assert op.R_op(inputs, [None] * 4) == [None]
    assert Keys(2).R_op([key], [None]) == [None]
