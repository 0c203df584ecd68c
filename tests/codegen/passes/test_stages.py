"""Stages of passes alone: as a table, by name, as text; those of calls are in runtime/lowered/test_stages.py."""

from __future__ import annotations

import pytest

import hlograph
from hlograph.codegen.recipe import Recipe
from hlograph.errors import PassError
from hlograph.passes import Report
from hlograph.runtime.lowered.stages import Recorder, Stages

# The same sum twice, one of them dead.
TWICE = """
module @twice {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    %1 = stablehlo.add %x, %y : tensor<4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"""


def run_stages(program: hlograph.Program, *passes: str) -> Stages:
    recorder = Recorder(program)
    Recipe(passes=passes).apply(program, recorder)
    return recorder.stages


@pytest.fixture
def twice() -> hlograph.Program:
    return hlograph.Program.parse(TWICE)


def test_stages_as_a_table(twice: hlograph.Program) -> None:
    stages = run_stages(twice, "canonicalize", "cse", "inline")
    assert stages[1:] == (stages["cse"],) == (stages[-1],)
    heading, emitted, cse, unchanged = str(stages).splitlines()
    assert unchanged == "changed nothing: canonicalize, inline"
    assert heading.split() == ["stage", "ops", "pass"]
    assert emitted.split() == ["emitted", "3"]
    assert cse.split()[:2] == ["cse", "2"]
    assert cse.endswith("-1 add")


def test_a_name_that_comes_again_gets_a_number(twice: hlograph.Program) -> None:
    recorder = Recorder(twice)
    Recipe(passes=("cse",)).apply(twice, recorder)
    other = hlograph.Program.parse(TWICE.replace("multiply", "divide"))
    recorder.ran("specialize", other.to_bytecode(), 0.0, Report("specialize"))
    Recipe(passes=("cse",)).apply(other, recorder)
    stages = recorder.stages
    assert stages.names == ("emitted", "cse", "specialize", "cse.2")
    assert "divide" in stages["cse.2"].text
    assert "multiply" in stages["cse"].text


def test_what_there_is_when_a_name_is_wrong(twice: hlograph.Program) -> None:
    stages = run_stages(twice, "cse", "canonicalize")
    with pytest.raises(PassError, match=r"no stage 'cze'; did you mean 'cse'\? there are emitted, cse"):
        stages["cze"]


def test_constants_are_cut_in_the_short_text_alone() -> None:
    numbers = ", ".join(f"{number}.0" for number in range(40))
    program = hlograph.Program.parse(
        f"func.func @main() -> tensor<40xf32> {{ %0 = stablehlo.constant dense<[{numbers}]> : tensor<40xf32>\n"
        "return %0 : tensor<40xf32> }"
    )
    (stage,) = run_stages(program)
    assert "__elided__" in stage.short_text()
    assert "__elided__" not in stage.text
    hlograph.Program.parse(stage.text)
