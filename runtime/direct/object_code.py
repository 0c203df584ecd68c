"""Machine code from ELF object files, placed in this process's memory.

In: relocatable object files for x86-64 Linux, as XLA's CPU compiler makes them, and our own (`native_code`). Out:
addresses of their functions. Decision to know: a loader for these, not for C programs. Sections, relocations and
outside functions that are not listed here are refused. No memory is writable and executable at the same time.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

from .steps import DirectCallRefused

# Functions of the C library that kernels may call: XLA takes them from the process, too. Those of XLA's own runtime
# (`__xla_cpu_runtime_...`) cannot be found from outside of jaxlib.
_MATH = [
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf"),
    *("erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmax", "fmin", "fmod", "hypot", "lgamma", "log", "log10"),
    *("log1p", "log2", "nearbyint", "nextafter", "pow", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh"),
    *("tgamma", "trunc"),
]
# glibc keeps versions of a function. jaxlib is linked with those of glibc 2.27, newest first; the later ones of
# `log` and `pow` give a NaN of the other sign.
_GLIBC = ("2.27", "2.23", "2.16", "2.14", "2.2.5")
OUTSIDE = frozenset([*_MATH, *(name + "f" for name in _MATH), "sincos", "sincosf", "memcpy", "memmove", "memset"])

_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR, _SHF_TLS, _SHF_COMPRESSED = 0x1, 0x2, 0x4, 0x400, 0x800
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS, _SHT_UNWIND = 1, 2, 4, 8, 0x70000001
_SHN_UNDEF, _SHN_COMMON, _SHN_LORESERVE = 0, 0xFFF2, 0xFF00
_STT_SECTION, _STT_FILE, _STT_TLS, _STT_IFUNC = 3, 4, 6, 10
# Relocation type of x86-64 to its format in memory, and whether it counts from its own place.
_RELOCATIONS = {
    1: ("<Q", False),  # R_X86_64_64
    2: ("<i", True),  # R_X86_64_PC32
    4: ("<i", True),  # R_X86_64_PLT32
    10: ("<I", False),  # R_X86_64_32
    11: ("<i", False),  # R_X86_64_32S
    24: ("<q", True),  # R_X86_64_PC64
}


class _Section:
    """A section of an object file; `address` once it has a place."""

    def __init__(self, header: tuple[int, ...], name: str, file: bytes) -> None:
        _, self.type, self.flags, _, offset, self.size, self.link, self.info, self.alignment, self.entry_size = header
        self.name = name
        self.data = b"" if self.type == _SHT_NOBITS else file[offset : offset + self.size]
        self.address: int | None = None

    @property
    def loaded(self) -> bool:
        unwind = self.type == _SHT_UNWIND or self.name.startswith(".eh_frame")  # nothing is thrown through kernels
        return bool(self.flags & _SHF_ALLOC) and not unwind


class _ObjectFile:
    """An object file's sections and symbols."""

    def __init__(self, data: bytes) -> None:
        kind, machine = struct.unpack_from("<HH", data, 16)
        if data[:6] != b"\x7fELF\x02\x01" or kind != 1 or machine != 62:
            raise DirectCallRefused("the machine code is not a relocatable ELF file for x86-64")
        (at,) = struct.unpack_from("<Q", data, 40)
        entry_size, count, names_index = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * entry_size) for i in range(count)]
        names = data[headers[names_index][4] :]
        self.sections = [_Section(header, _text(names, header[0]), data) for header in headers]
        for section in self.sections:
            _refuse_unknown(section)
        table = next((section for section in self.sections if section.type == _SHT_SYMTAB), None)
        if table is None:
            raise DirectCallRefused("the machine code has no symbols")
        texts = self.sections[table.link].data
        self.symbols = [
            (_text(texts, name), info & 15, section, value)
            for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table.data)
        ]

    def defined(self) -> Iterator[tuple[str, int]]:
        """Names and addresses of the symbols that lie in loaded sections."""
        for name, kind, index, value in self.symbols:
            if name and kind not in (_STT_SECTION, _STT_FILE) and _SHN_UNDEF < index < _SHN_LORESERVE:
                address = self.sections[index].address
                if address is not None:
                    yield name, address + value

    def relocations(self) -> Iterator[tuple[_Section, int, int, int, int]]:
        """Of loaded sections: the section, the offset in it, type, number of the symbol, addend."""
        for section in self.sections:
            if section.type == _SHT_RELA and self.sections[section.info].loaded:
                for offset, info, addend in struct.iter_unpack("<QQq", section.data):
                    yield self.sections[section.info], offset, info & 0xFFFFFFFF, info >> 32, addend


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()


def _refuse_unknown(section: _Section) -> None:
    if not section.loaded:
        return
    constant = section.name.startswith(".data.rel.ro") or section.name.startswith(".ldata.rel.ro")
    if section.flags & _SHF_WRITE and not constant:
        raise DirectCallRefused(f"the machine code has variables of its own ({section.name})")
    if section.flags & (_SHF_TLS | _SHF_COMPRESSED) or section.type != _SHT_PROGBITS:
        raise DirectCallRefused(f"the machine code has a section of an unknown kind ({section.name})")
    if section.alignment > mmap.PAGESIZE:
        raise DirectCallRefused(f"the section {section.name} wants more than a page's alignment")


class ObjectCode:
    """Object files linked with one another in memory of their own; it stays as long as this object.

    The memory can be read and executed, its constants only read; a process that is forked has it, too.
    """

    def __init__(
        self, files: Sequence[bytes], outside: Collection[str] | None = None, given: Mapping[str, int] | None = None
    ) -> None:
        """Links the object files.

        Args:
            files: what they are.
            outside: functions of the C library that they may call; those of XLA's kernels by default.
            given: addresses of further ones that they may call.

        Raises:
            DirectCallRefused: another machine than x86-64 Linux, something unknown in a file, or a system that does not
                let a process make machine code (some hardened ones).
        """
        if sys.platform != "linux" or platform.machine() != "x86_64" or struct.calcsize("P") != 8:
            raise DirectCallRefused(f"machine code is loaded on x86-64 Linux only, not on {platform.platform()}")
        self._outside = OUTSIDE if outside is None else outside
        self._symbols: dict[str, int] = dict(given or {})
        try:
            self._link([_ObjectFile(data) for data in files])
        except (struct.error, IndexError, ValueError, OSError, OverflowError) as error:
            raise DirectCallRefused(f"the machine code could not be loaded: {error}") from None

    def _link(self, objects: Sequence[_ObjectFile]) -> None:
        sections = [section for file in objects for section in file.sections if section.loaded]
        code = [section for section in sections if section.flags & _SHF_EXECINSTR]
        data = [section for section in sections if not section.flags & _SHF_EXECINSTR]
        ends = _places(code, 0)
        code_size = ends[-1][1] + -ends[-1][1] % mmap.PAGESIZE if ends else mmap.PAGESIZE
        data_ends = _places(data, 0)
        size = code_size + (data_ends[-1][1] if data_ends else 0)

        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for section, (start, _) in zip(code, ends, strict=True):
            section.address = base + start
        for section, (start, _) in zip(data, data_ends, strict=True):
            section.address = base + code_size + start
        for file in objects:
            for name, address in file.defined():
                self._symbols[name] = address
        for section in sections:
            start = _address(section) - base
            self._memory[start : start + section.size] = section.data
        for file in objects:
            self._relocate(file, base)
        _protect(base, code_size, mmap.PROT_READ | mmap.PROT_EXEC)
        if size > code_size:
            _protect(base + code_size, size - code_size, mmap.PROT_READ)

    def address(self, name: str) -> int:
        """Of a function in the object files.

        Raises:
            DirectCallRefused: there is none of that name.
        """
        if name not in self._symbols:
            raise DirectCallRefused(f"the machine code has no function {name}")
        return self._symbols[name]

    def _relocate(self, file: _ObjectFile, base: int) -> None:
        for section, offset, type_, symbol, addend in file.relocations():
            if type_ not in _RELOCATIONS:
                raise DirectCallRefused(f"the machine code has relocations of type {type_:d}")
            form, relative = _RELOCATIONS[type_]
            place = _address(section) + offset
            value = self._value(file, symbol) + addend - (place if relative else 0)
            if form == "<Q":
                value %= 1 << 64
            try:
                struct.pack_into(form, self._memory, place - base, value)
            except struct.error:
                name = file.symbols[symbol][0]
                raise DirectCallRefused(f"{name or 'a constant'} is too far away for the code that uses it") from None

    def _value(self, file: _ObjectFile, symbol: int) -> int:
        name, kind, index, value = file.symbols[symbol]
        if kind in (_STT_TLS, _STT_IFUNC) or index >= _SHN_LORESERVE:
            raise DirectCallRefused(f"the symbol {name} is of an unknown kind")
        if index != _SHN_UNDEF:
            return _address(file.sections[index]) + value
        if name in self._symbols:
            return self._symbols[name]
        if name not in self._outside:
            raise DirectCallRefused(f"the machine code calls {name}, which is a part of XLA's runtime")
        return c_function(name)


def c_function(name: str) -> int:
    """The address of a function of the C library.

    Raises:
        DirectCallRefused: this C library has not got it.
    """
    try:
        # Their names are visible to the whole process then, if they were not before.
        library = ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
        find = library.dlvsym
    except (OSError, AttributeError):
        raise DirectCallRefused("this system has another C library than glibc") from None
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    for version in _GLIBC:
        address = find(None, name.encode(), f"GLIBC_{version}".encode())
        if address:
            return int(address)
    raise DirectCallRefused(f"this C library has no {name}")


def _places(sections: Sequence[_Section], at: int) -> list[tuple[int, int]]:
    """Start and end of each section, one after the other from `at` on."""
    places = []
    for section in sections:
        at += -at % max(section.alignment, 1)
        places.append((at, at + section.size))
        at += section.size
    return places


def _address(section: _Section) -> int:
    if section.address is None:
        raise DirectCallRefused(f"the machine code uses the section {section.name}, which is not a part of it")
    return section.address


def _protect(address: int, size: int, protection: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(protection)):
        raise DirectCallRefused(f"the system does not let this process make machine code: error {ctypes.get_errno():d}")


def executable_memory(code: bytes) -> tuple[mmap.mmap, int]:
    """Memory with this code, which can be run and not written; and its address.

    Raises:
        DirectCallRefused: the system does not let a process make machine code.
    """
    memory = mmap.mmap(-1, len(code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[: len(code)] = code
    _protect(address, len(code), mmap.PROT_READ | mmap.PROT_EXEC)
    return memory, address
