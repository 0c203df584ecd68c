"""The drawing of a program's blocks: SVG in HTML, with no script and no other file.

In: the blocks (`walk.py`) and the names of the sizes. Out: HTML. A node stands in the layer below the last of its
sources, near the middle of them. Constants and the arithmetic on sizes are not drawn. Loops, branches and functions
have drawings of their own, folded; together at most `LIMIT` nodes are drawn, and the page says where it stopped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from .console import count
from .walk import Node

LIMIT = 300  # nodes that are drawn, all drawings together
_LETTERS = 22  # of a node's text
_WIDTH, _HEIGHT = 168, 40  # of a node
_COLUMN, _GAP, _LAYER, _MARGIN = 186, 24, 92, 16  # of a column, of a gap that edges take, of a layer, around all
_COLOURS = ("#1766c2", "#c2410c", "#15803d", "#9333ea", "#be185d", "#0e7490", "#854d0e", "#4338ca")  # of sizes
_GREY, _REFUSED, _ACTS = "#7a858f", "#c62828", "#b26a00"
_NOTE = (
    "Below each node, the shape of its result. Constants and arithmetic on sizes are not drawn. A round mark is what "
    "padding does there (its first letter), or × where it is refused; hover for details."
)

Point = tuple[float, float]
Stop = Node | tuple[Node, int]  # a node, or the gap in a layer that the edges from a node take


def draw(blocks: Mapping[str, Sequence[Node]], sizes: Sequence[str]) -> str:
    """The drawings of all blocks, under a title."""
    colours = dict(zip(sizes, _COLOURS * (len(sizes) // len(_COLOURS) + 1), strict=False))
    names = " ".join(f'<b style="color:{colour}">{escape(name)}</b>' for name, colour in colours.items())
    parts = ["<h2>graph</h2>", f"<p>{_NOTE}{' Sizes: ' if names else ''}{names}</p>"]
    left, undrawn = LIMIT, 0
    for title, nodes in blocks.items():
        shown = _shown(nodes)
        if title and not (shown and left):
            undrawn += bool(shown)
            continue
        if len(shown) > left:
            parts.append(f"<p>The first {left} nodes; {len(shown) - left} more are not drawn.</p>")
        drawing = _svg(shown[:left], colours)
        parts.append(f"<details><summary>{escape(title)}</summary>{drawing}</details>" if title else drawing)
        left -= len(shown[:left])
    if undrawn:
        parts.append(f"<p>{count(undrawn, 'block')} more not drawn: a page has at most {LIMIT} nodes.</p>")
    return "\n".join(parts)


def _shown(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that are drawn: what the block takes from outside, and its own, without constants and sizes."""
    every = dict.fromkeys([*(x for node in nodes for x in node.sources if x.block != node.block), *nodes])
    spread = (node for node in every if "broadcast" in node.name and all(x.sizes_only for x in node.sources))
    hidden = {node for node in spread if not node.marks}
    return [node for node in every if not node.sizes_only and node not in hidden]


def _svg(nodes: Sequence[Node], colours: Mapping[str, str]) -> str:
    places, layers = _places(nodes)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH / 2 + _MARGIN
    height = max((y for _, y in places.values()), default=0) + _HEIGHT / 2 + 2 * _MARGIN
    parts = [
        f'<div style="overflow:auto"><svg width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        'font-size="11" text-anchor="middle" style="background:#fff">'
    ]
    for node in nodes:
        for source in [source for source in node.sources if source in layers]:
            bends = [places[source, layer] for layer in range(layers[source] + 1, layers[node])]
            parts.append(
                f'<path d="{_path([places[source], *bends, places[node]])}" fill="none" '
                f'stroke="{_colour(source.names, colours)}"><title>{escape(f"{source} to {node}")}</title></path>'
            )
    return "\n".join([*parts, *(_box(node, *places[node], colours) for node in nodes), "</svg></div>"])


def _places(nodes: Sequence[Node]) -> tuple[dict[Stop, Point], dict[Node, int]]:
    """The centre of each node, a layer below its sources, and of the gaps that its edges take; and the layers."""
    layers: dict[Node, int] = {}
    above: defaultdict[Stop, dict[Stop, None]] = defaultdict(dict)  # what stands in the layer above and leads here
    rows: defaultdict[int, dict[Stop, None]] = defaultdict(dict)
    for node in nodes:
        sources = [source for source in node.sources if source in layers]
        layers[node] = 1 + max((layers[source] for source in sources), default=-1)
        rows[layers[node]][node] = None
        for source in sources:
            last: Stop = source
            for layer in range(layers[source] + 1, layers[node]):
                gap = (source, layer)
                rows[layer][gap] = above[gap][last] = None
                last = gap
            above[node][last] = None
    places: dict[Stop, Point] = {}
    for layer in sorted(rows):
        wanted = {
            stop: sum(places[x][0] for x in above[stop]) / len(above[stop]) if above[stop] else number * _COLUMN
            for number, stop in enumerate(rows[layer])
        }
        right = float(_MARGIN)
        for stop in sorted(wanted, key=wanted.__getitem__):
            half = (_COLUMN if isinstance(stop, Node) else _GAP) / 2
            x = max(right + half, wanted[stop])
            places[stop], right = (x, _MARGIN + _HEIGHT / 2 + layer * _LAYER), x + half
    return places, layers


def _path(points: Sequence[Point]) -> str:
    """A smooth curve from below the first node, past others on the way, to above the last."""
    (x, y), *middle, (last_x, last_y) = points
    stops = [(x, y + _HEIGHT / 2), *[(x, y + side) for x, y in middle for side in (-_HEIGHT / 2, _HEIGHT / 2)]]
    text = f"M{stops[0][0]:.0f} {stops[0][1]:.0f}"
    for (a, b), (c, d) in pairwise([*stops, (last_x, last_y - _HEIGHT / 2)]):
        bend = (b + d) / 2
        text += f"C{a:.0f} {bend:.0f} {c:.0f} {bend:.0f} {c:.0f} {d:.0f}"
    return text


def _box(node: Node, x: float, y: float, colours: Mapping[str, str]) -> str:
    """A node: its name and op, its shape below, its marks at the corner."""
    name = re.sub(r"^(?:\w+\([^/]*\)/)+", "", node.where)  # JAX's names are paths
    title, subtitle = (name, node.name) if name not in ("", node.name) else (node.name, "")
    tooltip = "\n".join([str(node), *[f"gives {value.dtype}{value}" for value in node.results]])
    frame = _REFUSED if any(mark.startswith("refused") for mark in node.marks) else _GREY
    corner = 14 if node.name in ("input", "outputs") else 4
    parts = [
        f'<g transform="translate({x:.0f} {y:.0f})"><title>{escape(tooltip)}</title>',
        f'<rect x="{-_WIDTH // 2}" y="{-_HEIGHT // 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="{corner}" '
        f'fill="#f5f7f9" stroke="{frame}"/>',
        f'<text y="{-3 if subtitle else 4}" font-weight="600" font-size="12">{_cut(title)}</text>',
        f'<text y="12" fill="{_GREY}">{_cut(subtitle)}</text>' if subtitle else "",
    ]
    if node.results:
        value, more = node.results[0], len(node.results) - 1
        dims = ", ".join(
            f'<tspan fill="{_colour(names, colours)}">{_cut(dim)}</tspan>'
            for dim, names in zip(value.dims, value.roots, strict=True)
        )
        parts.append(
            f'<text x="6" y="{_HEIGHT // 2 + 14}" text-anchor="start" fill="{_GREY}" stroke="#fff" stroke-width="4" '
            f'paint-order="stroke" font-weight="600">[{dims}]{f" +{more}" if more else ""}</text>'
        )
    for number, mark in enumerate(node.marks):
        letter, colour = ("×", _REFUSED) if mark.startswith("refused") else (mark[0], _ACTS)
        parts.append(
            f'<g transform="translate({_WIDTH // 2 - 4 - 17 * number} {-_HEIGHT // 2})"><title>{escape(mark)}</title>'
            f'<circle r="8" fill="{colour}"/><text y="3.5" fill="#fff" font-weight="700">{letter}</text></g>'
        )
    return "".join([*parts, "</g>"])


def _colour(names: Iterable[str], colours: Mapping[str, str]) -> str:
    """The colour of the first of some sizes; grey for none."""
    return next((colour for name, colour in colours.items() if name in names), _GREY)


def _cut(text: str) -> str:
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…")
