"""Protocol buffers read by field number, without generated classes.

In: a message's bytes. Out: its fields, with the defaults of proto3 for those that are absent. Decision to know: the
reader says which fields it knows where an unknown one could change the meaning; elsewhere unknown ones are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

Field = int | bytes


class WireError(ValueError):
    """Bytes are not the message that is looked for."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The variable-length integer at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """The fields of a message, in order: number, and an integer or the bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise WireError(f"a message has a field of wire type {kind:d}")
        if number == 0 or at + size > len(data):
            raise WireError("a message is truncated or invalid")
        yield number, data[at : at + size]
        at += size


class Message:
    """A message's fields by number; those that are absent have their default, as in proto3.

    Every method raises `WireError` for a field of another kind.

    Args:
        data: the message's bytes.
        name: its name in errors.
        known: the only fields that it may have; None for any.
    """

    def __init__(self, data: Field, name: str, known: set[int] | None = None) -> None:
        if not isinstance(data, bytes):
            raise WireError(f"{name} is not a message")
        self.name = name
        self._fields: dict[int, list[Field]] = {}
        for number, value in fields(data):
            self._fields.setdefault(number, []).append(value)
        unknown = sorted(set(self._fields) - known) if known is not None else []
        if unknown:
            raise WireError(f"{name} has fields that are not known here: {unknown}")

    def has(self, number: int) -> bool:
        """Whether the field is there."""
        return number in self._fields

    def all(self, number: int) -> list[Field]:
        """A repeated field as it stands."""
        return self._fields.get(number, [])

    def bytes_(self, number: int) -> bytes:
        """The last one, if there are several."""
        value = self.all(number)[-1] if self.has(number) else b""
        if not isinstance(value, bytes):
            raise WireError(f"field {number:d} of {self.name} is a number")
        return value

    def text(self, number: int) -> str:
        """Likewise, as UTF-8."""
        return self.bytes_(number).decode()

    def integer(self, number: int) -> int:
        """The last one, not negative: 64 bits without a sign."""
        value = self.all(number)[-1] if self.has(number) else 0
        if not isinstance(value, int):
            raise WireError(f"field {number:d} of {self.name} is not a number")
        return value

    def integers(self, number: int) -> list[int]:
        """A repeated integer, packed or not."""
        values: list[int] = []
        for value in self.all(number):
            if isinstance(value, int):
                values.append(value)
                continue
            at = 0
            while at < len(value):
                item, at = varint(value, at)
                values.append(item)
        return values

    def message(self, number: int, name: str, known: set[int] | None = None) -> Message:
        """A message inside of this one."""
        return Message(self.bytes_(number), name, known)

    def messages(self, number: int, name: str, known: set[int] | None = None) -> list[Message]:
        """A repeated message."""
        return [Message(value, name, known) for value in self.all(number)]
