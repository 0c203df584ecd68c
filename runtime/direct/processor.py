"""What Linux tells of the processor.

In: `/proc/cpuinfo`. Out: the model's name and its features; both are empty where there is no such file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Processor:
    """The first processor of the machine.

    Attributes:
        model: its name.
        features: what its `flags` list, such as "avx2".
    """

    model: str = ""
    features: frozenset[str] = frozenset()


@cache
def processor() -> Processor:
    """The processor of this machine."""
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                found.setdefault(name.strip(), value.strip())
    except OSError:
        return Processor()
    return Processor(found.get("model name", ""), frozenset(found.get("flags", "").split()))
