"""The house has floors: what may import what, and where a few things may stand at all. Read from the source, by `ast`.

Late imports and those under `TYPE_CHECKING` count.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from hlograph.codegen.passes.registry import PASSES

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("codegen", "dialects", "runtime", "tools", "hlograph")

# From the ground up. A module imports from its own floor and from those below.
FLOORS = (
    (
        "codegen.errors",
        "codegen.interrupts",
        "codegen.verbs",
        "codegen.dtypes",
        "codegen.versions",
        "codegen.renamed",
    ),
    ("codegen.ir", "codegen.forks"),
    ("codegen.dims", "codegen.constraints"),
    ("codegen.signature",),
    ("codegen.builder",),
    ("codegen.analysis",),
    ("codegen.passes",),
    (
        *("codegen.program", "codegen.artifact", "codegen.recipe"),
        *("codegen.graph", "codegen.source"),
        *("codegen.sparse_parts", "codegen.parameters"),
    ),
    ("codegen.emit",),
    ("dialects",),
    ("runtime",),
    ("tools", "hlograph"),
)
# What passes share; every other file and folder of codegen/passes/ is a pass.
SHARED = {
    *("registry", "rewriting", "report"),
    *("xla_bugs", "pad_sums", "factor_loops", "stepwise", "constants", "buckets"),
}
# Called by the plan for CPU, which knows more than a module says; not to be had by name.
NO_PASS = {"pack_results"}


@cache
def modules() -> dict[str, Path]:
    found = {}
    for folder in FOLDERS:
        for path in (REPOSITORY / folder).rglob("*.py"):
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path) -> Iterator[str]:
    """The names that a module imports, from the repository's folders, in full; they may be more than modules."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `..` of a top folder is the installed package, whose own files lie in hlograph/.
            full = ["hlograph", *package] if package[0] != "hlograph" else package
            base = full[: len(full) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


@cache
def graph() -> dict[str, frozenset[str]]:
    """Of each module those that it imports."""
    found = {}
    for name, path in modules().items():
        targets = set()
        for target in imported(name, path):
            short = target.removeprefix("hlograph.")
            target = short if short.split(".")[0] in FOLDERS else target
            while target and target not in modules():
                target = target.rpartition(".")[0]
            targets.add(target)
        found[name] = frozenset(targets - {"", name})
    return found


def floor(name: str) -> int:
    for number, names in enumerate(FLOORS):
        if any(name == x or name.startswith(f"{x}.") or (x.endswith("dims") and name.startswith(x)) for x in names):
            return number
    if name in FOLDERS or name == "codegen":
        return 0  # an empty `__init__`
    raise AssertionError(f"{name} stands on no floor")


def test_modules_import_from_their_floor_and_below() -> None:
    upward = {
        f"{name} -> {target}" for name, targets in graph().items() for target in targets if floor(target) > floor(name)
    }
    assert upward == set()


def test_there_are_no_circles() -> None:
    """Of modules that import each other, by way of others too."""
    TopologicalSorter(graph()).prepare()  # or says which


def pass_of(name: str) -> str:
    """The pass that a module is of, or is a part of; "" for none."""
    match = re.fullmatch(r"codegen\.passes\.(\w+)(?:\..*)?", name)
    return match[1] if match is not None and match[1] not in SHARED else ""


def test_a_pass_imports_no_other_pass() -> None:
    found = {
        f"{name} -> {target}"
        for name, targets in graph().items()
        for target in targets
        if pass_of(name) and pass_of(target) and pass_of(name) != pass_of(target)
    }
    assert found == set()


def test_a_pass_has_one_name() -> None:
    """Of the pass, of its file or folder, of its lit files and of its tests; none of the four lacks.

    Those against faults of XLA are functions of one file, with one file of tests.
    """
    ours = {name for name, found in PASSES.items() if not found.pipeline and not found.bug}
    lit = {path.name.partition("-")[0].partition(".")[0] for path in (REPOSITORY / "lit_tests/passes").iterdir()}
    tests = {path.stem.removeprefix("test_") for path in (REPOSITORY / "tests/codegen/passes").rglob("*")}
    files = {pass_of(name) for name in modules()} - NO_PASS - {""}
    assert files == ours
    assert ours - lit == set()
    assert ours - tests == set()
    assert not [name for name in ours if re.search(r"[^a-z_]", name)]


# What may stand only in certain files: a pattern, and where.
ONLY_IN = {
    "ops of StableHLO by name": (r"Operation\.create\(\s*\"(?:stablehlo|chlo)\.", r"codegen/(ir|builder)/"),
    "types": (r"RankedTensorType\.get\(", r"codegen/(ir|builder)/"),
    "jaxlib's private modules": (r"jaxlib(\.mlir)?\._|from jaxlib import _", r"codegen/ir/(bindings|jax_compat)\.py"),
    "jax's private modules": (r"jax\._src", r"codegen/ir/jax_(compat|tracing)\.py"),
    "classes of objects changed": (r"\.__class__ = ", r"(?!)"),
    "generated code": (r"(?<![\w.])(?:exec|eval)\(", r"runtime/calls/path\.py|tools/files\.py"),
}


@pytest.mark.parametrize("what", ONLY_IN)
def test_some_things_stand_in_one_place(what: str) -> None:
    pattern, places = ONLY_IN[what]
    found = set()
    for path in modules().values():
        file = str(path.relative_to(REPOSITORY))
        if not re.match(places, file) and re.search(pattern, path.read_text()) and re.search(pattern, _code(path)):
            found.add(file)
    assert found == set()


@cache
def _code(path: Path) -> str:
    """A file without its docstrings and comments."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree).replace("'", '"')


# The shelves of the house, and the lines that each may have. A budget may only fall: what comes in replaces something.
# A module stands on the first shelf whose pattern fits.
SHELVES = {
    "extras": (
        1_961,
        r"dialects/sparse/|.*aesara|codegen/passes/for_iree|codegen/sparse_parts|.*/(releases|versions)\.py",
    ),
    "cpu": (
        5_821,
        r"codegen/passes/(cpu_|pack_results|factor_loops|xla_bugs)|runtime/direct/|runtime/(c_function|wire)"
        r"|runtime/executables/(cpu_plan|direct_way|devices)",
    ),
    "deploy": (
        4_970,
        r"codegen/artifact/|runtime/(bundles|lowered)/|runtime/executables/stored|codegen/passes/\w+_linalg",
    ),
    "models": (3_959, r"runtime/(mode|samplers|pytensor)/|hlograph/(pymc|nutpie|pytensor)|dialects/random/"),
    "tools": (1_815, r"tools/"),
    "calls": (8_701, r"runtime/|hlograph/"),
    "rules": (11_102, r"dialects/"),
    "pad": (3_124, r"codegen/passes/pad/"),
    "passes": (8_057, r"codegen/passes/"),
    "core": (16_444, r"codegen/"),
}
TESTS = 56_618  # lines of tests/ and lit_tests/


def test_no_shelf_outgrows_its_budget() -> None:
    lines = dict.fromkeys(SHELVES, 0)
    for path in modules().values():
        file = str(path.relative_to(REPOSITORY))
        shelf = next(name for name, (_, pattern) in SHELVES.items() if re.match(pattern, file))
        lines[shelf] += len(path.read_text().splitlines())
    assert {name: found for name, found in lines.items() if found > SHELVES[name][0]} == {}


def test_tests_do_not_outgrow_their_budget() -> None:
    files = [path for room in ("tests", "lit_tests") for path in (REPOSITORY / room).rglob("*.*") if _is_text(path)]
    assert sum(len(path.read_text(errors="replace").splitlines()) for path in files) <= TESTS


def _is_text(path: Path) -> bool:
    return path.suffix in (".py", ".mlir", ".cfg", ".txt") and "__pycache__" not in path.parts


def test_files_are_not_longer_than_600_lines() -> None:
    long = {name for name, path in modules().items() if len(path.read_text().splitlines()) > 600}
    assert long == set()
