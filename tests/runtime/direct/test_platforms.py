"""Direct calls on systems that are not here: object files of all of them, their C libraries, a self-test without Linux.

What LLVM makes for Windows (on x86-64) and macOS (on ARM) is loaded and run, too, as far as Linux can: with the calling
convention of that system, and with this C library behind it.
"""

import ctypes
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.runtime import object_files
from hlograph.runtime.direct import call, native_code, object_code, verdict
from hlograph.runtime.direct.call import DirectCall, compare, serialized
from hlograph.runtime.direct.executable import CpuExecutable
from hlograph.runtime.object_files import DirectCallRefused

llvm = pytest.importorskip("llvmlite.binding")
pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]

SYSTEMS = {  # LLVM's name, and what Python says there
    "x86_64-unknown-linux-gnu": ("linux", "x86_64"),
    "aarch64-unknown-linux-gnu": ("linux", "aarch64"),
    "arm64-apple-macosx": ("darwin", "arm64"),
    "x86_64-pc-windows-msvc": ("win32", "AMD64"),
}
# As XLA's kernels are: of one argument, the call frame; its fourth word is where addresses and sizes of buffers are.
KERNEL = """
declare double @log(double)
@table = private constant [2 x double] [double 2.5, double 2.5]
{more}
define ptr @"{name}"(ptr %frame) {{
  %at = getelementptr i64, ptr %frame, i64 3
  %buffers = load ptr, ptr %at
  %source = load ptr, ptr %buffers
  %second = getelementptr i64, ptr %buffers, i64 2
  %target = load ptr, ptr %second
  br label %turn
turn:
  %i = phi i64 [ 0, %0 ], [ %next, %turn ]
  %from = getelementptr double, ptr %source, i64 %i
  %x = load double, ptr %from
  %log = call double @log(double %x)
  %odd = and i64 %i, 1
  %entry = getelementptr [2 x double], ptr @table, i64 0, i64 %odd
  %factor = load double, ptr %entry
  %scaled = fmul double %log, %factor
  %to = getelementptr double, ptr %target, i64 %i
  store double %scaled, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %turn, label %end
end:
  ret ptr null
}}
"""


@pytest.fixture(autouse=True, scope="module")
def _targets() -> None:
    object_code.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def on(system: str, monkeypatch: pytest.MonkeyPatch) -> object_code.Platform:
    """As if this were another system."""
    name, machine = SYSTEMS[system]
    monkeypatch.setattr("sys.platform", name)
    monkeypatch.setattr("platform.machine", lambda: machine)
    return object_code.here()


def made(system: str, text: str = KERNEL, name: str = "kernel", more: str = "", **options: Any) -> bytes:
    """An object file for a system."""
    module = llvm.parse_assembly(text.format(name=name, more=more))
    module.triple = system
    machine = llvm.Target.from_triple(system).create_target_machine(opt=2, jit=True, **options)
    return bytes(machine.emit_object(module))


@pytest.mark.parametrize("system", SYSTEMS)
def test_names_in_object_files(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = on(system, monkeypatch)
    assert verdict.unsupported.__wrapped__() == ""
    more = "define internal void @hidden() { ret void }\ndefine void @second() { ret void }"
    has, needs = object_files.names(made(system, more=more), here.form)
    assert {name for name in has if not name.startswith("__real@")} == {"kernel", "second"}  # COFF's shared constants
    assert needs == {"log"}
    assert needs <= here.outside


VARIABLE = "@variable = global i64 0\ndefine i64 @add() { %x = load i64, ptr @variable\n ret i64 %x }"
COMMON = "@variable = common global i64 0\ndefine i64 @add() { %x = load i64, ptr @variable\n ret i64 %x }"
OF_THREADS = "@variable = thread_local global i64 1\ndefine i64 @add() { %x = load i64, ptr @variable\n ret i64 %x }"
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "variable": (VARIABLE, {}),
    "variable that is 0 at first": (COMMON, {}),
    "variable of each thread": (OF_THREADS, {"codemodel": "small"}),
    "short address": ("declare void @log()\ndefine void @f() { call void @log()\n ret void }", {"codemodel": "small"}),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("system", SYSTEMS)
def test_object_files_that_are_refused(what: str, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short addresses of functions elsewhere: LLVM makes a jump for those of ELF and COFF."""
    here = on(system, monkeypatch)
    text, options = REFUSED[what]
    data = made(system, text.replace("{", "{{").replace("}", "}}"), **options)
    if what == "short address" and system != "arm64-apple-macosx":
        assert object_files.names(data, here.form) == ({"f"}, {"log"})
        return
    with pytest.raises(DirectCallRefused, match=r"variables of its own|an address .* of an unknown kind"):
        object_files.names(data, here.form)


@pytest.mark.parametrize("system", SYSTEMS)
def test_damaged_object_files_are_refused_or_read(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, data, random = on(system, monkeypatch), made(system), np.random.default_rng(0)
    for other in set(SYSTEMS) - {system}:
        with pytest.raises(DirectCallRefused):
            object_files.names(made(other), here.form)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data[: random.integers(1, len(data) + 1)] if random.random() < 0.3 else data)
        for at in random.integers(0, len(damaged), 3):
            damaged[at] = random.integers(256)
        try:
            object_files.names(bytes(damaged), here.form)
        except DirectCallRefused:
            refused += 1
    assert refused > 50


def test_kernels_of_another_system_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Object files of Windows on x86-64, of macOS on ARM: read, loaded by LLVM, and run with PJRT's bits."""
    processor = object_code.here().mode
    system = {"mxcsr": "x86_64-pc-windows-msvc", "fpcr": "arm64-apple-macosx"}[processor]
    native, find = object_code.here(), object_code.c_function
    with jax.enable_x64(True):
        x = np.linspace(0.1, 4, 5)
        compiled = jax.jit(lambda x: jnp.log(x) * 2.5).lower(x).compile()
        executable = CpuExecutable.read(serialized(compiled))
        ((name,), _) = object_files.names(executable.objects[0], native.form)
        theirs = on(system, monkeypatch)
        monkeypatch.undo()
        here = theirs._replace(libraries=native.libraries, versions=native.versions)
        for module in ("object_code", "steps"):
            monkeypatch.setattr(f"hlograph.runtime.direct.{module}.here", lambda: here)
        if theirs.form[0] == "COFF":  # what is called from outside there, and calls outside
            monkeypatch.setattr(object_code, "c_function", lambda name: converted("double @f(double)", find(name)))
            monkeypatch.setattr(call, "IrCode", OfWindows)
        target = llvm.Target.from_triple(system)
        monkeypatch.setattr(llvm.Target, "from_default_triple", lambda: target)
        direct = DirectCall(dataclasses.replace(executable, objects=(made(system, name=name),)))
        compare(direct, compiled, [x])


KEPT: list[Any] = []  # code that is called


def converted(prototype: str, address: int, *, to_windows: bool = True) -> int:
    """A function in the calling convention of Windows that calls one of Linux, or the other way round."""
    result, name, rest = prototype.replace("(", " (").split(" ", 2)
    kind = rest.strip("()")
    ours, theirs = ("win64cc", "") if to_windows else ("", "win64cc")
    text = f"""define {ours} {result} {name}({kind} %x) {{
      %y = call {theirs} {result} inttoptr (i64 {address:d} to ptr)({kind} %x)
      ret {result} %y
    }}"""
    machine = llvm.Target.from_triple(llvm.get_default_triple()).create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    KEPT.append(engine)
    return int(engine.get_function_address(name.removeprefix("@")))


class OfWindows(object_code.IrCode):
    """Steps in the calling convention of Windows."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(
            converted("i32 @f(i64)", self.address, to_windows=False)
        )


class Library:
    """A C library that has some functions."""

    def __init__(self, names: str) -> None:
        self._functions = {name: ctypes.CFUNCTYPE(None)(lambda: None) for name in names.split()}

    def __getitem__(self, name: str) -> Any:
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(name) from None

    def address(self, name: str) -> int:
        return int(ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0)


LIBRARIES = {
    "x86_64-pc-windows-msvc": {
        "vcruntime140": Library("memcpy"),
        "ucrtbase": Library("memcpy log"),
        "ntdll": Library("__chkstk"),
    },
    "arm64-apple-macosx": {"/usr/lib/libSystem.B.dylib": Library("memcpy log __sincos_stret")},
}


@pytest.mark.parametrize("system", LIBRARIES)
def test_functions_of_the_c_library(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are jaxlib's: the first library that has one gives it, and a missing one is refused."""
    here, libraries = on(system, monkeypatch), LIBRARIES[system]
    monkeypatch.setattr(ctypes, "CDLL", lambda name, mode: libraries[name])
    for name in ("memcpy", "log", *(set(here.outside) & {"__chkstk", "__sincos_stret"})):
        (first, *_) = [library for library in libraries.values() if name in library._functions]
        assert object_code.c_function(name) == first.address(name)
    with pytest.raises(DirectCallRefused, match="this C library has no cosh"):
        object_code.c_function("cosh")

    def missing(name: str, mode: int) -> Any:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(DirectCallRefused, match="this system has no C library"):
        object_code.c_function("log")


WITHOUT_LINUX = """
import os, platform, signal, subprocess, sys
import jax, llvmlite.binding, scipy.linalg.cython_blas  # which ask the system for what this process loses now

machine = platform.machine()
sys.platform, platform.machine = {name!r}, lambda: {machine!r}
for owner, names in {missing!r}.items():
    for name in names:
        delattr(sys.modules[owner], name)
sys.modules["fcntl"] = None

from hlograph.runtime.direct import kept
from hlograph.runtime.direct import object_code, self_test, verdict

ours = object_code.PLATFORMS["linux", machine]
object_code.PLATFORMS[{name!r}, {machine!r}] = ours  # object files and libraries stay Linux's
assert not self_test.FORKS and not verdict.is_familiar() and not verdict.unsupported()
verdict.SELF_TEST = "-c", "print('first: direct call'); print('good 1: in another process')"
assert verdict.found() == "" and verdict.lines() == ["first: direct call", "good 1: in another process"]
print(kept.place(verdict.name()))
self_test.CHOSEN, self_test.OTHERS = dict([*self_test.CHOSEN.items()][:1]), 1
verdict.lines = list
self_test.run()
"""
# Of Windows.
ABSENT = {
    "os": ["fork", "geteuid", "nice", "killpg", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"],
    "signal": ["alarm", "SIGALRM"],
}


def test_a_self_test_without_what_linux_has(tmp_path: Path) -> None:
    name, machine = SYSTEMS["x86_64-pc-windows-msvc"]
    code = WITHOUT_LINUX.format(name=name, machine=machine, missing=ABSENT)
    known = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", verdict.SWITCH)}
    folders = {"LOCALAPPDATA": str(tmp_path), "HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=known | folders)
    assert done.returncode == 0, done.stderr[-2000:]
    place, *_, last = done.stdout.splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert re.fullmatch(r"good \d+: 3 of 3 programs are called directly, from threads too", last)


@pytest.mark.parametrize("system", ["x86_64-pc-windows-msvc", "arm64-apple-macosx"])
@pytest.mark.parametrize("name", ["calls.src", "blas.src"])
def test_our_own_code_on_other_systems(name: str, system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled for them, and its object files are such that they would be loaded there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native_code, "_PRIVATE", 0 if "windows" in system else 0x1002)
    here = on(system, monkeypatch)
    monkeypatch.setattr(llvm, "get_default_triple", lambda: system)
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "")
    monkeypatch.setattr(llvm, "get_host_cpu_features", llvm.targets.FeatureMap)
    has, needs = object_files.names(native_code.machine_code(name), here.form)
    assert "hlograph_sort" in has or "hlograph_gemm" in has
    own = {"mmap", "munmap"} if "windows" not in system else set()
    assert needs <= {"calloc", "dgemm", "dpotrf", "free", "malloc", "memcpy", "sgemm", "spotrf"} | own
