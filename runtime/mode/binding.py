"""One compiled graph of a graph library's mode: its program, and the containers that its arguments come from.

In: the function graph that the library has rewritten, and the containers of its inputs. Out: the thunk that the library
calls, around a `runtime.function.Function` of the whole graph. Updates are results like the others; what a shared
variable's container holds, and what is kept of it on the device, is the business of `values`.

The long way of a call is the library's own `Function.__call__`, the containers and `hlograph.function`. Where an
earlier call has had such arguments, most of that is skipped (`Binding`).
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from ...codegen import forks
from ...codegen.errors import ArgumentShapeError, UnsupportedGraphError, UnsupportedOpError
from ...codegen.graph import order, root_base, unique
from ...codegen.ir.jax_compat import x64_caller, x64_flag
from ...codegen.program import Program
from ...codegen.signature import Signature
from ...codegen.sparse_parts import Group, grouped
from ...dialects.frontend import emit_graph
from ...dialects.library import Library
from ...dialects.readers import xtensors
from ...dialects.sparse.lower import is_sparse
from ...dialects.tensor.host import UnsaidError, is_generator, runs_python, with_found_shapes
from ...dialects.tensor.random import split_and_drawing
from ...dialects.transforms import taking_floats
from ..calls.arguments import MISSING
from ..calls.path import TRACERS, not_an_array, write
from ..executables.devices import choose_device, default_device, find_device
from ..executables.executable import SECONDS, within
from ..function import Function
from ..host import ResultShapeError
from ..options import CompileOptions, Numpy
from . import values as values


class Refusal:
    """A function of which every call raises the same error.

    Attributes:
        error: why it was not made.
    """

    changed: Any = None
    needs_x64 = False

    def __init__(self, error: Exception, at_call: Exception | None = None) -> None:
        self.error, self._at_call = error, at_call or error

    def __call__(self, *args: Any) -> Any:
        raise type(self._at_call)(*self._at_call.args)


class Binding:
    """A function graph's program, and the containers that its arguments come from.

    A call takes the long way (`run`) until the program has an executable for its shapes; from then on calls with such
    shapes take a route: straight to the executable, without its checks. How NumPy arrays get there and back is
    `from_numpy`'s business; shared variables and their updates are on the device already.

    Args:
        linker: knows the graph and the options.
        storages: the library's list with the value of each of the graph's inputs.

    Attributes:
        function: the program; its arguments are the graph's inputs that the outputs need.
        arguments: where they come from, by the input's number.
        results: what becomes of each result.
        on_cpu: whether results are in this process's memory.
        over_draws: what runs it for many draws of a posterior at once, once it is made.
    """

    over_draws: Any = None

    def __init__(self, linker: Any, storages: Sequence[list[Any]]) -> None:
        fgraph = linker.fgraph
        self.linker = linker
        self.library: Library = linker.library
        used = [i for i, variable in enumerate(fgraph.inputs) if fgraph.clients[variable]]
        inputs, outputs = [fgraph.inputs[i] for i in used], list(fgraph.outputs)
        # Pinned, so that results are known to be in this process's memory or not.
        given = linker.options
        self._device = find_device(given.device) or default_device()
        self.on_cpu: bool = values.in_host_memory(self._device)
        self._in_numpy = given.numpy is not None
        # Calls that return keys alone need not wait for them.
        arrays = [variable for variable in outputs if not self.library.is_generator(variable)]
        self._waits = self.on_cpu and self._in_numpy and bool(arrays)
        if self._waits:
            self._device = choose_device(given.cpu, self._device, numpy=True)
        self.function: Any = tuple  # of no results
        self._graph = inputs, outputs
        self._taking_floats: dict[frozenset[int], Any] = {}
        self._loose: dict[str, Any] = {}  # demands on sizes that a call has broken, and that are not made any more
        self._by_shapes: dict[Any, Any] = {}  # functions, by those of what Python gives
        self._runs_forked = False
        self._forked: Function | None = None
        self._sparse = any(map(is_sparse, (*inputs, *outputs)))
        self.arguments = {i: self._argument(fgraph.inputs[i], storages[i]) for i in used}
        self.updates: dict[int, int] = fgraph.update_mapping or {}
        generators = {v: s for v, s in zip(fgraph.inputs, storages, strict=True) if self.library.is_generator(v)}
        self.results = [self._conversion(i, variable, generators) for i, variable in enumerate(outputs)]
        self._name = re.sub(r"\W+", "_", fgraph.name or "") or "main"
        if outputs:
            self.function = self._compiled(inputs, outputs)
        self._routes: dict[Any, Any] = {}
        if outputs:
            self.function.changed = weakref.WeakMethod(self.forget_routes)
        forks.watch(self)
        self._cache_size = given.cache_size

    def _compiled(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The program; where no call can have sizes that it takes, what raises that at each call."""
        given, how = self.linker.options, self.linker.on_unsupported
        options: dict[str, Any] = {
            "name": self._name,
            "on_unsupported": how,
            "rng_inputs": any(map(self.library.is_generator, (*inputs, *outputs))),
            # Names of xtensors' dimensions say nothing of sizes here: a mode takes what the library takes.
            "dims": xtensors.own_dims(inputs),
        }
        try:
            program = emit_graph((inputs, outputs), **options, **self._loose)
        except ArgumentShapeError as error:
            return Refusal(error)
        except (UnsupportedOpError, UnsupportedGraphError) as error:
            nodes = order(outputs)
            python = {node.op for node in nodes if runs_python(node.op)}
            inner = any(is_generator(x) for node in nodes if not hasattr(node.op, "rng_fn") for x in node.inputs)
            refused = set(getattr(error, "ops", ()))
            if inner or not python or not refused <= python or (not refused and how != "host"):
                raise
            # Until a call finds the shapes that its Python returns.
            return Refusal(error, ResultShapeError(str(error)))
        cpu, numpy = (given.cpu, self._numpy(program.signature)) if self._waits else (given.cpu.for_jax, None)
        return self._made(program, replace(given, device=self._device, cpu=cpu, numpy=numpy))

    def _made(self, program: Program, options: CompileOptions) -> Function:
        """A program's function; shared variables that it does not update are taken to be data."""
        updated = set(self.updates.values())
        given = zip(self.arguments.items(), grouped(program.signature.arguments), strict=True)
        names = [x.items[0].name for (i, a), x in given if type(a) is values.Shared and i not in updated]
        if names and self._waits and options.policy in ("auto", "exact"):
            from ..data import DataFunction  # with the passes that prepare them

            with suppress(UnsupportedGraphError):  # sizes from data, Python, sparse matrices
                return DataFunction(program, options, names, guessed=True)
        return Function(program, options)

    def _numpy(self, signature: Signature) -> Numpy:
        targets = [self.arguments.get(self.updates.get(number, -1)) for number in range(len(self.results))]
        given = zip(self.arguments.values(), grouped(signature.arguments), strict=True)
        returned = zip(targets, grouped(signature.results), strict=True)
        return Numpy(_places_of_shared(given), _places_of_shared(returned))

    def _argument(self, variable: Any, storage: list[Any]) -> values.Plain:
        if self.library.is_generator(variable):
            return values.Key(storage)
        if is_sparse(variable):
            return values.Plain(storage)
        if isinstance(variable, self.library.shared):
            return (values.Shared if self.on_cpu else values.DeviceShared)(storage, self._device)
        dtype = getattr(variable.type, "dtype", None)  # a slice has none, and what a list calls so is a type
        return values.Plain(storage, np.dtype(dtype) if isinstance(dtype, str) else None)

    def _conversion(self, number: int, variable: Any, generators: Mapping[Any, list[Any]]) -> Callable[[Any], Any]:
        if self.library.is_generator(variable):
            storage = self._source(variable, generators)
            return lambda key: values.successor(storage and storage[0], key)
        if is_sparse(variable):
            return _unchanged
        target = self.arguments.get(self.updates.get(number, -1))
        if isinstance(target, values.Shared):
            return target.write
        if isinstance(variable.type, self.library.module("scalar.basic").ScalarType):
            return lambda array: np.asarray(array)[()]
        if self._waits or (number not in self.updates and not self._in_numpy):
            return _unchanged
        return np.array  # on any device, one that can be written to

    def take_over(self, variables: Iterable[Any]) -> None:
        """From now on what shared variables hold may be on a device, if this is not the CPU."""
        for variable in () if self.on_cpu else variables:
            if hasattr(variable, "container"):
                variable.container = self.linker.device_container.of(variable.container)

    def _source(self, variable: Any, generators: Mapping[Any, list[Any]]) -> list[Any] | None:
        while variable is not None and variable not in generators:
            inputs = [] if variable.owner is None else variable.owner.inputs
            variable = next((v for v in inputs if self.library.is_generator(v)), None)
        return generators.get(variable)

    def taking_floats(self, places: frozenset[int]) -> Any:
        """The program that takes floating-point numbers for the integers at these places, if they are whole."""
        if places not in self._taking_floats:
            self._taking_floats[places] = self._compiled(*taking_floats(self.library, *self._graph, places))
        return self._taking_floats[places]

    def jit_fn(self, *values: Any) -> tuple[Any, ...]:
        """The name that the libraries' own JAX modes have for a function of all inputs, shared ones too, to a tuple."""
        found = call_suited(self, [values[i] for i in self.arguments])
        return found if isinstance(found, tuple) else (found,)

    # ---- the long way ------------------------------------------------------------------------------------------------

    def run(self) -> list[Any]:
        """The results for the containers' values.

        Raises:
            DeviceError: in a process that was forked from one with compiled functions, where the call waits for threads
                that do not exist.
        """
        if forks.was_forked() and not self._runs_forked:
            found = within(SECONDS, self._run)
            self._runs_forked = True
            return found
        return self._run()

    def _run(self) -> list[Any]:
        given = [argument.read() for argument in self.arguments.values()]
        try:
            found = self.function(*given)
        except ArgumentShapeError as error:
            if error.option and error.option not in self._loose:
                self._loose[error.option] = True  # the function itself, so that such calls take a route
                self._by_shapes.clear()
                self._use(self._compiled(*self._graph))
                return self._run()
            if not self._by_shapes:
                raise
            found = self._with_shapes_of_python(error)  # those of this call, which may fit
        except ResultShapeError as error:
            found = self._with_shapes_of_python(error)
        outputs = found if isinstance(found, tuple) else (found,)
        if self.results and not self._sparse and not self._by_shapes:
            self._learn(given)
        return [finish(output) for finish, output in zip(self.results, outputs, strict=True)]

    def _with_shapes_of_python(self, error: Exception) -> Any:
        """The results of a program that takes the shapes which Python gives for these values as known.

        Raises:
            ResultShapeError: they change from call to call.
            Exception: they cannot be found: this one.
        """
        inputs, outputs = self._graph
        pairs = zip(inputs, self.arguments.values(), strict=True)
        known = {x: a.read() if isinstance(a, values.Key) else a.storage[0] for x, a in pairs}
        try:
            fixed, shapes = with_found_shapes(outputs, known, runs_python, split_and_drawing)
        except UnsaidError:
            raise error from None
        if shapes not in self._by_shapes:
            if len(self._by_shapes) >= self._cache_size:
                self._by_shapes.clear()
            self._by_shapes[shapes] = self._compiled(inputs, fixed)
        self._use(self._by_shapes[shapes])
        return self.function(*[argument.read() for argument in self.arguments.values()])

    def _use(self, function: Any) -> None:
        self._taking_floats.clear()
        self._forked = None
        self.function = self._thunk.function = function
        self.function.changed = weakref.WeakMethod(self.forget_routes)
        self.forget_routes()

    def _learn(self, given: Sequence[Any]) -> None:
        """After a call: the next one with such arguments takes a route, where there is one."""
        key = tuple([np.shape(x) for x, a in zip(given, self.arguments.values(), strict=True) if a.shaped])
        if key in self._routes:
            return
        run = self.function.executable(given)
        if run is not None:
            if len(self._routes) >= self._cache_size:
                self._routes.clear()
            self._routes[key] = run

    def prepare_fork(self, given: Mapping[int, Any]) -> str:
        """Compiles what calls run on in processes that are forked from this one, which have none of XLA's threads.

        Args:
            given: values of the explicit inputs, by their numbers; calls there have such shapes. The others are read
                from their containers.

        Returns:
            Why there can be no such calls; "" if there can.
        """
        if isinstance(self.function, Refusal):
            return "of what its Python gives the shapes are found in a call"
        if not self.results:
            return ""
        options = self.function.options
        if options.numpy is None or options.cpu.direct is False or self._sparse:
            return "it takes or gives sparse matrices or JAX's arrays, or its options exclude direct calls"
        if self._forked is None:
            cpu = replace(options.cpu, direct=True)
            options = replace(options, policy="exact", cpu=cpu, device=None, numpy=Numpy())
            self._forked = self._made(self.function.program, options)
        arrays = [given[i] if i in given else argument.in_numpy() for i, argument in self.arguments.items()]
        return self._forked.needs_threads(arrays)

    def after_fork(self) -> None:
        """From now on calls take the long way; the first one under a time limit, if nothing was prepared for it."""
        self.forget_routes()
        if self._forked is not None:
            shared = [argument for argument in self.arguments.values() if isinstance(argument, values.Shared)]
            for argument in shared:
                argument.leave_device()
            self.function, self._runs_forked = self._forked, True

    def forget_routes(self) -> None:
        """Every call takes the long way again."""
        self._routes.clear()

    # ---- the short way -----------------------------------------------------------------------------------------------

    def thunk(self, storages: Sequence[list[Any]]) -> Any:
        """What the library calls: from the containers' values to the results, which it puts into containers too.

        For one argument and one result:

        def call():
            a0 = storage0[0]
            if type(a0) is not ndarray or a0.dtype is not dtype0: return placed(run())
            execute = routes.get((a0.shape,))
            if execute is None: return placed(run())
            try: r0 = execute(a0)
            except ResultShapeError: routes.clear(); return placed(run())
            return placed([r0])
        """

        def placed(results: list[Any]) -> list[Any]:
            for storage, result in zip(storages, results, strict=True):
                storage[0] = result
            return results

        returned = ", ".join(f"r{i}" for i in range(len(self.results)))
        end = [f"return placed([{returned}])"]
        call = self._written("", list(self.arguments), [], "return placed(run())", end, {"placed": placed})
        kept = self.linker.allow_gc
        call.allow_gc = self.library.module("configdefaults").config.allow_gc if kept is None else kept
        call.function, call.time_thunks = self.function, False
        call.binding, call.jit_fn = self, self.jit_fn
        self._thunk = call
        return call

    def call(self, compiled: Any) -> Any:
        """What a compiled function's calls run; the library's own call, where they need its attention.

        NumPy arrays of the right dtypes, with shapes that an earlier call has had, need none of the library's checks:

            def call(a0=MISSING, /, *more, **named):
                if more or named or compiled.profile or type(a0) is not ndarray or ...: return long_way(...)
                ...
        """
        maker = compiled.maker
        explicit = [i for i, spec in enumerate(maker.inputs) if not spec.implicit]
        tensor = self.library.module("tensor.type").TensorType
        for i in explicit:
            type_, spec = maker.fgraph.inputs[i].type, maker.inputs[i]
            plain = i in self.arguments and type(type_) is tensor and not type_.filter_checks_isfinite
            if not plain or spec.value is not None or spec.update is not None:
                return partial(any_call, compiled)
        if not self.results or not self.on_cpu or getattr(compiled, "output_keys", None):
            return partial(any_call, compiled)
        updates = {f"update{number}": compiled.input_storage[i].storage for number, i in self.updates.items()}
        returned = [f"r{i}" for i in range(len(self.results) - len(updates))]
        # The library sets these two after it has made a copy.
        value = f"{(returned or ['None'])[0]} if compiled.unpack_single else None if compiled.return_none else "
        parameters = "".join(f"a{i}=MISSING, " for i in explicit) + ("/, " if explicit else "")
        given = "".join(f"a{i}, " for i in explicit)
        return self._written(
            f"{parameters}*more, **named",
            [i for i in self.arguments if i not in explicit],
            ["more", "named", "compiled.profile"],
            f"return long_way({given}*more, **named)",
            [*(f"update{number}[0] = r{number}" for number in self.updates), f"return {value}[{', '.join(returned)}]"],
            {"MISSING": MISSING, "compiled": compiled, "long_way": partial(any_call, compiled), **updates},
        )

    def _written(
        self,
        parameters: str,
        stored: Sequence[int],
        special: Sequence[str],
        otherwise: str,
        end: Sequence[str],
        names: Mapping[str, Any],
    ) -> Any:
        """A function that takes a route, written out for these arguments and compiled once.

        Args:
            parameters: the function's.
            stored: arguments that are read from their containers.
            special: conditions under which it does not take a route, besides those of the arguments.
            otherwise: what it does then.
            end: what it does last.
            names: what these refer to.
        """
        scope: dict[str, Any] = {
            "KeyGenerator": values.KeyGenerator,
            "ResultShapeError": ResultShapeError,
            "routes": self._routes,
            "run": self.run,
            "X64": x64_flag(),
            "call_in_x64": x64_caller(),
            **names,
        }
        reads, guards, passed = [], list(special), []
        for i, argument in self.arguments.items():
            scope |= {f"argument{i}": argument, f"storage{i}": argument.storage}
            if i in stored:
                reads.append(f"a{i} = storage{i}[0]")
            if isinstance(argument, values.Key):
                guards.append(f"type(a{i}) is not KeyGenerator")
                if self._waits:
                    scope["ndarray"] = np.ndarray
                    guards.append(f"type(a{i}.key) is not ndarray")
                passed.append(f"a{i}.key")
            elif isinstance(argument, values.DeviceShared):
                passed.append(f"argument{i}.read()")
            elif isinstance(argument, values.Shared):
                guards.append(f"a{i} is not argument{i}.host")
                passed.append(f"argument{i}.array")
            else:
                guards.append(not_an_array(f"a{i}", i, scope, argument.dtype, None))
                passed.append(f"a{i}")
        shapes = "".join(f"a{i}.shape, " for i, argument in self.arguments.items() if argument.shaped)
        operands = "".join(f"{value}, " for value in passed)
        execute = f"execute({operands})"
        if self.results and self.function.needs_x64 and not self._waits:
            execute += f" if X64.value else call_in_x64(execute, ({operands}))"
        scope |= {f"finish{i}": finish for i, finish in enumerate(self.results)}
        results = [f"r{i}" for i in range(len(self.results))]
        lines = [
            *reads,
            *([f"if {' or '.join(guards)}: {otherwise}"] if guards else []),
            f"execute = routes.get(({shapes}))",
            f"if execute is None: {otherwise}",
            f"try: {', '.join(results) or '()'} = {execute}",
            f"except ResultShapeError: routes.clear(); {otherwise}",  # what Python gives has another shape
            *(f"r{i} = finish{i}(r{i})" for i, finish in enumerate(self.results) if finish is not _unchanged),
            *end,
        ]
        return write(parameters, lines, scope)


def _places_of_shared(items: Iterable[tuple[Any, Group]]) -> frozenset[int]:
    found, number = set(), 0
    for item, group in items:
        if isinstance(item, values.Shared):
            found.add(number)
        number += len(group.items)
    return frozenset(found)


def _unchanged(array: Any) -> Any:
    return array


def any_call(compiled: Any, /, *args: Any, **named: Any) -> Any:
    """The library's own call, or one that JAX traces; missing arguments are its business."""
    given = [value for value in args if value is not MISSING]
    every = [*given, *named.values()]
    if any(type(value) in (list, tuple) for value in every):
        every = jax.tree.leaves(every)
    if not TRACERS.isdisjoint(map(type, every)):
        return call_traced(compiled, given, named)
    return compiled.vm.binding.library.function.__call__(compiled, *given, **named)


# ---- calls under JAX's transformations: what the library would return, as tracers: one equation ----------------------


def signature_of(specs: Sequence[Any]) -> inspect.Signature:
    """The signature of a function with such inputs, by which JAX names them in its errors."""
    explicit = [spec for spec in specs if not spec.implicit]
    names = unique([root_base(spec.name or "", number) for number, spec in enumerate(explicit)])
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    needed = max((number for number, spec in enumerate(explicit) if spec.value is None), default=-1)
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=empty if number <= needed else spec.value)
            for number, (name, spec) in enumerate(zip(names, explicit, strict=True))
        ]
    )


def call_traced(compiled: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A call as a part of what is traced.

    Raises:
        UnsupportedGraphError: it would update shared variables.
        TypeError: arguments are missing, or there are too many.
    """
    binding, specs = compiled.vm.binding, compiled.maker.inputs
    if binding.updates:
        updated = ", ".join(str(specs[i].variable) for i in binding.updates.values())
        raise UnsupportedGraphError(
            f"the compiled function updates {updated}, and an update inside a JAX transformation would be lost; "
            "compile one without updates, whose outputs are the new values"
        )
    explicit = [i for i, spec in enumerate(specs) if not spec.implicit]
    names = dict(zip(explicit, compiled.__signature__.parameters, strict=True))
    # An input may be called what no parameter is, such as "group::x".
    called = {specs[i].name: name for i, name in names.items()} | {name: name for name in names.values()}
    given = {called.get(name, name): value for name, value in named.items()}
    bound = compiled.__signature__.bind_partial(*args, **given).arguments
    for i, name in names.items():
        if name not in bound and specs[i].value is None:  # the library also has default values before it
            raise TypeError(f"missing a required argument: {name!r}")
    values = [bound[names[i]] if names.get(i) in bound else a.read() for i, a in binding.arguments.items()]
    found = call_suited(binding, values)
    outputs = list(found) if isinstance(found, tuple) else [found]
    return outputs[0] if compiled.unpack_single else None if compiled.return_none else outputs


def call_suited(binding: Any, values: Sequence[Any]) -> Any:
    """The results for arguments of which some are floating-point numbers where the graph has integers."""
    kinds = ["f" if isinstance(x, float) else getattr(getattr(x, "dtype", None), "kind", "") for x in values]
    wanted = ["" if a.dtype is None else a.dtype.kind for a in binding.arguments.values()]
    floats = frozenset(i for i, (a, b) in enumerate(zip(kinds, wanted, strict=True)) if a == "f" and b in ("i", "u"))
    if not floats:
        return binding.function(*values)
    return binding.taking_floats(floats)(
        *[jax.numpy.asarray(x, float) if i in floats else x for i, x in enumerate(values)]
    )
