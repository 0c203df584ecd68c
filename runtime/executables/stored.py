"""Executables that were compiled before and kept in a file, see `runtime/bundles/`.

In: a description of each, and what reads its bytes. Out: `StoredExecutable`, which serves calls by what was loaded, and
compiles as any other one where that does not fit. Decision to know: what is loaded is machine code. It is loaded only
on the kind of machine, and with the releases, that made it (`Machine`), and whoever opened the file has vouched for it.
Loading refuses rather than fails: XLA may refuse its own code on some processors.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import jax

from ...codegen import forks
from ...codegen.ir import jax_compat
from ...codegen.passes.pack_results import PackedResult
from ...codegen.signature import Signature
from ..calls.arguments import converted
from ..calls.from_numpy import Way
from .compiling import Check, by_jax, is_single, lies_in_memory, numpy_calls, outside, unpacked
from .devices import default_device, is_synchronous, platform_of
from .direct_way import DirectWay
from .executable import Executable
from .policy import Plan, PlanKey
from .prepared import PreparedProgram


@dataclass(frozen=True)
class Machine:
    """Where an executable runs: all of it must be the same where it is loaded.

    Attributes:
        platform: JAX's name of it.
        kind: of the device.
        runtime: the platform's version, as its client has it.
        processor: see `jax_compat.processor`.
        flags: XLA's, of the environment.
        jaxlib, hlograph: releases.
    """

    platform: str
    kind: str
    runtime: str
    processor: str
    flags: str
    jaxlib: str
    hlograph: str

    @staticmethod
    def of(device: Any) -> Machine:
        """That of a device."""
        return Machine(
            platform_of(device),
            str(device.device_kind),
            str(device.client.platform_version),
            jax_compat.processor(device),
            os.environ.get("XLA_FLAGS", ""),
            version("jaxlib"),
            version("hlograph"),
        )

    def difference(self, other: Machine) -> str:
        """What does not fit another machine; "" where all does."""
        names = {"platform": "the platform", "kind": "the device", "runtime": "the runtime", "flags": "XLA_FLAGS"}
        for name in ("platform", "hlograph", "jaxlib", "kind", "runtime", "flags"):
            mine, others = getattr(self, name), getattr(other, name)
            if mine != others:
                return f"it is for {names.get(name, name)} {mine!r}, and here is {others!r}"
        return "" if self.processor == other.processor else "it is for another processor"


@dataclass(frozen=True)
class Kept:
    """What a part of a file holds of an executable, as a pickle: it is as trusted as the machine code in it.

    Attributes:
        name, signature: of the static program that was compiled.
        places: where the results are in what it returns; None where each is one.
        direct: whether it may be called without PJRT.
        lapack: whether it may call LAPACK.
        notes: a line on each decision.
        data: what `jax.experimental.serialize_executable.serialize` gives.
    """

    name: str
    signature: Signature
    places: tuple[PackedResult, ...] | None
    direct: bool
    lapack: bool
    notes: tuple[str, ...]
    data: tuple[bytes, Any, Any]


@dataclass
class Stored:
    """One executable in a file.

    Attributes:
        sizes: what it is for.
        machine: where it runs.
        synchronous: whether it is for the synchronous client.
        numpy: whether it is for calls with NumPy arrays.
        compile_seconds: what it took to make it.
        read: gives the pickle of its `Kept`; raises `ArtifactError` where the bytes are damaged.
        refusal: why it is not loaded here; "" while nothing is known.
        state: a line on what became of it.
    """

    sizes: Plan
    machine: Machine
    synchronous: bool
    numpy: bool
    compile_seconds: float
    read: Callable[[], bytes]
    refusal: str = ""
    state: str = field(default="not called yet")

    def load(self, device: Any) -> tuple[Kept, Any] | str:
        """It on a device, as a `jax.stages.Compiled`; or why not."""
        reason = self.refusal or self._misfit(device)
        if not reason:
            from jax.experimental import serialize_executable

            try:
                kept: Kept = pickle.loads(self.read())
                if kept.lapack:
                    jax_compat.initialize_lapack()
                where: Any = {"backend": device.client, "execution_devices": [device]}
                return kept, serialize_executable.deserialize_and_load(*kept.data, **where)
            except jax.errors.JaxRuntimeError as error:
                reason = f"XLA refuses it: {_first_line(error)}"
            except Exception as error:  # whatever its bytes say
                reason = f"it cannot be read: {_first_line(error)}"
        self.refusal = reason
        return reason

    def _misfit(self, device: Any) -> str:
        config: Any = jax.config
        if config.jax_debug_nans or config.jax_debug_infs:
            return "JAX looks for NaN in every result"
        if is_synchronous(device) != self.synchronous:
            return "it is for another client"
        if forks.was_forked():
            return "this process was forked"
        return self.machine.difference(Machine.of(device))


Shelf = Mapping[PlanKey, Stored]  # the executables of one function that were kept, by the keys of their plans


class StoredExecutable(Executable):
    """One that is loaded in place of compiled, where it fits.

    Args:
        stored: what is loaded.
        others: as those of `Executable`.
    """

    def __init__(self, stored: Stored, *others: Any) -> None:
        super().__init__(*others)
        self._stored, self._loaded = stored, False
        self._make: tuple[Callable[[], PreparedProgram], Callable[[Signature], Check]]

    @property
    def _told(self) -> tuple[str, ...]:
        refusal = self._stored.refusal
        return (f"not out of the bundle: {refusal}" if refusal else "out of a bundle", *super()._told)

    def prepare(self, make: Callable[[], PreparedProgram], check: Callable[[Signature], Check]) -> None:
        """Loads, where nothing has been prepared yet; compiles later where that is refused."""
        with self._lock:
            self._make = make, check
            if not self._loaded and not self._prepared:
                self._load(check)
        if not self._loaded:
            super().prepare(make, check)

    def compile_and_call(self, *args: Any) -> Any:
        """A call that the loaded executable cannot take: of tracers, or with arrays on other devices."""
        super().prepare(*self._make)
        return super().compile_and_call(*args)

    def _load(self, check: Callable[[Signature], Check]) -> None:
        start = time.perf_counter()
        stored, numpy = self._stored, self._numpy
        device = self._device if self._device is not None else default_device()
        found = stored.load(device)
        if isinstance(found, str):
            stored.state = f"compiled: {found}"
            return
        kept, loaded = found
        self.name, self.signature, self.checks = kept.name, kept.signature, kept.signature.checks
        self._check, self.notes = check(kept.signature), kept.notes
        calls = None
        direct = numpy is not None and jax_compat.execution(loaded, proven=False) is not None
        if numpy is None or not direct or not lies_in_memory(self.signature, device):
            call = self._in_jax(kept, loaded)
            call = call if numpy is None else by_jax(call, self.signature, numpy, None)
            way = Way(call, call)
        else:
            calls = numpy_calls(loaded, self.signature, numpy, kept.places, device, self._check)
            way = calls.way()

        def settle() -> None:
            if calls is None:
                self.use(way)
                return
            refusal = "" if kept.direct and self._options.direct is not False else "not for this executable"
            self._direct = DirectWay(self.name, calls, self._options, len(kept.data[0]), self.use, refusal)
            self._direct.begin()

        def at_first(run: Callable[..., Any]) -> Callable[..., Any]:
            """The first call tells whether XLA runs it, too; where it does not, it is left for a compile."""

            def call(*args: Any) -> Any:
                try:
                    outputs = run(*args)
                except jax.errors.JaxRuntimeError as error:
                    with self._lock:
                        if self._loaded:
                            stored.refusal = f"XLA does not run it: {_first_line(error)}"
                            stored.state = f"compiled: {stored.refusal}"
                            self._loaded = False
                            self.use(Way(self.compile_and_call, self.compile_and_call, ready=False))
                    return self.way.run(*args)
                with self._lock:
                    if self.way is first:
                        settle()
                return outputs

            return call

        first = Way(at_first(way.run), at_first(way.trusting))
        self.use(first)
        self._loaded = True
        stored.state = f"loaded in {1e3 * (time.perf_counter() - start):.1f} ms"
        self.account.loaded.increment()

    def _in_jax(self, kept: Kept, loaded: Any) -> Callable[..., Any]:
        """From arrays to JAX arrays."""
        arguments = self.signature.arguments
        dtypes = [argument.dtype for argument in arguments]

        def in_jax(*args: Any) -> Any:
            given = args if [getattr(x, "dtype", None) for x in args] == dtypes else converted(arguments, args)
            try:
                found = outside(lambda: loaded(*given))
            except (TypeError, ValueError):  # tracers, arrays on other devices or of other shapes
                return self.compile_and_call(*args)
            outputs = unpacked(kept.places, jax.tree.leaves(found))
            return outputs[0] if is_single(self.signature) else tuple(outputs)

        return in_jax


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
