"""Op -> rule: by name for the libraries' own classes, by class for the user's; what has no rule is listed."""

import inspect
import subprocess
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from support import check_lowering

import hlograph
from hlograph import builder as hlo
from hlograph import errors
from hlograph.dialects import registry

X = pt.dvector("x")
VALUES = np.array([1.0, -2.0, 3.0])


class Doubled(Op):
    """A user's op with one output."""

    __props__ = ()

    def make_node(self, x: object) -> Apply:
        x = pt.as_tensor(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: list, outputs: list) -> None:
        outputs[0][0] = 2 * inputs[0]


class Tripled(Doubled):
    """Derives from an op that has a rule, and computes something else."""

    def perform(self, node: Apply, inputs: list, outputs: list) -> None:
        outputs[0][0] = 3 * inputs[0]


OfALibrary = type("OfALibrary", (Doubled,), {"__module__": "pytensor.somewhere"})


class Halves(Op):
    """A user's op with a property and two outputs of another size."""

    __props__ = ("swap",)

    def __init__(self, swap: bool) -> None:
        self.swap = swap

    def make_node(self, x: object) -> Apply:
        x = pt.as_tensor(x)
        return Apply(self, [x], [pt.dvector(), pt.dvector()])

    def perform(self, node: Apply, inputs: list, outputs: list) -> None:
        (x,) = inputs
        parts = [x[: len(x) // 2], x[len(x) // 2 :]]
        first, second = reversed(parts) if self.swap else parts
        outputs[0][0], outputs[1][0] = first, second


@pytest.fixture
def clean() -> Iterator[None]:
    """Forgets the rules that a test registers."""
    before = dict(registry._BY_CLASS)
    yield
    registry._BY_CLASS.clear()
    registry._BY_CLASS.update(before)
    registry._FOUND.clear()


def rule_for_halves(ctx: hlograph.builder.Context, node: Apply, x: hlo.Tensor) -> tuple[hlo.Tensor, hlo.Tensor]:
    half = x.dims[0] // 2
    parts = [hlo.slice_axis(x, 0, 0, half), hlo.slice_axis(x, 0, half, x.dims[0] - half)]
    first, second = reversed(parts) if node.op.swap else parts
    return first, second


@pytest.mark.usefixtures("clean")
def test_a_users_op() -> None:
    hlograph.builder.lowers(Doubled)(lambda ctx, node, x: hlo.multiply(x, ctx.constant(2, node.outputs[0].type.dtype)))
    check_lowering([X], [Doubled()(X) + 1, Doubled()(Doubled()(X))], VALUES)


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("swap", [False, True])
def test_a_users_op_with_several_outputs(swap: bool) -> None:
    hlograph.builder.lowers(Halves)(rule_for_halves)
    first, second = Halves(swap)(X)
    for size in (0, 1, 4, 5):
        check_lowering([X], [second, first], np.arange(float(size)))


@pytest.mark.usefixtures("clean")
def test_a_rule_registered_later_replaces_the_one_before() -> None:
    hlograph.builder.lowers(Doubled)(lambda ctx, node, x: x)
    assert np.asarray(hlograph.function([X], Doubled()(X))(VALUES))[0] == 1
    hlograph.builder.lowers(Doubled)(lambda ctx, node, x: hlo.add(x, x))
    assert np.asarray(hlograph.function([X], Doubled()(X))(VALUES))[0] == 2


@pytest.mark.usefixtures("clean")
def test_a_derived_class_has_its_bases_rule_until_it_has_its_own() -> None:
    hlograph.builder.lowers(Doubled)(lambda ctx, node, x: hlo.add(x, x))
    assert registry.find(Tripled()) is registry.find(Doubled())
    hlograph.builder.lowers(Tripled)(lambda ctx, node, x: hlo.add(x, hlo.add(x, x)))
    check_lowering([X], [Tripled()(X), Doubled()(X)], VALUES)


@pytest.mark.usefixtures("clean")
def test_one_rule_for_several_classes() -> None:
    rule = hlograph.builder.lowers(Doubled, Tripled)(lambda ctx, node, x: x)
    found = [registry.find(op) for op in (Doubled(), Tripled())]
    assert [x.rule for x in found if x is not None] == [rule, rule]
    assert [x.name for x in found if x is not None] == [f"{__name__}.Doubled", f"{__name__}.Tripled"]


def test_a_name_counts_for_the_libraries_classes_only() -> None:
    """A user's class that happens to be called as an op with a rule is another op."""
    impostor = type("Cholesky", (Doubled,), {"__module__": __name__})()
    assert "Cholesky" in registry.registered()
    assert registry.find(impostor) is not registry.registered()["Cholesky"]
    with pytest.raises(errors.UnsupportedOpError, match="Cholesky"):
        hlograph.emit_stablehlo(([X], [impostor(X)]))


def test_rules_for_a_base_class_serve_the_derived_one() -> None:
    from pytensor.raise_op import Assert, CheckAndRaise
    from pytensor.tensor.math import Sum

    assert registry.find(Assert("x")) is registry.find(CheckAndRaise(ValueError, "y"))
    assert registry.find(Sum()) is not None


def test_all_ops_without_a_rule_are_listed_in_one_error() -> None:
    a = pt.dvector("a")
    inner = OpFromGraph([a], [pt.exp(Tripled()(a))])
    named = Doubled()(X)
    named.name = "twice"
    graph = ifelse(X.sum() > 0, inner(named), Halves(False)(pt.exp(X))[0]) + OfALibrary()(X).sum()
    with pytest.raises(errors.UnsupportedOpError) as raised:
        hlograph.emit_stablehlo(([X], [graph]))
    message = str(raised.value)
    assert message.startswith("4 nodes have no lowering rule:\n")
    lines = message.splitlines()[1:5]
    assert sum("twice = Doubled(x: " in line for line in lines) == 1
    assert sum("Halves{swap=False}(Elemwise output: " in line for line in lines) == 1
    assert sum("OfALibrary(" in line for line in lines) == 1
    assert sum("Tripled(" in line and "inside OpFromGraph at node" in line for line in lines) == 1
    assert all("node " in line and " of " in line for line in lines)
    assert sum("runs Python, and the size of axis 0 of result 0 is known only then" in line for line in lines) == 3
    assert "hlograph.builder.lowers" in message
    assert 'on_unsupported="host"' in message


def test_an_unsupported_op_that_no_output_needs_is_no_error() -> None:
    Doubled()(X)
    hlograph.emit_stablehlo(([X], [X + 1]))


def test_an_unsupported_op_above_a_given_intermediate_is_no_error() -> None:
    middle = Doubled()(X)
    program = hlograph.emit_stablehlo(([middle], [middle + 1]))
    np.testing.assert_array_equal(program.compile()(VALUES), VALUES + 1)


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("form", ["with the function graph", "without"])
def test_users_ops_infer_shapes_in_the_old_form_and_the_new(form: str) -> None:
    """PyTensor 3.3 took the function graph out of `Op.infer_shape`, and still takes ops that have it."""
    if form == "without" and "fgraph" in inspect.signature(pt.basic.Alloc.infer_shape).parameters:
        pytest.skip("this release of PyTensor gives the function graph")

    def old(self: Op, fgraph: object, node: Apply, shapes: list) -> list:
        return [shapes[0]]

    def new(self: Op, node: Apply, shapes: list) -> list:
        return [shapes[0]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        kind = type("Shaped", (Doubled,), {"infer_shape": old if form == "with the function graph" else new})
    hlograph.builder.lowers(kind)(lambda ctx, node, x: hlo.add(x, x))
    y = kind()(X)
    for rewrite in (True, "full"):
        program = hlograph.emit_stablehlo(([X], [y * pt.ones(y.shape), y.shape[0]]), rewrite=rewrite)
        values, size = program.compile()(VALUES)
        np.testing.assert_array_equal(values, 2 * VALUES)
        assert int(size) == 3


def test_our_own_ops_have_the_form_that_the_release_wants() -> None:
    code = "import warnings; warnings.simplefilter('error'); import hlograph.dialects.random.pytensor_ops"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "infer_shape" not in found.stderr
