"""The sizes of a program in words: where each comes from, how it is met, which axes have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...codegen import dims as dimension
from ...codegen.errors import PolicyError
from ...codegen.signature import Argument, Result, Root, Signature, known_constraints
from ...runtime.executables.policy import EXACT_SIZES, Bucket, Choice, dependent_roots
from ..console import Rows, count
from .walk import Node, Refusal

DEFAULT_BOUND = 128  # the least bound that the padding pass is shown
_BOUND_STEP = 8  # each further size has its own bound, so that numbers tell them apart
_SHOWN_BOUNDS = 5
_SHOWN_PLACES = 3


@dataclass(frozen=True)
class Size:
    """A named size: `kind` is "input size", "input value" or "data"; `also` are other axes of inputs that are it;
    `bound` is that which the facts about padding were found with, None for a size that follows from others."""

    name: str
    kind: str
    origin: str
    also: tuple[str, ...]
    policy: str
    bound: int | None = None


def bounds_of(signature: Signature, choices: Mapping[str, Choice], given: Mapping[str, int]) -> dict[str, int]:
    """The bound to look at, for each size."""
    lows = known_constraints(signature).intervals
    limits: dict[str, int] = {}
    names = [root.name for root in signature.roots]
    names += [entry.name for entry in signature.counts if entry.bound is None]
    for number, name in enumerate(names):
        choice, low = choices[name], lows.get(name, (0, None))[0] or 0
        limit = choice if isinstance(choice, int) else choice.limit if isinstance(choice, Bucket) else None
        default = max(DEFAULT_BOUND, 2 * abs(low)) + _BOUND_STEP * number
        limits[name] = min(default, limit) if isinstance(choice, Bucket) and limit is not None else limit or default
    return limits | dict(given)


def sizes_of(
    signature: Signature, choices: Mapping[str, Choice], bounds: Mapping[str, int], refusals: Sequence[Refusal]
) -> tuple[Size, ...]:
    follows = dependent_roots(signature)
    refused = {name for refusal in refusals for name in refusal.roots}
    found = []
    for root in signature.roots:
        if root.name in follows:
            policy = f"as {follows[root.name]}"
        else:
            policy = policy_text(choices[root.name], refused=root.name in refused)
        kind = "input size" if root.kind == "size" else "input value"
        also = _other_axes(root, signature.arguments)
        bound = None if root.name in follows else bounds[root.name]
        found.append(Size(root.name, kind, _origin(root, signature.arguments), also, policy, bound))
    for entry in signature.counts:
        bounded = entry.bound is not None
        origin = f"computed from data, at most {entry.bound}" if bounded else "computed from data, without a bound"
        policy = "in the same run" if bounded else f"counted by a first run, then {policy_text(choices[entry.name])}"
        found.append(Size(entry.name, "data", origin, (), policy, bounds.get(entry.name)))
    for entry in signature.local_counts:
        origin = "computed from data, in a branch" + ("" if entry.bound is None else f", at most {entry.bound}")
        found.append(Size(entry.name, "data", origin, (), "in the same run"))
    return tuple(found)


def policy_text(choice: Choice, *, refused: bool = False) -> str:
    """How a size is met, in words."""
    if refused and choice != "exact":
        return "exact: one compile for each size, as padding is refused"
    if choice == "exact":
        return "exact: one compile for each size"
    if isinstance(choice, int):
        return f"one compile for all sizes up to {choice}"
    if isinstance(choice, Bucket):
        return f"one compile for each of the bounds {_first_bounds(choice)}"
    first = "padded:" if choice == "padded" else f"auto: exact for {EXACT_SIZES} sizes, then"
    return f"{first} one compile for each of the bounds {_first_bounds(Bucket())}"


def _first_bounds(bucket: Bucket) -> str:
    bounds: list[int] = []
    try:
        while len(bounds) < _SHOWN_BOUNDS and (not bounds or bucket.limit is None or bounds[-1] < bucket.limit):
            bounds.append(bucket.bound(bounds[-1] + 1 if bounds else 0))
    except PolicyError:
        return ", ".join(map(str, bounds))
    return ", ".join(map(str, bounds)) + (", ..." if len(bounds) == _SHOWN_BOUNDS else "")


def _origin(root: Root, arguments: Sequence[Argument]) -> str:
    """Which input decides a size."""
    name = arguments[root.argument].name
    if root.kind == "size":
        return f"size of axis {root.axis} of {name}"
    return f"value of {name}" if root.element is None else f"value of {name}[{root.element}]"


def _other_axes(root: Root, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """The axes of inputs that are this size, without the one that decides it."""
    return tuple(
        f"axis {axis} of {argument.name}"
        for index, argument in enumerate(arguments)
        for axis, dim in enumerate(argument.dims)
        if str(dim) == root.name and (index, axis) != (root.argument, root.axis)
    )


def axes_of(signature: Signature, sizes: Sequence[Size], nodes: Sequence[Node]) -> Rows:
    """All axes by size, an expression: its kinds, and how many there are; those of inputs and outputs come first."""
    kinds = {size.name: size.kind for size in sizes}
    roots: dict[str, frozenset[str]] = {}
    sides: list[Counter[str]] = []
    tensors: Sequence[Sequence[Argument | Result]] = (signature.arguments, signature.results)
    for items in tensors:
        open_dims = [size for item in items for size in item.dims if type(size) is not int]
        roots |= {str(size): frozenset(dimension.roots(size)) for size in open_dims}
        sides.append(Counter(map(str, open_dims)))
    inner: Counter[str] = Counter()
    makers: dict[str, dict[int, str]] = {}
    for number, node in enumerate(nodes):
        for value in node.results:
            for dim, names in zip(value.dims, value.roots, strict=True):
                if names:
                    roots.setdefault(dim, names)
                    inner[dim] += 1
                    makers.setdefault(dim, {})[number] = str(node)
    rows: Rows = []
    for dim in sorted(roots, key=lambda dim: (dim not in sides[0], dim not in sides[1], -inner[dim])):
        parts = [f"{side[dim]} of {what}" for what, side in zip(("inputs", "outputs"), sides, strict=True) if side[dim]]
        made = makers.get(dim, {})
        parts += [f"{inner[dim]} of {count(len(made), 'operation')}"] if made else []
        known = dict.fromkeys(kinds.get(name, "unknown") for name in sorted(roots[dim]))
        rows.append((dim, ", ".join(known), ", ".join(parts)))
        if made:
            places = ", ".join(dict.fromkeys(list(made.values())[:_SHOWN_PLACES]))
            rows.append(("", "", places + (", ..." if len(made) > _SHOWN_PLACES else "")))
    return rows
