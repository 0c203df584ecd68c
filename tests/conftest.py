"""Settings that every test runs under: which platform JAX uses, where PyTensor compiles to, which tests need a GPU."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

# Both libraries read these once, at import, so they are set before any test module is imported. A value from outside
# wins: `JAX_PLATFORMS=cuda,cpu pytest -m gpu` runs the GPU tests. Each pytest worker compiles in a folder of its own,
# because PyTensor locks the folder while it compiles. PyTensor evaluates in Python: it would compile graphs with Numba,
# up to 20 s each, or ops with g++, to run them once; nor does it note for each variable which lines made it.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
_compiledir = Path(__file__).resolve().parent.parent / "build" / "pytensor" / _worker
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["HLOGRAPH_CACHE"] = "off"  # but for tests of it
os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={_compiledir},cxx=,linker=vm,traceback__limit=0")

# A first example compiles, the next ones do not: a time limit per example would fail by chance.
# The same examples in each run, and others every night: a rare one is found there, not by who changed something else.
settings.register_profile("hlograph", deadline=None, derandomize="HLOGRAPH_NIGHTLY" not in os.environ)
settings.load_profile("hlograph")


def pytest_configure() -> None:
    """Stops where the tests of one checkout would run the code of another, in an environment that both use."""
    from hlograph import codegen  # under `python -m pytest` the folder hlograph/ is this checkout's in any environment

    here, found = Path(__file__).resolve().parent.parent, Path(codegen.__file__).resolve().parent.parent
    if found != here:
        pytest.exit(f"these tests are {here}'s, but `import hlograph` finds {found}'s: run `make setup` here", 2)


@pytest.fixture
def jax_x64() -> Iterator[None]:
    """JAX with 64-bit types, as PyTensor's JAX mode and PyMC's JAX samplers set it; other tests keep their flag."""
    import jax

    config: Any = jax.config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    yield
    config.update("jax_enable_x64", before)


@pytest.fixture
def young_heap() -> Iterator[None]:
    """A collection of garbage looks at what the test makes alone; at all that a worker has, it takes up to a second."""
    gc.freeze()
    yield
    gc.unfreeze()


# Tests, by the start of their paths, of what is lowered and of how it is called. What XLA makes of a module is tested
# elsewhere, in those of them that follow, and in tests marked `optimized`.
UNOPTIMIZED = (
    "codegen/",
    "dialects/",
    "property/",
    "runtime/",
    "test_op_coverage.py",
    "test_outside.py",
    "test_readme.py",
    "tools/",
)
OPTIMIZED = (
    "codegen/passes/test_cpu_",
    "codegen/passes/test_triangles.py",
    "codegen/passes/test_xla_bugs.py",
    "property/test_cpu_plan.py",
    "property/test_direct_programs.py",
    "property/test_regressions.py",
)
# LLVM's optimizer takes half of XLA's time to compile.
FAST = {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 1}


@pytest.fixture(autouse=True)
def _fast_compiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA:CPU without LLVM's optimizer for most tests; with it in the others, and in all every night."""
    if "HLOGRAPH_NIGHTLY" in os.environ:
        return
    path = request.path.relative_to(Path(__file__).parent).as_posix()
    fast = path.startswith(UNOPTIMIZED) and not path.startswith(OPTIMIZED)
    fast = fast and not request.node.get_closest_marker("optimized")
    _jax_optimizes(not fast)
    if not fast:
        return
    from hlograph.runtime.executables import cpu_plan, devices

    def compile_options(program: Any, device: Any) -> dict[str, Any] | None:
        options = devices.compile_options(program, device)
        return options if devices.platform_of(device) != "cpu" else {**(options or {}), **FAST}

    monkeypatch.setattr(cpu_plan, "compile_options", compile_options)


def _jax_optimizes(wanted: bool) -> None:
    """Has JAX compile with LLVM's optimizer or without; then it forgets what it compiled the other way."""
    jax = sys.modules.get("jax")
    if jax is not None and jax.config.read("jax_disable_most_optimizations") == wanted:
        jax.config.update("jax_disable_most_optimizations", not wanted)
        jax.clear_caches()


@pytest.hookimpl(trylast=True)  # after `-k`: a case that was asked for runs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of `sampled` tests, and skips those marked `gpu` where JAX has no GPU."""
    _leave_out(config, items)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_gpu():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="JAX has no GPU here (or JAX_PLATFORMS hides it)"))


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with `sampled(n)` keeps one of each n cases in a row, but all of them every night.

    Which one of them, is as good as random (and always the same): every n-th would leave out whole parameters.
    """
    if "HLOGRAPH_NIGHTLY" in os.environ:
        return
    cases: Counter[str] = Counter()
    kept, left_out = [], []
    for item in items:
        marker = item.get_closest_marker("sampled")
        name = item.nodeid.partition("[")[0]
        chosen = True
        if marker is not None:
            (every,) = marker.args
            row, place = divmod(cases[name], every)
            chosen = place == (crc32(f"{name} {row}".encode()) % every if row else 0)
        (kept if chosen else left_out).append(item)
        cases[name] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _has_gpu() -> bool:
    """Whether JAX has one; it is asked only when there is such a test."""
    import jax

    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:  # JAX's way to say that there is no such platform
        return False
