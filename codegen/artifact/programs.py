"""Programs written and read: text, and portable bytecode; a file is written whole or not at all.

In: a program and a path; out: the file, with a digest (see `files`). Or a path, or what stands in a file (also MLIR's
own bytecode); out: a program, verified, with its pullback if the file holds one. A program with its pullback
(`Program.save(..., derivatives=1)`) is one module:

    module @logp {
      func.func @main(%X, %beta) -> (%logp)
      module @pullback attributes {hlograph.of = ["1"], hlograph.from = ["0"]} {
        func.func @main(%X, %beta, %logp_cotangent) -> (%beta_cotangent)
      }
    }

The inner module's `@main` takes the arguments of the outer one and cotangents of the results `hlograph.from`; it gives
the cotangents of the arguments `hlograph.of`. Arguments that are not listed have none, or it is zero. Decision to know:
nothing is parsed in this process that a child process did not parse before, unless whoever calls has said that it may
be (docs/explanation/security.md).
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError, HandEditWarning, HlographError, OptionError
from ..ir.bindings import ir
from ..ir.modules import current_version, first_version, from_bytecode, serialize_portable, to_bytecode, with_attributes
from ..ir.tidy import readable
from ..parameters import DEFAULT_LIMIT
from ..program import Program, Pullback
from ..renamed import renamed_options
from ..signature import Argument, Result
from . import checks, files
from .files import check_bytes, check_size, cut, open_regular, parse_limited, write_atomically
from .files import parse as parse_module
from .parameters import Contents, bind, file_of, self_contained, share, split

if TYPE_CHECKING:
    from .foreign_dims import ForeignDims


TEXT_SUFFIX, PORTABLE_SUFFIX = ".mlir", ".mlirbc"
PULLBACK, OF, FROM = "pullback", "hlograph.of", "hlograph.from"


def to_text(
    program: Program, *, locations: bool = False, elements: int | None = None, marks: Mapping[str, str] | None = None
) -> str:
    """The module's text, with arguments under their names.

    Args:
        program: it.
        locations: whether each op's graph variable is printed too.
        elements: constants of more than this many are left out (the text cannot be parsed again), all parameters too.
        marks: further attributes of the module, in the text alone.
    """
    if elements is None:
        program = self_contained(program)
    names = [argument.name for argument in program.signature.arguments]

    def printed(module: ir.Module) -> str:
        with with_attributes(module, marks or {}):
            text = str(module.operation.get_asm(enable_debug_info=locations, large_elements_limit=elements)) + "\n"
            return readable(text, module, names)

    return program.find(printed) if program.pullback is None else printed(whole_module(program))


def to_portable(program: Program, version: str | None = None, later: Sequence[str] = ()) -> bytes:
    """StableHLO portable bytecode (VHLO); CHLO ops are legalized to StableHLO first.

    Args:
        program: it.
        version: StableHLO version such as "1.9.0" that the reader must support; this jaxlib's by default.
        later: versions, of which the first one that can express it is taken where that one cannot.

    Raises:
        PassError: when the version is unknown or cannot express the program.
    """
    program.refuse_host_calls("a file has none of them")
    made = self_contained(program).optimize(["chlo-legalize-to-stablehlo"])

    def write(version: str) -> bytes:
        module = whole_module(made)
        with with_attributes(module, files.marks()):
            return files.seal(serialize_portable(module, version))

    return first_version((version or current_version(), *later), write)[1]


@renamed_options
def save(
    program: Program,
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    locations: bool = False,
    derivatives: int | None = None,
    parameters: str | bool | None = None,
    parameter_limit: int = DEFAULT_LIMIT,
) -> Path:
    """Writes the program to a file, whole or not at all.

    Args:
        path: `*.mlir` for text, `*.mlirbc` for portable bytecode.
        target: whom the file is for: a StableHLO version ("1.9.0"), a date ("2025-01-01"), "jax 0.7", "iree" or
            "pjrt", see docs/how-to/files.md.
        locations: for `.mlir`, print each op's graph variable.
        derivatives: 1 to write the program's pullback beside it, so that `jax.grad` and `jax.vjp` work on what is
            loaded; the file is then for hlograph alone. 0 to write none. By default the file has what the program
            has: a pullback that was loaded is written again.
        parameters: the name of a file for large constants (`"weights.safetensors"`), in the same folder; or True,
            for one of the module's name. It must go wherever the module goes.
        parameter_limit: constants of this many bytes are large.

    Returns:
        The path.

    Raises:
        ArtifactError: the file cannot be written.
        OptionError: there is no such target, or it does not go with the path; or `parameters` is no file's name.
        PassError, UnsupportedGraphError, DerivativeError: it cannot be had so; what is in the way is named.
    """
    program.refuse_host_calls("a file has none of them")
    file = Path(path)
    if file.suffix not in (TEXT_SUFFIX, PORTABLE_SUFFIX):
        raise ArtifactError(
            f"cannot tell the format of {file}: the name must end in {TEXT_SUFFIX} (text) or "
            f"{PORTABLE_SUFFIX} (portable bytecode)"
        )
    beside = file_of(file, parameters) if parameters else None
    if beside is not None and target in ("iree", "pjrt"):
        raise OptionError(f"a file for {target} holds its constants: leave out parameters={parameters!r}")
    whole = program if derivatives is None else program.with_derivatives(derivatives)
    if beside is None:
        whole = self_contained(whole)
    else:
        whole, contents = split(whole, beside.name, parameter_limit)
        beside = None if share(whole, contents, beside) else beside
    as_text = file.suffix == TEXT_SUFFIX
    version: str | None = None
    later: Sequence[str] = ()
    if target is not None:
        from .targets import find_target, for_target

        found = find_target(target)
        if whole.pullback is not None and not found.consumer:
            whole = whole.optimize(["chlo-legalize-to-stablehlo"])
            whole = Program(whole_module(whole), filename=program.filename)
        if as_text and not found.consumer:
            raise OptionError(
                f"target {target!r} is a StableHLO version ({found.version}), and text has none: save to "
                f"{PORTABLE_SUFFIX}"
            )
        whole, version, later = for_target(whole, found), found.version, found.later
    if as_text:
        data = files.seal(to_text(whole, locations=locations, marks=files.marks()).encode())
    else:
        data = to_portable(whole, version, later)
    try:
        # Both files are whole before one of them takes the place of an old one: first that of the parameters.
        with write_atomically(file) as stream:
            stream.write(data)
            stream.flush()
            if beside is not None:
                with write_atomically(beside) as further:
                    contents.write(further)
    except OSError as error:
        names = f"{file} and {beside.name}" if beside is not None else file
        raise ArtifactError(f"cannot write {names}: {error.strerror}") from None
    return file


def parted(program: Program, name: str, limit: int, derivatives: int | None) -> tuple[bytes, Contents]:
    """Portable bytecode of a program, and the file that its parameters and large constants go to.

    Args:
        program: it.
        name: of that file.
        limit: bytes of a large constant.
        derivatives: as for `save`.
    """
    program.refuse_host_calls("a file has none of them")
    whole = program if derivatives is None else program.with_derivatives(derivatives)
    parted, contents = split(whole, name, limit)
    return to_portable(parted if contents.parts else whole, None), contents


def whole_module(program: Program) -> ir.Module:
    """A copy of the program's module, with its pullback if it has one."""
    module, pullback = program.copy_module(), program.pullback
    if pullback is not None:
        inner = from_bytecode(pullback.program.to_bytecode(), module.context).operation
        with module.context:
            inner.attributes["sym_name"] = ir.StringAttr.get(PULLBACK)
            for name, places in ((OF, pullback.arguments), (FROM, pullback.results)):
                inner.attributes[name] = ir.ArrayAttr.get([ir.StringAttr.get(str(place)) for place in places])
        inner.clone(ip=ir.InsertionPoint(module.body))
    return module


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
        dims: names for the sizes of a foreign module, by the name or number of an argument: of its
            axes, `{"arg0": ["n", 8], 1: "2*n"}`, or of its values where it is an integer or a vector of this many
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
    origin = files.origin(data, filename)
    if trusted:
        module = parse_limited(data, filename)
    else:
        from . import foreign

        module = parse_module(foreign.parse(data, filename), filename)
    program = _program(module, filename, allow, trusted=trusted)
    if origin is files.Origin.EDITED:
        warnings.warn(
            f"{filename} was changed since hlograph saved it: its digest is that of other text. If you did not edit "
            "it, get it again; if you did, saving what was loaded writes a new digest",
            HandEditWarning,
            stacklevel=3,
        )
    return program


def _program(module: ir.Module, filename: str, allow: Collection[str], *, trusted: bool) -> Program:
    try:
        for name in files.MARKS:  # they are the file's
            if name in module.operation.attributes:
                del module.operation.attributes[name]
        _refuse(checks.wrong_words(module, filename), filename)
        pullback = _detached(module, filename, allow, trusted=trusted)
        allowed = (allow,) if isinstance(allow, str) else allow
        check = partial(checks.check, filename=filename, allow=allowed, trusted=trusted)
        check(module)
        program = Program(module, filename=filename, pullback=pullback, check=check)
        _refuse(checks.contradictions(module, program.signature), filename)
        if pullback is not None:
            _check_pullback(pullback, program, filename)
        return program
    except HlographError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError) as error:
        what = "names or attributes that cannot be read, such as names that are not UTF-8"
        raise ArtifactError(f"{filename} has {what}: {cut(str(error))}") from None


def _refuse(problems: Iterator[str], filename: str) -> None:
    for problem in problems:
        raise ArtifactError(f"{filename}: {problem}")


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


def _detached(module: ir.Module, filename: str, allow: Collection[str], *, trusted: bool) -> Pullback | None:
    """Takes the pullback out of a module that was read.

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
            name = f"{filename}, @{PULLBACK}"
            program = _program(parse_module(to_bytecode(inner), name), name, allow, trusted=trusted)
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
