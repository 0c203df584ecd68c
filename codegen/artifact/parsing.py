"""From the bytes of a file to an MLIR module, verified, with limits.

In: text, MLIR bytecode or portable bytecode. Out: the module, in its own context; or an `ArtifactError`. MLIR keeps
equal attributes once, so a list of twice the same list, forty times over, is small in memory alone: how much a module
is shows when it is written out. Limits are far above those of real models.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ..errors import ArtifactError
from ..ir.bindings import diagnostics, ir, new_context
from ..ir.modules import MAGIC, deserialize_portable, is_portable, parse_module

BYTES = 2**34  # of a file; 1 GB of constants take 2 GB of text
WRITTEN, WRITTEN_OF_A_LINE = 2**26, 2**12  # characters of a module that is written out, without large constants
NESTING = 256  # of attributes, types and ops
RANK = 64  # axes of a tensor, which is NumPy's limit
ELEMENTS = 2**40  # of a tensor without open sizes
MESSAGE = 2000  # characters of what MLIR says

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"')
_SHAPE = re.compile(rb"<([0-9?][0-9?x]*)x[a-z!]")
_DEEP_OP = re.compile(rb"^ {%d}" % (2 * NESTING + 2), re.MULTILINE)
_FULL_LINE = re.compile(rb"^(?:[^\n\[{(<]*[\[{(<]){%d}.*$" % NESTING, re.MULTILINE)
_BRACKET = re.compile(rb"[\[{(<\]})]|(?<!-)>")
# What MLIR's verifier takes, and XLA, StableHLO's passes or the bindings do not survive.
_STRANGE = {
    re.compile(rb"#loc\b|\bloc\("): "an attribute that is or holds a location; take it out",
    re.compile(rb"f6E\dM\dFN\b"): "6-bit elements, on which XLA ends the process; use f8E4M3FN or another type",
    re.compile(rb"tensor<[0-9?x]*(?:complex<\w+>|[^<>,\s]+), (?!#stablehlo\.bounds<)"): (
        "a type whose encoding is not StableHLO's"
    ),
}


def check_bytes(data: bytes, filename: str) -> None:
    """Raises `ArtifactError` for a file that is too large, or neither bytecode nor text."""
    check_size(len(data), filename)
    if data.startswith(MAGIC):
        return
    if not data.strip():
        raise ArtifactError(f"{filename} is empty")
    if data[8:9] == b"{" and 8 + int.from_bytes(data[:8], "little") <= len(data):
        raise ArtifactError(
            f"{filename} is no module but arrays (safetensors): hlograph.load_bundle reads what hlograph.bundle wrote"
        )
    if b"\0" in data:
        raise ArtifactError(f"{filename} is not StableHLO text: it has a NUL byte at {data.index(bytes(1))}")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ArtifactError(
            f"{filename} is neither StableHLO text nor bytecode: byte {error.start} is not UTF-8"
        ) from None


def check_size(size: int, filename: str) -> None:
    """Raises `ArtifactError` for a file of too many bytes."""
    if size > BYTES:
        raise ArtifactError(f"{filename} has {size} bytes; at most {BYTES} are read")


def parse(data: bytes, filename: str) -> ir.Module:
    """The module; what MLIR says about it is in the error, not on stderr.

    Raises:
        ArtifactError: the bytes are malformed, truncated, not StableHLO, or from a newer StableHLO.
    """
    context = new_context()
    with diagnostics(context):
        try:
            if is_portable(data):
                module = deserialize_portable(data, context, filename)
            else:
                module = parse_module(data, context, filename)
            module.operation.verify()
        except ir.MLIRError as error:
            raise ArtifactError(cut(f"{filename} is not valid StableHLO: {error}")) from None
        except ArtifactError as error:
            raise ArtifactError(cut(str(error))) from None
        except (RuntimeError, OverflowError, MemoryError, SystemError) as error:
            raise ArtifactError(cut(f"{filename} is not a module that MLIR can read: {error}")) from None
    return module


def parse_limited(data: bytes, filename: str) -> ir.Module:
    """`parse`, of a module that is not too much for others than the parser.

    Raises:
        ArtifactError: as `parse` does, and with what is too much.
    """
    module = parse(data, filename)
    written: Any = module.operation.get_asm(binary=True, large_elements_limit=16, assume_verified=True)
    problem = _problem(_TEXTS.sub(b'""', written), len(written))
    if problem:
        raise ArtifactError(f"{filename} has {problem}")
    return module


def _problem(text: bytes, size: int) -> str:
    """What is wrong with a module that is written out, its texts left out; "" where nothing is."""
    most = WRITTEN + WRITTEN_OF_A_LINE * text.count(b"\n")
    if size > most:
        return f"attributes and types of {size} characters when written out; at most {most} are read"
    if _DEEP_OP.search(text):
        return f"ops nested more than {NESTING} deep"
    if any(_depth(line[0]) > NESTING for line in _FULL_LINE.finditer(text)):
        return f"an attribute or type nested more than {NESTING} deep"
    for shape in set(_SHAPE.findall(text)):
        sizes = shape.split(b"x")
        if len(sizes) > RANK:
            return f"a tensor of {len(sizes)} axes; arrays have at most {RANK}"
        if math.prod(int(size) for size in sizes if size.isdigit()) > ELEMENTS:
            return f"a tensor of {cut(shape.decode(), 100)} elements; at most {ELEMENTS} are read"
    return next((what for pattern, what in _STRANGE.items() if pattern.search(text)), "")


def _depth(line: bytes) -> int:
    depth = most = 0
    for bracket in _BRACKET.findall(line):
        depth += 1 if bracket in b"[{(<" else -1
        most = max(most, depth)
    return most


def cut(message: str, length: int = MESSAGE) -> str:
    """The beginning of a message that is too long to be shown."""
    return message if len(message) <= length else f"{message[:length]}... ({len(message) - length} more characters)"
