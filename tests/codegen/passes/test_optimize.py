"""Which passes `optimize=` means, and what they leave when they fail."""

import re
from pathlib import Path

import pytest

import hlograph
from hlograph import errors
from hlograph.codegen.passes import run_all
from hlograph.codegen.passes.registry import DEFAULT, exact, resolve
from hlograph.passes import ir, is_constant, require, rewrite

ADDS = """
module @adds {
  func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
    %0 = stablehlo.add %a, %zero : tensor<4xf32>
    %1 = stablehlo.add %a, %b : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
"""


@pytest.fixture
def add_zero():
    @rewrite("stablehlo.add", exact=False)
    def add_zero(op):
        """x + 0 is x."""
        require(is_constant(op.operands[1], 0), "the second operand is not 0")
        return op.operands[0]


def test_default_and_none():
    assert resolve("default") == DEFAULT
    assert resolve("none") == ()
    assert resolve([]) == ()


def test_without_reassociation_every_pass_that_can_is_told():
    assert resolve("exact") == (
        "roll_loops{reassociate=false}",
        "simplify{reassociate=false}",
        "compress_rows{reassociate=false}",
        "fold_constants{reassociate=false}",
        "loop_writes",
        "work_into_loops",
        "recompute_saved{reassociate=false}",
        "sink_reductions{reassociate=false}",
        "reduce_in_blocks{reassociate=false}",
    )
    assert tuple(exact(["cse", "sink_reductions{reassociate=true}"])) == (
        "cse",
        "sink_reductions{reassociate=true}",
    )


@pytest.mark.parametrize(
    ("optimize", "message"),
    [
        ("fast", 'must be "default", "exact", "none", or a list'),
        ("cse", r"did you mean \['cse'\]"),
        (["sink_reduction"], "did you mean 'sink_reductions'"),
        (["cpu-forms"], "did you mean 'cpu_forms'"),
        (["cse{x}"], "malformed option.*expected option=value"),
        (["{}"], "malformed"),
        (["cse{fast=1}"], "pass 'cse' takes no options"),
        (["cpu_math{element=3}"], r"no option 'element'; did you mean 'elements'\? it takes elements \(an integer\)"),
        (["sink_reductions{reassociate=maybe}"], "reassociate is true or false, not 'maybe'"),
        (["cse", "none"], '"none" stands alone'),
        (["default{reassociate=false}"], "'default' stands for several passes, where a list of them is taken"),
    ],
)
def test_what_is_no_choice_is_said(optimize, message):
    with pytest.raises(errors.PassError, match=message):
        hlograph.Program.parse(ADDS).optimize(optimize)
    with pytest.raises(errors.PassError, match=message):
        hlograph.Program.parse(ADDS).compile(optimize=optimize)


def test_users_rewrites_are_default_when_they_ask_for_it():
    rewrite("stablehlo.add", name="mine", default=True)(lambda op: None)
    assert resolve("default") == (*DEFAULT, "mine")
    assert resolve(["inline", "default", "cse"]) == ("inline", *DEFAULT, "mine", "cse")
    assert resolve(["exact", "cse"]) == (*resolve("exact"), "cse")


def started(program, spec):
    return bool(run_all(program.copy_module(), [spec], promising=True))


def test_passes_with_something_to_match_are_started():
    body = "".join(f"    %{i + 1} = stablehlo.sine %{i} : tensor<f32>\n" for i in range(300))
    text = f"""
    module @long {{ func.func @main(%0: tensor<f32>) -> tensor<f32> {{
    {body}
    return %300 : tensor<f32> }} }}"""
    assert started(hlograph.Program.parse(text), "roll_loops")
    loop = """
    module @loop { func.func @main(%a: tensor<i1>) -> tensor<i1> {
      %0 = stablehlo.while(%i = %a) : tensor<i1>
        cond { stablehlo.return %i : tensor<i1> }
        do { %1 = stablehlo.not %i : tensor<i1>
             stablehlo.return %1 : tensor<i1> }
      return %0 : tensor<i1> } }"""
    assert started(hlograph.Program.parse(loop), "sink_reductions")


def test_what_a_rewrite_returns_is_verified():
    @rewrite("stablehlo.add", name="invalid")
    def invalid(op):
        """An op that MLIR's verifier refuses: negation does not change shapes."""
        short = ir.RankedTensorType.get([3], ir.F32Type.get())
        broken = ir.Operation.create("stablehlo.negate", results=[short], operands=[op.operands[0]])
        return ir.Operation.create(
            "stablehlo.concatenate",
            results=[op.results[0].type],
            operands=[broken.results[0]],
            attributes={"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)},
        )

    program = hlograph.Program.parse(ADDS)
    text = program.text
    with pytest.raises(errors.PassError, match="the result of pass 'invalid' is not valid StableHLO") as raised:
        program.optimize(["invalid"])
    assert program.text == text
    (path,) = re.findall(r"in generic form: (.*\.mlir)", str(raised.value))
    kept = Path(path)
    assert '"stablehlo.negate"' in kept.read_text()
    kept.unlink()
