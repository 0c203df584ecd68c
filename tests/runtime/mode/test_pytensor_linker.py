"""hlograph as a PyTensor mode: everything that `pytensor.function` offers, beside PyTensor's own evaluation."""

import pickle
import threading
import warnings

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.io import In, Out
from pytensor.compile.mode import Mode as PyTensorMode
from pytensor.compile.mode import get_mode
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert
from pytensor.typed_list import TypedListType, append
from scripts import run_script

import hlograph
import hlograph.pytensor
from hlograph.errors import UnsupportedGraphError, UnsupportedOpError
from hlograph.runtime.mode import values as values
from hlograph.runtime.mode.binding import Binding

MODE = "STABLEHLO"
REFERENCE = PyTensorMode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"]))


@pytest.fixture
def add():
    x, y = pt.dvector("x"), pt.dvector("y")
    return pytensor.function([x, y], x + y, mode=MODE)


def rng_variable(seed, name="rng"):
    return pytensor.shared(np.random.default_rng(seed), name=name)


def draws(rng, size=3):
    return pt.random.normal(rng=rng, size=(size,)).owner.outputs


def binding(function):
    return function.vm.binding


# ---- the mode ------------------------------------------------------------------------------------------------------


def test_the_mode_has_a_name_in_pytensor_and_in_its_configuration():
    x = pt.dvector("x")
    assert get_mode("stablehlo") is get_mode(MODE)
    assert isinstance(get_mode(MODE), hlograph.Mode)
    with pytensor.config.change_flags(mode=MODE):
        assert pytensor.config.mode == MODE
        assert isinstance(pytensor.function([x], x * 2).maker.linker, hlograph.pytensor.StableHLOLinker)
        np.testing.assert_array_equal((x + 1).eval({x: np.zeros(2)}), [1.0, 1.0])
    with pytest.raises(ValueError, match="NOSUCH"):
        pytensor.config.mode = "NOSUCH"


def test_what_is_imported_when():
    """Nothing heavy before it is needed; PyTensor with the mode; its xtensors with a graph that has some."""
    run_script(
        """
        import sys, hlograph
        assert not {name.partition(".")[0] for name in sys.modules} & {"pytensor", "aesara", "jax", "scipy", "rich"}
        hlograph.Mode()
        import numpy as np, pytensor.tensor as pt, hlograph.pytensor, pytensor
        x = pt.dvector("x")
        hlograph.function([x], x + 1)(np.ones(2)), pytensor.function([x], x + 1, mode="STABLEHLO")(np.ones(2))
        assert "pytensor.xtensor" not in sys.modules
        """
    )


def test_rewrites_are_chosen():
    x = pt.dvector("x")
    low = np.array([-1000.0])

    def value(mode):
        return pytensor.function([x], pt.log(pt.sigmoid(x)), mode=mode)(low)

    for mode in (MODE, hlograph.Mode(rewrite="full"), get_mode(MODE).including("stabilize")):
        np.testing.assert_allclose(value(mode), low)
    for mode in (hlograph.Mode(rewrite=False), get_mode(MODE).excluding("stablehlo")):
        assert np.isneginf(value(mode))[0]
    assert isinstance(get_mode(MODE).excluding("stablehlo"), hlograph.Mode)


def test_a_plain_pytensor_mode_with_the_linker():
    x = pt.dvector("x")
    mode = PyTensorMode(linker=get_mode(MODE).linker, optimizer="fast_run")
    function = pytensor.function([x], x.sum(), mode=mode)
    for trusted in (False, True):
        function.trust_input = trusted
        for _ in range(3):
            assert function(np.arange(4.0)) == 6.0


# ---- what goes in and what comes out --------------------------------------------------------------------------------


def test_forms_of_outputs():
    x = pt.dvector("x")
    value = np.arange(3.0)
    assert isinstance(pytensor.function([x], x.sum(), mode=MODE)(value), np.ndarray)
    [alone] = pytensor.function([x], [x.sum()], mode=MODE)(value)
    assert alone == 3.0
    found = pytensor.function([x], [Out(x * 2, borrow=True), x, x, pt.constant(7.0)], mode=MODE)(value)
    for got, expected in zip(found, [value * 2, value, value, 7.0], strict=True):
        np.testing.assert_array_equal(got, expected)
        got[...] = -1  # each is the caller's own
    np.testing.assert_array_equal(value, np.arange(3.0))
    for inputs, outputs in [([x], []), ([x], None), ([], []), ([], None)]:
        ours, theirs = (pytensor.function(inputs, outputs, mode=m, on_unused_input="ignore") for m in (MODE, REFERENCE))
        given = [value] * len(inputs)
        assert ours(*given) == theirs(*given)


def test_jax_arrays_on_request():
    x = pt.dvector("x")
    state = pytensor.shared(np.zeros(3))
    function = pytensor.function([x], x * 2, updates={state: x + 1}, mode=hlograph.Mode(outputs="jax"))
    for i in range(4):
        found = function(np.full(3, float(i)))
        assert isinstance(found, jax.Array)
        np.testing.assert_array_equal(found, np.full(3, 2.0 * i))
        assert type(state.get_value(borrow=True)) is np.ndarray
        np.testing.assert_array_equal(state.get_value(), np.full(3, i + 1.0))


def test_scalars_keywords_and_casts():
    a, b, k = pt.dscalar("a"), pt.dscalar("b"), pt.iscalar("k")
    ours, theirs = (pytensor.function([a, b, k], a * b + k, mode=mode) for mode in (MODE, REFERENCE))
    for _ in range(3):
        for given, named in [((1.5, 2, 3), {}), ((1, np.float64(4.0)), {"k": 7}), ((), {"a": 2.0, "b": 3, "k": 1})]:
            assert ours(*given, **named) == theirs(*given, **named)
        for given, named in [((1, 1, 1.5), {}), ((1,), {}), ((1,) * 4, {}), ((1, 1), {"z": 1}), ((1, "a", 1), {})]:
            with pytest.raises((TypeError, ValueError)):
                ours(*given, **named)


def test_arrays_that_do_not_fit_and_that_do(add):
    for _ in range(3):
        for given in [(np.ones(3), np.ones((3, 3))), (np.ones(3), np.ones(3, complex)), (np.ones(3), np.ones(2))]:
            with pytest.raises((TypeError, ValueError)):
                add(*given)
        np.testing.assert_array_equal(add(np.ones(3), y=np.ones(3)), [2.0, 2.0, 2.0])
        np.testing.assert_array_equal(add([1, 2], np.ones(2, np.float32)), [2.0, 3.0])
        np.testing.assert_array_equal(add(np.arange(6.0)[::2], np.ones(3)), [1.0, 3.0, 5.0])


@pytest.mark.skipif(hasattr(pytensor.compile, "maker"), reason="PyTensor 3 has no default values")
def test_default_values():
    a, b = pt.dscalar("a"), pt.dscalar("b")
    function = pytensor.function([a, In(b, value=2.0)], a * b, mode=MODE)
    assert [function(3.0), function(3.0, 4.0), function(3.0), function(np.array(5.0))] == [6.0, 12.0, 6.0, 10.0]
    function[b] = 7.0
    assert function(1.0) == 7.0


def test_trusted_arguments_and_large_ones(add):
    add.trust_input = True
    for size in (3, 3, 20_000, 20_000, 3):
        value = np.arange(float(size))
        np.testing.assert_array_equal(add(value, value), 2 * value)


def test_unused_inputs():
    x, y = pt.dvector("x"), pt.dvector("y")
    with pytest.raises(pytensor.compile.UnusedInputError):
        pytensor.function([x, y], x * 2, mode=MODE)
    function = pytensor.function([x, y], x * 2, mode=MODE, on_unused_input="ignore")
    for size in range(1, 8):
        np.testing.assert_array_equal(function(np.ones(2), np.ones(size)), [2.0, 2.0])
    assert function.vm.function.stats.executables == 1


# ---- shared variables -----------------------------------------------------------------------------------------------


def counter(x, s, t):
    return [s.sum() * x.sum()], {s: s + 1}


def swap(x, s, t):
    return [s - t], {s: t, t: s}


def chain(x, s, t):
    return [x + s, t], {s: s * x, t: s + t}


def unread(x, s, t):
    return [x * 2], {s: x, t: t}


def growing(x, s, t):
    return [], {s: pt.concatenate([s, x])}


def scalars(x, s, t):
    k, a = pytensor.shared(3), pytensor.shared(np.float32(2.5))
    return [pt.arange(k).sum() * a, k], {k: k + 1}


STRIDED = np.arange(12.0).reshape(2, 6)[:, ::2][1]


@pytest.mark.parametrize("start", [np.arange(3.0), STRIDED, np.zeros(0)], ids=["an array", "strided", "empty"])
@pytest.mark.parametrize("build", [counter, swap, chain, unread, growing, scalars])
def test_updates_are_those_of_pytensor(build, start):
    """In turn with a function of another mode, which reads and writes the same variables."""
    found = []
    for mode in (MODE, REFERENCE):
        x = pt.dvector("x")
        s, t = pytensor.shared(start, "s", borrow=True), pytensor.shared(np.full(start.shape, 2.0), name="t")
        other = pytensor.function([], s.sum(), updates={s: s * 2}, mode=REFERENCE)
        outputs, updates = build(x, s, t)
        function = pytensor.function([x], outputs, updates=updates, mode=mode, on_unused_input="ignore")
        seen = []
        for i in range(4):
            seen += [*function(np.full(start.shape, 1.0 + i)), s.get_value(), t.get_value()]
            seen += [other(), s.get_value()] if i else []
        s.set_value(np.arange(5.0, 5 + start.size))
        seen += [*function(np.ones(start.shape)), s.get_value(), t.get_value()]
        found.append(seen)
    for got, expected in zip(*found, strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype


def test_updates_elsewhere_are_read_as_numpy_arrays(monkeypatch):
    """As on a device whose memory is not this process's."""
    monkeypatch.setattr(values, "in_host_memory", lambda device: False)
    s, t = pytensor.shared(np.arange(3.0)), pytensor.shared(np.ones(3))
    function = pytensor.function([], s.sum(), updates={s: s * 2}, mode=MODE)
    other = pytensor.function([], s + 1, mode=MODE)
    swapped = function.copy(swap={s: t})
    for turn in range(3):
        assert function() == 3 * 2**turn
        assert swapped() == 3 * 2**turn
        np.testing.assert_array_equal(other(), np.arange(3.0) * 2 ** (turn + 1) + 1)
        for variable, start in ((s, np.arange(3.0)), (t, np.ones(3)), (pickle.loads(pickle.dumps(s)), np.arange(3.0))):
            assert type(variable.get_value()) is np.ndarray
            np.testing.assert_array_equal(variable.get_value(), start * 2 ** (turn + 1))
    s.set_value(s.get_value())
    assert pytensor.function([], s.sum())() == 24


@pytest.fixture
def sent(monkeypatch):
    """The values that go to the device, as they go there."""
    found = []
    for kind in (values.Shared, values.DeviceShared):
        send = kind._send
        monkeypatch.setattr(kind, "_send", lambda self, x, send=send: found.append(x) or send(self, x))
    return found


def test_what_does_not_change_is_sent_once(sent):
    data, weight = pytensor.shared(np.arange(4000.0)), pytensor.shared(np.ones(3))
    x = pt.dscalar("x")
    outputs = [data.sum() * x + weight.sum()]
    function = pytensor.function([x], outputs, updates={weight: weight + 1}, mode=MODE)
    arguments = [a for a in binding(function).arguments.values() if isinstance(a, values.Shared)]
    for i in range(5):
        assert function(2.0) == [np.arange(4000.0).sum() * 2 + 3 * (i + 1)]
        assert len(sent) == 2
        for variable, argument in zip((data, weight), arguments, strict=True):
            held = variable.get_value(borrow=True)
            assert held is argument.host
            assert held.ctypes.data == argument.array.unsafe_buffer_pointer()
    data.set_value(np.zeros(4000))
    assert function(2.0) == [18.0]
    assert len(sent) == 3
    other = pytensor.function([], data + 1, mode=MODE)
    held = data.get_value(borrow=True)
    np.testing.assert_array_equal(other(), np.ones(4000))
    assert data.get_value(borrow=True) is held


def test_values_are_numpy_arrays_that_can_be_written_to():
    s = pytensor.shared(np.arange(3.0))
    function = pytensor.function([], s.sum(), updates={s: s * 2}, mode=MODE)
    read = pytensor.function([], s + 0, mode=MODE)
    for _ in range(3):
        function()
        before = s.get_value()
        copied = s.get_value()
        assert type(copied) is np.ndarray
        copied[:] = -1
        np.testing.assert_array_equal(s.get_value(), before)
        np.testing.assert_array_equal(read(), before)
        s.get_value(borrow=True)[0] = 10.0
        np.testing.assert_array_equal(read(), [10.0, *before[1:]])
        assert function() == 10.0 + before[1:].sum()


def test_another_device(monkeypatch, sent):
    """Where results are not in this process's memory, updates stay where they are until somebody reads them."""
    monkeypatch.setattr(values, "in_host_memory", lambda device: False)
    s, data = pytensor.shared(np.arange(3.0)), pytensor.shared(np.ones(3))
    x = pt.dvector("x")
    function = pytensor.function([x], (s * data * x).sum(), updates={s: s + x}, mode=MODE)
    for i in range(4):
        assert function(np.ones(3)) == 3 + 3 * i
        assert isinstance(s.container.storage[0], jax.Array)
        assert type(s.get_value()) is np.ndarray
    assert len(sent) == 2
    with pytest.raises(ValueError, match="read-only"):
        data.get_value(borrow=True)[0] = 5.0
    s.set_value(np.zeros(3))
    assert function(np.ones(3)) == 0.0
    again = pickle.loads(pickle.dumps(function))
    assert again(np.ones(3)) == function(np.ones(3)) == 3.0


# ---- copies and pickles ---------------------------------------------------------------------------------------------


@pytest.fixture
def accumulate():
    x, s = pt.dscalar("x"), pytensor.shared(np.float64(10.0), name="s")
    return s, pytensor.function([x], s * x, updates={s: s + x}, mode=MODE, name="accumulate it")


def test_copies_and_pickles(accumulate):
    s, function = accumulate
    x = np.array(2.0)
    assert function(x) == 20.0
    again = pickle.loads(pickle.dumps(function))
    assert [again(x), again(x)] == [24.0, 28.0]
    assert function(x) == 24.0
    other = pytensor.shared(np.float64(1.0))
    swapped = function.copy(swap={s: other}, name="swapped")
    assert [swapped(x), swapped(x), function(x)] == [2.0, 6.0, 28.0]
    fixed = function.copy(delete_updates=True, share_memory=True)
    assert [fixed(x), fixed(x), function(x), fixed(x)] == [32.0, 32.0, 32.0, 36.0]
    assert (swapped.name, fixed.name) == ("swapped", "accumulate it copy")
    assert other.get_value() == 5.0


def test_a_pickle_needs_no_import(tmp_path):
    x, y = pt.dvector("x"), pt.dvector("y")
    path = tmp_path / "function.pkl"
    path.write_bytes(pickle.dumps(pytensor.function([x, y], [x + y], mode=MODE)))
    code = f"""
        import pickle, sys
        function = pickle.load(open({str(path)!r}, "rb"))
        print(*function([1.0, 2.0], [3.0, 4.0])[0])
    """
    assert run_script(code).split() == ["4.0", "6.0"]


def test_profile_and_printing(add, capsys):
    x = pt.dvector("x")
    function = pytensor.function([x], x.sum(), mode=MODE, profile=True)
    for _ in range(3):
        assert function(np.ones(3)) == 3.0
    assert function.profile.fct_callcount == 3
    add.dprint()
    assert "Add" in capsys.readouterr().out


# ---- random generators ----------------------------------------------------------------------------------------------


def test_draws_follow_the_generator():
    rng = rng_variable(1)
    following, normal = draws(rng)
    before = rng.get_value().bit_generator.state
    fixed = pytensor.function([], normal, mode=MODE)
    np.testing.assert_array_equal(fixed(), fixed())
    assert rng.get_value().bit_generator.state == before

    function = pytensor.function([], normal, updates={rng: following}, mode=MODE)
    first = [function() for _ in range(4)]
    assert len({tuple(x) for x in first}) == 4
    rng.set_value(np.random.default_rng(1))
    np.testing.assert_array_equal([function() for _ in range(4)], first)
    rng.set_value(np.random.default_rng(2))
    assert not np.array_equal(function(), first[0])

    state = rng.get_value()
    after = [function() for _ in range(3)]
    rng.set_value(state)
    np.testing.assert_array_equal([function() for _ in range(3)], after)


def test_draws_are_those_of_the_key():
    rng = rng_variable(3)
    _, normal = draws(rng)
    key = values.key_of(np.random.default_rng(3))
    assert key.dtype == np.uint32
    function = pytensor.function([], normal, mode=MODE)
    drawn = function()
    rng.set_value(values.KeyGenerator(np.random.PCG64(0), key))
    np.testing.assert_array_equal(function(), drawn)
    rng.set_value(values.KeyGenerator(np.random.PCG64(3), key + 1))
    assert not np.array_equal(function(), drawn)


def test_how_a_key_follows_from_a_state():
    generator = np.random.default_rng(123)
    generator.integers(2**32, dtype=np.uint32)  # leaves the other half of a 64-bit word behind
    state = generator.bit_generator.state
    name = int.from_bytes(b"PCG64", "little")
    entropy = [name, state["has_uint32"], state["state"]["inc"], state["state"]["state"], state["uinteger"]]
    expected = np.random.SeedSequence(entropy).generate_state(2)
    np.testing.assert_array_equal(values.key_of(generator), expected)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_keys_of_all_bit_generators(bits):
    keys = [tuple(values.key_of(np.random.Generator(bits(seed)))) for seed in (0, 1, 0)]
    assert keys[0] == keys[2] != keys[1]
    drawn = np.random.Generator(bits(0))
    drawn.normal()
    assert tuple(values.key_of(drawn)) != keys[0]


def test_generators_of_functions_that_share_one():
    rng = rng_variable(5)
    following, normal = draws(rng)
    function = pytensor.function([], normal, updates={rng: following}, mode=MODE)
    alone = [function() for _ in range(4)]
    rng.set_value(np.random.default_rng(5))
    copied = function.copy()
    swapped = function.copy(swap={rng: rng_variable(5, "other")})
    np.testing.assert_array_equal([function(), copied(), function(), copied()], alone)
    np.testing.assert_array_equal([swapped() for _ in range(4)], alone)
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal([again() for _ in range(3)], [function() for _ in range(3)])
    theirs = pytensor.function([], normal, updates={rng: following}, mode=REFERENCE)
    assert theirs().shape == (3,)
    assert np.isfinite(function()).all()


def test_swapped_generators():
    a, b = rng_variable(1, "a"), rng_variable(2, "b")
    (next_a, x), (next_b, y) = draws(a), draws(b)
    function = pytensor.function([], [x, y], updates={a: next_b, b: next_a}, mode=MODE)
    first, second, third = function(), function(), function()
    for variable, seed in ((a, 1), (b, 2)):
        variable.set_value(np.random.default_rng(seed))
    straight = pytensor.function([], [x, y], updates={a: next_a, b: next_b}, mode=MODE)
    expected = [straight() for _ in range(3)]
    np.testing.assert_array_equal([*first, *second[::-1], *third], np.concatenate(expected))


def test_generators_as_arguments():
    rng = pt.random.type.random_generator_type("rng")
    following, normal = draws(rng)
    function = pytensor.function([rng], [following, normal], mode=MODE)
    generator = np.random.default_rng(7)
    before = generator.bit_generator.state
    after, first = function(generator)
    assert generator.bit_generator.state == before
    assert isinstance(after, np.random.Generator)
    np.testing.assert_array_equal(function(generator)[1], first)
    second = function(after)[1]
    shared = rng_variable(7)
    following, normal = draws(shared)
    stream = pytensor.function([], normal, updates={shared: following}, mode=MODE)
    np.testing.assert_array_equal([stream(), stream()], [first, second])
    with pytest.raises(TypeError):
        function(5)


# ---- graphs ---------------------------------------------------------------------------------------------------------


def test_a_failed_check_updates_nothing():
    x, s = pt.dscalar("x"), pytensor.shared(np.float64(1.0))
    function = pytensor.function([x], s, updates={s: Assert("no")(s + x, x > 0)}, mode=MODE)
    assert function(np.array(1.0)) == 1.0
    with pytest.raises(AssertionError, match="no"):
        function(np.array(-1.0))
    assert s.get_value() == 2.0
    assert function(np.array(1.0)) == 2.0


def test_sizes_that_can_never_agree_are_refused_by_the_call():
    """As in PyTensor's modes."""
    x = pt.dmatrix("x")
    pieces = pytensor.function([x], pt.split(x, [5, -1], n_splits=2, axis=0), mode=MODE)
    for _ in range(2):
        with pytest.raises(ValueError, match="-1 >= 0 is demanded at size 1 of Split"):
            pieces(np.ones((4, 6)))


def test_branches_whose_results_turn_out_to_be_of_different_sizes():
    """The function is made again, once."""
    c, x, y = pt.iscalar("c"), pt.dvector("x"), pt.dvector("y")
    state = pytensor.shared(0)
    fn = pytensor.function([c, x, y], ifelse(c, x, y) + 1.0, updates={state: state + 1}, mode=MODE)
    np.testing.assert_array_equal(fn(1, np.ones(3), np.zeros(3)), np.full(3, 2.0))
    for _ in range(2):
        np.testing.assert_array_equal(fn(1, np.ones(2), np.zeros(3)), np.full(2, 2.0))
        np.testing.assert_array_equal(fn(0, np.ones(2), np.zeros(3)), np.ones(3))
    np.testing.assert_array_equal(fn(0, np.ones(3), np.zeros(3)), np.ones(3))
    assert state.get_value() == 6
    assert fn.vm.function.program.signature.counts


def test_a_shape_that_is_not_the_specified_one_is_an_assertion_error():
    x, shape = pt.dmatrix("x"), pt.lvector("shape")
    for output, value in ((pt.specify_shape(x, (3, None)), [1, 2]), (x.reshape(shape, ndim=2), [1, 2, 3])):
        fn = pytensor.function([x, shape], output, mode=MODE, on_unused_input="ignore")
        with pytest.raises(AssertionError, match="SpecifyShape: axis 0"):
            fn(np.ones((2, 3)), np.array(value))


def test_the_inner_mode_of_pytensors_own_loop():
    """Which calls the compiled step without `Function.__call__`, and finds the results in their containers."""
    start, moves = pt.dvector("start"), pt.dmatrix("moves")
    outputs = pytensor.scan(
        lambda x, moves: (moves @ x, x.sum()),
        outputs_info=[start, None],
        non_sequences=moves,
        n_steps=4,
        mode=hlograph.Mode(),
        return_updates=False,
    )
    values = np.arange(3.0), np.linspace(-1, 1, 9).reshape(3, 3)
    states, sums = pytensor.function([start, moves], outputs, mode="FAST_COMPILE")(*values)
    powers = [np.linalg.matrix_power(values[1], k) @ values[0] for k in range(5)]
    np.testing.assert_allclose(states, powers[1:])
    np.testing.assert_allclose(sums, np.sum(powers[:4], 1))


class Unknown(Op):
    __module__ = "pytensor.tensor"  # ops of other modules are Python, and run

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0]


def test_ops_without_a_rule_are_listed_before_anything_runs():
    x = pt.dvector("x")
    with pytest.raises(UnsupportedOpError, match=r"2 nodes(.|\n)*Unknown(.|\n)*Unknown"):
        pytensor.function([x], [Unknown()(x), Unknown()(x + 1)], mode=MODE)


def test_routes_are_taken_and_forgotten(add, monkeypatch):
    taken = []
    run = Binding.run
    monkeypatch.setattr(Binding, "run", lambda self: taken.append(1) or run(self))
    x = pt.dvector("x")
    function = pytensor.function([x], x + 1, mode=MODE)
    for size, expected in [(3, 1), (3, 1), (3, 1), (4, 2), (3, 2)]:
        function(np.ones(size))
        assert len(taken) == expected
    function(np.ones(3, np.float32))
    assert len(taken) == 2, "converted by PyTensor, then by the route"
    s = pytensor.shared(np.float64(0.0))
    mode = hlograph.Mode(policy="exact", cache_size=2)
    function = pytensor.function([x], x * s, updates={s: s + 1}, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, size in enumerate((1, 2, 3, 4, 1, 1, 4, 4)):
            np.testing.assert_array_equal(function(np.ones(size)), np.full(size, float(i)))
    assert function.vm.function.stats.executables == len(binding(function)._routes) == 2
    function.vm.function.clear_cache()
    assert not binding(function)._routes


def test_a_first_call_in_a_forked_process_has_a_time_limit():
    from hlograph.runtime.executables.executable import within

    assert within(5.0, lambda: [1]) == [1]
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: [1 // 0])
    never = threading.Event()
    with pytest.raises(hlograph.errors.DeviceError, match="forkserver"):
        within(0.05, lambda: [never.wait(10)])
    never.set()


def test_lists_are_refused_by_name() -> None:
    values = pt.dvector("values")
    listed = TypedListType(values.type)("listed")
    for mode in ("STABLEHLO", hlograph.Mode(on_unsupported="host")):
        with pytest.raises(UnsupportedGraphError, match="input listed is a TypedList"):
            pytensor.function([listed, values], append(listed, values), mode=mode)
