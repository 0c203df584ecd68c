"""Parameters in a file beside the module's.

In: a program, and where its file will be. Out: the module without its large constants, and a file of them in the
safetensors format (`tensors.py`); and back, as bindings that are the file's own memory. The module has, on its op,

    hlograph.parameters = ["weights.safetensors", "<SHA-256 of that file's header>"]

Decision to know: the module names a file in its own folder, never a path. The header holds the SHA-256 of each array,
so its digest tells another file at once; the arrays themselves are read once, and compared.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ArtifactError, OptionError
from ..ir.bindings import ir
from ..parameters import Parameter, put_in, take_out
from ..program import Program, Pullback
from . import tensors

SUFFIX = ".safetensors"
ATTRIBUTE = "hlograph.parameters"


def is_name(name: str) -> bool:
    """Whether a name is that of a file in the same folder, on any system."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\:\0") and name.isprintable()


def file_of(path: Path, parameters: str | bool) -> Path:
    """Where the parameters of a module's file go.

    Raises:
        OptionError: what is given is no file's name.
    """
    if parameters is True:
        return path.with_suffix(SUFFIX)
    if not isinstance(parameters, str) or not is_name(parameters) or not parameters.endswith(SUFFIX):
        raise OptionError(
            f"parameters={parameters!r}: give True, or the name of a file ({path.stem}{SUFFIX}), which is written to "
            "the folder of the module"
        )
    return path.with_name(parameters)


def bound(program: Program) -> dict[int, Parameter]:
    """A program's parameters, by the arguments' places."""
    return {i: x for i, x in program.bindings.items() if isinstance(x, Parameter)}


def self_contained(program: Program) -> Program:
    """The program with its parameters as constants; itself where it has none."""
    arrays = {place: parameter.get_value() for place, parameter in bound(program).items()}
    if not arrays:
        return program
    module = program.copy_module()
    put_in(module, arrays)
    if ATTRIBUTE in module.operation.attributes:
        del module.operation.attributes[ATTRIBUTE]
    pullback = program.pullback
    if pullback is not None:
        inner = pullback.program.copy_module()
        put_in(inner, arrays)
        made = Program(inner, filename=pullback.program.filename)
        pullback = Pullback(made, pullback.arguments, pullback.results)
    bindings = {i: x for i, x in program.bindings.items() if i not in arrays}
    return Program(
        module,
        filename=program.filename,
        bindings=bindings,
        pullback=pullback,
        host_calls=program.host_calls,
        check=program.check,
    )


def split(program: Program, name: str, limit: int) -> tuple[Program, tensors.Contents]:
    """Parts a program from its parameters, and from its constants of at least so many bytes.

    Args:
        program: it stays as it is.
        name: of the file that the parameters go to.
        limit: in bytes.

    Returns:
        The program for a file in the same folder, not bound; and what the file `name` is to hold.
    """
    module = program.copy_module()
    pullback = program.pullback
    inner = None if pullback is None else pullback.program.copy_module()
    arguments = program.signature.arguments
    modules = [module] if inner is None else [module, inner]
    found = take_out(modules, len(arguments), limit, fits=tensors.fits)
    own = {arguments[i].parameter: parameter for i, parameter in bound(program).items()}
    contents = tensors.contents(
        {name: parameter.array for name, parameter in own.items()} | found,
        {name: (parameter.digest, parameter.refuse_other) for name, parameter in own.items() if parameter.digest},
    )
    _name_file(module, name, contents.digest)
    if pullback is not None and inner is not None:
        pullback = Pullback(Program(inner), pullback.arguments, pullback.results)
    return Program(module, filename=program.filename, pullback=pullback), contents


def _name_file(module: ir.Module, name: str, digest: str) -> None:
    with module.context:
        texts = [ir.StringAttr.get(text) for text in (name, digest)]
        module.operation.attributes[ATTRIBUTE] = ir.ArrayAttr.get(texts)


def share(program: Program, contents: tensors.Contents, file: Path) -> bool:
    """Has what `split` gave use a file that holds the contents already, byte for byte; whether there is one."""
    try:
        found = tensors.Tensors(file)
    except ArtifactError:
        return False
    if found.holds(contents):
        _name_file(program._module, file.name, found.digest)
        return True
    return False


def bind(
    program: Program, path: Path, given: str | os.PathLike[str] | None = None, *, place: tuple[int, int] | None = None
) -> None:
    """Gives a program that was read the values of its parameters.

    Args:
        program: it.
        path: the file that it was read from.
        given: the file of the parameters; None for the one that the module names, in the same folder.
        place: first byte and size of the part of the program's own file that they are.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is another one, truncated or damaged, or the module's word for it is none.
    """
    if not any(argument.parameter for argument in program.signature.arguments):
        if given is not None:
            raise ArtifactError(f"{path} has no parameters, and parameters={given} was given")
    elif place is not None:
        _fill(program, path, tensors.Tensors(path, *place))
    else:
        _fill(program, path, tensors.Tensors(named_file(program, path)[0] if given is None else Path(given)))


def _fill(program: Program, path: Path, found: tensors.Tensors) -> None:
    """Binds the parameters of a program that was read from a path to what was found in a file."""
    arguments = program.signature.arguments
    first = next(i for i, argument in enumerate(arguments) if argument.parameter)
    if not all(argument.parameter for argument in arguments[first:]):
        raise ArtifactError(f"{path}: parameters must be the last arguments of @main")
    if found.digest != named_file(program, path)[1]:
        raise ArtifactError(f"{found.path} is not the file that {path} was saved with: its header is another")
    values = {}
    for i, argument in enumerate(arguments[first:], first):
        if argument.parameter not in found.arrays:
            raise ArtifactError(f"{found.path} has no {argument.parameter!r}, which is a parameter of {path}")
        array = tensors.of_dtype(found.arrays[argument.parameter], argument.dtype)
        if array.dtype != argument.dtype or array.shape != argument.dims:
            raise ArtifactError(
                f"{found.path} has {argument.parameter!r} as {array.dtype}{array.shape}, not as {argument}"
            )
        values[i] = Parameter(array, argument.parameter, frozen=True, check=found.refuse_change)
    found.check()
    program.bindings.update(values)


def named_file(program: Program, path: Path) -> tuple[Path, str]:
    """The file of parameters that a module names, beside its own, and the digest that it says of it.

    Raises:
        ArtifactError: it names no file of its folder.
    """
    attributes = program._module.operation.attributes
    texts: list[str] = []
    if ATTRIBUTE in attributes:
        try:
            texts = [ir.StringAttr(item).value for item in ir.ArrayAttr(attributes[ATTRIBUTE])]
        except (ValueError, TypeError):
            texts = []
    if len(texts) != 2 or not is_name(texts[0]):
        raise ArtifactError(f"{path} has parameters, and {ATTRIBUTE} does not name a file in its folder: {texts}")
    return path.with_name(texts[0]), texts[1]
