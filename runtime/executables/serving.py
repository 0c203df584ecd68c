"""What serves a function's calls, by their sizes: found, or made when sizes are new.

In: a program, how it is compiled, and the sizes of a call. Out: an `Executable` for exactly these sizes, or an
`Adapter` to the one of their bucket, in the function's cache; and the results of the call that met them first. Decision
to know: an op without a padding rule is found when a bucket is made; from then on the sizes concerned are met exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import jax

from ...codegen.errors import ArgumentShapeError, PaddingError, PolicyError
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from ...codegen.signature import CheckSpec
from ..calls.arguments import key_of
from ..options import CompileOptions
from .cache import Cache, Entry, Key
from .devices import choose_device, is_sharded
from .executable import Account, Executable
from .padding import Adapter, exact_check, padded_check
from .policy import Plan, Policies, above_bound, warn_of_recompilation, warn_of_refusal
from .prepared import PreparedProgram, pending_size, prepare
from .stats import Counter
from .stored import Shelf, StoredExecutable


class Serving:
    """What serves a function's calls.

    Args:
        program, options: the function's.
        shelf: executables that were compiled before.
        device: where it runs, None for JAX's default.
        x64: a context in which executables are called.
        tell: called when what serves an executable's calls is another function than before.
        drop: called by the cache when an exact executable is gone.

    Attributes:
        cache: what there is, by sizes.
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
        drop: Callable[[], None],
    ) -> None:
        self.cache = Cache(options.cache_size, drop)
        self.policies = Policies(options.policy, program.signature)
        self.account, self.misses = Account(tell), Counter()
        self._program, self._signature, self._options, self._shelf = program, program.signature, options, shelf
        self._device, self._x64 = device, x64

    @cached_property
    def _runs_on(self) -> Any:
        """Where executables run. It is asked for by the first call: before it, a process may still be forked."""
        return choose_device(self._options.cpu, self._device, numpy=self._options.numpy is not None)

    def known(self, args: Sequence[Any]) -> Entry | None:
        """What there is for arguments that a call has had."""
        return self.cache.entries.get(key_of(self._signature, args))

    def exact(self, args: Sequence[Any]) -> Executable | None:
        """The executable for exactly such arguments, which a call has had; None before the first one."""
        entry = None if self._signature.has_data_sizes else self.known(args)
        return entry if isinstance(entry, Executable) and entry.ready else None

    def prepared(self, sizes: Mapping[str, int]) -> PreparedProgram:
        """The program for these sizes, as what the primitive puts into other modules; see `prepare`."""
        return self.cache.prepared(self._key(sizes), lambda: prepare(self._program, sizes, self._options.passes))

    def _key(self, sizes: Mapping[str, int]) -> Key:
        return tuple(sizes[root.name] for root in self._signature.roots)

    # ---- the first call ---------------------------------------------------------------------------------------------

    def first_call(
        self, sizes: dict[str, int], args: Sequence[Any], number: int, depth: int
    ) -> tuple[tuple[CheckSpec, ...], Any]:
        """A call with sizes that are new: plans how they are met, and runs; compiles if need be.

        Args:
            sizes: its.
            args: those of shared variables included.
            number: of the call.
            depth: from a function called here up to the user's call, to whom warnings are given.

        Returns:
            The checks whose flags come last, and the results.
        """
        self.misses.increment()
        key = self._key(sizes)
        traced = any(isinstance(x, jax.core.Tracer) for x in args)
        plan, entry = self._entry(key, sizes, number, traced or any(map(is_sharded, args)), depth + 1)
        if isinstance(entry, Adapter):
            adapter = entry if traced else self.cache.remember(key, entry)
            return adapter.checks, self._run_first(adapter.executable, adapter.call, args)
        warn_of_recompilation(self._program.name, self._signature, self.policies, plan, depth)

        def run(*args: Any) -> Any:
            self._prepare(entry, sizes)
            return entry.call(*args)

        outputs = self._run_first(entry, run, args)
        return entry.checks, outputs

    def _run_first(self, executable: Executable, run: Callable[..., Any], args: Sequence[Any]) -> Any:
        """A call that may compile; leaves nothing half-built behind."""
        with self._x64():
            try:
                return run(*args)
            except BaseException as error:
                if not isinstance(error, FloatingPointError):  # that is about what it returned
                    self.cache.forget(executable)
                raise

    # ---- making -----------------------------------------------------------------------------------------------------

    def planned(self, sizes: Mapping[str, int], *, exact: bool) -> Plan:
        """How sizes are met: exactly, where there is an executable for them that was kept."""
        kept = not self._signature.has_data_sizes and self._shelf.serves(sizes)
        try:
            return self.policies.plan(sizes, exact=exact or kept)
        except PolicyError as error:
            raise above_bound(self._signature, error) from None

    def _entry(
        self, key: Key, sizes: dict[str, int], number: int, exact: bool, depth: int
    ) -> tuple[Plan, Executable | Adapter]:
        """What serves calls with these sizes, made if it is new: an executable for them is not prepared yet."""
        while True:
            plan = self.planned(sizes, exact=exact)
            if not plan.bounds and not self._signature.has_data_sizes:
                exactly = Plan(sizes, {})
                return plan, self.cache.executable(exactly, number, partial(self._new, exactly), key)
            try:
                return plan, self._adapter(plan, sizes, number)
            except PaddingError as error:
                if not warn_of_refusal(self._program.name, self.policies, error, depth):
                    raise  # all sizes are exact as it is

    def _prepare(self, executable: Executable, sizes: dict[str, int]) -> None:
        shared = len(self._program.bindings)
        executable.prepare(lambda: self.prepared(sizes), lambda _: exact_check(self._signature, shared, sizes))

    def _adapter(self, plan: Plan, sizes: Mapping[str, int], number: int) -> Adapter:
        """What these sizes need on the executable of their bucket, which is made if it is new."""
        executable = self._bucket(plan, number)

        def second_stage(name: str, count: int) -> Adapter:
            """Goes on where a size from data is known; it is met at a bucket of its own."""
            try:
                bound = self.policies.bound(name, count)
            except PolicyError as error:
                raise ArgumentShapeError(str(error)) from None
            return self._adapter(Plan(plan.exact, {**plan.bounds, name: bound}), sizes, number)

        return Adapter(executable, self._signature, sizes, self._runs_on, second_stage)

    def _bucket(self, plan: Plan, number: int) -> Executable:
        executable = self.cache.executable(plan, number, partial(self._new, plan))
        recipe = Recipe(plan.exact, plan.bounds, self._options.passes)
        try:
            executable.prepare(lambda: PreparedProgram(recipe.sized(self._program), recipe), padded_check)
        except BaseException:
            self.cache.forget(executable)
            raise
        return executable

    def _new(self, sizes: Plan) -> Executable:
        stored, options = self._shelf.find(sizes), self._options
        if stored is None:
            return Executable(sizes, self.account, options.cpu, self._runs_on, options.numpy)
        return StoredExecutable(stored, sizes, self.account, options.cpu, self._runs_on, options.numpy)

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
            bucket, entry = self._entry(self._key(sizes), sizes, number, False, 6)
            if isinstance(entry, Executable):
                self._prepare(entry, sizes)
                yield entry
                return
            self.cache.remember(self._key(sizes), entry)
        yield from self._stages(bucket, counts, number)

    def _stages(self, plan: Plan, counts: Mapping[str, Sequence[int]], number: int) -> Iterator[Executable]:
        """What calls with a plan run on, of which sizes from data have these bounds."""
        from ..warming import bounds_of

        executable = self._bucket(plan, number)
        yield executable
        pending = pending_size(executable.signature)
        for bound in bounds_of(pending, counts) if pending else ():
            yield from self._stages(Plan(plan.exact, {**plan.bounds, pending: bound}), counts, number)
