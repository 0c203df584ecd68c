"""PyTensor's own JAX mode with hlograph where it refuses: values and gradients are PyTensor's."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.compile.ops import FromFunctionOp
from pytensor.printing import Print
from pytensor.raise_op import Assert
from pytensor.scan.utils import until

import hlograph.pytensor
from hlograph.errors import UnsupportedGraphError

X, K, N = pt.dvector("x"), pt.dscalar("k"), pt.lscalar("n")
THREE = np.array([1.0, -2.0, 3.0, 0.5])


def running_sum():
    return pytensor.scan(
        lambda x, total: (total + x, until(total + x > 1.5)),
        sequences=[X],
        outputs_info=[pt.zeros((), "float64")],
        return_updates=False,
    )


def doubled(a):
    return a * 2


GRAPHS = {
    "loop with an end, its last": ([X], lambda: running_sum()[-1], (THREE,)),
    "loop with an end, its sum": ([X], lambda: running_sum().sum(), (THREE,)),
    "its gradient": ([X], lambda: pytensor.grad(running_sum()[-1] ** 2, X), (THREE,)),
    "gradient of what a mask chooses": ([X], lambda: pytensor.grad((X[X > 0] ** 2).sum(), X), (THREE,)),
    "places of what is not zero": ([X], lambda: pt.nonzero(X > 0)[0].sum(), (THREE,)),
    "Bessel functions": ([K], lambda: pt.kv(K, K) + pt.jv(1.0, K), (1.5,)),
    "a print": ([X], lambda: Print("x")(X).sum(), (THREE,)),
    "Python": (
        [X],
        lambda: FromFunctionOp(doubled, [pt.dvector], [pt.dvector], lambda *given: [given[-1][0]])(X) + X,
        (THREE,),
    ),
    "what it takes by itself": ([X], lambda: pt.exp(X).sum(), (THREE,)),
}


pytestmark = pytest.mark.usefixtures("jax_x64")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", GRAPHS)
@pytest.mark.filterwarnings("ignore")
def test_values_and_gradients_are_pytensors(what):
    inputs, graph, values = GRAPHS[what]
    output = graph()
    try:
        expected = pytensor.function(inputs, output, mode=Mode("py", None))(*values)
    except AttributeError:
        pytest.skip("this SciPy lacks it")
    with hlograph.pytensor.extend_jax():
        function = pytensor.function(inputs, output, mode="JAX")
        for _ in range(2):
            np.testing.assert_allclose(function(*values), expected, rtol=1e-9)


def test_it_is_on_while_somebody_wants_it():
    from pytensor.link.jax.dispatch import jax_funcify

    before = dict(jax_funcify.registry)
    inputs, graph, values = GRAPHS["loop with an end, its sum"]
    first, second = hlograph.pytensor.extend_jax(), hlograph.pytensor.extend_jax()
    first.undo()
    first.undo()
    assert float(pytensor.function(inputs, graph(), mode="JAX")(*values)) == 1 - 1 + 2
    second.undo()
    assert dict(jax_funcify.registry) == before
    with pytest.raises(NotImplementedError):
        pytensor.function(inputs, graph(), mode="JAX")(*values)


@pytest.mark.parametrize("what", ["mask", "size"])
def test_sizes_that_nothing_bounds_are_refused(what):
    inputs, output, values = {"mask": ([X], X[X > 0], (THREE,)), "size": ([N], pt.arange(N), (3,))}[what]
    with hlograph.pytensor.extend_jax():
        function = pytensor.function(inputs, output, mode="JAX")
        with pytest.raises(UnsupportedGraphError, match="size") as raised:
            function(*values)
    notes = getattr(raised.value, "__notes__", None)
    assert notes is None or any("before, it was refused with" in note for note in notes)  # PyTensor 2 drops them


@pytest.fixture
def asserts_dropped():
    """Registers what drops asserts, as importing PyMC's JAX samplers does."""
    from pytensor.link.jax.dispatch import jax_funcify  # which sets JAX's x64 flag

    before = jax_funcify.dispatch(Assert)
    yield lambda: jax_funcify.register(Assert, lambda op, **_: lambda value, *conditions: value)
    jax_funcify.register(Assert, before)


@pytest.mark.parametrize("dropped", ["not", "before", "meanwhile"])
def test_checks_raise(dropped, asserts_dropped):
    if dropped == "before":
        asserts_dropped()
    with hlograph.pytensor.extend_jax():
        if dropped == "meanwhile":
            asserts_dropped()
        function = pytensor.function([X], Assert("must be positive")(X, pt.all(X > 0)), mode="JAX")
    np.testing.assert_array_equal(function(np.ones(2)), np.ones(2))
    with pytest.raises(jax.errors.JaxRuntimeError, match="must be positive"):
        jax.block_until_ready(function(THREE))
