"""Data: arguments that stay the same for many calls; what only they decide is computed when they change.

In: a program, and which of its arguments are data. Out: a function of all arguments. New data are put into the program
as constants, which goes through the passes; what is left of them (`codegen.parameters.prepare`) are the last arguments
of a program that is called. Programs that other data have made alike share its executables.

    call (b, X, y) ── the same X, y? ──────────────────────────────▶ function (b, tables)
                      new ones ── prepare ── alike? ── compile ──────▲

Decisions to know: JAX's arrays, and those of NumPy's that nobody may write to, are the same data by identity; others
are compared with a copy in each call, byte by byte. Under JAX's transformations, and where data decide nothing that
pays, the program with all arguments runs.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..codegen import forks
from ..codegen.errors import ArgumentError, ArgumentShapeError, UnsupportedGraphError
from ..codegen.ir.jax_compat import enable_x64
from ..codegen.parameters import MANY, Array, digest_of, is_frozen, prepare
from ..codegen.program import Program
from .c_function import CFunction, FormName, complete, form_of
from .calls.arguments import in_order, is_misread, key_of, sizes_of_call, to_arrays
from .calls.memory import aligned
from .calls.path import ARRAY, TRACERS
from .executables.devices import is_sharded
from .executables.stats import Stats
from .function import Function
from .options import CompileOptions, Numpy

if TYPE_CHECKING:
    from .lowered.stages import Lowered

_KEPT = 4  # sets of data whose tables are kept
_OFTEN, _CHANGES = 16, 4  # calls with the same data; so many sets with fewer calls, one by one, are no data
_MOST = 1 << 23  # numbers that are prepared unasked
_WORD, _BYTE = np.dtype(np.uint64), np.dtype(np.uint8)
_PLAIN = (np.ndarray, np.generic, ARRAY, list, tuple, bool, int, float, complex)


@dataclass(frozen=True)
class Prepared:
    """A program of the other arguments and of tables, which are what is left of data; `pays` if anything was computed.

    Programs of equal keys are alike, so that one runs with the tables of another.
    """

    program: Program
    others: tuple[int, ...]
    tables: tuple[Array, ...]
    key: str
    pays: bool

    def given(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments of the program."""
        return [*[arguments[i] for i in self.others], *self.tables]

    @staticmethod
    def of(program: Program, arguments: Sequence[Any], places: Sequence[int], passes: Sequence[str]) -> Prepared:
        """Prepares a program; of the checked arguments that are at none of the data's places only sizes count."""
        signature = program.signature
        sizes = dict(zip([root.name for root in signature.roots], key_of(signature, arguments), strict=True))
        module = program.specialize(sizes).copy_module()
        data = {i: np.asarray(arguments[i], signature.arguments[i].dtype) for i in places}
        found, pays = prepare(module, data, passes)
        made = Program(module, filename=program.filename, check=program.check)
        made.optimized = tuple(passes)
        others = tuple(i for i in range(len(signature.arguments)) if i not in data)
        key = hashlib.sha256(made.to_bytecode()).hexdigest()
        return Prepared(made, others, tuple(map(_copied, found)), key, pays)


def _copied(array: Array) -> Array:
    made = aligned(array.shape, np.dtype(array.dtype.name))
    made[...] = array
    return made


class _Call:
    """How calls with some data run: by a function of the other arguments and tables, or (None) of all arguments."""

    def __init__(
        self,
        data: Sequence[Any],
        key: Any,
        constant: Any,
        others: Sequence[int] = (),
        function: Any = None,
        tables: Any = (),
    ) -> None:
        self.key, self.others, self.function, self.tables = key, others, function, tables
        self._constant, self.uses = constant, 0
        self._kept = [x if constant(x) else np.array(x) for x in data]  # copies of what others may write to

    def given(self, values: Sequence[Any]) -> list[Any]:
        """The arguments of the function, of those of the program."""
        return [*[values[i] for i in self.others], *self.tables]

    def has(self, data: Sequence[Any]) -> bool:
        """Whether these are the data."""
        self.uses += 1
        for place, (x, kept) in enumerate(zip(data, self._kept, strict=True)):
            if x is not kept:
                if not _same(x, kept):
                    return False
                self._kept[place] = x if self._constant(x) else kept
        return True


def _for_all(data: Sequence[Any]) -> _Call:
    """How calls with guessed data of these shapes run, whatever is in them: by the program as it was."""
    return _Call((), list(map(np.shape, data)), _is_frozen)


def _is_constant(x: Any) -> bool:
    return type(x) is ARRAY or _is_frozen(x)


def _is_frozen(x: Any) -> bool:
    return type(x) is np.ndarray and is_frozen(x)


def _same(one: Any, other: Any) -> bool:
    if is_misread(one) or not isinstance(one, _PLAIN):  # which a call may refuse
        return False
    x, y = np.asarray(one), np.asarray(other)
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    word = _WORD if x.nbytes % 8 == 0 else _BYTE
    x, y = (np.ascontiguousarray(each).reshape(-1).view(word) for each in (x, y))
    return bool((x == y).all())


class DataFunction(Function):
    """A compiled program of which some arguments are data; see `hlograph.function`.

    Args:
        program, options: see `Function`.
        data: names of arguments.
        guessed: whether nobody said that these are data. They are a mode's shared variables, and lie in memory that
            others may write to. If they are small, huge, or change every few calls, the program as it was runs.
    """

    def __init__(
        self, program: Program, options: CompileOptions, data: Sequence[str], *, guessed: bool = False
    ) -> None:
        super().__init__(program, options)
        arguments = program.signature.arguments
        names = [argument.name for argument in arguments]
        for name in data:
            if name not in names:
                raise ArgumentError(f"data: there is no argument {name!r}; there are {', '.join(names) or 'none'}")
        if any(argument.sparse or (argument.key and not guessed) for argument in arguments):
            raise UnsupportedGraphError("data= takes arrays, not sparse matrices or PRNG keys")
        program.refuse_host_calls("what it computes of data cannot be known to stay the same")
        if program.signature.has_data_sizes:
            raise UnsupportedGraphError(f"{program.name} has sizes that are computed from data: leave data= out")
        self._guessed, self._changes, self._rest = guessed, 0, _OFTEN
        self._places = tuple(sorted(map(names.index, set(data))))
        self._count = len(arguments) - len(self._shared)
        self._open = any(root.argument not in self._places for root in program.signature.roots)
        self._last: _Call | None = None
        self._known: dict[Any, Any] = {}
        self._functions: dict[str, Function] = {}
        self._data_lock = forks.lock()
        self._whole = self.__call__
        self.__call__ = self._data_call

    def _data_call(self, /, *args: Any, **keywords: Any) -> Any:
        given = in_order(self.__name__, self._given, args, keywords) if keywords else args
        if len(given) != self._count or not TRACERS.isdisjoint(map(type, given)):
            return self._whole(*given)
        call, values = self._call_of(given)
        if call.function is None:
            return self._whole(*given)
        return call.function(*call.given(values))

    def executable(self, args: Sequence[Any]) -> Callable[..., Any] | None:
        """As of a function; what it returns takes data that have changed, too."""
        call, values = self._call_of(args)
        if call.function is None:
            return self._resting(super().executable(args))
        run = call.function.executable(call.given(values))
        others, tables, places = call.others, call.tables, self._places

        def checked(*arrays: Any) -> Any:
            if call.has([arrays[i] for i in places]):
                return run(*[arrays[i] for i in others], *tables)
            self._tell()
            return self(*arrays)

        return None if run is None else checked

    def _resting(self, run: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """What runs the program as it was until it is time to look again whether data stay the same."""
        if self._changes <= _CHANGES or run is None:
            return run
        left = self._rest = 4 * self._rest

        def counted(*arrays: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                self._changes, self._last = 0, None
                self._tell()
            return run(*arrays)

        return counted

    def needs_threads(self, args: Sequence[Any]) -> str:
        """As of a function."""
        call, values = self._call_of(args)
        return super().needs_threads(args) if call.function is None else call.function.needs_threads(call.given(values))

    def _call_of(self, given: Sequence[Any]) -> tuple[_Call, Sequence[Any]]:
        values = [*given, *[container.get_value(borrow=True) for container in self._shared]]
        data, last = [values[i] for i in self._places], self._last
        if last is not None and self._guessed and last.function is None and last.key == list(map(np.shape, data)):
            return last, values
        key = key_of(self._signature, values) if self._open and last is not None else ()
        if last is None or last.key != key or not last.has(data):
            self._changes = self._changes + 1 if last is None or last.uses < _OFTEN else 0
            last = self._last = self._prepared(values, data) if self._is_promising(data) else _for_all(data)
        return last, values

    def _is_promising(self, data: Sequence[Any]) -> bool:
        """Whether data are to be prepared: if they were guessed, they are neither small nor huge, and stay the same."""
        sizes = list(map(np.size, data))
        return not self._guessed or (max(sizes) >= MANY and sum(sizes) <= _MOST and self._changes <= _CHANGES)

    def _prepared(self, values: Sequence[Any], data: Sequence[Any]) -> _Call:
        arrays = to_arrays(self._signature.arguments, values)
        self._sizes(arrays)  # says what is wrong with them
        sizes = key_of(self._signature, arrays)
        key = (sizes, *[digest_of(np.asarray(arrays[i], self._signature.arguments[i].dtype)) for i in self._places])
        with self._data_lock:
            if key not in self._known:
                found = Prepared.of(self.program, arrays, self._places, self.options.passes)
                pays = found.pays and not any(map(is_sharded, arrays))
                while len(self._known) >= _KEPT:
                    del self._known[next(iter(self._known))]
                self._known[key] = (found.others, *(self._ready(found) if pays else (None, ())))
            if self._guessed and self._known[key][1] is None:
                return _for_all(data)
            constant = _is_frozen if self._guessed else _is_constant
            return _Call(data, sizes if self._open else (), constant, *self._known[key])

    def _ready(self, found: Prepared) -> tuple[Function, Sequence[Any]]:
        """What runs such programs, and the tables where it takes them."""
        if found.key not in self._functions:
            count, numpy = len(found.others), self.options.numpy
            if numpy is not None:
                on_device = frozenset(k for k, place in enumerate(found.others) if place in numpy.arguments)
                tables = frozenset(range(count, count + len(found.tables)))
                numpy = Numpy(on_device, numpy.results, tables)
            options = replace(self.options, policy="exact", numpy=numpy, donated=frozenset())
            self._functions[found.key] = made = Function(found.program, options)
            made.changed = weakref.WeakMethod(self._tell)
        if self.options.numpy is not None:
            return self._functions[found.key], found.tables
        with enable_x64(True):
            return self._functions[found.key], [jax.device_put(table, self.device) for table in found.tables]

    def lower(self, *args: Any, sizes: Any = None, **keywords: Any) -> Lowered:
        """As `Function.lower`; of data that are arrays, what a call runs."""
        given = in_order(self.__name__, self._given, args, keywords) if keywords else args
        if len(given) < self._count or any(isinstance(x, jax.ShapeDtypeStruct) for x in given):
            return super().lower(*args, sizes=sizes, **keywords)
        call, values = self._call_of(given)
        if call.function is None:
            return super().lower(*given)
        return call.function.lower(*call.given(values))

    def c_function(self, *arguments: Any, form: FormName = "arrays") -> CFunction:
        """As `Function.c_function`: callers give what is no data, in its order; `with_data` prepares other data."""
        program, count = self.program, len(self._signature.arguments)
        # What the form has no place for is data, too.
        sizes = form_of(self._signature, form).sizes
        places = range(1, count) if sizes else sorted({*self._places, *range(self._count, count)})
        values = complete(program, places, arguments, form)
        sizes_of_call(self._signature, values, len(self._shared))
        found = Prepared.of(program, values, places, self.options.passes)
        if sizes and not found.pays:
            return super().c_function(*arguments, form=form)
        return DataCFunction(program, self.options, values, places, found, form)

    @property
    def stats(self) -> Stats:
        """As of a function; of those for data, too."""
        return Stats.total([super().stats, *[function.stats for function in self._functions.values()]])

    def clear_cache(self) -> None:
        """As of a function; forgets data, too."""
        super().clear_cache()
        with self._data_lock:
            self._last = None
            self._known.clear()
            self._functions.clear()


class DataCFunction(CFunction):
    """A C function of a program whose data, which lie at these places, are prepared."""

    def __init__(
        self, program: Program, options: CompileOptions, values: Any, places: Any, found: Prepared, form: FormName
    ) -> None:
        options = replace(options, policy="exact")
        super().__init__(found.program, options, found.given(values), form, given=len(found.others))
        self._whole, self._values, self._places, self._key = program, values, places, found.key
        own = [place for place in places if place not in program.bindings]
        self.names = tuple(program.signature.arguments[place].name for place in own)

    def _suited(self, values: list[Any]) -> list[Any]:
        """The tables of these data, and the other arguments.

        Raises:
            ArgumentShapeError: what is left of such data has other sizes; `with_data` compiles for them.
        """
        found = self._prepared(values)
        if found.key != self._key:
            raise ArgumentShapeError("what is left of these data has other sizes: with_data compiles for them")
        return found.given(values)

    def with_data(self, *arrays: Any, **by_name: Any) -> CFunction:
        """As `CFunction.with_data`; compiles where what is left of the data has other sizes."""
        values = self._updated(arrays, by_name)
        if (found := self._prepared(values)).key == self._key:
            return self._with(values, found.given(values))
        return DataCFunction(self._whole, self._options, values, self._places, found, self.form)

    def _prepared(self, values: list[Any]) -> Prepared:
        sizes_of_call(self._whole.signature, values, len(self._whole.bindings))
        return Prepared.of(self._whole, values, self._places, self._options.passes)
