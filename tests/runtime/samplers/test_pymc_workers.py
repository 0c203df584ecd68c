"""Processes that PyMC's samplers start: forked where functions need no threads, and none that runs a script again."""

import multiprocessing
import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.ops import wrap_py
from pytensor.tensor.fft import rfft

import hlograph

pm = pytest.importorskip("pymc", minversion="6.3")

from pymc_models import regression  # noqa: E402

import hlograph.pymc  # noqa: E402
from hlograph.runtime.samplers import hooks as workers  # noqa: E402

FORKS = pytest.mark.skipif(
    multiprocessing.get_start_method() != "fork" or platform.machine() not in ("x86_64", "AMD64"),
    reason="processes are forked where that is the default, and functions called directly on x86",
)
QUICK: dict[str, Any] = {"progressbar": False, "random_seed": 3, "compute_convergence_checks": False}
MODE = {"compile_kwargs": {"mode": "STABLEHLO"}}


def sampled(make: Callable[[], Any], count: bool = False, **options: Any) -> Any:
    with regression(count):
        return pm.sample(
            30, **{"tune": 30, "chains": 2, "step": make(), "nuts_sampler": "pymc", **MODE, **QUICK, **options}
        )


STEPS: dict[str, Callable[[], Any]] = {
    "NUTS": lambda: None,
    "Metropolis": lambda: pm.Metropolis(**MODE),
    "Slice": lambda: pm.Slice(**MODE),
    "Gibbs": lambda: None,
    "steps in steps": lambda: (
        [pm.Metropolis([x], **MODE) for x in pm.modelcontext(None).free_RVs[:1]]
        + [pm.Metropolis(pm.modelcontext(None).free_RVs[1:], **MODE)]
    ),
}


@FORKS
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", STEPS)
def test_functions_that_are_called_directly_run_in_forked_processes(name: str, monkeypatch: Any) -> None:
    """With what shared variables hold there, from the first call on; the draws are those of one process."""
    found: list[str] = []
    fitting = workers._fitting
    monkeypatch.setattr(workers, "_fitting", lambda *args: found.append(fitting(*args)) or found[-1])
    several, one = (sampled(STEPS[name], count=name in ("Gibbs", "steps in steps"), cores=cores) for cores in (2, 1))
    assert [context.get_start_method() for context in found] == ["fork"]
    for variable in one.posterior:
        np.testing.assert_array_equal(several.posterior[variable], one.posterior[variable])


@FORKS
@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_step_in_the_mode_beside_another_mode() -> None:
    """PyMC is not told of the mode, and forks."""
    with regression():
        found = pm.sample(20, tune=20, chains=2, cores=2, step=pm.Metropolis(**MODE), **QUICK)
    assert np.isfinite(found.posterior.slopes).all()


def in_fft() -> Any:
    with pm.Model() as made:
        spectrum = rfft(pm.Normal("b", shape=(1, 8)))
        pm.Normal("y", spectrum.sum(), 1, observed=2.0)
    return made


def test_functions_that_need_threads_are_not_forked(monkeypatch: Any) -> None:
    """By PyMC's choice they get others; who insists on a fork is warned."""
    monkeypatch.setattr(workers.multiprocessing, "get_start_method", lambda: "fork")
    with in_fft() as made:
        step = pm.Metropolis(**MODE)
    point = made.initial_point()
    work = [*workers._works(step)]
    context = multiprocessing.get_context("spawn")
    chosen = workers.Workers(context, given=False)
    assert workers._fitting(chosen, work, point) is chosen
    if "fork" in multiprocessing.get_all_start_methods():
        given = workers.Workers(multiprocessing.get_context("fork"), given=True)
        with pytest.warns(UserWarning, match="not called directly.*wait forever"):
            assert workers._fitting(given, work, point) is given


def test_what_pymc_chooses() -> None:
    from pymc.sampling.parallel import _initialize_multiprocessing_context as context

    for mode, given, wanted in [
        ("STABLEHLO", None, {"forkserver", "spawn"}),
        (hlograph.Mode(), "spawn", {"spawn"}),
        ("FAST_COMPILE", None, {multiprocessing.get_start_method()}),
    ]:
        assert context(given, mode=mode).get_start_method() in wanted
    with pytensor.config.change_flags(mode="STABLEHLO"):
        assert isinstance(context(None), workers.Workers)


class OfMain(ValueError):
    """What a script defines, once its module is the main one."""


@pytest.fixture
def main(monkeypatch: Any) -> Any:
    """A script without a main guard, as the main module; a function of it that is an op, and its class of errors."""
    made = ModuleType("__main__")
    made.__file__ = __file__
    square = wrap_py([pt.dvector], [pt.dvector])(_square)
    monkeypatch.setattr(_square, "__module__", "__main__")
    monkeypatch.setattr(OfMain, "__module__", "__main__")
    vars(made).update(square=square, OfMain=OfMain)
    monkeypatch.setitem(sys.modules, "__main__", made)
    return made


def _square(values: Any) -> Any:
    return values**2


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_worker_imports_no_main_module(method: str, main: Any, monkeypatch: Any) -> None:
    """It gets PyTensor's configuration and the rules of the process that starts it."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("there is no such start method here")
    context = multiprocessing.get_context(method)
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(
        context.Process, "_Popen", staticmethod(lambda p: told.append(multiprocessing.spawn.get_preparation_data("w")))
    )
    assert "init_main_from_path" in multiprocessing.spawn.get_preparation_data("w")
    seen: list[Any] = []
    with pytensor.config.change_flags(floatX="float32"):
        process = workers.Workers(context, given=False).Process(
            target=lambda x: seen.append((x, pytensor.config.floatX)), args=(3,), daemon=True
        )
    process._Popen(process)
    assert told
    assert not [name for data in told for name in data if "main" in name]
    with pytensor.config.change_flags(floatX="float64"):
        process.run()
    assert seen == [(3, "float32")]


def test_what_a_script_defines_goes_along_by_value(main: Any, monkeypatch: Any) -> None:
    """Functions that are ops, and errors, which are of the same class again where they came from."""
    x = pt.dvector()
    payload = cloudpickle.dumps(main.square(x))
    error = cloudpickle.dumps(pm.sampling.parallel.ExceptionWithTraceback(OfMain("why"), None))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    op = pickle.loads(payload).owner.op
    np.testing.assert_array_equal(op.make_node(x).outputs[0].eval({x: [3.0]}, mode="FAST_COMPILE"), [9.0])
    with pytest.raises(OfMain, match="why"):
        raise pickle.loads(error)


def test_python_of_unknown_shapes_is_not_forked(main: Any) -> None:
    with pm.Model() as model:
        pm.Potential("p", -main.square(pm.Normal("b", shape=2)).sum())
        step = pm.Metropolis(**MODE)
    reason = [workers._refusal(*each, model.initial_point()) for each in workers._works(step)]
    assert any("Python" in text for text in reason)


def test_a_population_is_stepped_in_one_process() -> None:
    """PyMC would fork, and compile there."""
    assert np.isfinite(sampled(lambda: pm.DEMetropolis(**MODE), chains=4, cores=2).posterior.slopes).all()


PLAIN = """
print("once")
import warnings
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.ops import wrap_py
import hlograph.pymc

@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
def square(x):
    return x**2

QUICK = {"chains": 2, "cores": 2, "progressbar": False, "backend": "STABLEHLO"}
with pm.Model():
    pm.Normal("y", pm.Poisson("k", 3), 1, observed=2.0)
    print("forked", pm.sample(50, tune=50, **QUICK).posterior.k.shape)
with pm.Model():
    pm.CustomDist("y", pm.Normal("m"), logp=lambda y, m: -0.5 * (y - m) ** 2, observed=np.ones(3))
    print("smc", pm.sample_smc(20, **QUICK).posterior.m.shape)
with pm.Model():
    pm.Potential("p", -square(pm.Normal("b", shape=2)).sum())
    print("black box", pm.sample(50, tune=50, **QUICK).posterior.b.shape)
"""
WAYS = {
    "a file": lambda path: {"args": [sys.executable, str(path)]},
    "-c": lambda path: {"args": [sys.executable, "-c", PLAIN]},
    "standard input": lambda path: {"args": [sys.executable], "input": PLAIN},
}


@FORKS
@pytest.mark.skipif("HLOGRAPH_NIGHTLY" not in os.environ, reason="other processes import PyMC")
@pytest.mark.parametrize("way", WAYS)
def test_a_plain_script(way: str, tmp_path: Path) -> None:
    """Without a main guard: functions that are called directly, a sampler that compiles in its workers, and Python."""
    path = tmp_path / "plain.py"
    path.write_text(PLAIN)
    found = subprocess.run(**WAYS[way](path), capture_output=True, text=True, timeout=300)
    assert found.stdout.split("\n")[:4] == ["once", "forked (2, 50)", "smc (2, 20)", "black box (2, 50, 2)"], (
        found.stderr
    )
