"""Values between a library's containers and the device: shared variables, random generators, results.

The libraries keep a value in a list of one element that every function using the variable shares, and other modes read
NumPy arrays and generators there. So what a container holds is always such a value; what belongs to it on the device is
remembered beside it, by identity. On the CPU both are one piece of memory, and an array that was borrowed from a shared
variable and written to counts in the next call. On other devices an update stays there, and becomes a NumPy array when
it is read (`DeviceContents`).

The key of a random generator: a JAX PRNG key's data, uint32[2], which is a function of the generator's state. After an
update the container holds a `KeyGenerator`, which carries the key from then on.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...codegen.errors import ArgumentTypeError
from ...codegen.ir.jax_compat import enable_x64
from ..calls.memory import ALIGNMENT, aligned, in_place, shared_memory

if TYPE_CHECKING:
    from typing import Any as Extended
else:
    Extended = object


def in_host_memory(device: Any) -> bool:
    """Whether a device's arrays are in this process's memory."""
    return bool(device.platform == "cpu")


# ---- arguments --------------------------------------------------------------------------------------------------


class Plain:
    """An argument that is read as it is: an explicit input.

    Attributes:
        storage: the library's list with the value.
        dtype: of an array.
        shaped: whether the value is an array.
    """

    shaped = True

    def __init__(self, storage: list[Any], dtype: Any = None) -> None:
        self.storage = storage
        self.dtype = dtype

    def read(self) -> Any:
        """What the executable gets."""
        return self.storage[0]

    def in_numpy(self) -> Any:
        """The same, nowhere but in this process's memory."""
        return np.asarray(self.read())


class Shared(Plain):
    """A shared tensor on the CPU: its container's array and the JAX array are the same memory.

    A value of the user's that XLA cannot use in place is copied once, and the copy takes its place in the container.

    Attributes:
        host: the value that was last seen or written.
        array: the JAX array on its memory.
    """

    def __init__(self, storage: list[Any], device: Any) -> None:
        super().__init__(storage)
        self.device = device
        self.host: Any = None
        self.array: Any = None
        self._on_device = True

    def read(self) -> Any:
        value = self.storage[0]
        if not self._on_device:
            return value
        return self.array if value is self.host and value is not None else self._send(value)

    def in_numpy(self) -> Any:
        return self.storage[0]

    def leave_device(self) -> None:
        """From now on the executable gets NumPy arrays, and gives such."""
        self.host, self._on_device = None, False

    def _send(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value  # a scalar, or nothing an executable takes
        usable = value.flags.c_contiguous and value.ctypes.data % ALIGNMENT == 0 and value.flags.writeable
        host = value if usable else aligned(value.shape, value.dtype)
        if not usable:
            host[...] = value
        array = in_place(host, self.device)
        if array is None:
            return value
        self.storage[0] = self.host = host
        self.array = array
        return array

    def write(self, array: jax.Array) -> Any:
        """Takes an update; returns what the container is to hold."""
        if not self._on_device:
            return array
        self.host, self.array = shared_memory(array), array
        return self.host


class DeviceShared(Shared):
    """A shared tensor on another device than the CPU: sent once, and updated there.

    What was sent is read-only in the container from then on, so that nobody writes to a value that is elsewhere. An
    update is in the container as a JAX array.
    """

    def read(self) -> Any:
        value = self.storage[0]
        return value if isinstance(value, jax.Array) else super().read()

    def _send(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        host = value.copy()
        host.flags.writeable = False
        with enable_x64(True):
            self.array = jax.device_put(host, self.device)
        self.storage[0] = self.host = host
        return self.array

    def write(self, array: jax.Array) -> Any:
        return array


class DeviceContents(Extended):
    """In front of a library's container: a JAX array becomes a NumPy array when it is read."""

    @classmethod
    def of(cls, container: Any) -> Any:
        """Such a container of the same contents."""
        made: Any = cls.__new__(cls)
        vars(made).update(vars(container))
        return made

    def _read(self) -> Any:
        value = self.storage[0]
        return np.array(value) if isinstance(value, jax.Array) else value

    data = value = property(_read, lambda self, value: self.__set__(value))

    def __getstate__(self) -> dict[str, Any]:
        # JAX makes 32-bit arrays of 64-bit ones when it unpickles them without its x64 mode.
        self.storage[0] = self.value
        return dict(self.__dict__)


# ---- random generators --------------------------------------------------------------------------------------------


class _WithKey:
    """A NumPy generator that carries a JAX PRNG key: the stream of the compiled functions.

    Its bit generator is that of the generator it came from, so that NumPy's stream goes on beside it.

    Attributes:
        key: the key's data, uint32[2].
    """

    _bit_generator: Any

    def __init__(self, bit_generator: Any, key: Any) -> None:
        super().__init__(bit_generator)  # type: ignore[call-arg]
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bit_generator, np.asarray(self.key))

    def __copy__(self) -> Any:
        return type(self)(self._bit_generator, self.key)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._bit_generator, memo), self.key)


class KeyState(_WithKey, np.random.RandomState):
    """The kind that Aesara's random variables may read."""


class KeyGenerator(_WithKey, np.random.Generator):
    """The kind that PyTensor's random variables read, and Aesara's."""

    def __repr__(self) -> str:
        return f"KeyGenerator(key={np.asarray(self.key).tolist()})"


def key_of(generator: Any) -> Any:
    """The key's data that a generator stands for, uint32[2]; the generator stays as it is.

    A function of its state, and nothing else: the state's words, in the order of their names, are the entropy of a
    `numpy.random.SeedSequence`, whose first two words are the key.
    """
    if isinstance(generator, KeyGenerator | KeyState):
        return generator.key
    if isinstance(generator, np.random.RandomState):
        generator = generator.get_state(legacy=False)
    elif isinstance(generator, np.random.Generator):
        generator = generator.bit_generator.state
    if not isinstance(generator, Mapping):  # which Aesara's types take for a generator, too
        raise ArgumentTypeError(
            f"a random generator is expected, got {type(generator).__name__}; set numpy.random.default_rng(seed)"
        )
    return np.random.SeedSequence([*_words(generator)]).generate_state(2, np.uint32)


def _words(state: Any) -> Iterator[int]:
    if isinstance(state, Mapping):
        for name in sorted(state):
            yield from _words(state[name])
    elif isinstance(state, str):
        yield int.from_bytes(state.encode(), "little")
    else:
        flat = np.ravel(np.asarray(state))
        whole = flat if flat.dtype.kind in "iuO" else flat.astype(np.float64).view(np.uint64)
        yield from (int(word) for word in whole)


class Key(Plain):
    """A random generator, explicit or shared."""

    shaped = False

    def read(self) -> Any:
        return key_of(self.storage[0])


def successor(generator: Any, key: Any) -> KeyGenerator | KeyState:
    """The generator after a call, with the key that the call returned.

    Args:
        generator: the one before, or None when there was none (a constant of the graph).
        key: uint32[2].
    """
    if isinstance(generator, np.random.RandomState):
        return KeyState(generator._bit_generator, key)
    if isinstance(generator, np.random.Generator):
        return KeyGenerator(generator.bit_generator, key)
    return KeyGenerator(np.random.PCG64(np.random.SeedSequence(np.asarray(key).tolist())), key)
