"""The helper that lowering tests share: one graph, three evaluations, static and symbolic."""

import copy
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import jax
import numpy as np
import pytensor
import pytest
from padded_runs import garbage
from pytensor.compile.mode import Mode
from pytensor.graph.op import Op
from pytensor.graph.traversal import toposort
from rewritten_runs import TOLERANCE, as_arrays, assert_same

import hlograph
from hlograph.dialects.library import library
from hlograph.dialects.random import keys
from hlograph.errors import DerivativeError, PaddingError, PaddingRefusedWarning, UnsupportedGraphError
from hlograph.runtime.executables import padding as padded_calls

# What a module without symbolic sizes must not hold. (`dynamic_slice` and `dynamic_update_slice` have static sizes.)
DYNAMIC = re.compile(
    r"dynamic_(broadcast_in_dim|conv|gather|iota|pad|reshape)|real_dynamic_slice|get_dimension_size|<\?|x\?x"
)

# All cases of all tests, also those that take a compile of their own: `make nightly`.
NIGHTLY = "HLOGRAPH_NIGHTLY" in os.environ

REWRITES = library("pytensor").rewrites


def rewritten(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """A graph after the selection of rewrites, before it is lowered."""
    return REWRITES.apply(inputs, outputs, True)


def with_key(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
    """A graph's key, its inputs with the key in front, its outputs with draws from the key."""
    return keys.assign(library("pytensor"), inputs, outputs)


def numbers(*shape: int) -> np.ndarray:
    """1, 2, 3, ... in a shape: every element is another one, none is 0."""
    return np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape)


def reference(inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> list[np.ndarray]:
    """PyTensor's own evaluation: each op's Python implementation, no rewrites.

    Node by node where every op has one that is called with values; `pytensor.function`, which takes longer than the
    evaluation, where one does not (conditionals, loops).
    """
    # An op with an inner graph compiles it in the default mode, which is slow: Python for that too.
    python_inside = pytensor.config.change_flags(mode="FAST_COMPILE")
    with warnings.catch_warnings(), np.errstate(all="ignore"), python_inside:
        warnings.simplefilter("ignore")
        nodes = list(toposort(list(outputs), blockers=list(inputs)))
        if all(type(node.op).perform is not Op.perform and type(node.op).__name__ not in LAZY for node in nodes):
            return node_by_node(nodes, inputs, outputs, values)
        function = pytensor.function(
            list(inputs), list(outputs), mode=Mode(linker="py", optimizer=None), on_unused_input="ignore"
        )
        return [np.asarray(x) for x in function(*values)]


LAZY = {"IfElse", "LazyIfElse", "Scan"}  # what is run of these depends on values


def node_by_node(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]
) -> list[np.ndarray]:
    """The outputs' values by each op's `perform`, on copies, which an op that works in place may change."""
    known = {variable: variable.type.filter(value) for variable, value in zip(inputs, values, strict=True)}

    def value_of(variable: Any) -> Any:
        if variable not in known:
            shared = getattr(variable, "container", None)
            known[variable] = variable.data if shared is None else shared.value
        return known[variable]

    for node in nodes:
        node.op.prepare_node(node, {}, {}, "py")  # as the linker does: it settles dtypes
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, copy.deepcopy([value_of(variable) for variable in node.inputs]), storage)
        for variable, (value,) in zip(node.outputs, storage, strict=True):
            known[variable] = value
    return [np.asarray(value_of(variable)) for variable in outputs]


def check_lowering(
    inputs: Sequence[Any],
    outputs: Any,
    *values: Any,
    dims: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    interpret: bool = True,
    static: bool = True,
    padded: bool = True,
    transformed: bool = True,
    expected: Sequence[Any] | None = None,
) -> hlograph.Program:
    """Compares PyTensor's evaluation, the PJRT run and the reference interpreter, on a `?` and on a static module.

    All are interpreted; of the `?` modules one in three is compiled, of the static ones one in nine, since a compile
    takes longer than all the rest. Some `?` modules also run padded, with zeros or with NaN in the padding of their
    arguments, and transformed by JAX: see `check_transformed`. With sizes from data one in two runs padded, and of the
    static ones one in two compiled.

    Args:
        inputs: graph inputs.
        outputs: one output variable or several.
        values: one array per input, in the input's dtype.
        dims: names for axes in the symbolic module.
        rtol: relative tolerance in place of the dtype's.
        interpret: also run the reference interpreter.
        static: also emit the module with the values' sizes fixed.
        padded: False for a graph with an op that has no padding rule, which is then checked to refuse.
        transformed: False for a graph whose gradient is wrong in PyTensor, or is not there at these values.
        expected: values from another source (SciPy, NumPy) in place of PyTensor's.

    Returns:
        The symbolic program, for further checks.
    """
    outs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    arrays = [np.asarray(v, x.type.dtype) for v, x in zip(values, inputs, strict=True)]
    wanted = [np.asarray(x) for x in expected] if expected is not None else reference(inputs, outs, arrays)
    symbolic = hlograph.emit_stablehlo((list(inputs), outs), dims=dims)
    programs, from_data = {"symbolic": (symbolic, 3)}, symbolic.signature.has_data_sizes
    if static:
        fixed = {x: array.shape for x, array in zip(inputs, arrays, strict=True)}
        programs["static"] = hlograph.emit_stablehlo((list(inputs), outs), dims=fixed), 2 if from_data else 9
        if not programs["static"][0].signature.roots and not from_data:
            dynamic = DYNAMIC.search(programs["static"][0].text)
            assert dynamic is None, f"a static module holds {dynamic[0]}"
    for kind, (program, turn) in programs.items():
        if not interpret or in_turn(program, turn):
            compare(program.compile()(*arrays), wanted, rtol, f"{kind}, compiled")
        if interpret:
            compare(program.interpret(*arrays), wanted, rtol, f"{kind}, interpreted")
    check_padded(symbolic, arrays, wanted, padded=padded, rtol=rtol)
    if transformed and in_turn(symbolic, 48):
        check_transformed(symbolic, arrays, rtol=rtol)
    return symbolic


def compare(results: Any, wanted: Sequence[np.ndarray], rtol: float | None, label: str) -> None:
    """`assert_same` of all results of a call."""
    for index, (actual, value) in enumerate(zip(as_arrays(results), wanted, strict=True)):
        assert_same(actual, value, rtol=rtol, label=f"{label}, output {index}")


Case = tuple[Any, ...]  # a name, inputs, outputs, values, and what else `check_lowering` is told


def cases(sampled: int = 1, **options: Any) -> Callable[[Callable[[], Iterable[Case]]], Any]:
    """Makes a test of what gives cases: `check_lowering` of each of them (of one in so many), with these options."""

    def test_of(made: Callable[[], Iterable[Case]]) -> Any:
        @pytest.mark.sampled(sampled)
        @pytest.mark.parametrize("case", [pytest.param(case[1:], id=case[0]) for case in made()])
        def test(case: Case) -> None:
            inputs, outputs, values, *own = case
            check_lowering(inputs, outputs, *values, **{**options, **(own[0] if own else {})})

        return test

    return test_of


def in_turn(program: hlograph.Program, count: int, turn: int = 0) -> bool:
    """Whether a compile is this program's turn: of one program in so many, by their text; every night of all."""
    return NIGHTLY or crc32(program.text.encode()) % count == turn


def check_padded(
    program: hlograph.Program, arrays: Sequence[Any], wanted: Sequence[Any], *, padded: bool, rtol: float | None
) -> None:
    """Compares the padded program's results, whatever the padding of its arguments holds."""
    if program.signature.is_static:
        return
    variants = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PaddingRefusedWarning)
            if in_turn(program, 2 if program.signature.has_data_sizes else 16) or not padded:
                variants["padded"] = program.compile(policy="padded")(*arrays)
            if in_turn(program, 16, 1):
                with poisoned():
                    variants["padded, NaN in the padding"] = program.compile(policy="padded")(*arrays)
    except (PaddingError, PaddingRefusedWarning):
        if padded:
            raise
        return
    assert padded, "the graph was said to be refused by the padding pass"
    for kind, ran in variants.items():
        compare(ran, wanted, rtol, kind)


def check_transformed(program: hlograph.Program, arrays: Sequence[Any], *, rtol: float | None) -> None:
    """Compares `jax.vmap` with single calls, and the pullback with the pushforward: <c, J t> = <J^T c, t>.

    Says nothing of programs with sizes that depend on data, and nothing of derivatives that PyTensor refuses.
    """
    signature = program.signature
    if signature.has_data_sizes:
        return
    fn = program.compile(policy="exact")
    fixed = {root.argument for root in signature.roots if root.axis is None}
    batched = [i for i in range(len(arrays)) if i not in fixed]
    if not batched:
        return
    batch = [np.stack([arrays[i], _another(arrays[i])]) for i in batched]
    smooth = [i for i in batched if arrays[i].dtype.kind == "f"]
    rng = np.random.default_rng(0)
    tangents = tuple(np.asarray(rng.normal(size=arrays[i].shape), arrays[i].dtype) for i in smooth)

    def call(places: Sequence[int], values: Sequence[Any]) -> list[Any]:
        given = dict(zip(places, values, strict=True))
        results = fn(*[given.get(i, array) for i, array in enumerate(arrays)])
        return list(results) if isinstance(results, tuple) else [results]

    def both(batch: Sequence[Any]) -> Any:
        single = [call(batched, [x[k] for x in batch]) for k in range(2)]
        return jax.vmap(lambda *xs: call(batched, xs))(*batch), single

    def products(values: Sequence[Any], tangents: Sequence[Any]) -> Any:
        def f(*xs: Any) -> list[Any]:
            return [y for y in call(smooth, xs) if y.dtype.kind == "f"]

        results, pushed = jax.jvp(f, tuple(values), tuple(tangents))
        seeds = [jax.numpy.cos(jax.numpy.arange(y.size, dtype=y.dtype)).reshape(y.shape) for y in results]
        pulled = jax.vjp(f, *values)[1](seeds)
        terms = [
            [jax.numpy.vdot(a, b) for a, b in zip(*pair, strict=True)] for pair in ((seeds, pushed), (pulled, tangents))
        ]
        scale = sum(jax.numpy.abs(a * b).sum() for a, b in zip(seeds, pushed, strict=True))
        return sum(terms[0]), sum(terms[1]), scale

    with jax.enable_x64(True):
        together, single = jax.jit(both)(batch)
        for number, found in enumerate(together):
            expected = np.stack([np.asarray(row[number]) for row in single])
            assert_same(
                found,
                expected,
                rtol=rtol or 100 * TOLERANCE.get(expected.dtype.name, 0.0),
                label=f"vmap, output {number}",
            )
        if (
            not smooth
            or any(a.dtype.kind == "c" for a in arrays)
            or any(r.dtype.kind == "c" for r in signature.results)
        ):
            return
        try:
            left, right, scale = map(float, jax.jit(products)([arrays[i] for i in smooth], tangents))
        except DerivativeError:
            return
        except UnsupportedGraphError as error:  # refused in words: the gradient has sizes that are not known in jax.jit
            if not re.search("depends on data|ARange over batch axes", str(error)):
                raise
            return
        precision = max(np.finfo(arrays[i].dtype).eps for i in smooth)
        assert np.isfinite(left) == np.isfinite(right), f"pushforward {left}, pullback {right}"
        if np.isfinite(left):
            assert abs(left - right) <= 1e4 * precision * (scale + abs(right)), f"pushforward {left}, pullback {right}"


def _another(x: np.ndarray) -> np.ndarray:
    """An array in whose place the other may stand: real ones keep signs and order, integers are the same ones."""
    if x.dtype.kind in "fc":
        return np.asarray(x * 0.75, x.dtype)
    return np.flip(x)


@contextmanager
def poisoned() -> Iterator[None]:
    """Padded programs made inside take nothing for granted of their arguments' padding, and find NaN in it."""
    host_pad, pad = padded_calls._host_pad, hlograph.Program.pad

    def fill(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        result = garbage(x.dtype, shape)
        result[tuple(map(slice, x.shape))] = x
        return result

    def pad_poisoned(program: hlograph.Program, bounds: Mapping[str, int], *, cpu: bool = False) -> hlograph.Program:
        options = ",".join(f"{name}={bound}" for name, bound in bounds.items())
        return program.optimize([f"pad{{{options},poison=true,cpu={str(cpu).lower()}}}"])

    padded_calls._host_pad, hlograph.Program.pad = fill, pad_poisoned
    try:
        yield
    finally:
        padded_calls._host_pad, hlograph.Program.pad = host_pad, pad
