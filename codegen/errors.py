"""Every error that a user can cause, in one place.

`HlographError` is the base; each class also derives from the built-in exception that a Python user would expect
(`TypeError` for a wrong dtype, `ValueError` for a wrong size, ...), so that either can be caught. A message says what
was found, where, and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

# What demands something of sizes: an index, an asserted shape, branches that were taken to agree, a size that was
# taken not to be -1, arithmetic that must not overflow; "" for all else.
DemandKind = Literal["", "index", "shape", "branches", "open", "stretch", "overflow"]


class HlographError(Exception):
    """Base class of all errors that hlograph raises on purpose."""


class UnsupportedVersionError(HlographError, ImportError):
    """What is installed is too old, or does not fit together."""


class UnsupportedOpError(HlographError, NotImplementedError):
    """The graph has ops without a lowering rule; all of them are listed.

    Attributes:
        ops: these.
    """

    ops: tuple[object, ...] = ()


class UnsupportedGraphError(HlographError, NotImplementedError):
    """An op has a rule, but not for this use of it (a sparse type, a mode of an option, ...).

    Attributes:
        guards: of a function that is traced: the constraints on sizes under which it is known to be so.
    """

    guards: tuple[Any, ...] = ()


class DerivativeError(UnsupportedGraphError):
    """A function has no derivative of the kind that is asked for: an op has none, or the graph is not there."""


class BatchingError(UnsupportedGraphError):
    """A graph cannot take a batch axis; the function is then called in a loop over the batch."""


class DataDependentSizeError(UnsupportedGraphError):
    """A size depends on computed values, not on input sizes or integer scalar inputs."""


class OptionError(HlographError, ValueError):
    """Two options that do not go together."""


class MissingInputError(HlographError, ValueError):
    """An output depends on a variable that was not listed as an input."""


class LoweringError(HlographError, TypeError):
    """A lowering rule gives something else than the node's type says: a defect of the rule."""


class GraphError(HlographError, TypeError):
    """What was given is not a graph that hlograph can read."""


class RewriteError(HlographError, AssertionError):
    """A rewrite of a graph failed; it is a defect of the rewrite.

    PyTensor reports errors of rewrites and passes them over, but for failed assertions.
    """


class ArgumentError(HlographError):
    """Base of the errors about one argument of a call."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong dtype, or there are too many or too few of them."""


class ArgumentShapeError(ArgumentError, ValueError):
    """An argument has the wrong rank or size, or two arguments that must agree do not.

    Attributes:
        option: of `emit_stablehlo`, with which a program takes such sizes; "" where there is none.
    """

    option = ""


class IndexOutOfBoundsError(ArgumentShapeError, IndexError):
    """An index that is known before the run does not exist in an array of the given size."""


class SpecifiedShapeError(ArgumentShapeError, AssertionError):
    """A shape is not the one that the graph asserts."""


class BranchSizeError(ArgumentShapeError):
    """The results of two branches were taken to be of one size, and are not."""

    option = "own_branch_sizes"


class OpenSizeError(ArgumentShapeError):
    """An argument's value was taken to be a size of a new shape, and is negative: a -1 is the size that is left."""

    option = "open_sizes"


class IndexShapeError(IndexOutOfBoundsError):
    """Index tensors were taken to be of one shape, and are not: one of size 1 stretches."""

    option = "stretched_indices"


class SizeOverflowError(ArgumentShapeError, OverflowError):
    """A number made of sizes does not fit the integers that it is computed in."""


_DEMANDS: dict[str, type[ArgumentShapeError]] = {
    "index": IndexOutOfBoundsError,
    "shape": SpecifiedShapeError,
    "branches": BranchSizeError,
    "open": OpenSizeError,
    "stretch": IndexShapeError,
    "overflow": SizeOverflowError,
}


def demand_error(kind: str) -> type[ArgumentShapeError]:
    """The error for sizes that break a demand of a kind."""
    return _DEMANDS.get(kind, ArgumentShapeError)


class ArtifactError(HlographError, ValueError):
    """A file is not a module that can be read (malformed, truncated, from a newer StableHLO, ...)."""


class ArtifactNotFoundError(ArtifactError, FileNotFoundError):
    """The file does not exist."""


class HandEditWarning(UserWarning):
    """A text file was changed since hlograph saved it; it is read as it is."""


class UntrustedBundleWarning(UserWarning):
    """The executables of a bundle are not loaded, as nobody has said whether it is trusted."""


class RecompilationWarning(UserWarning):
    """A size keeps changing and each new value compiles anew."""


class PaddingRefusedWarning(UserWarning):
    """A size should be padded and an op has no rule for it: calls are compiled exactly."""


class PythonCallWarning(UserWarning):
    """A C function calls Python, and takes the interpreter's lock for each call."""


class OneByOneWarning(UserWarning):
    """A function is called for one draw after the other, as PyMC does it: its program cannot have a further axis."""


class PassError(HlographError, ValueError):
    """A pass is unknown, was given wrong options, or failed; the module is left as it was."""


class PaddingError(PassError, NotImplementedError):
    """An op has no right padding rule, or a size has no bound; `roots` are the sizes that are concerned."""

    def __init__(self, message: str, roots: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.roots = roots


class PolicyError(HlographError, ValueError):
    """A policy that cannot be: an unknown word, a name that is no size of the program, a bad bucket.

    Attributes:
        size: the size that is above its bound, if that is what is wrong.
    """

    def __init__(self, message: str, size: str = "") -> None:
        super().__init__(message)
        self.size = size


class CompileError(HlographError, RuntimeError):
    """The device's compiler refused the module."""


class DeviceError(HlographError, RuntimeError):
    """The device that a call needs is not here, or is of a platform that the program is not for."""


class CheckFailedError(HlographError, RuntimeError):
    """A check in the graph failed whose own exception class is not known here."""


if not TYPE_CHECKING:  # type checkers read no list that is computed
    __all__ = [name for name, item in globals().items() if isinstance(item, type) and issubclass(item, Exception)]
