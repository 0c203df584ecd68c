"""The list of private names against the source and against the releases that are installed; kernels that plans need."""

import ast
import re
from pathlib import Path

import kernels
import private_names
import pytest
from private_names import NAMES, Name, state

from hlograph.codegen.ir.jax_compat import proven_jaxlib

REPOSITORY = Path(__file__).resolve().parent.parent
LIBRARIES = re.compile(r"\bfrom (jax|jaxlib|pytensor|aesara)\b")
FOLDERS = ("codegen", "dialects", "hlograph", "runtime", "tools")


def imported() -> set[str]:
    """Each `module:name` that our source imports from a private module, or that is private itself, of the libraries."""
    found = set()
    for folder in FOLDERS:
        for file in (REPOSITORY / folder).rglob("*.py"):
            text = file.read_text()
            for node in ast.walk(ast.parse(text)) if LIBRARIES.search(text) else ():
                if not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
                    continue
                if not LIBRARIES.match(f"from {node.module} "):
                    continue
                for alias in node.names:
                    if any(part.startswith("_") for part in (*node.module.split("."), alias.name)):
                        found.add(f"{node.module}:{alias.name}")
    return found


def test_what_is_imported_is_listed() -> None:
    """`from jax._src import core` counts as listed when something of `jax._src.core` is."""
    listed = [path.replace(":", ".") + "." for name in NAMES for path in name.paths]
    missing = [path for path in imported() if not any(x.startswith(path.replace(":", ".") + ".") for x in listed)]
    assert imported()
    assert missing == []


def test_the_users_are_there() -> None:
    for name in NAMES:
        for file in (part for part in name.used_by.replace(",", " ").split() if part.endswith(".py")):
            assert (REPOSITORY / file).is_file(), name


def test_states() -> None:
    def of(*paths: str, **more) -> str:
        return state(Name(paths, "", "", **more))

    assert of("jaxlib.mlir.ir:Module") == "ok"
    assert of("jaxlib.no_such_module:x") == of("jax:no_such_name") == of("compiled:_executable.no_such_name") == "gone"
    assert of("jax:no_such_name", "jax:jit") == "ok"
    assert of("jaxlib.xla_client:make_cpu_client", fits=private_names._takes("no_such_parameter")) == "changed"


@pytest.mark.skipif(not proven_jaxlib(), reason="`make canary` is for a jaxlib that nobody has tried")
def test_the_names_without_which_nothing_works_are_there() -> None:
    assert [name for name in NAMES if name.without.startswith("nothing works") and state(name) != "ok"] == []


@pytest.mark.skipif(not proven_jaxlib(), reason="`make canary` is for a jaxlib that nobody has tried")
def test_one_kernel_plans_form() -> None:
    plain, small = kernels.counts()
    assert small == 1 < plain
    assert "one-kernel plans form" in kernels.line()
