"""Every error that a user can cause; see `hlograph.codegen.errors`."""

from .codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    ArtifactError,
    ArtifactNotFoundError,
    CheckFailedError,
    CompileError,
    DataDependentSizeError,
    GraphError,
    HlographError,
    IndexOutOfBoundsError,
    MissingInputError,
    PassError,
    UnsupportedGraphError,
    UnsupportedOpError,
)

__all__ = [
    "ArgumentError",
    "ArgumentShapeError",
    "ArgumentTypeError",
    "ArtifactError",
    "ArtifactNotFoundError",
    "CheckFailedError",
    "CompileError",
    "DataDependentSizeError",
    "GraphError",
    "HlographError",
    "IndexOutOfBoundsError",
    "MissingInputError",
    "PassError",
    "UnsupportedGraphError",
    "UnsupportedOpError",
]
