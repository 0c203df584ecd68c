"""What rewrites ask about ops and values, and how they copy them."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph.codegen.ir.attributes import attributes_of, integers, text_attribute
from hlograph.codegen.ir.bindings import new_context
from hlograph.codegen.ir.clone import clone, clone_block
from hlograph.codegen.ir.kinds import reduction
from hlograph.codegen.ir.modules import parse_module
from hlograph.codegen.ir.ops import full_like, reduce
from hlograph.codegen.ir.refused import Refused
from hlograph.codegen.ir.values import (
    ancestors,
    constant,
    defining,
    dominates,
    dtype_of,
    enclosing,
    is_constant,
    only_user,
    owner,
    shape_of,
    single_use,
    static_shape,
    users,
)
from hlograph.codegen.ir.while_ops import rebuild_while
from hlograph.codegen.passes.report import Report
from hlograph.codegen.program import Program
from hlograph.passes import ir, stablehlo

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


@pytest.fixture
def ops():
    """The ops of the function's body, by their place in it; and its arguments."""
    module = parse_module(TEXT, new_context())
    block = module.body.operations[0].regions[0].blocks[0]
    found = [each.operation for each in block.operations]
    names = ["c", "b", "r", "t", "s", "m", "n", "g", "k", "z", "e", "d"]
    return dict(zip(names, found, strict=False)) | {"module": module, "x": block.arguments[0], "y": block.arguments[1]}


def test_shapes(ops):
    assert shape_of(ops["x"]) == (3, None)
    assert static_shape(ops["y"]) == (4,)
    with pytest.raises(Refused, match=r"tensor<3x\?xf32> has a dynamic dimension"):
        static_shape(ops["x"])
    assert dtype_of(ops["y"]) == np.int8
    assert dtype_of(ops["g"].results[0]) == np.bool_


def test_who_made_a_value(ops):
    assert owner(ops["x"]) is None
    assert owner(ops["s"].results[0]) == ops["s"]
    assert defining(ops["m"].operands[0], "stablehlo.add") == ops["s"]
    assert defining(ops["m"].operands[0]) == ops["s"]
    with pytest.raises(Refused, match=r"the result of stablehlo.add, not of stablehlo.dot_general or stablehlo.slice"):
        defining(ops["m"].operands[0], "stablehlo.dot_general", "stablehlo.slice")
    with pytest.raises(Refused, match="an operand is an argument, not the result of an op"):
        defining(ops["x"])


def test_constants(ops):
    assert constant(ops["c"].results[0]) == -3
    assert constant(ops["r"].results[0]) == -3  # behind a broadcast and a reshape
    assert constant(ops["t"].results[0]).tolist() == [1, 2, 3, 4]
    assert constant(ops["g"].results[0]).dtype == bool
    assert constant(ops["s"].results[0]) is None
    assert constant(ops["x"]) is None
    assert is_constant(ops["r"].results[0], -3)
    assert not is_constant(ops["r"].results[0], 3)
    assert not is_constant(ops["t"].results[0], 1)
    assert not is_constant(ops["n"].results[0], np.nan)


def test_uses(ops):
    assert [op.name for op in users(ops["s"].results[0])] == ["stablehlo.multiply"] * 2
    assert single_use(ops["t"].results[0])
    assert not single_use(ops["s"].results[0])  # twice by one op
    assert not single_use(ops["n"].results[0])  # not at all
    assert only_user(ops["t"].results[0]) == ops["s"]
    assert only_user(ops["t"].results[0], "stablehlo.add") == ops["s"]
    with pytest.raises(Refused, match=r"it is used by stablehlo.add, not by stablehlo.abs"):
        only_user(ops["t"].results[0], "stablehlo.abs")
    with pytest.raises(Refused, match="the value has 2 uses, not one"):
        only_user(ops["s"].results[0])
    with pytest.raises(Refused, match="the value has 0 uses"):
        only_user(ops["n"].results[0])


def test_attributes(ops):
    assert integers(ops["k"], "start_indices") == (1,)
    assert integers(ops["k"], "strides") == (2,)
    assert integers(ops["k"], "interior") == ()
    assert text_attribute(ops["k"], "nothing") == ""
    assert "limit_indices" in attributes_of(ops["k"].attributes)
    assert reduction(ops["e"]) == "stablehlo.add"
    with pytest.raises(Refused, match=r"does not combine its elements with a single op, but with stablehlo.add"):
        reduction(ops["d"])


def test_a_reduction_that_returns_what_it_had():
    kept = TEXT.replace("%0 = stablehlo.add %p, %p", "%0 = stablehlo.add %p, %q").replace(
        "stablehlo.return %0", "stablehlo.return %p"
    )
    module = parse_module(kept, new_context())
    op = list(module.body.operations[0].regions[0].blocks[0].operations)[-2].operation
    with pytest.raises(Refused, match="does not combine its elements with a single op"):
        reduction(op)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "i1", "i8", "ui16", "i64", "complex<f32>"])
def test_new_constants_and_reductions(kind):
    text = f"func.func @main(%x: tensor<2x3x{kind}>) -> tensor<3x{kind}> {{\n"
    text += f"%0 = stablehlo.slice %x [0:1, 0:3] : (tensor<2x3x{kind}>) -> tensor<1x3x{kind}>\n"
    text += f"%1 = stablehlo.reshape %0 : (tensor<1x3x{kind}>) -> tensor<3x{kind}>\nreturn %1 : tensor<3x{kind}>\n}}\n"
    module = parse_module(text, new_context())
    block = module.body.operations[0].regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    with ir.InsertionPoint(last), last.location:
        ones = full_like(block.arguments[0], 1)
        zero = full_like(block.arguments[0], 0, ())
        total = reduce("stablehlo.add", stablehlo.add(ones, block.arguments[0]), zero, [0])
    assert is_constant(ones, 1)
    assert reduction(owner(total)) == "stablehlo.add"
    last.operands[0] = total
    module.operation.verify()
    dtype = dtype_of(block.arguments[0])
    if dtype.kind in "fi":
        x = np.arange(6).reshape(2, 3).astype(dtype)
        np.testing.assert_array_equal(Program.parse(str(module)).interpret(x)[0], (x + 1).sum(0).astype(dtype))


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


def loop_of(module) -> ir.Operation:
    block = module.body.operations[0].regions[0].blocks[0]
    return next(op.operation for op in block.operations if op.operation.name == "stablehlo.while")


def test_places():
    module = parse_module(LOOP, new_context())
    main = module.body.operations[0].operation
    loop = loop_of(module)
    outer = [op.operation for op in main.regions[0].blocks[0].operations]
    body = [op.operation for op in loop.regions[1].blocks[0].operations]
    branch = next(op for op in body if op.name == "stablehlo.if")
    inside = branch.regions[0].blocks[0].operations[0].operation
    assert [op.name for op in ancestors(inside)] == [
        "stablehlo.if", "stablehlo.while", "func.func", "builtin.module",
    ]  # fmt: skip
    assert enclosing(inside) == loop
    assert enclosing(inside, "stablehlo.if") == branch
    assert enclosing(loop) is None
    x, carry = main.regions[0].blocks[0].arguments[0], loop.regions[1].blocks[0].arguments[1]
    half, last = outer[1].results[0], outer[-2]
    assert dominates(x, inside)
    assert dominates(half, inside)
    assert dominates(carry, inside)
    assert not dominates(carry, last)
    assert not dominates(loop.results[0], inside)  # it is the loop that it lies in
    assert dominates(loop.results[0], last)
    assert not dominates(last.results[0], loop)
    assert not dominates(inside.results[0], inside)
    assert dominates(body[0].results[0], inside)
    condition = loop.regions[0].blocks[0].operations[0].operation
    assert not dominates(carry, condition)  # another block's argument


ARGUMENTS = [
    (np.float32(3), np.float32(0.25), np.int32(steps)) for steps in (0, 1, 5)
]  # fmt: skip


def with_loop(make) -> Program:
    """The program with its loop replaced by what is made of it: a value for each of its results that is used."""
    module = parse_module(LOOP, new_context())
    loop = loop_of(module)
    with ir.InsertionPoint(loop), loop.location:
        results = make(loop)
    for place, value in results.items():
        loop.results[place].replace_all_uses_with(value)
    loop.erase()
    return Program.parse(str(module))


def test_a_loop_without_some_of_its_carries():
    """The dead one goes; the constant one is made anew inside."""

    def make(loop):
        def half() -> ir.Value:
            return clone(defining(loop.operands[2])).results[0]

        new = rebuild_while(loop, [0, 1], replaced={2: half})
        return {1: new.results[1]}

    # The dead carry is read by its own next value alone, which must go first.
    module = parse_module(LOOP, new_context())
    loop = loop_of(module)
    terminator = list(loop.regions[1].blocks[0].operations)[-1].operation
    sine = defining(terminator.operands[3])
    terminator.operands[3] = loop.regions[1].blocks[0].arguments[3]
    sine.erase()
    with ir.InsertionPoint(loop), loop.location:
        replaced = make(loop)
    loop.results[1].replace_all_uses_with(replaced[1])
    loop.erase()
    after = Program.parse(str(module))
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

        zero = stablehlo.constant(ir.DenseElementsAttr.get(np.zeros((), np.float32)))
        new = rebuild_while(loop, [0, 1, 2, 3], [zero], step)
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
        returned, known = clone_block(block, dict(zip(block.arguments, loop.operands, strict=True)))
        assert known[next(iter(block.operations)).operation.results[0]] == owner(returned[0]).operands[1]
        return {1: returned[1]}

    after = with_loop(make)
    x, w, _ = ARGUMENTS[0]
    assert after.interpret(*ARGUMENTS[0])[0] == (x * np.float32(0.5))
    assert after.interpret(np.float32(0.25), w, np.int32(7))[0] == np.float32(0.25) + w


def test_a_copy_of_an_op(ops):
    with ir.InsertionPoint(ops["m"]), ops["m"].location:
        copy = clone(ops["m"], [ops["t"].results[0], ops["y"]])
    assert list(copy.operands) == [ops["t"].results[0], ops["y"]]
    assert list(ops["m"].operands) == [ops["s"].results[0]] * 2
    assert copy.is_before_in_block(ops["m"])


def test_reports(ops):
    quiet, loud = Report("mine"), Report("mine", detailed=True)
    for report in (quiet, loud):
        report.applied(ops["s"], result="a subtract")
        report.refused(ops["m"], "no reason", "other")
        report.refused(ops["m"], "no reason", "other")
        report.applied(report.describe(ops["e"]))
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
    assert not Report("mine").changed
    assert Report("mine", silent=True).changed
    long = " ".join(["x"] * 200)
    loud.refused(long, "a")
    assert long in loud.text  # a text is taken as it is


def test_long_lines_are_cut():
    numbers = list(range(60))
    module = parse_module(
        f"func.func @main(%x: tensor<60x1x1x1xf32>) {{\n"
        f"%c = stablehlo.constant dense<{numbers}> : tensor<60xi64>\n"
        f'%0 = "stablehlo.custom_call"(%x) {{call_target_name = "{"a" * 200}"}} : '
        "(tensor<60x1x1x1xf32>) -> tensor<f32>\n"
        "return\n}\n",
        new_context(),
    )
    report = Report("mine", detailed=True)
    for op in list(module.body.operations[0].regions[0].blocks[0].operations)[:2]:
        report.refused(op.operation, "long")
    first, second = report.text.splitlines()
    assert "59" not in first  # the numbers are left out
    assert len(second) < 170
    assert "..." in second
