"""MLIR's bytecode, as far as it is looked at before it is parsed: its strings.

    "ML\\xefR" | version | producer, NUL | sections: number, length, (alignment, padding), content

In: the bytes of a file. Out: the strings in it, which are all names and texts of its module. Decision to know: they
only tell whether a file looks like one that hlograph wrote; what does not is parsed in another process.
"""

from __future__ import annotations

MAGIC = b"ML\xefR"
_STRINGS, _ALIGNED = 0, 0x80


def has_plain_strings(data: bytes) -> bool:
    """Whether all strings of a file can be found, and are UTF-8."""
    try:
        for string in strings(data):
            string.decode()
    except (ValueError, IndexError):
        return False
    return True


def strings(data: bytes) -> list[bytes]:
    """The strings of a file.

    Raises:
        ValueError, IndexError: they cannot be found.
    """
    _, place = _number(data, len(MAGIC))
    place = data.index(b"\0", place) + 1
    while data[place] & ~_ALIGNED != _STRINGS:
        start, length = _section(data, place)
        place = start + length
    start, length = _section(data, place)
    content = data[start : start + length]
    if len(content) != length:
        raise ValueError("the section ends behind the file")
    return _strings(content)


def _section(data: bytes, place: int) -> tuple[int, int]:
    """Where the content of a section begins, and its length."""
    aligned = data[place] & _ALIGNED
    length, place = _number(data, place + 1)
    if aligned:
        alignment, place = _number(data, place)
        place += -place % alignment if alignment else 0
    return place, length


def _strings(content: bytes) -> list[bytes]:
    """The strings of their section: how many, how long from the last to the first, and all of them, NUL behind each."""
    count, place = _number(content, 0)
    if count > len(content):
        raise ValueError("more strings than bytes")
    lengths = []
    for _ in range(count):
        length, place = _number(content, place)
        lengths.append(length)
    found = []
    for length in reversed(lengths):
        found.append(content[place : place + length - 1])
        if length < 1 or content[place + length - 1 : place + length] != b"\0":
            raise ValueError("a string without an end")
        place += length
    if place != len(content):
        raise ValueError("bytes behind the last string")
    return found


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number, whose first byte says in its last bits how many follow; and the place behind it."""
    first = data[place]
    if first & 1:
        return first >> 1, place + 1
    if not first:
        return int.from_bytes(data[place + 1 : place + 9], "little"), place + 9
    count = (first & -first).bit_length()
    return int.from_bytes(data[place : place + count], "little") >> count, place + count
