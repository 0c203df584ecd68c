"""Programs read: from text, MLIR bytecode and portable bytecode.

In: a path, or what stands in a file. Out: a program, verified, with its pullback if the file holds one. Decision to
know: nothing is parsed in this process that a child process did not parse before, unless whoever calls has said that it
may be (docs/security.md).
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError, HandEditWarning, HlographError
from ..ir.bindings import ir
from ..ir.modules import to_bytecode
from ..program import Program, Pullback
from ..signature import Argument, Result
from . import checks, digest
from .files import open_regular
from .parameters import bind
from .parsing import check_bytes, check_size, cut, parse_limited
from .parsing import parse as parse_module
from .writing import FROM, OF, PULLBACK

if TYPE_CHECKING:
    from .foreign_dims import ForeignDims


def load(
    path: str | os.PathLike[str],
    *,
    trusted: bool = False,
    allow: Collection[str] = (),
    dims: ForeignDims | None = None,
    parameters: str | os.PathLike[str] | None = None,
) -> Program:
    """Reads a program that `Program.save` wrote, or any StableHLO module in text or bytecode.

    Text that was edited since it was saved is read with a `HandEditWarning`; bytecode that was is damaged.

    Args:
        path: the file; text and bytecode are told apart by their first bytes.
        trusted: parses the file in this process. Without it each file is parsed in a child process first, because there
            are files that end the process that parses them, and anyone can write a right digest to one. The first
            file takes 0.3 s more for that, others as long again as the parse.
        allow: names of custom calls that are taken as they are, besides those that hlograph knows with their shapes;
            what they name is code that runs in this process. "*" for all.
        dims: names for the sizes of a module that somebody else wrote, by the name or number of an argument: of its
            axes, `{"arg0": ["n", 8], 1: "2*n"}`, or of its values where it is an integer or a vector of so many
            integers, `{"arg2": "k"}`. The same name means the same size.
        parameters: the file of its parameters, see `Program.save`; by default the one in its folder that it names. It
            is mapped into memory: do not write to it, put another in its place.

    Raises:
        ArtifactNotFoundError: no such file, or none of its parameters.
        ArtifactError: it is malformed, damaged, too large, not StableHLO, or from a newer StableHLO or hlograph; it
            calls code that no file may call; what its attributes say cannot be true; `dims` does not fit it; or the
            file of parameters is not the one that it was saved with, truncated or damaged.
    """
    source = Path(path)
    program = _read(content(source), str(source), trusted, allow)
    if dims:
        from .foreign_dims import name_sizes

        program = name_sizes(program, dims)
    bind(program, source, parameters)
    return program


def parse(
    source: str | bytes, *, filename: str = "<stdin>", trusted: bool | None = None, allow: Collection[str] = ()
) -> Program:
    """A program from module text, MLIR bytecode or portable bytecode.

    Args:
        source: text, or bytes of either kind.
        filename: what messages call it.
        trusted: False parses it in a child process first, see `hlograph.load`; bytes are not trusted by default.
        allow: names of custom calls that are taken as they are, see `hlograph.load`; "*" for all.

    Raises:
        ArtifactError: it is malformed, damaged, too large, not StableHLO, or from a newer StableHLO or hlograph.
    """
    if isinstance(source, bytes):
        return _read(source, filename, bool(trusted), allow)
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise ArtifactError(f"{filename} has characters that UTF-8 cannot express: {error}") from None
    return _read(data, filename, trusted is not False, allow)


def _read(data: bytes, filename: str, trusted: bool, allow: Collection[str]) -> Program:
    """The program; a warning is for the caller of the caller."""
    check_bytes(data, filename)
    origin = digest.origin(data, filename)
    if trusted:
        module = parse_limited(data, filename)
    else:
        from . import foreign

        module = parse_module(foreign.parse(data, filename), filename)
    program = _program(module, filename, allow, trusted=trusted)
    if origin is digest.Origin.EDITED:
        warnings.warn(
            f"{filename} was changed since hlograph saved it: its digest is that of other text. If you did not edit "
            "it, get it again; if you did, saving what was loaded writes a new digest",
            HandEditWarning,
            stacklevel=3,
        )
    return program


def _program(module: ir.Module, filename: str, allow: Collection[str], *, trusted: bool) -> Program:
    try:
        digest.unmark(module)
        checks.check_words(module, filename)
        pullback = _detached(
            module,
            filename,
            lambda inner, name: _program(parse_module(inner, name), name, allow, trusted=trusted),
        )
        allowed = (allow,) if isinstance(allow, str) else allow
        check = partial(checks.check, filename=filename, allow=allowed, trusted=trusted)
        check(module)
        program = Program(module, filename=filename, pullback=pullback, check=check)
        checks.check_meaning(module, program.signature, filename)
        if pullback is not None:
            _check_pullback(pullback, program, filename)
        return program
    except HlographError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError) as error:
        what = "names or attributes that cannot be read, such as names that are not UTF-8"
        raise ArtifactError(f"{filename} has {what}: {cut(str(error))}") from None


def content(source: Path) -> bytes:
    """The bytes of a file or of a pipe."""
    with open_regular(source, pipes=True) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISFIFO(status.st_mode):
            check_size(status.st_size, str(source))
            return stream.read(status.st_size)  # and not what has no end, as files of /proc
        parts: list[bytes] = []
        while part := stream.read(2**20):
            parts.append(part)
            check_size(sum(map(len, parts)), str(source))
        return b"".join(parts)


# ---- its pullback ---------------------------------------------------------------------------------------------------


def _detached(module: ir.Module, filename: str, parse: Callable[[bytes, str], Program]) -> Pullback | None:
    """Takes the pullback out of a module that was read; `parse` reads its bytecode.

    Raises:
        ArtifactError: it is not what `whole_module` writes.
    """
    for operation in module.body.operations:
        inner = operation.operation
        if inner.name == "builtin.module" and OF in inner.attributes and FROM in inner.attributes:
            try:
                arguments, results = (_places(inner.attributes[name]) for name in (OF, FROM))
            except ValueError as error:
                raise ArtifactError(f"{filename}: the attributes of @{PULLBACK} cannot be read: {error}") from None
            for name in (OF, FROM):
                del inner.attributes[name]
            program = parse(to_bytecode(inner), f"{filename}, @{PULLBACK}")
            inner.erase()
            return Pullback(program, arguments, results)
    return None


def _check_pullback(pullback: Pullback, program: Program, filename: str) -> None:
    """Raises `ArtifactError` unless the pullback's arguments and results are those that the program's make."""
    outer, inner = program.signature, pullback.program.signature
    places = [*pullback.arguments, *pullback.results]
    fits = all(place >= 0 for place in places)
    fits = fits and all(place < len(outer.arguments) for place in pullback.arguments)
    fits = fits and all(place < len(outer.results) for place in pullback.results)
    if fits:
        taken: list[Argument | Result] = [*outer.arguments, *[outer.results[place] for place in pullback.results]]
        given = [outer.arguments[place] for place in pullback.arguments]
        fits = _agree(taken, inner.arguments) and _agree(given, inner.results)
    fits = fits and inner.platforms == outer.platforms
    if not fits:
        raise ArtifactError(f"{filename}: @{PULLBACK} is not the pullback of {program.signature}: {inner}")


def _agree(items: Sequence[Argument | Result], others: Sequence[Argument | Result]) -> bool:
    """Whether dtypes and ranks are the same, and sizes where both are known."""
    return len(items) == len(others) and all(
        x.dtype == y.dtype
        and len(x.dims) == len(y.dims)
        and all(a == b for a, b in zip(x.dims, y.dims, strict=True) if type(a) is int and type(b) is int)
        for x, y in zip(items, others, strict=True)
    )


def _places(attribute: ir.Attribute) -> tuple[int, ...]:
    return tuple(int(ir.StringAttr(text).value) for text in ir.ArrayAttr(attribute))
