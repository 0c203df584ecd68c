"""Every lowering rule and scalar op has a lit test, and every pass one with a static and a `?` module.

A rule has a case `# CHECK: Rule.static: term` or `.dynamic` (with `.what` behind it); what a few ops on sparse matrices
are expanded to has one with `Sparse` before its name. That a case is what its name says is checked where it is printed
(lit_tests/ops/common.py); which op the builder takes for a symbolic size is shown in lit_tests/builder. A scalar op's
line `# CHECK-NEXT: Name: formula`, or its `Name=op` in a line of plain ones, is of both: it is printed only where they
are the same. A padding rule has a line `# CHECK: op: ...`, or its op stands in a module with a label in one of
lit_tests/passes/pad*. A pass of ours has lit_tests/passes/NAME.mlir (or .py, which prints modules), with others named
NAME-*.mlir if it needs them, which run it on a module with symbolic sizes, and on one without, which `sed` may make of
each other; simplify.mlir has functions `@NAME.what` for its rewrites. Passes that MLIR and StableHLO have are all run
by lit_tests/passes/mlir_pipelines.mlir.
"""

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

import pytensor.tensor as pt
import pytest

from hlograph.codegen.passes import registry as passes
from hlograph.codegen.passes import rewriting, simplify
from hlograph.codegen.passes.pad import RULES
from hlograph.dialects import registry
from hlograph.dialects.sparse import ops as expansions
from hlograph.dialects.tensor.scalar import TABLE
from hlograph.passes import available

LIT = Path(__file__).resolve().parent.parent / "lit_tests"
RULE_CASE = re.compile(r"^# CHECK(?:-NEXT)?: (\w+)\.(static|dynamic)(?:\.\w+)*: \S", re.MULTILINE)
SCALAR_CASE = re.compile(r"^# CHECK(?:-NEXT)?: (\w+)(?:\.\w+)*: \S", re.MULTILINE)
PLAIN_CASES = re.compile(r"^# CHECK(?:-NEXT)?: plain, \w: (.+)$", re.MULTILINE)


def ops_text(pattern: str = "*.py") -> str:
    return "\n".join(path.read_text() for path in sorted((LIT / "ops").glob(pattern)))


def scalar_cases(text: str) -> set[str]:
    """The scalar ops that a lit file has a line of."""
    plain = {re.split(r"[.=]", entry)[0] for line in PLAIN_CASES.findall(text) for entry in line.split()}
    return plain | set(SCALAR_CASE.findall(text))


def without_case(names: Iterable[str], text: str) -> list[str]:
    """The rules that the text has no case of."""
    return sorted(set(names) - {name for name, _ in RULE_CASE.findall(text)})


def lacks(name: str, folder: Path) -> str | None:
    """What the lit tests of a pass lack."""
    if name in simplify.PARTS:
        found = re.search(rf"CHECK-LABEL: @{name}\.", (folder / "simplify.mlir").read_text())
        return None if found else f"simplify.mlir has no function @{name}.what"
    if name in rewriting.REWRITES:
        return f"simplify does not run {name}: name the ops that it needs in _NEEDS of simplify.py"
    ours = not getattr(passes.find(name), "pipeline", "")
    stem = name if ours else "mlir_pipelines"
    firsts = [path for path in (folder / f"{stem}.mlir", folder / f"{stem}.py") if path.exists()]
    if not firsts:
        return f"{stem}.mlir does not exist"
    symbolic = []
    for path in [*firsts, *folder.glob(f"{name}-*.mlir")]:
        text = path.read_text()
        runs = "\n".join(re.findall(r"^(?://|#) RUN: (.*)", text, re.MULTILINE))
        if name not in re.findall(r"--pass '?([\w-]+)", runs):
            return f"{path.name} does not run the pass {name}"
        modules = [re.sub(r"(//|^#).*", "", part, flags=re.MULTILINE) for part in text.split("// -----")]
        symbolic += ["?" in module for module in modules if "func.func" in module]
        symbolic += ["?" in new for old, new in re.findall(r"s/([^/]*)/([^/]*)/", runs) if "?" in old + new]
    if ours and (not any(symbolic) or all(symbolic)):
        return f"{firsts[0].name} has no {'static' if any(symbolic) else 'symbolic'} module"
    return None


def padded_ops(text: str) -> set[str]:
    """The padding rules that a lit file tests: of ops with a line of their own, and of those in labelled modules."""
    found = set(re.findall(r"^# CHECK(?:-NEXT)?: ([\w.]+): \S", text, re.MULTILINE))
    for dialect, names in re.findall(r"^# CHECK(?:-NEXT)?: (?:masked|as it is), (\w+): (.+)$", text, re.MULTILINE):
        found |= {f"{dialect}.{name}" for name in names.split()}
    labels = set(re.findall(r"^// CHECK-LABEL: module @(\S+)$", text, re.MULTILINE))
    for module in re.split(
        r"^// -----$", re.sub(r"^ *//(?! -----$).*", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    ):
        name = re.search(r"module @(\S+) ", module)
        if name is None or name[1] not in labels:
            continue
        found |= set(re.findall(r"\b((?:stablehlo|chlo|sdy)\.\w+)", module))
        found |= {"func.call"} if re.search(r"= call @", module) else set()
        found |= set(re.findall(r"custom_call @([\w.]+)", module))
        found |= set(re.findall(r'hlograph\.implements = "(\w+)"', module))
    return found


def test_every_padding_rule_has_a_lit_test():
    found = set().union(*(padded_ops(path.read_text()) for path in (LIT / "passes").glob("pad*")))
    assert sorted(RULES.keys() - found - {"Sharding", "annotate_device_placement"}) == []


def test_every_rule_has_a_case():
    assert not without_case(registry.registered(), ops_text())


def test_every_scalar_op_has_a_case():
    assert not TABLE.keys() - scalar_cases(ops_text("scalar.py"))


def test_every_pass_has_a_lit_test():
    assert not [problem for name in sorted(available()) if (problem := lacks(name, LIT / "passes"))]


def test_no_case_names_what_is_gone():
    names = {name for name, _ in RULE_CASE.findall(ops_text())}
    assert names <= registry.registered().keys() | {f"Sparse{name}" for name in expansions.registered()}
    assert scalar_cases(ops_text("scalar.py")) <= TABLE.keys()


# ---- these tests can fail -------------------------------------------------------------------------------------------


def test_what_has_no_lit_test_is_found(tmp_path):
    assert without_case([*registry.registered(), "NeverTested"], ops_text()) == ["NeverTested"]
    text = "# CHECK: plain, E: Exp=exponential\n# CHECK-NEXT: Abs.uint8: x\n# Log: x\n# CHECK: Sin:\n"
    assert scalar_cases(text) == {"Exp", "Abs"}
    module = "module @a {\n %0 = stablehlo.sort %x\n // stablehlo.add\n}\n// -----\nmodule @b {\n %0 = call @f(%x)\n}"
    assert padded_ops(f"// CHECK-LABEL: module @a\n{module}") == {"stablehlo.sort"}
    assert padded_ops(f"// CHECK-LABEL: module @b\n{module}") == {"func.call"}
    assert padded_ops("# CHECK-NEXT: masked, chlo: erf erfc\n# masked, chlo: tan") == {"chlo.erf", "chlo.erfc"}
    assert lacks("pad", tmp_path) == "pad.mlir does not exist"


@pytest.mark.parametrize(
    ("run", "modules", "problem"),
    [
        ("pad2", "func.func <3>\n// -----\nfunc.func <?>", "pad.mlir does not run the pass pad"),
        ("pad", "func.func <3> // <?>", "pad.mlir has no symbolic module"),
        ("pad", "func.func <?>", "pad.mlir has no static module"),
        ("'pad{a=1}'", "func.func <?>\n// -----\nfunc.func <3>", None),
        ("pad %s; sed 's/3/?/' %s", "func.func <3>", None),
    ],
)
def test_what_the_test_of_a_pass_lacks(tmp_path, run, modules, problem):
    (tmp_path / "pad.mlir").write_text(f"// RUN: %hlograph opt %s --pass {run} | filecheck %s\n{modules}")
    assert lacks("pad", tmp_path) == problem


@pytest.fixture
def common(monkeypatch):
    """The module that the lit tests of lowering rules share."""
    monkeypatch.syspath_prepend(str(LIT / "ops"))
    spec = importlib.util.spec_from_file_location("lit_ops_common", LIT / "ops" / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_case_shows_what_its_name_says(common, capsys):
    x = pt.dvector("x")
    common.show("Elemwise.dynamic.exp", [x], pt.exp(x))
    assert capsys.readouterr().out == "Elemwise.dynamic.exp: exponential(x) : tensor<?xf64>\n"
    with pytest.raises(SystemExit, match="no op that the rule Softmax lowers; it has Elemwise"):
        common.show("Softmax.dynamic", [x], pt.exp(x))
    with pytest.raises(SystemExit, match="the module has symbolic sizes"):
        common.show("Elemwise.static", [x], pt.exp(x))
    with pytest.raises(SystemExit, match=r"the module has no \?"):
        common.show("Elemwise.dynamic", [x], pt.exp(x), {"x": (3,)})
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
