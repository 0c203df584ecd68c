"""Every lowering rule, scalar op and pass has a lit test with a static and a `?` case.

A rule's case is a line `# CHECK-LABEL: module @Rule.static` (or `.dynamic`, with `.what` behind it), a scalar op's a
line `# CHECK-NEXT: Name.static: formula`; that such a case is what its name says is checked where it is printed
(lit_tests/ops/common.py). A padding rule has a line `# CHECK: op: ...`, or its op stands in a module with a label in
one of lit_tests/passes/pad*. A pass has lit_tests/passes/NAME.mlir, with others named NAME-*.mlir if it needs them,
which run it on a module with symbolic sizes and on one without.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

import pytensor.tensor as pt
import pytest

from hlograph.codegen.passes import available
from hlograph.codegen.passes.pad import RULES, control
from hlograph.dialects import registry
from hlograph.dialects.tensor.scalar import TABLE

LIT = Path(__file__).resolve().parent.parent / "lit_tests"
KINDS = ("static", "dynamic")
RULE_CASE = re.compile(r"^# CHECK-LABEL: module @(\w+)\.(static|dynamic)(?:\.\w+)*$", re.MULTILINE)
SCALAR_CASE = re.compile(r"^# CHECK(?:-NEXT)?: (\w+)\.(static|dynamic)(?:\.\w+)*: \S", re.MULTILINE)


def ops_text() -> str:
    return "\n".join(path.read_text() for path in sorted((LIT / "ops").glob("*.py")))


def without_case(names: Iterable[str], case: re.Pattern[str], text: str) -> list[str]:
    """`Name.kind` of the cases that the names should have and the text has not."""
    found = {f"{name}.{kind}" for name, kind in case.findall(text)}
    return [wanted for name in sorted(names) for kind in KINDS if (wanted := f"{name}.{kind}") not in found]


def lacks(name: str, folder: Path) -> str | None:
    """What the lit tests of a pass lack."""
    first = f"{name}.mlir"
    if not (folder / first).exists():
        return f"{first} does not exist"
    symbolic = []
    for path in [folder / first, *folder.glob(f"{name}-*.mlir")]:
        text = path.read_text()
        passes = re.findall(r"--pass '?([\w-]+)", "\n".join(re.findall(r"^// RUN: (.*)", text, re.MULTILINE)))
        if name not in passes:
            return f"{path.name} does not run the pass"
        modules = [re.sub(r"//.*", "", part) for part in text.split("// -----\n")]
        symbolic += ["?" in module for module in modules if "func.func" in module]
    if not any(symbolic) or all(symbolic):
        return f"{first} has no {'static' if any(symbolic) else 'symbolic'} module"
    return None


def padding_rules() -> set[str]:
    """Ops, targets of custom calls (LAPACK's without the type's letter) and names of functions with a padding rule."""
    targets = {re.sub(r"^lapack_[sdcz]", "lapack_", name) for name in control.CUSTOM}
    return RULES.keys() | targets | control.IMPLEMENTS.keys()


def padded_ops(text: str) -> set[str]:
    """The padding rules that a lit file tests: of ops with a line of their own, and of those in labelled modules."""
    found = set(re.findall(r"^# CHECK(?:-NEXT)?: (\w+\.\w+): \S", text, re.MULTILINE))
    labels = set(re.findall(r"^// CHECK-LABEL: module @(\S+)$", text, re.MULTILINE))
    for module in re.split(
        r"^// -----$", re.sub(r"^ *//(?! -----$).*", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    ):
        name = re.search(r"module @(\S+) ", module)
        if name is None or name[1] not in labels:
            continue
        found |= set(re.findall(r"\b((?:stablehlo|chlo|sdy)\.\w+)", module))
        found |= {"func.call"} if re.search(r"= call @", module) else set()
        found |= {
            re.sub(r"^lapack_[sdcz]", "lapack_", target) for target in re.findall(r"custom_call @([\w.]+)", module)
        }
        found |= set(re.findall(r'hlograph\.implements = "(\w+)"', module))
    return found


def test_every_padding_rule_has_a_lit_test():
    found = set().union(*(padded_ops(path.read_text()) for path in (LIT / "passes").glob("pad*")))
    assert sorted(padding_rules() - found) == []


def test_every_rule_has_a_static_and_a_symbolic_case():
    assert not without_case(registry.registered(), RULE_CASE, ops_text())


def test_every_scalar_op_has_a_static_and_a_symbolic_case():
    assert not without_case(TABLE, SCALAR_CASE, ops_text())


def test_every_pass_has_a_lit_test():
    assert not [problem for name in sorted(available()) if (problem := lacks(name, LIT / "passes"))]


def test_no_case_names_what_is_gone():
    names = {name for name, _ in RULE_CASE.findall(ops_text())}
    assert names <= registry.registered().keys()
    assert {name for name, _ in SCALAR_CASE.findall(ops_text())} <= TABLE.keys()


# ---- these tests can fail -------------------------------------------------------------------------------------------


def test_a_rule_without_a_lit_test_is_found(monkeypatch):
    monkeypatch.setattr(registry, "_BY_NAME", dict(registry.registered()))
    registry.lowers("NeverTested")(lambda ctx, node, x: x)
    missing = without_case(registry.registered(), RULE_CASE, ops_text())
    assert missing == ["NeverTested.static", "NeverTested.dynamic"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("// CHECK-LABEL: module @a\nmodule @a {\n %0 = stablehlo.sort %x\n}", {"stablehlo.sort"}),
        ("// CHECK-LABEL: module @b\nmodule @a {\n %0 = stablehlo.sort %x\n}", set()),
        ("// CHECK-LABEL: module @a\nmodule @a {\n // stablehlo.sort\n}", set()),
        ("// CHECK-LABEL: module @a\nmodule @a {\n}\n// -----\nmodule @b {\n %0 = call @f(%x)\n}", set()),
        ("// CHECK-LABEL: module @a\nmodule @a {\n %0 = call @f(%x)\n}", {"func.call"}),
        ("# CHECK-NEXT: chlo.erf: masked\n# chlo.erfc: masked", {"chlo.erf"}),
    ],
)
def test_which_padding_rules_a_lit_file_tests(text, found):
    assert padded_ops(text) == found


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", ["Eye.static", "Eye.dynamic"]),
        ("# CHECK-LABEL: module @Eye.static\n", ["Eye.dynamic"]),
        ("# CHECK-LABEL: module @Eye.dynamic.runtime\n", ["Eye.static"]),
        ("# CHECK-LABEL: module @Eye.static\n# CHECK-LABEL: module @Eye.dynamic\n", []),
        ("# module @Eye.static\n# CHECK-LABEL: module @Eyes.dynamic\n", ["Eye.static", "Eye.dynamic"]),
    ],
)
def test_a_missing_case_is_named(text, missing):
    assert without_case(["Eye"], RULE_CASE, text) == missing


def test_a_missing_scalar_case_is_named():
    text = "# CHECK: Exp.static: exponential(x) : tensor<4xf64>\n# CHECK-NEXT: Exp.dynamic.int8: exponential(x)\n"
    assert without_case(["Exp", "Log"], SCALAR_CASE, text) == ["Log.static", "Log.dynamic"]


RUN = "// RUN: %hlograph opt %s --pass {} | filecheck %s\n{}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cse.mlir does not exist"),
        (RUN.format("cse2", "func.func <3>\n// -----\nfunc.func <?>"), "cse.mlir does not run the pass"),
        (RUN.format("cse", ""), "cse.mlir has no symbolic module"),
        (RUN.format("cse", "func.func <3> // <?>"), "cse.mlir has no symbolic module"),
        (RUN.format("cse", "func.func <?>"), "cse.mlir has no static module"),
        (RUN.format("'cse{a=1}'", "func.func <?>\n// -----\nfunc.func <3>"), None),
    ],
)
def test_what_the_test_of_a_pass_lacks(tmp_path, text, problem):
    if text is not None:
        (tmp_path / "cse.mlir").write_text(text)
    assert lacks("cse", tmp_path) == problem


@pytest.fixture(scope="module")
def common():
    """The module that the lit tests of lowering rules share."""
    spec = importlib.util.spec_from_file_location("lit_ops_common", LIT / "ops" / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_case_shows_what_its_name_says(common, capsys):
    x = pt.dvector("x")
    common.show([x], pt.exp(x), name="Elemwise.dynamic.exp")
    assert "module @Elemwise.dynamic.exp" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no op that the rule Softmax lowers; it has Elemwise"):
        common.show([x], pt.exp(x), name="Softmax.dynamic")
    with pytest.raises(SystemExit, match="the module has symbolic sizes"):
        common.show([x], pt.exp(x), name="Elemwise.static")
    with pytest.raises(SystemExit, match=r"the module has no \?"):
        common.show([x], pt.exp(x), name="Elemwise.dynamic", dims={"x": (3,)})
    assert capsys.readouterr().out == ""


UNTIDY = {
    "unused": "%1 = stablehlo.exponential %arg0 : tensor<3xf64>",
    "twice": "%1 = stablehlo.negate %arg0 : tensor<3xf64>\n    %2 = stablehlo.add %0, %1 : tensor<3xf64>",
    "idle": """%1 = stablehlo.reshape %0 : (tensor<3xf64>) -> tensor<3xf64>
    %2 = stablehlo.add %0, %1 : tensor<3xf64>""",
}


@pytest.mark.parametrize("what", UNTIDY)
def test_an_untidy_module_is_refused(common, what):
    from hlograph import Program

    result = "%2" if "%2" in UNTIDY[what] else "%0"
    program = Program.parse(
        f"""func.func @main(%arg0: tensor<3xf64>) -> tensor<3xf64> {{
    %0 = stablehlo.negate %arg0 : tensor<3xf64>
    {UNTIDY[what]}
    return {result} : tensor<3xf64>
}}"""
    )
    with pytest.raises(SystemExit, match=f"case: {what}"):
        common.check_tidy("case", program)
