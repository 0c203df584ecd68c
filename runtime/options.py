"""How a program is compiled: `CompileOptions`, made of the keyword arguments of `hlograph.function`.

In: the keywords of `Options`. Out: one object, checked, which goes from hand to hand in place of them. What compiles
takes them as `**options`; its signature and docstring show them (`taking_options`). `CpuOptions` is what `cpu=` means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, get_args

from ..codegen.passes.registry import Optimize, resolve
from ..codegen.program import Program
from ..codegen.renamed import OPTIONS, nearest, renamed_options
from .executables.policy import PolicyArgument, check_choice

Taking = TypeVar("Taking", bound=Callable[..., Any])

Client: TypeAlias = Literal["auto", "jax", "sync"]
CpuArgument: TypeAlias = 'Literal["auto", "jax", "sync", "direct", "plain"] | CpuOptions'
Outputs: TypeAlias = 'Literal["jax", "numpy"] | Numpy'


@dataclass(frozen=True)
class CpuOptions:
    """What a plan for CPU may use; each remedy has its switch. `cpu="plain"` is all of them off.

    Attributes:
        client: "jax", JAX's own; "sync", a synchronous one, for NumPy arrays; "auto", that one where NumPy arrays come
            back.
        forms: other forms of ops (the pass `cpu_forms`).
        math: vectorised logarithms and gamma functions (the pass `cpu_math`).
        regions: kernels of many ops (the pass `cpu_regions`).
        blas: functions of ours in place of XLA's calls of libraries, where a self-test has passed on this machine; off
            in executables for other machines.
        pack: one flat array for small results, where NumPy arrays come back.
        direct: calls of the compiled kernels without PJRT, on the synchronous client: None for where that is faster
            and a self-test has passed on this machine; True insists, also where it is not faster, and waits for the
            self-test; see docs/explanation/direct_call.md. The environment's `HLOGRAPH_DIRECT=0` is off.
    """

    client: Client = "auto"
    forms: bool = True
    math: bool = True
    regions: bool = True
    blas: bool = True
    pack: bool = True
    direct: bool | None = None

    @staticmethod
    def of(argument: CpuArgument) -> CpuOptions:
        """The options that `cpu=` means.

        Raises:
            ValueError: it is nothing that `cpu=` takes.
        """
        if isinstance(argument, CpuOptions):
            return argument
        found = _NAMED.get(argument) if isinstance(argument, str) else None
        if found is None:
            hint = nearest(argument, _NAMED, form="; did you mean {!r}?")
            names = ", ".join(f'"{name}"' for name in _NAMED)
            raise ValueError(f"cpu must be {names} or hlograph.CpuOptions(...), got {argument!r}{hint}")
        return found

    def __post_init__(self) -> None:
        if self.client not in get_args(Client):
            raise ValueError(f'CpuOptions: client must be "auto", "jax" or "sync", got {self.client!r}')
        if self.direct not in (None, False, True):
            raise ValueError(f"CpuOptions: direct must be None, False or True, got {self.direct!r}")

    @property
    def plain(self) -> bool:
        """Whether the module is compiled as it is."""
        return not (self.forms or self.math or self.regions or self.pack or self.direct)

    @property
    def for_jax(self) -> CpuOptions:
        """The same where JAX arrays come back."""
        return replace(self, client="jax") if self.client == "sync" else self


CpuOptions.__init__ = renamed_options(CpuOptions.__init__)  # type: ignore[method-assign]

_NAMED = {
    "auto": CpuOptions(),
    "jax": CpuOptions("jax"),
    "sync": CpuOptions("sync"),
    "direct": CpuOptions(direct=True),
    "plain": CpuOptions("jax", forms=False, math=False, regions=False, pack=False, direct=False),
}


class Options(TypedDict, total=False):
    """The keywords of what compiles.

    Attributes:
        device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
        cache_size: how many executables are kept.
        policy: how sizes are handled: "auto" (exact for the first, then padded to buckets), "exact" (one compile per
            size), "padded" (one compile per bucket), a `Bucket`, an int (one bound); or a dictionary of these by size
            name, e.g. `{"n": "padded", "m": hlograph.Bucket(factor=2), "k": 128}`.
        optimize: passes over each executable's module before it is compiled: "default"; "exact", which keeps every bit
            of the results; "none"; or a list such as `["sink_reductions"]`; see docs/reference/passes.md.
        cpu: how executables for CPU are made: "auto" (on JAX's client where JAX arrays come back, on a synchronous one
            of hlograph's own where NumPy arrays do), "jax", "sync", "direct" (calls without PJRT, an experiment),
            "plain" (as `jax.jit` would), or a `hlograph.CpuOptions`; see docs/explanation/cpu.md.
        outputs: "jax" or "numpy", the arrays that calls return.
    """

    device: Any
    cache_size: int
    policy: PolicyArgument
    optimize: Optimize
    cpu: CpuArgument
    outputs: Outputs


DEFAULTS: Options = {
    "device": None,
    "cache_size": 128,
    "policy": "auto",
    "optimize": "default",
    "cpu": "auto",
    "outputs": "jax",
}


def taking_options(*further: str, **defaults: Any) -> Callable[[Taking], Taking]:
    """Has what takes `Options` show them, in its signature and in the place of `options:` in its docstring.

    Args:
        further: other keywords that it takes without naming them.
        defaults: those that are others there.
    """
    lines = inspect.cleandoc(Options.__doc__ or "").partition("Attributes:\n")[2]
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in Options.__annotations__.items()}

    def decorate(function: Taking) -> Taking:
        signature = inspect.signature(function)
        named = {name: p for name, p in signature.parameters.items() if further or p.kind is not p.VAR_KEYWORD}
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, x), annotation=kinds[name]
            )
            for name, x in DEFAULTS.items()
            if name not in named
        ]
        known = {*named, *DEFAULTS, *further, *OPTIONS}
        checked = renamed_options(function)

        @wraps(function)
        def taking(*args: Any, **keywords: Any) -> Any:
            if unknown := sorted(keywords.keys() - known):
                hint = nearest(unknown[0], known, f"it takes {', '.join(DEFAULTS)} and others")
                raise TypeError(f"{function.__qualname__} has no option {unknown[0]!r}; {hint}")
            return checked(*args, **keywords)

        shown: Any = taking
        parameters = sorted((*named.values(), *added), key=lambda p: p.kind)
        shown.__signature__ = signature.replace(parameters=parameters)
        shown.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("    options: those of `Options`.", lines)
        return shown

    return decorate


@dataclass(frozen=True)
class Numpy:
    """NumPy arrays in and out, but for what stays on the device as JAX arrays.

    Attributes:
        arguments: numbers of arguments that are JAX arrays.
        results: numbers of such results.
        constant: numbers of arguments that are arrays which nobody writes to: the same array is copied once.
    """

    arguments: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()
    constant: frozenset[int] = frozenset()


@dataclass(frozen=True)
class CompileOptions:
    """How a program is compiled, checked; `of` makes it of what users say.

    Attributes:
        device: the `jax.Device` it runs on, or its name; None for JAX's default.
        cache_size: how many executables are kept.
        policy: how each named size is handled.
        passes: what each executable's module goes through before it is compiled.
        cpu: what the plan of an executable for CPU may use.
        numpy: NumPy arrays come back, and which do not; None where all are JAX's.
        donated: numbers of arguments whose memory results may take, where they are not padded.
    """

    device: Any = None
    cache_size: int = DEFAULTS["cache_size"]
    policy: PolicyArgument = "auto"
    passes: tuple[str, ...] = ()
    cpu: CpuOptions = _NAMED["auto"]
    numpy: Numpy | None = None
    donated: frozenset[int] = frozenset()

    @staticmethod
    @taking_options()
    def of(**options: Unpack[Options]) -> CompileOptions:
        """The options of `hlograph.function`.

        Raises:
            ValueError: a value that an option does not take, or two that do not go together.
            PassError: `optimize` names an unknown pass.
            TypeError: there is no such option.
        """
        given: Any = DEFAULTS | options
        device, cache_size, policy, optimize, cpu, outputs = given.values()
        passes, plans, numpy = resolve(optimize), CpuOptions.of(cpu), _numpy_of(outputs)
        for choice in policy.values() if isinstance(policy, Mapping) else [policy]:
            check_choice("policy", choice)
        if cache_size < 1:
            raise ValueError(f"cache_size must be at least 1, got {cache_size}")
        if plans.client == "sync" and numpy is None:
            raise ValueError(
                'the synchronous client (cpu="sync") is for NumPy arrays: use it with outputs="numpy", or leave the '
                'client to cpu="auto"'
            )
        return CompileOptions(device, cache_size, policy, passes, plans, numpy)

    def for_derived(self, program: Program) -> CompileOptions:
        """Those for a program made from another one, with JAX arrays: policies count for the sizes that it has too."""
        names = {*self.policy} if isinstance(self.policy, Mapping) else ()
        return replace(self.without(names, program), cpu=self.cpu.for_jax, numpy=None, donated=frozenset())

    def without(self, names: Collection[str], program: Program) -> CompileOptions:
        """Without the policies of those of these sizes that a program does not have."""
        signature = program.signature
        gone = set(names) - {root.name for root in signature.roots} - {count.name for count in signature.counts}
        if not gone or not isinstance(self.policy, Mapping):
            return self
        return replace(self, policy={name: choice for name, choice in self.policy.items() if name not in gone})


def _numpy_of(outputs: Any) -> Numpy | None:
    if isinstance(outputs, Numpy):
        return outputs
    if isinstance(outputs, str) and outputs in ("jax", "numpy"):
        return Numpy() if outputs == "numpy" else None
    hint = "" if isinstance(outputs, str) else "; a graph's outputs are the second argument, without a keyword"
    raise ValueError(f'outputs must be "jax" or "numpy", got {outputs!r}{hint}')
