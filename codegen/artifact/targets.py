"""Whom a file is for: what `save(target=...)` names, and what it costs a program to be written for it.

In: a StableHLO version ("1.9.0"), a date ("2025-01-01"), or a consumer ("jax 0.7", "iree", "pjrt"). Out: a `Target`; of
a program, the module as it is written, and a `TargetCosts`. Decision to know: costs are found by writing the program
and reading it again, so that nothing is listed that a writer may or may not do.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from ..errors import OptionError, UnsupportedGraphError
from ..ir.bindings import RELEASE, ir, new_context
from ..ir.portable import current_version, deserialize_portable, first_version, minimum_version, serialize_portable
from ..ir.values import attributes_of, op_counts, walk
from ..program import Program
from .plain import PADDING, plain

# The first tagged release of each StableHLO version (github.com/openxla/stablehlo/tags).
RELEASED: Mapping[str, str] = {
    "0.9.0": "2023-03-02",
    "0.10.0": "2023-04-20",
    "0.11.0": "2023-05-03",
    "0.12.0": "2023-05-26",
    "0.14.0": "2023-06-29",
    "0.15.0": "2023-11-09",
    "0.16.0": "2023-12-05",
    "0.17.0": "2024-01-04",
    "0.18.0": "2024-02-14",
    "0.19.0": "2024-03-13",
    "1.0.0": "2024-05-14",
    "1.1.0": "2024-05-30",
    "1.2.0": "2024-07-08",
    "1.4.0": "2024-07-16",
    "1.5.0": "2024-08-01",
    "1.6.0": "2024-08-16",
    "1.7.0": "2024-09-05",
    "1.8.0": "2024-10-28",
    "1.9.0": "2025-01-30",
    "1.10.0": "2025-03-21",
    "1.11.0": "2025-06-17",
    "1.12.0": "2025-06-27",
    "1.13.0": "2025-08-21",
    "1.14.0": "2026-03-18",
    "1.15.0": "2026-03-30",
    "1.16.0": "2026-04-10",
    "1.18.0": "2026-06-29",
    "1.19.0": "2026-08-13",
}
# What the first jaxlib of each series says of itself (`stablehlo.get_current_version()`).
JAX: Mapping[str, str] = {
    "0.5": "1.8.9",
    "0.6": "1.10.4",
    "0.7": "1.12.1",
    "0.8": "1.13.1",
    "0.9": "1.13.7",
    "0.10": "1.16.0",
    "0.11": "1.18.0",
    "0.12": "1.22.0",
}
IREE_VERSION = "1.20.0"  # IREE 3.13 knows all ops of this version
PJRT_VERSION = "1.9.0"  # plugins in wheels of 2025 and 2026 know 1.13.3 to 1.20.0
_STABLE_SINCE = "1.0.0"  # from here on five years backward and two forward
_BACKWARD_YEARS = 5
_WORDS = ("iree", "pjrt")


@dataclass(frozen=True)
class Target:
    """Whom a file is written for.

    Attributes:
        name: as it was given.
        version: the StableHLO version of portable bytecode for it.
        later: versions that are tried in turn for a program that cannot be expressed in that one.
        consumer: "iree", or "pjrt" for any plugin, which take one program a file, also as text; "" for other readers.
    """

    name: str
    version: str
    later: tuple[str, ...] = ()
    consumer: str = ""


@dataclass(frozen=True)
class TargetCosts:
    """What becomes of a program for a target.

    Attributes:
        target: it.
        version: the StableHLO version that the program is written in.
        rewritten: ops that are written in terms of others, and how many of each.
        written: the ops that stand in their place, and how many of each.
        attributes: attributes that are left out, as `op: attribute`, and how many of each.
    """

    target: Target
    version: str
    rewritten: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"for {self.target.name}: StableHLO {self.version}"]
        if self.version != self.target.version:
            lines.append(
                f"  the program cannot be expressed in {self.target.version}: see that the reader knows this one"
            )
        if self.rewritten:
            lines.append(f"  rewritten: {_counted(self.rewritten)}")
            lines.append(f"  as: {_counted(self.written) or 'nothing'}")
        if self.attributes:
            lines.append(f"  left out: {_counted(self.attributes)}")
        if not self.rewritten and not self.attributes:
            lines.append("  nothing rewritten, nothing left out")
        return "\n".join([*lines, f"  {promise(self.version)}"])


def promise(version: str) -> str:
    """Who can read bytecode of a StableHLO version, and for how long, as StableHLO promises it."""
    if _order(version) < _order(_STABLE_SINCE):
        return f"StableHLO {version} is older than {_STABLE_SINCE}: readers of today take it, none promises to"
    released = RELEASED.get(version.rpartition(".")[0] + ".0")
    if released is None:
        return f"readers of StableHLO {version} and later take it, for {_BACKWARD_YEARS} years from its release"
    day = date.fromisoformat(released)
    until = day.replace(year=day.year + _BACKWARD_YEARS)
    return f"readers of StableHLO {version} ({day}) and later take it, until {until} at least"


def find_target(name: str) -> Target:
    """The target of a name.

    Raises:
        OptionError: there is none, or this jaxlib cannot write for it.
    """
    text = name.strip()
    if re.fullmatch(r"\d+\.\d+\.\d+", text):
        return _writable(Target(name, text))
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return _writable(Target(name, _version_at(text)))
    word, *rest = text.lower().split() or [""]
    if word == "jax" and len(rest) == 1 and re.fullmatch(r"\d+\.\d+(\.\d+)*", rest[0]):
        return _writable(Target(name, _version_of_jax(rest[0])))
    if word in _WORDS and not rest:
        version = min(IREE_VERSION if word == "iree" else PJRT_VERSION, current_version(), key=_order)
        return Target(name, version, _versions_after(version) if word == "pjrt" else (), word)
    close = difflib.get_close_matches(text.lower(), _WORDS, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise OptionError(
        f"target {name!r} is none; {hint}a target is a StableHLO version ('1.9.0'), a date ('2025-01-01'), 'jax 0.7' "
        f"(any of {', '.join(JAX)}), 'iree' or 'pjrt'"
    )


def for_target(program: Program, target: Target) -> Program:
    """The program as it is written for a target.

    Raises:
        UnsupportedGraphError: the target has no way to take it; what is in the way is named.
        PassError: a pass fails.
    """
    if program.pullback is not None and target.consumer:
        raise UnsupportedGraphError(
            f"{program.name} holds its pullback, and {target.name} takes one program a file: save it with "
            "derivatives=0 (program.without_pullback()), and its derivatives as a program of their own"
        )
    if target.consumer == "pjrt":
        if not program.signature.is_static:
            sizes = ", ".join(root.name for root in program.signature.roots) or "sizes from data"
            raise UnsupportedGraphError(
                f"{program.name} has open sizes ({sizes}), and a {target.name} plugin takes static modules: save "
                "program.plain(bounds={...}) or program.plain(sizes={...})"
            )
        return program if PADDING in program._module.operation.attributes else plain(program)
    passes = ["for_iree"] if target.consumer == "iree" else []
    return program.run_passes([*passes, "chlo-legalize-to-stablehlo"])


def costs(program: Program, name: str) -> TargetCosts:
    """What becomes of a program for the target of this name; raises what `find_target` and `for_target` do."""
    target = find_target(name)
    made = for_target(program, target)
    ops, attributes = op_counts(program._module), _attributes(made._module)
    versions = (target.version, *target.later)
    version, data = first_version(versions, lambda version: serialize_portable(made.copy_module(), version))
    read = deserialize_portable(data, new_context(), name)
    rewritten, written = ops - op_counts(read), op_counts(read) - ops
    return TargetCosts(target, version, rewritten, written if rewritten else {}, attributes - _attributes(read))


# ---- versions -----------------------------------------------------------------------------------------------------


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _writable(target: Target) -> Target:
    oldest, newest = minimum_version(), current_version()
    if not _order(oldest) <= _order(target.version) <= _order(newest):
        raise OptionError(
            f"target {target.name!r} is StableHLO {target.version}, and this jaxlib writes {oldest} to {newest}; "
            + ("upgrade jaxlib" if _order(target.version) > _order(newest) else "name a later one")
        )
    return target


def _versions_after(version: str) -> tuple[str, ...]:
    """Later versions that this jaxlib writes, in order; its own is the last."""
    newest = current_version()
    (major, first, _), (_, last, _) = _order(version), _order(newest)
    return (*(f"{major}.{minor}.0" for minor in range(first + 1, last)), newest) if version != newest else ()


def _version_at(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"target {text!r} is no date: {error}") from None
    known = [version for version, released in RELEASED.items() if date.fromisoformat(released) <= day]
    if not known:
        raise OptionError(f"target {text!r} is before StableHLO's first release with portable bytecode, 2023-03-02")
    return min(max(known, key=_order), current_version(), key=_order)


def _version_of_jax(release: str) -> str:
    series = ".".join(release.split(".")[:2])
    if series in JAX:
        return JAX[series]
    if series == RELEASE:
        return current_version()
    raise OptionError(
        f"target 'jax {release}': it is not known what it reads (known: {', '.join(JAX)}); name a StableHLO version or "
        "a date"
    )


# ---- what is in a module ------------------------------------------------------------------------------------------


def _counted(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _attributes(module: ir.Module) -> Counter[str]:
    return Counter(f"{op.name}: {name}" for op in walk(module) for name in attributes_of(op.attributes))
