"""Limits on what is read: bytes, nesting, sizes.

In: the bytes of a file, or types as MLIR prints them. Out: nothing, or an `ArtifactError`. Decision to know:
the numbers are far above those of real models. How much a text may ask of the parser, the child process says (`child`).
"""

from __future__ import annotations

import math
import re

from ..errors import ArtifactError
from . import container

BYTES = 2**34  # of a file; 1 GB of constants take 2 GB of text
NESTING = 256  # of attributes, types and ops
RANK = 64  # axes of a tensor, which is NumPy's limit
ELEMENTS = 2**40  # of a tensor without open sizes
MESSAGE = 2000  # characters of what MLIR says

_SHAPE = re.compile(rb"<([0-9?][0-9?x]*)x[a-z!]")


def check_size(size: int, filename: str) -> None:
    """Raises `ArtifactError` for a file of too many bytes."""
    if size > BYTES:
        raise ArtifactError(f"{filename} has {size} bytes; at most {BYTES} are read")


def check_text(text: bytes, filename: str) -> None:
    """Raises `ArtifactError` for what is no text."""
    if not text.strip():
        raise ArtifactError(f"{filename} is empty")
    if text.startswith(container.MAGIC):
        raise ArtifactError(f"{filename} is no module but a zip: hlograph.load_bundle reads what hlograph.bundle wrote")
    if b"\0" in text:
        raise ArtifactError(f"{filename} is not StableHLO text: it has a NUL byte at {text.index(bytes(1))}")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise ArtifactError(
            f"{filename} is neither StableHLO text nor bytecode: byte {error.start} is not UTF-8"
        ) from None


def check_shapes(text: bytes, filename: str) -> None:
    """Raises `ArtifactError` for types of tensors that no array has."""
    for shape in set(_SHAPE.findall(text)):
        sizes = shape.split(b"x")
        if len(sizes) > RANK:
            raise ArtifactError(f"{filename} has a tensor of {len(sizes)} axes; arrays have at most {RANK}")
        elements = math.prod(int(size) for size in sizes if size.isdigit())
        if elements > ELEMENTS:
            raise ArtifactError(
                f"{filename} has a tensor of {cut(shape.decode(), 100)} elements; at most {ELEMENTS} are read"
            )


def cut(message: str, length: int = MESSAGE) -> str:
    """The beginning of a message that is too long to be shown."""
    return message if len(message) <= length else f"{message[:length]}... ({len(message) - length} more characters)"
