"""pytest plugin: PyTensor's or Aesara's own tests in hlograph's mode, as they are. `run.py` starts it.

Whatever names JAX's mode or linker gets ours (`--suite jax`), or ours is the default mode (other suites). Of each test
it is counted how many functions were compiled in our mode: one that compiles none says nothing of it. With
`--backend python` the default mode is PyTensor's own, which runs each op's Python: what is to be reached.
"""

import contextlib
import importlib
import json
import os
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from table import row_of

REPORT = Path(os.environ["CONFORMANCE_REPORT"])
BACKEND = os.environ["CONFORMANCE_BACKEND"]
LIBRARY = os.environ["CONFORMANCE_LIBRARY"]
INSTEAD_OF_JAX = BACKEND == "hlograph" and os.environ["CONFORMANCE_SUITE"] in ("jax", "aesara")


def module(path: str) -> Any:
    """A module of the library."""
    return importlib.import_module(f"{LIBRARY}.{path}")


@dataclass
class Running:
    """The test that runs.

    Attributes:
        kind: how it is read.
        compiled: functions that were compiled, by the linker's class.
        done, refused: blocks that say that JAX cannot do something, and what became of them here.
    """

    kind: str = ""
    compiled: Counter[str] = field(default_factory=Counter)
    done: int = 0
    refused: int = 0


running = Running()


# ---- the mode instead of JAX's --------------------------------------------------------------------------------------


def install() -> None:
    """Our mode wherever JAX's is named, or as the default."""
    compiling, modes = module("compile"), module("compile.mode")
    module("link.jax.dispatch")  # it sets JAX's x64 flag, on which the tests count
    config, JAXLinker = module("configdefaults").config, module("link.jax.linker").JAXLinker
    hlograph = importlib.import_module(f"hlograph.{LIBRARY}")
    python = module("link.vm").VMLinker(use_cloop=False, c_thunks=False)
    ours = hlograph.Mode() if BACKEND == "hlograph" else modes.Mode(python, "fast_run")
    try:
        maker = module("compile.maker")
    except ImportError:  # Aesara
        maker = module("compile.function.types")
    _count_compiled(maker)
    if not INSTEAD_OF_JAX:
        config.mode = ours
        return
    modes.predefined_modes["JAX"] = modes.JAX = compiling.JAX = ours
    modes.predefined_linkers["jax"] = ours.linker
    set_state = modes.Mode.__setstate__

    def with_our_linker(self: Any, state: Any) -> None:
        linker, optimizer = state
        if type(linker) is JAXLinker or linker == "jax":
            linker, optimizer = ours.linker.clone(), _without_jax(optimizer, ours.provided_optimizer)
        set_state(self, (linker, optimizer))

    modes.Mode.__setstate__ = with_our_linker


def _without_jax(query: Any, ours: Any) -> Any:
    """The rewrites that a test asks for, with ours in the place of those for JAX."""
    RewriteDatabaseQuery = module("graph.rewriting.db").RewriteDatabaseQuery
    if not isinstance(query, RewriteDatabaseQuery):
        return query
    own = [tag for tag in ours.include if tag not in ("fast_run", "fast_compile")]
    include = [tag for tag in query.include if tag != "jax"] + own
    exclude = [*query.exclude, *ours.exclude]
    return RewriteDatabaseQuery(
        include, query.require, exclude, query.subquery, query.position_cutoff, query.extra_rewrites
    )


def _count_compiled(maker: Any) -> None:
    get_mode = module("compile.mode").get_mode
    init = maker.FunctionMaker.__init__

    def counted(self: Any, inputs: Any, outputs: Any, mode: Any = None, *args: Any, **options: Any) -> None:
        running.compiled[type(getattr(get_mode(mode), "linker", None)).__name__] += 1
        init(self, inputs, outputs, mode, *args, **options)

    maker.FunctionMaker.__init__ = counted


# ---- `jax` and `pytest` in the test modules -------------------------------------------------------------------------


class _AnyArray(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return hasattr(x, "__array__") or isinstance(x, int | float | complex)


class AnyArray(metaclass=_AnyArray):
    """`jax.Array` in the tests: the mode returns NumPy arrays."""


class _Beside(types.ModuleType):
    """A module with some names of its own."""

    def __init__(self, module: types.ModuleType, **own: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(own, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)


@contextlib.contextmanager
def _either() -> Iterator[None]:
    """A block that may raise, but for wrong numbers."""
    try:
        yield
    except AssertionError:
        raise
    except Exception:
        running.refused += 1
    else:
        running.done += 1


@contextlib.contextmanager
def _quiet() -> Iterator[list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield []


def _raises(*args: Any, **options: Any) -> Any:
    from hlograph.errors import HlographError

    expected, *rest = args
    if running.kind in ("beyond", "partly") and not rest:
        return _either()
    if running.kind == "words":
        classes = expected if isinstance(expected, tuple) else (expected,)
        return pytest.raises((*classes, HlographError), *rest)
    return pytest.raises(expected, *rest, **options)


# What only JAX's linker has a reason to say.
_OF_JAX = re.compile(r"RandomType SharedVariables|compiled JAX graph|Split node does not have")


def _warns(*args: Any, **options: Any) -> Any:
    if _OF_JAX.search(str(options.get("match", "")).replace("\\", "")):
        return _quiet()
    return _either() if running.kind in ("beyond", "partly") else pytest.warns(*args, **options)


def _is_of_tests(name: str, module: Any) -> bool:
    """Whether a module holds tests; the folders of some are packages, and those of others are not."""
    file = getattr(module, "__file__", None) or ""
    return name.startswith("tests.") or file.startswith(str(Path.cwd() / "tests"))


def _dress(module: Any) -> None:
    if INSTEAD_OF_JAX and isinstance(getattr(module, "jax", None), types.ModuleType):
        module.jax = _Beside(module.jax, Array=AnyArray)
    if getattr(module, "pytest", None) is pytest:
        module.pytest = _Beside(pytest, raises=_raises, warns=_warns)


@pytest.fixture
def benchmark() -> Any:
    """Calls a function; what pytest-benchmark has by this name also measures it."""
    return lambda function, *args, **named: function(*args, **named)


# ---- what pytest calls ----------------------------------------------------------------------------------------------

_left_out: dict[str, str] = {}
_found: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(trylast=True)  # after PyTensor's conftest has set its flags
def pytest_sessionstart(session: Any) -> None:
    install()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    for name, module in list(sys.modules.items()):
        if BACKEND == "hlograph" and _is_of_tests(name, module):
            _dress(module)
    for item in items:
        kind, reason = row_of(item.nodeid, LIBRARY)[1:]
        if kind == "left out":
            _left_out[item.nodeid] = reason
        elif kind == "beyond":
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "xfail"]
    gone = [item for item in items if item.nodeid in _left_out]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item.nodeid not in _left_out]
    for item in items:
        _found[item.nodeid] = {"outcome": "not run"}  # by a process that has ended before


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    config = module("configdefaults").config
    global running
    running = Running(row_of(item.nodeid, LIBRARY).kind)
    default = config.change_flags(mode="JAX") if running.kind == "default" else contextlib.nullcontext()
    with default:
        yield
    used = running.compiled["StableHLOLinker" if BACKEND == "hlograph" else "VMLinker"]
    item.user_properties.append(("conformance", {"used": used, "done": running.done, "refused": running.refused}))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if call.excinfo is not None and report.failed:
        words = " ".join(f"{call.excinfo.typename}: {call.excinfo.value}".split())
        report.user_properties.append(("error", words[:400]))


def pytest_runtest_logreport(report: Any) -> None:
    found = _found.setdefault(report.nodeid, {})
    said = dict(report.user_properties)
    found.update(said.get("conformance", {}))
    if report.failed:
        found.update(outcome="failed", error=said.get("error", ""))
    elif report.skipped:
        found["outcome"] = "expected to fail" if hasattr(report, "wasxfail") else "skipped"
    elif report.when == "call":
        found["outcome"] = "passed"
    if report.when == "teardown" and not os.environ.get("PYTEST_XDIST_WORKER"):
        REPORT.write_text(json.dumps({"left_out": _left_out, "results": _found}, indent=1))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["conformance"] = json.dumps([_left_out, list(_found)])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """What a worker of pytest-xdist has left out."""
    left_out, collected = json.loads(getattr(node, "workeroutput", {}).get("conformance", "[{}, []]"))
    _left_out.update(left_out)
    for name in collected:
        _found.setdefault(name, {"outcome": "not run"})
    REPORT.write_text(json.dumps({"left_out": _left_out, "results": _found}, indent=1))
