"""What `hlograph.passes` promises: its names and what they take, errors for names that are wrong, groups, functions;
what rewrites ask about ops and values, and how they copy them.
"""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pass_table
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program, passes
from hlograph.codegen.passes import simplify
from hlograph.errors import PassError
from hlograph.passes import call_function, clone, constant, defining, group, is_constant, ops, rewrite, stablehlo

# For API 1. Where one of these changes, in another way than by a further argument with a default, API counts up.
PROMISED = {
    "Note": "(rewrite, op, reason='', result='')",
    "Refused": "(*args, **kwargs)",
    "Report": "(pass_name, detailed=False, silent=False, notes=<factory>, rewritten=<factory>)",
    "ancestors": "(op)",
    "attributes_of": "(source)",
    "available": "()",
    "call_function": "(wanted, operands, body, **attributes)",
    "clone": "(op, operands=None, shape=None, dtype=None, **attributes)",
    "clone_block": "(block, values)",
    "constant": "(value)",
    "defining": "(value, *names)",
    "dominates": "(value, op)",
    "dtype_of": "(value)",
    "enclosing": "(op, name='stablehlo.while')",
    "forget": "(name)",
    "full_like": "(value, number, shape=None)",
    "group": "(name, *members, default=False)",
    "integers": "(op, name)",
    "is_constant": "(value, number)",
    "only_user": "(value, *names)",
    "owner": "(value)",
    "rebuild_while": "(loop, keep, added=(), step=None, replaced=None)",
    "reduce_with": "(name, value, init, dimensions)",
    "reduction": "(op)",
    "require": "(condition, reason)",
    "rewrite": "(*roots, name=None, exact=False, default=False)",
    "shape_of": "(value)",
    "single_use": "(value)",
    "static_shape": "(value)",
    "text_attribute": "(op, name)",
    "users": "(value)",
}
MODULES = {"chlo", "func", "ir", "ops", "stablehlo"}


def shown(found: Any) -> str:
    if found is passes.Refused:
        return "(*args, **kwargs)"
    signature = inspect.signature(found)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return text.replace("*, ", "")


def test_what_is_promised_is_there() -> None:
    assert passes.API == 1
    public = {name for name in vars(passes) if not name.startswith("_")} - {"API"}
    assert public == PROMISED.keys() | MODULES
    found = {name: shown(getattr(passes, name)) for name in PROMISED}
    assert found == {**PROMISED, "Report": found["Report"]}


def test_the_table_of_passes_in_the_docs() -> None:
    assert pass_table.shown() == pass_table.table(), "python tests/pass_table.py writes it anew"
    for name in simplify.PARTS:
        assert passes.available()[name]
        assert f"\n| `{name}` | " in pass_table.PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stablehlo.ad", "there is no op 'stablehlo.ad'; did you mean 'stablehlo.add'"),
        ("add", "did you mean 'stablehlo.add'"),
        ("reduec", "did you mean 'stablehlo.reduce'"),
        ("stablehl.reduce", "did you mean 'stablehlo.reduce'"),
        ("mhlo.tanh", "did you mean 'stablehlo.tanh'"),
        ("chlo.lgama", "did you mean 'chlo.lgamma'"),
        ("qqqqqqqq", "its full name is meant"),
    ],
)
def test_names_that_are_no_op(name: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rewrite("stablehlo.add", name, name="mine")


def first(op: Any) -> Any:
    return op.operands[0]


def test_a_name_is_taken_again_but_not_one_of_hlographs() -> None:
    rewrite("stablehlo.add", name="mine")(first)
    group("mine", "known_select")
    rewrite("stablehlo.add", name="mine")(times_one)
    assert passes.available()["mine"] == "`x * 1` is `x`."
    with pytest.raises(PassError, match="a pass 'known_select' exists already"):
        rewrite("stablehlo.add", name="known_select")(first)
    for own in ("simplify", "known_select"):
        with pytest.raises(PassError, match=f"'{own}' is a pass of hlograph's"):
            passes.forget(own)


def times_one(op: Any) -> Any:
    """`x * 1` is `x`."""
    x, y = op.operands
    return x if is_constant(y, 1) else y if is_constant(x, 1) else None


def test_a_constant_in_open_and_padded_modules() -> None:
    rewrite("stablehlo.multiply", exact=True)(times_one)
    x = pt.dmatrix("x")
    program = hlograph.emit_stablehlo(([x], [x * 1.0, pt.exp(x) * pt.ones_like(x)]))
    sizes = dict.fromkeys(("x_0", "x_1"), 8)
    for found in (program, program.specialize(sizes), program.pad(sizes)):
        assert "stablehlo.multiply" in found.text
        assert "stablehlo.multiply" not in found.optimize(["times_one"]).text


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("convert %c : (tensor<f32>) -> tensor<f64>", 3.0),
        ("convert %c : (tensor<f32>) -> tensor<i8>", 3),
        ("convert %t : (tensor<f64>) -> tensor<f32>", None),
        ("convert %c : (tensor<f32>) -> tensor<i1>", None),
        ("dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>", 3.0),
        ("dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>", None),
    ],
)
def test_what_a_constant_is_seen_through(made: str, expected: float | None) -> None:
    program = Program.parse(f"""
    func.func @main(%x: tensor<1xf32>, %s: tensor<1xi64>) -> tensor<1xf32> {{
      %c = stablehlo.constant dense<3.0> : tensor<f32>
      %t = stablehlo.constant dense<0.1> : tensor<f64>
      %r = stablehlo.{made}
      return %x : tensor<1xf32>
    }}""")
    module = program.copy_module()
    block = module.body.operations[0].regions[0].blocks[0]
    found = constant(list(block.operations)[2].operation.results[0])
    assert (None if found is None else found.item()) == expected


def log_of_exp(op: Any) -> Any:
    """`log(exp(x))` is `x`."""
    return defining(op.operands[0], "stablehlo.exponential").operands[0]


def test_a_group_comes_to_rest_together() -> None:
    """Each rewrite makes what the other one can be applied to."""
    rewrite("stablehlo.log")(log_of_exp)
    rewrite("stablehlo.multiply", exact=True)(times_one)
    group("mine", log_of_exp, "times_one")
    x = np.linspace(-2, 2, 6).astype(np.float32)

    def function(x: jax.Array) -> jax.Array:
        for _ in range(3):
            x = jnp.log(jnp.exp(x) * 1.0) * 1.0
        return x + 1

    for name, left in (("mine", ["stablehlo.add"]), ("log_of_exp", None)):
        program = Program.parse(jax.jit(function).lower(x).as_text()).optimize([name])
        names = [op for op in program.op_counts() if op.split(".")[1] in ("add", "log", "multiply", "exponential")]
        assert left is None or names == left
        np.testing.assert_allclose(program.interpret(x)[0], x + 1, rtol=1e-5)
    exact = Program.parse(jax.jit(function).lower(x).as_text()).optimize(["mine{reassociate=false}"])
    assert "stablehlo.log" in exact.text
    assert "stablehlo.multiply" not in exact.text


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((), "needs rewrites"),
        (("simplify",), "is a pass, not a rewrite"),
        ((first,), "is not a rewrite"),
        (("x",), "unknown"),
    ],
)
def test_groups_that_are_refused(members: tuple[Any, ...], message: str) -> None:
    with pytest.raises(PassError, match=message):
        group("mine", *members)


def cube(op: Any) -> Any:
    """`x * x * x` is a call of a function."""
    square, x = defining(op.operands[0], "stablehlo.multiply"), op.operands[1]
    passes.require(square.operands[0] == square.operands[1] == x, "it is no cube")
    return call_function("cube", [x], lambda x: [stablehlo.power(x, ops.full_like(x, 3))])


def test_a_rewrite_that_makes_functions() -> None:
    rewrite("stablehlo.multiply")(cube)
    x = np.linspace(-2, 2, 6).astype(np.float32)

    def function(x: jax.Array) -> jax.Array:
        y = x + 1
        return x * x * x + y * y * y

    given = Program.parse(jax.jit(function).lower(x).as_text())
    made = given.optimize(["cube"])
    assert made.text.count("func.func private") == 2
    assert "@cube_1" in made.text
    np.testing.assert_allclose(made.interpret(x)[0], given.interpret(x)[0], rtol=1e-6)


def test_a_copy_with_another_type() -> None:
    @rewrite("stablehlo.exponential")
    def narrow(op: Any) -> Any:
        """An exponential of fewer digits, of any shape."""
        if passes.dtype_of(op.operands[0]) != np.float64:
            return None
        less = clone(op, [ops.convert(op.operands[0], np.float32)], passes.shape_of(op.operands[0]), np.float32)
        return ops.convert(less.results[0], np.float64)

    x, at = pt.dmatrix("x"), np.linspace(0, 1, 6).reshape(2, 3)
    program = hlograph.emit_stablehlo(([x], [pt.exp(x)]))
    for found in (program, program.specialize({"x_0": 2, "x_1": 3})):
        made = found.optimize(["narrow"])
        wide = made.interpret(at)[0]
        assert wide.dtype == np.float64
        np.testing.assert_allclose(wide, np.exp(at), rtol=1e-6)
        np.testing.assert_array_equal(wide, wide.astype(np.float32))


# ---- what rewrites ask about ops and values --------------------------------------------------------------------------

TEXT = """
func.func @main(%x: tensor<3x?xf32>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<f32>) {
  %c = stablehlo.constant dense<-3> : tensor<i8>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i8>) -> tensor<2x2xi8>
  %r = stablehlo.reshape %b : (tensor<2x2xi8>) -> tensor<4xi8>
  %t = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %s = stablehlo.add %r, %t : tensor<4xi8>
  %m = stablehlo.multiply %s, %s : tensor<4xi8>
  %n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %g = stablehlo.constant dense<true> : tensor<3xi1>
  %k = stablehlo.slice %m [1:4:2] : (tensor<4xi8>) -> tensor<2xi8>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<3x?xf32>, tensor<f32>) -> tensor<f32>
  %d = stablehlo.reduce(%x init: %z) across dimensions = [0, 1] : (tensor<3x?xf32>, tensor<f32>) -> tensor<f32>
   reducer(%p: tensor<f32>, %q: tensor<f32>) {
    %0 = stablehlo.add %p, %p : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }
  return %m, %e : tensor<4xi8>, tensor<f32>
}
"""


def parsed(text):
    """A module, and the ops of its function's body."""
    module = Program.parse(text).copy_module()
    return module, [each.operation for each in module.body.operations[0].regions[0].blocks[0].operations]


@pytest.fixture
def named():
    """The ops of the function's body by name; and its arguments."""
    module, found = parsed(TEXT)
    x, y = module.body.operations[0].regions[0].blocks[0].arguments
    return dict(zip("cbrtsmngkzed", found, strict=False)) | {"module": module, "x": x, "y": y}


def value(named, name):
    return named[name] if name in "xy" else named[name].results[0]


# A function, the value that it is asked about, what else it takes, and the answer; or why it refuses.
ASKED = [
    ("shape_of", "x", (), (3, None)),
    ("static_shape", "y", (), (4,)),
    ("static_shape", "x", (), "tensor<3x?xf32> has a dynamic dimension"),
    ("dtype_of", "y", (), np.int8),
    ("dtype_of", "g", (), np.bool_),
    ("owner", "x", (), None),
    ("owner", "s", (), "%s"),
    ("defining", "s", ("stablehlo.add",), "%s"),
    ("defining", "s", (), "%s"),
    (
        "defining",
        "s",
        ("stablehlo.dot_general", "stablehlo.slice"),
        "of stablehlo.add, not of stablehlo.dot_general",
    ),
    ("defining", "x", (), "an operand is an argument, not the result of an op"),
    ("constant", "c", (), -3),
    ("constant", "r", (), -3),  # behind a broadcast and a reshape
    ("constant", "t", (), [1, 2, 3, 4]),
    ("constant", "g", (), True),
    ("constant", "s", (), None),
    ("constant", "x", (), None),
    ("is_constant", "r", (-3,), True),
    ("is_constant", "r", (3,), False),
    ("is_constant", "t", (1,), False),
    ("is_constant", "n", (np.nan,), False),
    ("single_use", "t", (), True),
    ("single_use", "s", (), False),  # twice by one op
    ("single_use", "n", (), False),  # not at all
    ("only_user", "t", (), "%s"),
    ("only_user", "t", ("stablehlo.add",), "%s"),
    ("only_user", "t", ("stablehlo.abs",), "it is used by stablehlo.add, not by stablehlo.abs"),
    ("only_user", "s", (), "the value has 2 uses, not one"),
    ("only_user", "n", (), "the value has 0 uses"),
    ("integers", "%k", ("start_indices",), (1,)),
    ("integers", "%k", ("strides",), (2,)),
    ("integers", "%k", ("interior",), ()),
    ("text_attribute", "%k", ("nothing",), ""),
    ("reduction", "%e", (), "stablehlo.add"),
    ("reduction", "%d", (), "does not combine its elements with a single op, but with stablehlo.add"),
]


@pytest.mark.parametrize(("name", "asked", "more", "answer"), ASKED)
def test_what_a_rewrite_asks(named, name, asked, more, answer):
    of = named[asked[1:]] if asked.startswith("%") else value(named, asked)
    if isinstance(answer, str) and " " in answer:
        with pytest.raises(passes.Refused) as refusal:
            getattr(passes, name)(of, *more)
        assert answer in str(refusal.value)
        return
    found = getattr(passes, name)(of, *more)
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, answer)
    else:
        assert found == (named[answer[1:]] if isinstance(answer, str) and answer.startswith("%") else answer)


def test_uses_and_attributes(named):
    assert [op.name for op in passes.users(named["s"].results[0])] == ["stablehlo.multiply"] * 2
    assert "limit_indices" in passes.attributes_of(named["k"].attributes)


def test_a_reduction_that_returns_what_it_had():
    kept = TEXT.replace("%0 = stablehlo.add %p, %p", "%0 = stablehlo.add %p, %q").replace(
        "stablehlo.return %0", "stablehlo.return %p"
    )
    module, found = parsed(kept)
    assert module.operation.verify()
    with pytest.raises(passes.Refused, match="does not combine its elements with a single op"):
        passes.reduction(found[-2])


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "i1", "i8", "ui16", "i64", "complex<f32>"])
def test_new_constants_and_reductions(kind):
    text = f"func.func @main(%x: tensor<2x3x{kind}>, %y: tensor<3x{kind}>) -> tensor<3x{kind}> {{\n"
    module, (last,) = parsed(text + f"return %y : tensor<3x{kind}>\n}}\n")
    x = module.body.operations[0].regions[0].blocks[0].arguments[0]
    with passes.ir.InsertionPoint(last), last.location:
        ones, zero = passes.full_like(x, 1), passes.full_like(x, 0, ())
        total = passes.reduce_with("stablehlo.add", stablehlo.add(ones, x), zero, [0])
    assert passes.is_constant(ones, 1)
    assert passes.reduction(passes.owner(total)) == "stablehlo.add"
    last.operands[0] = total
    module.operation.verify()
    dtype = passes.dtype_of(x)
    if dtype.kind in "fi":
        x = np.arange(6).reshape(2, 3).astype(dtype)
        found = Program.parse(str(module)).interpret(x, x[0])[0]
        np.testing.assert_array_equal(found, (x + 1).sum(0).astype(dtype))


LOOP = """
func.func @main(%x: tensor<f32>, %w: tensor<f32>, %steps: tensor<i32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0:4 = stablehlo.while(%i = %zero, %c = %x, %k = %half, %d = %w) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %i, %steps, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.compare GT, %c, %k, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.if"(%p) ({
        %5 = stablehlo.multiply %c, %k : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }, {
        %5 = stablehlo.add %c, %w : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      %3 = stablehlo.sine %d : tensor<f32>
      stablehlo.return %1, %2, %k, %3 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
    }
  %6 = stablehlo.add %0#1, %x : tensor<f32>
  return %0#1, %6 : tensor<f32>, tensor<f32>
}
"""


def loop_of(module) -> passes.ir.Operation:
    block = module.body.operations[0].regions[0].blocks[0]
    return next(op.operation for op in block.operations if op.operation.name == "stablehlo.while")


def test_places():
    module, outer = parsed(LOOP)
    main, loop = module.body.operations[0].operation, loop_of(module)
    body = [op.operation for op in loop.regions[1].blocks[0].operations]
    branch = next(op for op in body if op.name == "stablehlo.if")
    inside = branch.regions[0].blocks[0].operations[0].operation
    names = ["stablehlo.if", "stablehlo.while", "func.func", "builtin.module"]
    assert [op.name for op in passes.ancestors(inside)] == names
    assert passes.enclosing(inside) == loop
    assert passes.enclosing(inside, "stablehlo.if") == branch
    assert passes.enclosing(loop) is None
    x, carry = main.regions[0].blocks[0].arguments[0], loop.regions[1].blocks[0].arguments[1]
    half, last = outer[1].results[0], outer[-2]
    condition = loop.regions[0].blocks[0].operations[0].operation
    for found, op, expected in [
        (x, inside, True),
        (half, inside, True),
        (carry, inside, True),
        (carry, last, False),
        (loop.results[0], inside, False),  # it is the loop that it lies in
        (loop.results[0], last, True),
        (last.results[0], loop, False),
        (inside.results[0], inside, False),
        (body[0].results[0], inside, True),
        (carry, condition, False),  # another block's argument
    ]:
        assert passes.dominates(found, op) is expected


ARGUMENTS = [(np.float32(3), np.float32(0.25), np.int32(steps)) for steps in (0, 1, 5)]


def with_loop(make, prepare=lambda loop: None) -> Program:
    """The program with its loop replaced by what is made of it: a value for each of its results that is used."""
    module, _ = parsed(LOOP)
    loop = loop_of(module)
    prepare(loop)
    with passes.ir.InsertionPoint(loop), loop.location:
        results = make(loop)
    for place, made in results.items():
        loop.results[place].replace_all_uses_with(made)
    loop.erase()
    return Program.parse(str(module))


def test_a_loop_without_some_of_its_carries():
    """The dead one goes; the constant one is made anew inside."""

    def prepare(loop):
        """The dead carry is read by its own next value alone, which must go first."""
        terminator = list(loop.regions[1].blocks[0].operations)[-1].operation
        sine = defining(terminator.operands[3])
        terminator.operands[3] = loop.regions[1].blocks[0].arguments[3]
        sine.erase()

    def make(loop):
        half = lambda: passes.clone(defining(loop.operands[2])).results[0]  # noqa: E731
        return {1: passes.rebuild_while(loop, [0, 1], replaced={2: half}).results[1]}

    after = with_loop(make, prepare)
    assert len(loop_of(after.copy_module()).results) == 2
    for arguments in ARGUMENTS:
        for one, other in zip(Program.parse(LOOP).interpret(*arguments), after.interpret(*arguments), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_loop_with_further_carries():
    """A sum of what a carry was, and a change of what the body returns for another."""

    def make(loop):
        def step(extra, known, returned):
            assert len(extra) == 1
            before = loop.regions[1].blocks[0].arguments[1]
            returned[3] = returned[1]
            return [stablehlo.add(extra[0], known[before])]

        zero = stablehlo.constant(passes.ir.DenseElementsAttr.get(np.zeros((), np.float32)))
        new = passes.rebuild_while(loop, [0, 1, 2, 3], [zero], step)
        return {1: stablehlo.add(new.results[4], new.results[3])}

    after = with_loop(make)
    for arguments in ARGUMENTS:
        x, w, steps = arguments
        total, value, last = np.float32(0), x, w
        for _ in range(steps):
            total += value
            value = value * np.float32(0.5) if value > 0.5 else value + w
            last = value
        np.testing.assert_array_equal(after.interpret(*arguments)[0], total + last)


def test_a_copy_of_a_block():
    """Ops in regions of the copied ones see the new values too."""

    def make(loop):
        block = loop.regions[1].blocks[0]
        returned, known = passes.clone_block(block, dict(zip(block.arguments, loop.operands, strict=True)))
        assert known[next(iter(block.operations)).operation.results[0]] == passes.owner(returned[0]).operands[1]
        return {1: returned[1]}

    after = with_loop(make)
    x, w, _ = ARGUMENTS[0]
    assert after.interpret(*ARGUMENTS[0])[0] == (x * np.float32(0.5))
    assert after.interpret(np.float32(0.25), w, np.int32(7))[0] == np.float32(0.25) + w


def test_a_copy_of_an_op(named):
    with passes.ir.InsertionPoint(named["m"]), named["m"].location:
        copy = passes.clone(named["m"], [named["t"].results[0], named["y"]])
    assert list(copy.operands) == [named["t"].results[0], named["y"]]
    assert list(named["m"].operands) == [named["s"].results[0]] * 2
    assert copy.is_before_in_block(named["m"])


def test_reports(named):
    quiet, loud = passes.Report("mine"), passes.Report("mine", detailed=True)
    for report in (quiet, loud):
        report.applied(named["s"], result="a subtract")
        report.refused(named["m"], "no reason", "other")
        report.refused(named["m"], "no reason", "other")
        report.applied(report.describe(named["e"]))
    assert quiet.rewritten == loud.rewritten == {"mine": 2}
    assert quiet.text == ""
    lines = loud.text.splitlines()
    assert lines[0].startswith("mine: %2 = stablehlo.add")
    assert lines[0].endswith("(line 7): a subtract")
    assert lines[1].startswith("other: ")
    assert lines[1].endswith("left alone: no reason")
    assert lines[2].startswith("mine: ")
    assert "stablehlo.reduce : tensor<f32> (line 13): rewritten" in lines[2]
    assert len(lines) == 3
    assert loud.changed
    assert not passes.Report("mine").changed
    assert passes.Report("mine", silent=True).changed
    long = " ".join(["x"] * 200)
    loud.refused(long, "a")
    assert long in loud.text  # a text is taken as it is
