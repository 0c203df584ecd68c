"""`CFunction`: a compiled function as a C function, for callers that are not Python.

In: a `Function`, and values for the arguments that callers do not give (*data*). Out: an address. Where the direct call
can run the executable (docs/explanation/direct_call.md), a call needs neither Python nor its lock; elsewhere the
address is that of a callback into Python, which is slower and takes the lock, and a warning says why.

    Function ── program for the sizes ── Executable.ahead ── DirectCall.of (compares) ── CProgram (native)
                                                └─ otherwise ─────────────────────── _Callback (Python)
"""

from __future__ import annotations

import copy
import ctypes
import math
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from ..codegen import dims as dimension
from ..codegen import errors
from ..codegen.errors import ArgumentShapeError, ArgumentTypeError, OptionError, UnsupportedGraphError
from ..codegen.ir.jax_compat import enable_x64
from ..codegen.program import Program
from ..codegen.signature import Argument, Result, Signature, describe
from .calls.arguments import sizes_of_call, to_arrays
from .calls.memory import aligned, is_aligned
from .direct import verdict
from .direct.call import TRIALS, DirectCall
from .direct.native_code import bound, native_code
from .direct.object_code import loading
from .executables.devices import find_device
from .executables.executable import Executable
from .executables.padding import static_shape
from .executables.policy import Policies, dependent_roots
from .executables.serving import Serving
from .executables.stored import StoredExecutable
from .object_files import DirectCallRefused
from .options import CompileOptions, Numpy

FormName = Literal["arrays", "logp", "density", "expand"]

# Return codes of a C function; as in direct/native/calls.src.
GRADIENT_NOT_FINITE, LOGP_NOT_FINITE = 3, 4
WRONG_DIMENSION, NULL_POINTER, STEP_FAILED, NO_MEMORY, PYTHON_RAISED, NOT_ALIGNED = -1, -2, -3, -4, -5, -6
CHECK_FAILED = -100  # less the number of the check; positive in the form "logp", where the point is what is wrong
_MEANINGS = {
    0: "fine",
    GRADIENT_NOT_FINITE: "the gradient is not finite",
    LOGP_NOT_FINITE: "the value is not finite",
    WRONG_DIMENSION: "the number of elements is another than the program's",
    NULL_POINTER: "an address is NULL",
    STEP_FAILED: "a routine in the program failed",
    NO_MEMORY: "there is no memory for another thread's buffers",
    PYTHON_RAISED: "Python raised",
    NOT_ALIGNED: "data is not at a multiple of 64 bytes",
}


_HEADER, _SLOTS, _LINE = 16, 64, 8  # words of the struct before its slots, how many of them, words of each
_REFERRED = 4096  # bytes from which an aligned array is read where the caller has it


class Form(NamedTuple):
    """How a C function is called.

    Attributes:
        name: what users call it.
        signature: in C.
        sizes: number of its parameters that are sizes; the others are pointers.
        pointers: number of them.
    """

    name: str
    signature: str
    sizes: int
    pointers: int

    @property
    def prototype(self) -> Any:
        """Its type; calls of it let go of the interpreter's lock."""
        types = [ctypes.c_size_t] * self.sizes + [ctypes.c_void_p] * self.pointers
        return ctypes.CFUNCTYPE(ctypes.c_long, *types)


_LOGP = "long logp(size_t dim, const double *x, double *gradient, double *logp, const void *user)"
_EXPAND = "long expand(size_t dim, size_t expanded, const double *x, double *out, const void *user)"
_ARRAYS = "long f(const void *const *inputs, void *const *outputs, const void *user)"
FORMS = {
    "arrays": Form("arrays", _ARRAYS, 0, 3),
    "logp": Form("logp", _LOGP, 1, 4),
    "density": Form("density", _LOGP, 1, 4),
    "expand": Form("expand", _EXPAND, 2, 3),
}


class FunctionData:
    """Values of the arguments that a C function's callers do not give.

    Attributes:
        address: what C functions take as `user`; good as long as this object is.
        values: argument name to its value.
    """

    def __init__(self, values: Mapping[str, np.ndarray], arrays: Sequence[np.ndarray]) -> None:
        self.values = dict(values)
        self._arrays = arrays
        self._table = table(arrays)
        self.address = int(self._table.ctypes.data) if arrays else 0


class CFunction:
    """A compiled function that C calls by its address; see `Function.c_function`.

    Any number of threads may call it at once. It, and the `FunctionData` that a call is given, must live as long as
    calls of it.

    Attributes:
        address: of the function.
        signature: of the function, in C.
        form: "arrays", "logp", "density" or "expand".
        ctypes: the same as a `ctypes` function, which lets go of the interpreter's lock.
        native: whether calls need neither Python nor its lock.
        reason: why not; "" if they do not.
        names: of the arguments that are data.
        dim: elements of `x` in all forms but "arrays".
        expanded: elements of the result in the form "expand".
        error: where it calls Python, the last exception (return code -5).
    """

    def __init__(
        self,
        program: Program,
        options: CompileOptions,
        arguments: Sequence[Any],
        form: FormName = "arrays",
        *,
        given: int | None = None,
    ) -> None:
        """Compiles it; what the arguments are, `Function.c_function` tells.

        Args:
            given: how many of them callers give; by default as many as the form has a place for.
        """
        self.form, self._form = form, form_of(program.signature, form)
        self._program, self._options = program, options
        self.signature = self._form.signature
        self.error: BaseException | None = None
        signature = program.signature
        count = len(signature.arguments) - len(program.bindings)
        self._given = (1 if self._form.sizes else count) if given is None else given
        self.names = tuple(argument.name for argument in signature.arguments[self._given : count])
        self._whole, self._places = program, range(self._given, len(signature.arguments))  # what data are of, and where
        self._values = self._arguments = complete(program, range(self._given, count), arguments, form)
        self._sizes = sizes_of_call(signature, self._arguments, len(program.bindings))
        self._executable = self._prepare()
        padded = self._executable.signature
        self._padded, self._results = padded.arguments, padded.results
        self.dim = math.prod(static_shape(self._padded[0].dims)) if form != "arrays" else None
        self.expanded = math.prod(static_shape(self._results[0].dims)) if form == "expand" else None
        self._data = self._bound(self._arguments, self._values)
        self._bind, self.reason = self._compile()
        self.native = not self.reason
        if self.reason:
            warnings.warn(
                f"{self.signature.split('(')[0].split()[-1]} of {program.name}: calls go through Python and "
                f"take its lock, since there is no direct call: {self.reason}",
                errors.PythonCallWarning,
                stacklevel=3,
            )
        self._bound_anew()

    def meaning(self, code: int) -> str:
        """What a code that a call returns says, in words: of a check that failed its own error."""
        number = abs(code) - abs(CHECK_FAILED)
        checks = self._executable.checks
        if 0 <= number < len(checks) and (code < 0 or self.form == "logp"):
            check = checks[number]
            place = f" (in {check.place.replace(' {}', '')})" if check.place else ""
            return f"{check.exception}: {check.message}{place}"
        if code == PYTHON_RAISED and self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return _MEANINGS.get(code, f"code {code}")

    def with_data(self, *arrays: Any, **by_name: Any) -> CFunction:
        """The same function at another address, with other values bound to it; nothing is compiled.

        Raises:
            ArgumentTypeError, ArgumentShapeError: see `data`.
        """
        values = self._updated(arrays, by_name)
        return self._with(values, self._suited(values))

    def _with(self, values: list[Any], arguments: list[Any]) -> CFunction:
        other = copy.copy(self)
        other._values, other._arguments, other._data = values, arguments, self._bound(arguments, values)
        return other._bound_anew()

    def as_density(self) -> CFunction:
        """A function in the form "logp" as one in the form "density"; nothing is compiled."""
        if self.form != "logp":
            raise OptionError(f'only the form "logp" is also a density, this is {self.form!r}')
        other = copy.copy(self)
        other.form, other._form = "density", FORMS["density"]
        return other._bound_anew()

    def _bound_anew(self) -> CFunction:
        self._run = self._bind(self)
        self.address = self._run.address
        self.ctypes: Any = self._form.prototype(self.address)
        return self

    # ---- arguments and data -----------------------------------------------------------------------------------------

    def data(self, *arrays: Any, **by_name: Any) -> FunctionData:
        """Other values of the arguments that callers do not give.

        Args:
            arrays: those values, in the order of `names`; fewer leave the rest as it is.
            by_name: the same by the arguments' names.

        Raises:
            ArgumentTypeError: another dtype, or no such argument.
            ArgumentShapeError: another rank, or a size that the compiled program does not cover: it was compiled for
                exactly one, or for sizes up to a bound.
        """
        values = self._updated(arrays, by_name)
        return self._bound(self._suited(values), values)

    def _suited(self, values: list[Any]) -> list[Any]:
        """The program's arguments for these values."""
        return values

    def _updated(self, arrays: Sequence[Any], by_name: Mapping[str, Any]) -> list[Any]:
        named, listed = self._whole.signature.arguments, ", ".join(self.names) or "none"
        if len(arrays) > len(self.names):
            raise ArgumentTypeError(f"{len(arrays)} arrays for the data {listed}")
        for name in by_name:
            if name not in self.names[len(arrays) :]:
                what = "given twice" if name in self.names else "not data"
                raise ArgumentTypeError(f"{name!r} is {what}; the data are {listed}")
        given = {**dict(zip(self.names, arrays, strict=False)), **by_name}
        values = [given.get(argument.name, value) for argument, value in zip(named, self._values, strict=True)]
        return as_arrays(named, self._places, values, self.form)

    def _bound(self, arguments: Sequence[Any], values: Sequence[Any]) -> FunctionData:
        """Data as the executable takes it: padded, and with live sizes."""
        program, plan = self._program, self._executable.sizes
        signature = program.signature
        sizes = sizes_of_call(signature, arguments, len(program.bindings))
        for name, size in sizes.items():
            exact, bound = plan.exact.get(name), plan.bounds.get(name)
            if exact is not None and size != exact:
                raise ArgumentShapeError(
                    f"size {name} = {size}: this C function was compiled for {exact}; a policy of 'padded' or a bound "
                    "for that size, where callers do not give it, covers others"
                )
            if bound is not None and size > bound:
                raise ArgumentShapeError(f"size {name} = {size}: this C function was compiled for sizes up to {bound}")
        arrays = []
        live = [sizes[argument.size] for argument in self._padded[len(arguments) :]]
        for argument, value in zip(self._padded[self._given :], [*arguments[self._given :], *live], strict=True):
            if argument.parameter and is_aligned(value):
                arrays.append(value)
                continue
            array = aligned(static_shape(argument.dims), argument.dtype)
            array[...] = 0
            array[tuple(map(slice, np.shape(value)))] = np.asarray(value, argument.dtype)
            arrays.append(array)
        pairs = zip(self._whole.signature.arguments, values, strict=True)
        return FunctionData({a.name: x for a, x in pairs if a.name in self.names}, arrays)

    # ---- compiling --------------------------------------------------------------------------------------------------

    def _prepare(self) -> Executable:
        """The program for these sizes: those of what callers give, and of results, exactly."""
        options, signature = self._options, self._program.signature
        if signature.has_data_sizes:
            raise UnsupportedGraphError(f"{self._program.name} has sizes that depend on data: no C function")
        choices, fixed = Policies(options.policy, signature).choices, self._fixed_roots(signature)
        options = replace(
            options,
            policy={name: "exact" if name in fixed else choice for name, choice in choices.items()},
            cpu=replace(options.cpu, direct=True, pack=False, client="sync"),
            numpy=Numpy(),
        )
        serving = Serving(self._program, options, {}, find_device(options.device), x64=lambda: None, tell=lambda: None)
        (executable,) = serving.warmed(self._sizes, {}, None, 0)
        return executable

    def _fixed_roots(self, signature: Signature) -> set[str]:
        fixed = {root.name for root in signature.value_roots}
        values: list[Argument | Result] = [*signature.arguments[: self._given], *signature.results]
        for value in values:
            for dim in value.dims:
                fixed |= dimension.roots(dim)
        for name, dim in dependent_roots(signature).items():
            if name in fixed:
                fixed |= dimension.roots(dim)
        for root in signature.value_roots:
            if root.argument < self._given:
                name = signature.arguments[root.argument].name
                raise UnsupportedGraphError(
                    f"the value of argument {name!r} decides a size, and callers of a C function give it; make it "
                    "data, or specialize the program first"
                )
        return fixed

    def _compile(self) -> tuple[Callable[[CFunction], CProgram | _Callback], str]:
        """What makes a function of it for the data of an object like this one; and why it calls Python, if so."""
        executable = self._executable
        with loading():
            compiled = executable.ahead()
        arrays = [np.asarray(x, a.dtype, order="C") for x, a in zip(self._arguments, self._padded, strict=False)]
        arrays = [*arrays[: self._given], *self._data._arrays]
        checks = len(executable.checks)
        try:
            if refusal := verdict.refusal(wait=True):
                raise DirectCallRefused(refusal)
            trials, data = 0 if executable.endless else TRIALS, executable.serialized
            direct, given = DirectCall.of(compiled, arrays, trials=trials, data=data), self._given
            return lambda owner: CProgram(direct, owner._form, given, owner._data.address, checks), ""
        except (jax.errors.JaxRuntimeError, DirectCallRefused) as error:
            if isinstance(executable, StoredExecutable) and executable.leave(error):  # PJRT may not run it either
                return self._compile()
            if not isinstance(error, DirectCallRefused):
                raise
            return partial(_Callback, compiled=compiled, checks=checks), str(error)

    def __repr__(self) -> str:
        kind = "native" if self.native else "calls Python"
        return f"<CFunction {self._program.name}: {self.signature}, {kind}>"


class CProgram:
    """An executable that C calls, until this object is gone.

    Attributes:
        address: of the function.
    """

    def __init__(self, direct: DirectCall, form: Form, given: int, data: int, checks: int) -> None:
        """Makes it.

        Args:
            direct: an executable whose results are the form's, and the flags of checks behind them.
            form: how it is called.
            given: number of arguments that its caller gives.
            data: address of the table of the other ones' addresses, or 0.
            checks: number of flags.

        Raises:
            DirectCallRefused: its code cannot be loaded.
        """
        executable = direct.executable
        results = {value.buffer.allocation for value in executable.results}
        written = [
            i in executable.donated or value.buffer.allocation in results
            for i, value in enumerate(executable.parameters)
        ]
        referred = [i for i in range(given, len(written)) if not written[i]]
        place, size = direct.layout(referred)
        inputs: list[int] = []
        for i, value in enumerate(executable.parameters):
            where = 1 if i in referred else 2 if value.buffer.size >= _REFERRED and not written[i] else 0
            inputs += (place(value), value.buffer.size, where)
        outputs = [word for value in executable.results for word in (place(value), value.buffer.size)]
        self._held = direct, np.array(inputs, np.uint64), np.array(outputs, np.uint64)
        words = direct.steps.words
        self._program = aligned((_HEADER + _SLOTS * _LINE,), np.dtype(np.uint64))
        self._program[:] = 0
        self._program[:12] = (
            size,
            direct.code.address,
            len(words),
            words.ctypes.data,
            len(executable.parameters),
            given,
            self._held[1].ctypes.data,
            len(executable.results) - bool(checks),
            self._held[2].ctypes.data,
            checks,
            executable.results[-1].dtype.itemsize if checks else 0,
            data,
        )
        own = self._program.ctypes.data
        self._code = bound(f"hlograph_{form.name}", own, form.sizes + form.pointers)
        self.address = self._code.address
        self._release = partial(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native_code().address("hlograph_release")), own)

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "_release"):
            self._release()


class _Callback:
    """A callback into Python with the form of a C function.

    Attributes:
        address: of the function.
    """

    def __init__(self, owner: CFunction, compiled: Any, checks: int) -> None:
        self._owner, self._compiled, self._checks = owner, compiled, checks

        def called(*words: Any) -> int:
            try:
                return self._call(owner._form, *words)
            except BaseException as error:  # what is raised here would only be printed
                owner.error = error
                return PYTHON_RAISED

        self._called = owner._form.prototype(called)  # a reference to it is what keeps the address good
        self.address = ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def _call(self, form: Form, *words: Any) -> int:
        """What `direct/native/calls.src` does."""
        owner, results = self._owner, self._owner._results
        *given, user = words
        inputs, outputs = given[form.sizes : form.sizes + 1], given[: form.sizes : -1]
        if form.sizes:  # the value is the first result, and in C behind its gradient
            if given[: form.sizes] != [owner.dim, owner.expanded][: form.sizes]:
                return WRONG_DIMENSION
        elif (owner._given and not given[0]) or (results and not given[1]):
            return NULL_POINTER
        else:
            inputs, outputs = _words(given[0], owner._given), _words(given[1], len(results))
        user = user or owner._data.address
        inputs += _words(user, len(owner._padded) - owner._given) if user else []
        values: list[tuple[int | None, Argument | Result]]
        values = [*zip(inputs, owner._padded, strict=True), *zip(outputs, results, strict=True)]
        if any(not address and 0 not in value.dims for address, value in values):
            return NULL_POINTER
        arrays = [np.array(_at(address, value)) for address, value in values[: len(inputs)]]
        with enable_x64(True):
            leaves = jax.tree.leaves(self._compiled(*arrays))
        found = [np.asarray(x) for x in leaves]
        failed = np.flatnonzero(found.pop() <= 0 if self._checks else [])
        if len(failed):
            code = CHECK_FAILED - int(failed[0])
        else:
            code = 0
            for address, result in zip(outputs, found, strict=True):
                _put(address, result)
        if form.name not in ("logp", "density"):
            return code
        if not code and not np.isfinite(found[1]).all():
            code = GRADIENT_NOT_FINITE
        elif not code and not np.isfinite(found[0]):
            code = LOGP_NOT_FINITE
        if code and form.name == "density":
            _put(outputs[1], np.zeros(owner.dim or 0))
            _put(outputs[0], np.array(-np.inf))
            return 0
        return abs(code)


def table(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The arrays' addresses, as C functions take them for data."""
    return np.array([array.ctypes.data for array in arrays], np.uint64)


def _words(address: int | None, count: int) -> list[int | None]:
    return list((ctypes.c_void_p * count).from_address(address or 0)) if count else []


def _at(address: int | None, value: Argument | Result) -> np.ndarray:
    size = math.prod(static_shape(value.dims)) * value.dtype.itemsize
    memory = (ctypes.c_char * size).from_address(address) if address and size else b""
    return np.frombuffer(memory, value.dtype).reshape(static_shape(value.dims))


def _put(address: int | None, result: np.ndarray) -> None:
    if address and result.nbytes:
        data = np.ascontiguousarray(result)
        ctypes.memmove(address, data.ctypes.data, data.nbytes)


def complete(program: Program, data: Collection[int], arguments: Sequence[Any], form: str) -> list[Any]:
    """All arguments: those that are given, values of shared variables, and made-up ones for what callers give."""
    bindings, every = program.bindings, program.signature.arguments
    names = every[: len(every) - len(bindings)]
    if len(arguments) > len(names):
        listed = ", ".join(argument.name for argument in names) or "none"
        raise ArgumentTypeError(f"{len(arguments)} arguments for {listed}")
    found = [*arguments, *[None] * (len(names) - len(arguments))]
    for i, argument in enumerate(names):
        found[i] = _made_up(argument) if found[i] is None and i not in data else found[i]
    values = [bindings[i].get_value(borrow=True) for i in sorted(bindings)]
    return as_arrays(every, data, [*found, *values], form)


def as_arrays(named: Sequence[Argument], data: Collection[int], arguments: Sequence[Any], form: str) -> list[Any]:
    """All arguments as arrays, of which those at some places are data."""
    for i, (argument, value) in enumerate(zip(named, arguments, strict=True)):
        if argument.key or argument.sparse:
            kind = "a PRNG key" if argument.key else "a sparse matrix"
            raise UnsupportedGraphError(f"argument {argument.name!r} is {kind}, which C functions do not take")
        if i in data and (value is None or isinstance(value, jax.ShapeDtypeStruct)):  # nobody else gives any
            raise ArgumentTypeError(
                f"argument {argument.name!r} ({describe(argument.dtype, argument.dims)}) is data in the form "
                f"{form!r}: give its value" + (", not only its shape" if value is not None else "")
            )
    arrays = to_arrays(named, arguments)
    return [np.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x for x in arrays]


def _made_up(argument: Argument) -> np.ndarray:
    """A value for an argument that nobody has given: only its shape and dtype matter."""
    if not all(isinstance(dim, int) for dim in argument.dims):
        raise ArgumentShapeError(
            f"argument {argument.name!r} has a symbolic shape ({', '.join(map(str, argument.dims))}): give an example, "
            "or a jax.ShapeDtypeStruct, so that the C function is compiled for its sizes"
        )
    return np.full(static_shape(argument.dims), 0.5 if argument.dtype.kind in "fc" else 0, argument.dtype)


def form_of(signature: Signature, name: FormName) -> Form:
    """The form of a name.

    Raises:
        ValueError: there is none.
        UnsupportedGraphError: the program's results are not what it returns.
    """
    if name not in FORMS:
        raise ValueError(f"form must be {', '.join(map(repr, FORMS))}, got {name!r}")
    form = FORMS[name]
    if not form.sizes:
        return form
    if not signature.arguments:
        raise UnsupportedGraphError(f"the form {form.name!r} needs a first argument float64[dim], the program has none")
    x, results = signature.arguments[0], signature.results
    if form.name == "expand":
        expected, fits = "one result float64[expanded]", len(results) == 1 and len(results[0].dims) == 1
    else:
        expected = "logp float64[] and gradient float64[dim]"
        fits = [tuple(result.dims) for result in results] == [(), tuple(x.dims)]
    if fits and len(x.dims) == 1 and {x.dtype, *(result.dtype for result in results)} == {np.dtype(np.float64)}:
        return form
    found = ", ".join(f"{r.dtype}[{', '.join(map(str, r.dims))}]" for r in results)
    raise UnsupportedGraphError(
        f"the form {form.name!r} is for a program of {x.name} float64[dim] with {expected}; this one has "
        f"{x.name} {x.dtype}[{', '.join(map(str, x.dims))}] and results {found}"
    )
