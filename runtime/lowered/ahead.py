"""Ahead of time: a program compiled for devices that need not be here.

In: a program; the devices of a topology (`jax.experimental.topologies`) or devices that are here; sizes, or arguments
that tell them. Out: what JAX gives ahead of time, `jax.stages.Lowered`, and `.compile()` of that. The sizes are
those of a call: by the function's policy, exact or padded to a bucket. Arguments that carry a sharding over the
topology's devices are partitioned by XLA; the others lie on every device.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, TypeAlias

import jax
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.errors import ArgumentError, ArgumentShapeError, DeviceError, PolicyError
from ...codegen.graph import named_parameters
from ...codegen.ir.jax_compat import enable_x64, initialize_lapack
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from ...codegen.signature import Root, Signature
from ..calls.arguments import check_count, find_sizes, key_data, origin, shapes_of, values_of
from ..executables import cpu_plan
from ..executables.compiling import callee_of, unpacked
from ..executables.cpu_plan import CpuPlan
from ..executables.devices import choose_device, find_device, platform_of
from ..executables.policy import Policies, PolicyArgument, above_bound, dependent_roots, no_size
from ..executables.prepared import PreparedProgram, pending_size
from ..options import CompileOptions
from ..transforms.primitive import call
from .stages import Lowered, stages_of


def deserialize_and_load(serialized: bytes, *trees: Any, **options: Any) -> jax.stages.Compiled:
    """What `jax.experimental.serialize_executable.serialize` gave of a compiled program, loaded to be called.

    It is JAX's function of this name, which takes the same arguments, and loads the LAPACK functions first: called
    without them, an executable for CPU with a decomposition in it ends a fresh process (a segmentation fault).
    """
    from jax.experimental import serialize_executable  # brings a pickler, which nothing else needs

    initialize_lapack()
    return serialize_executable.deserialize_and_load(serialized, *trees, **options)


Topology: TypeAlias = Any  # a `jax.experimental.topologies.TopologyDescription`, or devices

# From the function of flat arrays and their specs to one with arguments of another structure, and these.
Around: TypeAlias = Callable[[Callable[..., Any], Sequence[Any]], tuple[Callable[..., Any], Any, Any]]


class AheadFunction:
    """A program for devices that need not be here; see `Program.compile` and `Function.lower`.

    Attributes:
        program: what is compiled.
        devices: those that it is compiled for; None for JAX's default device.
        options: how; a plan for CPU is that of a call. A policy of "auto" is exact: there are no calls yet that could
            show another size.
    """

    def __init__(self, program: Program, topology: Topology | None, options: CompileOptions) -> None:
        self.program = program
        self.options = options
        devices: Any = getattr(topology, "devices", topology)
        if devices is None and options.device is not None:
            devices = [find_device(options.device)]
        self.devices = None if devices is None else tuple(devices)
        if self.devices == ():
            raise DeviceError("the topology has no devices")
        if topology is not None:
            program.refuse_host_calls("devices that are not here have none of it")
        Policies(options.policy, program.signature)  # says what is wrong with it
        self.__name__ = self.__qualname__ = program.name
        self.__doc__ = f"StableHLO program {program.name}, compiled ahead of time: {program.signature}"

    def lower(self, *args: Any, sizes: Mapping[str, int] | None = None) -> Lowered:
        """The program for one set of sizes, lowered by JAX for the devices.

        What comes back is JAX's, and has the module before and after each pass besides: see docs/explanation/stages.md.
        Its `.compile()` gives a `jax.stages.Compiled`: `as_text()`, `cost_analysis()`, `memory_analysis()`, and
        `jax.experimental.serialize_executable` for a file, which `deserialize_and_load` of this module loads. That
        takes and returns what the module does, as it stands: under a padded policy arrays of the bounds' shapes, with
        the live sizes (int32 scalars) behind them, and where the program has checks, a vector of their flags as its
        last result. 64-bit arguments need JAX's x64 mode.

        Args:
            args: none, or one per argument: arrays or `jax.ShapeDtypeStruct`. A `jax.ShapeDtypeStruct`'s sharding (and
                that of an array which is committed to one) is kept; where any argument has a `NamedSharding`, those
                without are replicated over its mesh.
            sizes: root name to size. Without `args` all roots that no bound in `policy` gives; with `args` those that
                are integer arguments' values, where these are not known. A size that is computed from data and
                has no bound of its own needs the greatest value that it may have.

        Raises:
            ArgumentError: a size is missing, unknown or contradicts the arguments; an argument of a wrong type.
            PaddingError: the policy pads a size, and an op has no padding rule.
        """
        return self.lower_around(args, sizes or {})

    def lower_around(self, args: Sequence[Any], sizes: Mapping[str, int], around: Around | None = None) -> Lowered:
        """`lower`; where sizes are exact `around` gives the lowered function other arguments and results."""
        forks.refuse_forked(f"{self.program.name} cannot be compiled")
        signature = self.program.signature
        known = known_sizes(signature, sizes)
        values = self._complete(args) if args else []
        roots = _sizes_of(signature, values, known) if args else all_sizes(signature, known, self.options.policy)
        recipe = self._recipe(roots, known).on(platform_of(self.devices and self.devices[0]))
        static = recipe.sized(self.program)
        pending = pending_size(static.signature)
        if pending:
            raise ArgumentError(
                f"size {pending} is computed from data and has no bound; give its greatest value: "
                f"sizes={{{pending!r}: ...}}"
            )
        arguments = static.signature.arguments
        given = [*values, *[None] * (len(arguments) - len(values))]
        shardings = self._shardings([wanted_sharding(x) for x in given])
        specs = [
            jax.ShapeDtypeStruct(argument.dims, argument.dtype, sharding=sharding)
            for argument, sharding in zip(arguments, shardings, strict=True)
        ]
        placed = (device for sharding in shardings if sharding is not None for device in sharding.device_set)
        plan = self._plan(PreparedProgram(static, recipe), next(placed, None))
        callee = callee_of(plan)

        def traced(*arrays: Any) -> Any:
            outputs = unpacked(plan.places, call(callee, arrays))
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        traced.__name__ = traced.__qualname__ = static.name
        traced.__dict__["__signature__"] = named_parameters([argument.name for argument in arguments])
        others = around(traced, specs) if around is not None and recipe.bounds is None else (traced, specs, {})
        function, positional, keywords = others
        options = None if plan.options is None else dict(plan.options)
        with enable_x64(True):  # every dtype is given; nothing is JAX's to choose
            lowered = jax.jit(function, compiler_options=options).lower(*positional, **keywords)

        def as_it_is(program: Program) -> jax.stages.Lowered:
            pairs = zip_longest(program.signature.arguments, shardings)
            given = [jax.ShapeDtypeStruct(argument.dims, argument.dtype, sharding=where) for argument, where in pairs]
            return AheadFunction(program, None, CompileOptions.of(cpu="plain", optimize="none")).lower(*given)

        return Lowered.of(lowered, partial(stages_of, self.program, plan.recipe), as_it_is, plan.planned)

    def _plan(self, prepared: PreparedProgram, device: Any) -> CpuPlan:
        cpu, numpy = self.options.cpu, self.options.numpy
        where = choose_device(cpu, device, numpy=numpy is not None)
        alone = frozenset() if numpy is None else numpy.results
        return cpu_plan.plan(prepared, cpu, where, numpy=numpy is not None, alone=alone)

    def __call__(self, *args: Any) -> Any:
        """Raises `DeviceError`: nothing runs here."""
        raise DeviceError(
            f"{self.program.name} is compiled for a topology, whose devices need not be here, so it does not run. "
            ".lower(...).compile() gives what JAX has of it; program.compile() a function that runs here"
        )

    def _complete(self, args: Sequence[Any]) -> list[Any]:
        signature, bindings = self.program.signature, self.program.bindings
        shared = [bindings[i].get_value(borrow=True) for i in sorted(bindings)]
        check_count(signature, len(args), len(shared))
        pairs = zip(signature.arguments, [*args, *shared], strict=True)
        return [x if isinstance(x, jax.ShapeDtypeStruct) else key_data(argument, x) for argument, x in pairs]

    def _recipe(self, roots: Mapping[str, int], known: Mapping[str, int]) -> Recipe:
        signature, passes = self.program.signature, self.options.passes
        policies = Policies(self.options.policy, signature)
        try:
            plan = policies.plan(roots)
            counts = {count.name: known[count.name] for count in signature.counts if count.name in known}
            bounds = {**plan.bounds, **{name: policies.bound(name, size) for name, size in counts.items()}}
        except PolicyError as error:
            raise above_bound(signature, error) from None
        if not bounds and not signature.has_data_sizes:
            return Recipe(roots, passes=passes)
        return Recipe(plan.exact, bounds, passes)

    def _shardings(self, given: Sequence[Any]) -> list[Any]:
        mesh = next((x.mesh for x in given if isinstance(x, NamedSharding)), None)
        if mesh is not None:
            default: Any = NamedSharding(mesh, PartitionSpec())
        else:
            default = SingleDeviceSharding(self.devices[0]) if self.devices else None
        return [default if x is None else x for x in given]

    def __repr__(self) -> str:
        return f"<AheadFunction {self.program.name}: {self.program.signature}>"


def wanted_sharding(value: Any) -> Any:
    """Where an argument is wanted: what a spec says, or what an array is committed to; an aval says nothing."""
    committed = getattr(value, "committed", not isinstance(value, jax.core.ShapedArray))
    return getattr(value, "sharding", None) if committed else None


def known_sizes(signature: Signature, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that were given, as ints.

    Raises:
        ArgumentError: a name that is no size of the program.
    """
    names = [*(root.name for root in signature.roots), *(count.name for count in signature.counts)]
    for name in sizes:
        if name not in names:
            raise ArgumentError(no_size("sizes", name, names))
    return {name: operator.index(size) for name, size in sizes.items()}


def all_sizes(signature: Signature, known: Mapping[str, int], policy: PolicyArgument) -> dict[str, int]:
    """The size of every root from those given, the policy's bounds, and the program's constraints, which hold."""
    found = completed(signature, known, policy)
    shapes = [tuple(dimension.evaluate(dim, found) for dim in argument.dims) for argument in signature.arguments]
    return find_sizes(signature, shapes, values_of(signature, found))


def completed(signature: Signature, known: Mapping[str, int], policy: PolicyArgument) -> dict[str, int]:
    """The same, whatever else the constraints demand."""
    choices = Policies(policy, signature).choices
    follows = dependent_roots(signature)
    found: dict[str, int] = {}
    for root in signature.roots:
        if root.name in known:
            found[root.name] = known[root.name]
        elif isinstance(bound := choices[root.name], int):
            found[root.name] = bound
    for root in signature.roots:
        if root.name not in found:
            dim = follows.get(root.name)
            if dim is None or not dimension.roots(dim) <= found.keys():
                raise ArgumentError(_missing(signature, root))
            found[root.name] = dimension.evaluate(dim, found)
    return found


def _sizes_of(signature: Signature, args: Sequence[Any], known: Mapping[str, int]) -> dict[str, int]:
    """The size of every root from arguments; those that are an argument's value, from it or from what was given."""
    shapes = shapes_of(signature.arguments, args)
    values = {}
    for root in signature.value_roots:
        value = args[root.argument]
        if not isinstance(value, jax.ShapeDtypeStruct):
            values[root.name] = operator.index(value if root.element is None else value[root.element])
        elif root.name in known:
            values[root.name] = known[root.name]
        else:
            raise ArgumentError(_missing(signature, root))
    found = find_sizes(signature, shapes, values)
    for name, size in found.items():
        if known.get(name, size) != size:
            raise ArgumentShapeError(
                f"sizes: {name} = {known[name]}, but the arguments say {size}{origin(signature, frozenset([name]))}"
            )
    return found


def _missing(signature: Signature, root: Root) -> str:
    where = origin(signature, frozenset([root.name]))
    return f"the size {root.name} is not known{where}; give sizes={{{root.name!r}: ...}}"
