"""What an object file has and what it needs, read before LLVM loads it: ELF, Mach-O and COFF.

In: a relocatable object file, as XLA's CPU compiler and LLVM write them on Linux, macOS and Windows. Out: names of the
functions in it, and of those that it calls, as C spells them. Decision to know: LLVM ends the process where it does not
know a relocation, and cuts off addresses that do not fit into one, without a word. So only those are accepted that take
any address (where LLVM makes the jump, too), and shorter ones to places in the same file, whose sections lie side by
side.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from ..codegen.errors import CompileError


class DirectCallRefused(CompileError):
    """This executable cannot be called without PJRT; the message says why."""


class Relocations(NamedTuple):
    """Kinds of a machine's relocations that are known, by number; in Mach-O with 16 times the log2 of their bytes.

    Attributes:
        far: of any address.
        near: of places in the same file.
    """

    far: frozenset[int]
    near: frozenset[int]


class Contents(NamedTuple):
    """What is read of an object file.

    Attributes:
        machine: the number that its format has for the processor.
        variables: names of sections that may be written to.
        symbols: of each the name, whether it is in the file, and whether other files see it.
        uses: of each relocation its kind, and the number of its symbol; None for one of the file's own sections.
    """

    machine: int
    variables: list[str]
    symbols: list[tuple[str, bool, bool]]
    uses: list[tuple[int, int | None]]


# Of formats and their numbers of processors:
# R_X86_64_64 and PC64; PLT32, a call; PC32
# R_AARCH64_ABS64, PREL64, MOVW_UABS_G0_NC to G3; JUMP26 and CALL26;
#   PREL32, ADR_PREL_PG_HI21, ADD_ABS_LO12_NC, LDST8 to LDST128_ABS_LO12_NC
# ARM64_RELOC_UNSIGNED and SUBTRACTOR of 8 bytes, GOT_LOAD_PAGE21 and PAGEOFF12; BRANCH26, PAGE21, PAGEOFF12
# IMAGE_REL_AMD64_ADDR64, REL32 and REL32_1 to 5, for which LLVM makes jumps; ADDR32NB, in tables for unwinding
_RELOCATIONS = {
    ("ELF", 62): Relocations(frozenset({1, 4, 24}), frozenset({2})),
    ("ELF", 183): Relocations(
        frozenset({257, 260, 264, 266, 268, 269, 282, 283}), frozenset({261, 275, 277, 278, 284, 285, 286, 299})
    ),
    ("Mach-O", 0x0100000C): Relocations(frozenset({0x30, 0x31, 0x25, 0x26}), frozenset({0x22, 0x23, 0x24})),
    ("COFF", 0x8664): Relocations(frozenset({1, *range(4, 10)}), frozenset({3})),
}

_RELOCATED = (".data.rel.ro", ".ldata.rel.ro")  # constants that hold addresses


def names(data: bytes, form: tuple[str, int]) -> tuple[set[str], set[str]]:
    """Names of an object file's functions that others may call, and of those in no section of it that it calls.

    Args:
        data: the file.
        form: its format, and the number that this has for the processor.

    Raises:
        DirectCallRefused: something in it is not known here, or it is for another processor.
    """
    magic, reader = _READERS[form[0]]
    relocations = _RELOCATIONS[form]
    try:
        if not data.startswith(magic):
            raise DirectCallRefused(f"the machine code is in no {form[0]} file")
        machine, variables, symbols, uses = reader(data)
        if machine != form[1]:
            raise DirectCallRefused("the machine code is for another processor")
        needed = set()
        for kind, number in uses:
            name, inside, _ = ("", True, False) if number is None else symbols[number]
            if not inside:
                needed.add(name)
            if kind not in relocations.far and not (inside and kind in relocations.near):
                what = f"of {name}" if name else "of its own"
                raise DirectCallRefused(f"the machine code has an address {what} of an unknown kind ({kind:d})")
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise DirectCallRefused(f"an object file cannot be read: {error!r}") from None
    if variables:
        raise DirectCallRefused(f"the machine code has variables of its own ({variables[0]})")
    return {name for name, inside, seen in symbols if inside and seen}, needed


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _elf(data: bytes) -> Contents:
    (machine,), (table,) = struct.unpack_from("<H", data, 18), struct.unpack_from("<Q", data, 40)
    _, count, names_at = struct.unpack_from("<3H", data, 58)
    sections = [struct.unpack_from("<2I4Q2I2Q", data, table + 64 * i) for i in range(count)]
    texts = [_text(data, sections[names_at][4] + section[0]) for section in sections]
    variables, symbols, uses = [], [], []
    for name, (_, kind, flags, _, start, size, link, *_) in zip(texts, sections, strict=True):
        rows = data[start : start + size]
        if flags & 1 and size and not name.startswith(_RELOCATED):  # SHF_WRITE; also of a thread's variables
            variables.append(name)
        if kind == 2:  # SHT_SYMTAB
            for at, info, _, section, _, _ in struct.iter_unpack("<I2BH2Q", rows):
                if section == 0xFFF2:  # SHN_COMMON
                    variables.append(_text(data, sections[link][4] + at))
                symbols.append((_text(data, sections[link][4] + at), section != 0, info >> 4 != 0))
        if kind == 4:  # SHT_RELA
            uses += [(info & 0xFFFFFFFF, info >> 32) for _, info, _ in struct.iter_unpack("<2Qq", rows)]
        if kind == 9:  # SHT_REL
            raise DirectCallRefused("the machine code has addresses without addends")
    return Contents(machine, variables, symbols, uses)


def _mach_o(data: bytes) -> Contents:
    _, machine, _, _, count, *_ = struct.unpack_from("<8I", data)
    variables, symbols, uses = [], [], []
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<2I", data, at)
        if kind == 0x19:  # LC_SEGMENT_64
            (sections,) = struct.unpack_from("<I", data, at + 64)
            for i in range(sections):
                row = struct.unpack_from("<16s16s2Q8I", data, at + 72 + 80 * i)
                section, segment = (part.rstrip(b"\0").decode() for part in row[:2])
                if segment.startswith("__DATA") and section != "__const" and row[3]:
                    variables.append(section)
                for _, bits in struct.iter_unpack("<iI", data[row[6] : row[6] + 8 * row[7]]):
                    number = bits & 0xFFFFFF if bits >> 27 & 1 else None
                    uses.append((bits >> 28 | (bits >> 25 & 3) << 4, number))
        if kind == 2:  # LC_SYMTAB
            start, length, text, _ = struct.unpack_from("<4I", data, at + 8)
            for name, what, _, _, value in struct.iter_unpack("<I2BHQ", data[start : start + 16 * length]):
                inside, seen = what & 0x0E != 0, bool(what & 1)
                symbols.append((_text(data, text + name).removeprefix("_"), inside, seen and not what & 0xE0))
                if not inside and value:  # its size, if it is no variable's yet
                    variables.append(symbols[-1][0])
        at += size
    return Contents(machine, variables, symbols, uses)


def _coff(data: bytes) -> Contents:
    machine, count, _, table, length, optional, _ = struct.unpack_from("<2H3I2H", data)
    variables, uses = [], []
    symbols: list[tuple[str, bool, bool]] = []
    for i in range(count):
        row = struct.unpack_from("<8s6I2HI", data, 20 + optional + 40 * i)
        section, virtual, _, size, _, at, _, number, _, flags = row
        if flags >> 31 and (size or virtual):  # IMAGE_SCN_MEM_WRITE
            variables.append(section.rstrip(b"\0").decode())
        if flags >> 24 & 1:  # IMAGE_SCN_LNK_NRELOC_OVFL
            raise DirectCallRefused("the machine code has too many addresses")
        uses += [(kind, symbol) for _, symbol, kind in struct.iter_unpack("<2IH", data[at : at + 10 * number])]
    while len(symbols) < length:
        field, value, place, _, seen, more = struct.unpack_from("<8sIhH2B", data, table + 18 * len(symbols))
        zero, at = struct.unpack("<2I", field)
        name = field.rstrip(b"\0").decode() if zero else _text(data, table + 18 * length + at)
        if not place and value:  # its size, if it is no variable's yet
            variables.append(name)
        symbols += [(name, place != 0, seen == 2), *[("", True, False)] * more]  # IMAGE_SYM_CLASS_EXTERNAL; its records
    return Contents(machine, variables, symbols, uses)


_READERS: dict[str, tuple[bytes, Callable[[bytes], Contents]]] = {
    "ELF": (b"\x7fELF", _elf),
    "Mach-O": (b"\xcf\xfa\xed\xfe", _mach_o),
    "COFF": (b"\x64\x86", _coff),
}
