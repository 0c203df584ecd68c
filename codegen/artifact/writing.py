"""Programs written: text, and portable bytecode; a file is written whole or not at all.

In: a program and a path. Out: the file, with a digest (see `digest`). A program with its pullback
(`Program.save(..., derivatives=1)`) is one module:

    module @logp {
      func.func @main(%X, %beta) -> (%logp)
      module @pullback attributes {hlograph.of = ["1"], hlograph.from = ["0"]} {
        func.func @main(%X, %beta, %logp_cotangent) -> (%beta_cotangent)
      }
    }

The inner module's `@main` takes the arguments of the outer one and cotangents of the results `hlograph.from`; it gives
the cotangents of the arguments `hlograph.of`. Arguments that are not listed have none, or it is zero.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ArtifactError, OptionError
from ..ir.bindings import ir
from ..ir.modules import from_bytecode, with_attributes
from ..ir.portable import current_version, first_version, serialize_portable
from ..ir.reading import readable
from ..parameters import DEFAULT_LIMIT
from ..program import Program
from ..renamed import renamed_options
from . import digest
from .files import write_atomically
from .parameters import Contents, file_of, self_contained, share, split

TEXT_SUFFIX, PORTABLE_SUFFIX = ".mlir", ".mlirbc"
PULLBACK, OF, FROM = "pullback", "hlograph.of", "hlograph.from"


def to_text(
    program: Program, *, locations: bool = False, elements: int | None = None, marks: Mapping[str, str] | None = None
) -> str:
    """The module's text, with arguments under their names.

    Args:
        program: it.
        locations: whether each op's graph variable is printed too.
        elements: constants of more than so many are left out (the text cannot be parsed again), all parameters too.
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
    made = self_contained(program).run_passes(["chlo-legalize-to-stablehlo"])

    def write(version: str) -> bytes:
        module = whole_module(made)
        with with_attributes(module, digest.marks()):
            return digest.seal(serialize_portable(module, version))

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
            "pjrt", see docs/files.md.
        locations: for `.mlir`, print each op's graph variable.
        derivatives: 1 to write the program's pullback beside it, so that `jax.grad` and `jax.vjp` work on what is
            loaded; the file is then for hlograph alone. 0 to write none. By default the file has what the program
            has: a pullback that was loaded is written again.
        parameters: the name of a file for large constants (`"weights.safetensors"`), in the same folder; or True,
            for one of the module's name. It must go wherever the module goes.
        parameter_limit: constants of so many bytes are large.

    Returns:
        The path.

    Raises:
        ArtifactError: the file cannot be written.
        OptionError: there is no such target, or it does not go with the path; or `parameters` is no file's name.
        PassError, UnsupportedGraphError, DerivativeError: it cannot be had so; what is in the way is named.
    """
    program.refuse_host_calls("a file has none of them")
    if derivatives not in (None, 0, 1):
        raise ValueError(f"derivatives must be 0 or 1, got {derivatives!r}")
    file = Path(path)
    if file.suffix not in (TEXT_SUFFIX, PORTABLE_SUFFIX):
        raise ArtifactError(
            f"cannot tell the format of {file}: the name must end in {TEXT_SUFFIX} (text) or "
            f"{PORTABLE_SUFFIX} (portable bytecode)"
        )
    beside = file_of(file, parameters) if parameters else None
    if beside is not None and target in ("iree", "pjrt"):
        raise OptionError(f"a file for {target} holds its constants: leave out parameters={parameters!r}")
    whole = _with_derivatives(program, derivatives)
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
            whole = whole.run_passes(["chlo-legalize-to-stablehlo"])
            whole = Program(whole_module(whole), filename=program.filename)
        if as_text and not found.consumer:
            raise OptionError(
                f"target {target!r} is a StableHLO version ({found.version}), and text has none: save to "
                f"{PORTABLE_SUFFIX}"
            )
        whole, version, later = for_target(whole, found), found.version, found.later
    if as_text:
        data = digest.seal(to_text(whole, locations=locations, marks=digest.marks()).encode())
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
    whole = _with_derivatives(program, derivatives)
    parted, contents = split(whole, name, limit)
    return to_portable(parted if contents.parts else whole, None), contents


def _with_derivatives(program: Program, derivatives: int | None) -> Program:
    if derivatives is None:
        return program
    return program.with_pullback() if derivatives else program.without_pullback()


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
