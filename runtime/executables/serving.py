"""What serves a function's calls, by their sizes: found, or made when sizes are new.

In: a program, how it is compiled, and the sizes of a call. Out: an `Executable` for exactly these sizes, or an
`Adapter` to the one of their bucket; and the results of the call that met them first. The least recently used
executables are dropped. Decisions to know: `entries` is read by the code of calls without a lock; whoever changes it
holds the lock. An op without a padding rule is found when a bucket is made; from then on the sizes concerned are met
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import jax

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.errors import ArgumentShapeError, PaddingError, PolicyError
from ...codegen.passes.buckets import OFTEN, Tally
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from ...codegen.signature import CheckSpec
from ..calls.arguments import key_of
from ..options import CompileOptions
from .devices import choose_device, is_sharded, platform_of
from .executable import Account, Executable
from .padding import Adapter, exact_check, padded_check
from .policy import Plan, Policies, above_bound
from .prepared import PreparedProgram, pending_size, prepare
from .stats import Counter, ExecutableStats
from .stored import Shelf, StoredExecutable

Key = tuple[int, ...]  # the sizes and values that decide on the executable of a call
Entry = Executable | Adapter

_KNOWN_CALLS = 4096  # sets of sizes on padded executables that are remembered


class Serving:
    """What serves a function's calls.

    Args:
        program, options: the function's.
        shelf: executables that were compiled before.
        device: where it runs, None for JAX's default.
        x64: a context in which executables are called.
        tell: called when what serves an executable's calls is another function than before, and, with the lock held,
            when an executable is dropped.

    Attributes:
        entries: what serves calls by key: an exact executable, or an adapter to a padded one.
        lock: held while anything changes.
        policies: how each size is met.
        account: what the executables count.
        misses: calls with sizes that were new.
    """

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        shelf: Shelf,
        device: Any,
        *,
        x64: Callable[[], Any],
        tell: Callable[[], None],
    ) -> None:
        self.entries: dict[Key, Entry] = {}
        self.lock = forks.lock()
        self.policies = Policies(options.policy, program.signature)
        self.account, self.misses = Account(tell), Counter()
        self._program, self._signature, self._options, self._shelf = program, program.signature, options, shelf
        self._device, self._x64, self._tell = device, x64, tell
        self._executables: dict[Any, Executable] = {}
        self._prepared: dict[Key, PreparedProgram] = {}
        self._tallies: dict[tuple[int, ...], Tally] = {}
        for stored in shelf.values():
            self.policies.keeps(stored.sizes.bounds)
        self._without_threads: list[object] = []
        forks.watch(self)

    @cached_property
    def _runs_on(self) -> Any:
        return choose_device(self._options.cpu, self._device, numpy=self._options.numpy is not None)

    def known(self, args: Sequence[Any]) -> Entry | None:
        """What there is for arguments that a call has had."""
        return self.entries.get(key_of(self._signature, args))

    def exact(self, args: Sequence[Any]) -> Executable | None:
        """The executable for exactly such arguments, which a call has had; None before the first one."""
        entry = None if self._signature.has_data_sizes else self.known(args)
        return entry if isinstance(entry, Executable) and entry.way.ready else None

    def prepared(self, sizes: Mapping[str, int]) -> PreparedProgram:
        """The program for these sizes, as what the primitive puts into other modules; see `prepare`."""
        key = self._key(sizes)
        with self.lock:
            found = self._prepared.get(key)
        if found is None:
            found = prepare(self._program, sizes, self._options.passes)
            with self.lock:
                while len(self._prepared) >= self._options.cache_size:
                    del self._prepared[next(iter(self._prepared))]
                found = self._prepared.setdefault(key, found)
        return found

    def _key(self, sizes: Mapping[str, int]) -> Key:
        return tuple(sizes[root.name] for root in self._signature.roots)

    # ---- the first call ---------------------------------------------------------------------------------------------

    def first_call(self, sizes: dict[str, int], args: Sequence[Any], number: int) -> tuple[tuple[CheckSpec, ...], Any]:
        """A call with sizes that are new: plans how they are met, and runs; compiles if need be.

        Args:
            sizes: its.
            args: those of shared variables included.
            number: of the call.

        Returns:
            The checks whose flags come last, and the results.
        """
        self.misses.increment()
        key = self._key(sizes)
        traced = any(isinstance(x, jax.core.Tracer) for x in args)
        plan, entry = self._entry(key, sizes, number, traced or any(map(is_sharded, args)))
        if isinstance(entry, Adapter):
            adapter = entry if traced else self._remember(key, entry, sizes)
            return adapter.checks, self._run_first(adapter.executable, adapter.run, args)
        self.policies.warn_of_recompilation(self._program.name, self._signature, plan)

        def run(*args: Any) -> Any:
            self._prepare(entry, sizes)
            return entry.way.run(*args)

        outputs = self._run_first(entry, run, args)
        return entry.checks, outputs

    def _run_first(self, executable: Executable, run: Callable[..., Any], args: Sequence[Any]) -> Any:
        """A call that may compile; leaves nothing half-built behind."""
        with self._x64():
            try:
                return run(*args)
            except BaseException as error:
                if not isinstance(error, FloatingPointError):  # that is about what it returned
                    self._forget(executable)
                raise

    # ---- making -----------------------------------------------------------------------------------------------------

    def planned(self, sizes: Mapping[str, int], *, exact: bool) -> Plan:
        """How sizes are handled: exactly, where there is an executable for them that was kept."""
        kept = None if self._signature.has_data_sizes else self._shelf.get(Plan(sizes, {}).key)
        try:
            return self.policies.plan(sizes, exact=exact or (kept is not None and not kept.refusal))
        except PolicyError as error:
            raise above_bound(self._signature, error) from None

    def _entry(self, key: Key, sizes: dict[str, int], number: int, exact: bool) -> tuple[Plan, Executable | Adapter]:
        """What serves calls with these sizes, made if it is new: an executable for them is not prepared yet."""
        while True:
            plan = self.planned(sizes, exact=exact)
            if not plan.bounds and not self._signature.has_data_sizes:
                exactly = Plan(sizes, {})
                return plan, self._executable(exactly, number, key)
            try:
                return plan, self._adapter(plan, sizes, number)
            except PaddingError as error:
                if not self.policies.refuse(self._program.name, error):
                    raise  # all sizes are exact as it is

    def _prepare(self, executable: Executable, sizes: dict[str, int]) -> None:
        shared = len(self._program.bindings)
        executable.prepare(lambda: self.prepared(sizes), lambda _: exact_check(self._signature, shared, sizes))

    def _adapter(self, plan: Plan, sizes: Mapping[str, int], number: int) -> Adapter:
        """What these sizes need on the executable of their bucket, which is made if it is new."""
        executable = self._bucket(plan, number)

        def second_stage(name: str, count: int) -> Adapter:
            """Goes on where a size from data is known; it has its own bucket."""
            try:
                bound = self.policies.bound(name, count)
            except PolicyError as error:
                raise ArgumentShapeError(str(error)) from None
            return self._adapter(Plan(plan.exact, {**plan.bounds, name: bound}), sizes, number)

        numpy = self._options.numpy is not None
        return Adapter(executable, self._signature, sizes, self._runs_on, second_stage, numpy=numpy)

    def _bucket(self, plan: Plan, number: int) -> Executable:
        executable = self._executable(plan, number)
        recipe = Recipe(plan.exact, plan.bounds, self._options.passes, platform_of(self._runs_on))
        try:
            executable.prepare(lambda: PreparedProgram(recipe.sized(self._program), recipe), padded_check)
        except BaseException:
            self._forget(executable)
            raise
        return executable

    def _executable(self, plan: Plan, number: int, key: Key | None = None) -> Executable:
        """The executable of a plan, made if it is new, but not prepared; it serves calls of a key from now on."""
        with self.lock:
            found = self._executables.get(plan.key)
            if found is None:
                self._make_room()
                options, device = self._options, self._runs_on
                # Of what is padded, calls give a copy, which may be kept.
                dims = {i: self._signature.arguments[i].dims for i in sorted(options.donated)}
                donated = [i for i in dims if all(dimension.roots(dim) <= plan.exact.keys() for dim in dims[i])]
                if (stored := self._shelf.get(plan.key)) is None and options.numpy is not None:
                    from .stored_cache import entry  # which a bundle need not import

                    stored = entry(self._program, options, plan, device, donated)
                how = plan, self.account, options.cpu, device, options.numpy
                found = Executable(*how) if stored is None else StoredExecutable(stored, *how)
                found.donated = donated
                self._executables[plan.key] = found
            if key is not None:
                self.entries[key] = found
            found.used = number
            return found

    # ---- before the first call --------------------------------------------------------------------------------------

    def warmed(
        self, sizes: dict[str, int], counts: Mapping[str, Sequence[int]], bucket: Plan | None, number: int
    ) -> Iterator[Executable]:
        """What calls with these sizes run on, prepared and known to them, or the executables of a bucket alone.

        Args:
            sizes: of a call.
            counts: bounds of sizes that are computed from data.
            bucket: the plan of one, if that is all that is wanted.
            number: of the last call.
        """
        if bucket is None:
            bucket, entry = self._entry(self._key(sizes), sizes, number, False)
            if isinstance(entry, Executable):
                self._prepare(entry, sizes)
                yield entry
                return
            self._remember(self._key(sizes), entry, sizes)
        yield from self._stages(bucket, counts, number)

    def _stages(self, plan: Plan, counts: Mapping[str, Sequence[int]], number: int) -> Iterator[Executable]:
        """What calls with a plan run on, of which sizes from data have these bounds."""
        from ..warming import bounds_of

        executable = self._bucket(plan, number)
        yield executable
        pending = pending_size(executable.signature)
        for bound in bounds_of(pending, counts) if pending else ():
            yield from self._stages(Plan(plan.exact, {**plan.bounds, pending: bound}), counts, number)

    # ---- what is kept -----------------------------------------------------------------------------------------------

    def _remember(self, key: Key, adapter: Adapter, sizes: Mapping[str, int]) -> Adapter:
        """Keeps what these sizes need, unless another thread has just done so; the one that is kept."""
        with self.lock:
            known = self.entries.get(key)
            if isinstance(known, Adapter) and known.executable is adapter.executable:
                return known
            if len(self.entries) >= _KNOWN_CALLS + self._options.cache_size:
                self._forget_calls(lambda entry: isinstance(entry, Adapter))
                self._tell()
            self.entries[key] = adapter
            finest, executable, tally = self.policies.finest(sizes), adapter.executable, None
            coarse = any(executable.sizes.bounds.get(name, bound) > bound for name, bound in finest.items())
            if coarse and (tally := self._tallies.get(place := tuple(finest.values()))) is None:
                tally = self._tallies[place] = Tally(executable.work)
            adapter.left, adapter.tally, adapter.learn = OFTEN, tally, lambda: self._learn(sizes, key, tally)
        return adapter

    def _learn(self, sizes: Mapping[str, int], key: Key, tally: Tally | None) -> None:
        """A size has come often, or one of a bucket that might be finer: what is planned anew is forgotten."""
        is_favoured = (tally is None or tally.left > 0) and self.policies.favour(sizes)
        if not is_favoured and tally is None:
            return
        if not is_favoured:
            self.policies.refine(self.policies.finest(sizes))
        with self.lock:
            entry = self.entries.get(key)
            self._forget_calls(lambda each: each is entry or (not is_favoured and getattr(each, "tally", 0) is tally))
            self._tell()

    def _forget(self, executable: Executable) -> None:
        with self.lock:
            if not executable.way.ready and self._executables.get(executable.sizes.key) is executable:
                self._drop(executable)

    def clear(self) -> None:
        """Drops everything."""
        with self.lock:
            self.entries.clear()
            self._executables.clear()
            self._prepared.clear()
            self._tell()

    def after_fork(self) -> None:
        """Forgets what does not run in a forked process; it is not freed, which would wait for threads."""
        self._without_threads = [dict(self.entries), dict(self._executables)]
        for executable in list(self._executables.values()):
            if not executable.after_fork():
                self._drop(executable)
        self._tell()

    def stats(self) -> list[ExecutableStats]:
        """What is to be said about each executable, exact ones first."""
        with self.lock:
            exact = [entry for entry in self.entries.values() if isinstance(entry, Executable)]
            padded = [executable for executable in self._executables.values() if executable not in exact]
            return [*(one.stats("exact") for one in exact), *(one.stats("padded") for one in padded)]

    def _make_room(self) -> None:
        if len(self._executables) >= self._options.cache_size:
            for entry in self.entries.values():
                if isinstance(entry, Adapter):
                    entry.executable.used = max(entry.executable.used, entry.used)
            self._drop(min(self._executables.values(), key=lambda executable: executable.used))
            self._tell()

    def _drop(self, executable: Executable) -> None:
        del self._executables[executable.sizes.key]
        self._forget_calls(lambda entry: executable is (entry.executable if isinstance(entry, Adapter) else entry))

    def _forget_calls(self, concerned: Callable[[Entry], bool]) -> None:
        for key, entry in list(self.entries.items()):
            if concerned(entry):
                del self.entries[key]
