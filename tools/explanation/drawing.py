"""The drawing of a program's blocks: SVG in HTML, with no script and no other file.

In: the blocks (`walk.py`) and the names of the sizes. Out: HTML. grandalf places the nodes in layers. Constants and the
arithmetic on sizes are not drawn. Loops, branches and functions have drawings of their own below, folded; together at
most `LIMIT` nodes are drawn, and the page says where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from ..console import count
from .walk import Block, Node, Value

LIMIT = 300  # nodes that are drawn, all drawings together
_LETTERS = 22  # of a node's text
_WIDTH, _HEIGHT = 168, 40  # of a node
_GAP, _LAYER, _MARGIN = 18, 92, 16  # between nodes, between layers, around the drawing
_ROUNDS = 8  # of the layout's search for fewer crossings
_COLOURS = ("#1766c2", "#c2410c", "#15803d", "#9333ea", "#be185d", "#0e7490", "#854d0e", "#4338ca")  # of sizes
_GREY, _REFUSED, _ACTS = "#7a858f", "#c62828", "#b26a00"
_WHOLE = {"real_dynamic_slice": "slice", "dynamic_reshape": "reshape", "dynamic_broadcast_in_dim": "broadcast"}
_NOTE = (
    "Below each node, the shape that it gives. Constants and arithmetic on sizes are not drawn. Round marks: what "
    "padding does there (its first letter), × where it is refused; hover for details."
)

Point = tuple[float, float]


def draw(blocks: Sequence[Block], sizes: Sequence[str]) -> str:
    """The drawings of all blocks, under a title.

    Raises:
        ModuleNotFoundError: the extra `explain` is not installed.
    """
    colours = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(sizes)}
    names = " ".join(f'<b style="color:{colour}">{escape(name)}</b>' for name, colour in colours.items())
    parts = ["<h2>graph</h2>", f"<p>{_NOTE}{' Sizes: ' if names else ''}{names}</p>"]
    left, undrawn = LIMIT, 0
    for number, block in enumerate(blocks):
        shown = _shown(block)
        if number and (not shown or left <= 0):
            undrawn += bool(shown)
            continue
        if len(shown) > left:
            parts.append(f"<p>The first {left} nodes; {len(shown) - left} more are not drawn.</p>")
        drawing = _svg(shown[:left], colours)
        parts.append(f"<details><summary>{escape(block.title)}</summary>{drawing}</details>" if number else drawing)
        left -= len(shown[:left])
    if undrawn:
        parts.append(f"<p>{count(undrawn, 'block')} more not drawn: a page has at most {LIMIT} nodes.</p>")
    return "\n".join(parts)


def _shown(block: Block) -> list[Node]:
    """The nodes that are drawn: what the block takes from outside, and its own."""
    outside = dict.fromkeys(source for node in block.nodes for source, _ in node.sources)
    inside = set(block.nodes)
    return [node for node in [*(x for x in outside if x not in inside), *block.nodes] if not _is_constant(node)]


def _is_constant(node: Node) -> bool:
    """Whether it is a constant or a size, or one spread to a shape."""
    spread = "broadcast" in node.name and all(source.sizes_only for source, _ in node.sources)
    return node.sizes_only or (spread and not node.marks)


def _svg(nodes: Sequence[Node], colours: Mapping[str, str]) -> str:
    """The drawing of some nodes."""
    kept = set(nodes)
    flows: dict[tuple[Node, Node], Value] = {}
    for node in nodes:
        for source, value in node.sources:
            if source in kept:
                flows.setdefault((source, node), value)
    places, routes = _layout(nodes, list(flows))
    xs = [x + _WIDTH / 2 for x, _ in places.values()] + [x for points in routes.values() for x, _ in points]
    width = max(xs, default=0) + _MARGIN
    height = max((y for _, y in places.values()), default=0) + _HEIGHT / 2 + 2 * _MARGIN
    parts = [
        f'<div style="overflow:auto"><svg width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        'font-size="11" text-anchor="middle" style="background:#fff">'
    ]
    for (source, node), value in flows.items():
        parts.append(
            f'<path d="{_path(routes[source, node])}" fill="none" stroke="{_colour(value.names, colours)}">'
            f"<title>{escape(f'{source} to {node}: {value.dtype}{value}')}</title></path>"
        )
    parts += [_box(node, *places[node], colours) for node in nodes]
    return "\n".join([*parts, "</svg></div>"])


def _layout(
    nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]
) -> tuple[dict[Node, Point], dict[tuple[Node, Node], list[Point]]]:
    """The centre of each node, and the points that each edge goes through; separate parts stand side by side."""
    try:
        from grandalf.graphs import Edge, Graph, Vertex
        from grandalf.layouts import SugiyamaLayout
    except ModuleNotFoundError:
        message = 'the page of an explanation needs the package grandalf: pip install "hlograph[explain]"'
        raise ModuleNotFoundError(message, name="grandalf") from None
    vertices = {node: Vertex(node) for node in nodes}
    connections = [Edge(vertices[source], vertices[target]) for source, target in edges]
    for each in [*vertices.values(), *connections]:
        each.view = _View()
    points: dict[Node, Point] = {}
    routes: dict[tuple[Node, Node], list[Point]] = {}
    right = float(_MARGIN)
    for part in Graph(list(vertices.values()), connections).C:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace, layout.dw, layout.dh = _GAP, _LAYER - _HEIGHT, _GAP, _HEIGHT
        layout.init_all(optimize=True)
        layout.draw(_ROUNDS)
        bends = [x for edge in part.sE for x, _ in edge.view.points]
        centres = {vertex.data: vertex.view.xy for vertex in part.sV}
        left = right - min([x - _WIDTH / 2 for x, _ in centres.values()] + bends)
        top = _MARGIN + _HEIGHT / 2 - min(y for _, y in centres.values())
        points |= {node: (x + left, y + top) for node, (x, y) in centres.items()}
        for edge in part.sE:
            routes[edge.v[0].data, edge.v[1].data] = [(x + left, y + top) for x, y in edge.view.points]
        right = left + max([x + _WIDTH / 2 for x, _ in centres.values()] + bends) + _GAP
    return points, routes


class _View:
    """Size and place of a node or an edge, as the layout asks for them."""

    def __init__(self) -> None:
        self.w, self.h = _WIDTH, _HEIGHT
        self.xy: Point = (0.0, 0.0)
        self.points: list[Point] = []

    def setpath(self, points: list[Point]) -> None:
        """Takes the points of an edge."""
        self.points = points


def _path(points: Sequence[Point]) -> str:
    """A smooth curve from below the first node through the points to above the last."""
    (x, y), *middle, (last_x, last_y) = points
    stops = [(x, y + _HEIGHT / 2), *middle, (last_x, last_y - _HEIGHT / 2)]
    text = f"M{stops[0][0]:.0f} {stops[0][1]:.0f}"
    for (a, b), (c, d) in pairwise(stops):
        bend = (d - b) / 2
        text += f"C{a:.0f} {b + bend:.0f} {c:.0f} {d - bend:.0f} {c:.0f} {d:.0f}"
    return text


def _box(node: Node, x: float, y: float, colours: Mapping[str, str]) -> str:
    """A node: its name and op, its shape below, its marks at the corner."""
    short = _WHOLE.get(node.name, node.name)
    name = re.sub(r"^(?:\w+\([^/]*\)/)+", "", node.where)  # JAX's names are paths
    title, subtitle = (name, short) if name not in ("", short) else (short, "")
    tooltip = "\n".join([str(node), *[f"gives {value.dtype}{value}" for value in node.results]])
    kinds = {kind: [words for each, words in node.marks if each == kind] for kind, _ in node.marks}
    frame = _REFUSED if "refused" in kinds else _GREY
    dashes = ' stroke-dasharray="5 3"' if node.name in ("while", "if", "case") or node.name.startswith("call ") else ""
    corner = 14 if node.name in ("input", "outputs") else 4
    parts = [
        f'<g transform="translate({x:.0f} {y:.0f})"><title>{escape(tooltip)}</title>',
        f'<rect x="{-_WIDTH // 2}" y="{-_HEIGHT // 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="{corner}" '
        f'fill="#f5f7f9" stroke="{frame}"{dashes}/>',
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
    for number, (kind, said) in enumerate(kinds.items()):
        letter, colour = ("×", _REFUSED) if kind == "refused" else (kind[0], _ACTS)
        parts.append(
            f'<g transform="translate({_WIDTH // 2 - 4 - 17 * number} {-_HEIGHT // 2})">'
            f'<title>{kind}: {escape("; ".join(said))}</title><circle r="8" fill="{colour}"/>'
            f'<text y="3.5" fill="#fff" font-weight="700">{letter}</text></g>'
        )
    return "".join([*parts, "</g>"])


def _colour(names: Iterable[str], colours: Mapping[str, str]) -> str:
    """The colour of the first of some sizes; grey for none."""
    return next((colour for name, colour in colours.items() if name in names), _GREY)


def _cut(text: str) -> str:
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…")
