"""The page of an explanation: one HTML file with tables and the graph drawn as SVG; no other file, no network.

In: an explanation's `Record`. Out: HTML. Jinja2 fills `page.html.jinja` and escapes what comes from the user; grandalf
places the nodes in layers. Constants and the arithmetic on sizes are not drawn. Loops, branches and functions have
drawings of their own below, folded; together at most `LIMIT` nodes are drawn, and the page says where it stopped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from .record import Record
from .text import python_cost
from .walk import Block, Node, Value

LIMIT = 300  # nodes that are drawn, all drawings together
_LETTERS = 22  # of a node's text
_WIDTH, _HEIGHT = 168, 40  # of a node
_GAP, _LAYER, _MARGIN = 18, 92, 16  # between nodes, between layers, around the drawing
_ROUNDS = 8  # of the layout's search for fewer crossings
_COLOURS = 8  # the sizes' colours, in the template's style
_WHOLE = {"real_dynamic_slice": "slice", "dynamic_reshape": "reshape", "dynamic_broadcast_in_dim": "broadcast"}


@dataclass(frozen=True)
class Box:
    """A node of a drawing: where it is, what it says, and the sizes that it sees."""

    x: float
    y: float
    kind: str
    title: str
    subtitle: str
    tooltip: str
    roots: str
    shape: list[tuple[str, int | None]]
    marks: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Line:
    """An edge of a drawing: the path, and the sizes that flow along it."""

    path: str
    roots: str
    colour: int | None
    tooltip: str


@dataclass
class Drawing:
    """A block, drawn."""

    title: str
    width: float = 0
    height: float = 0
    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    left_out: int = 0


def render(record: Record) -> str:
    """The page.

    Raises:
        ModuleNotFoundError: the extra `explain` is not installed.
    """
    colours = {size.name: number for number, size in enumerate(record.sizes)}
    drawings, undrawn = [], 0
    left = LIMIT
    for block in record.blocks:
        if left <= 0:
            undrawn += 1
            continue
        drawing = draw(block, colours, left)
        left -= len(drawing.boxes)
        if drawing.boxes:
            drawings.append(drawing)
    return template("page.html.jinja").render(
        it=record, drawings=drawings, undrawn=undrawn, limit=LIMIT, colours=colours, box=(_WIDTH, _HEIGHT),
        python_cost=python_cost,
        coloured=lambda name: colours.get(name, 0) % _COLOURS,
    )  # fmt: skip


def frame(record: Record) -> str:
    """The page inside a notebook's cell, in a frame, so that neither's style reaches the other."""
    source = html.escape(render(record))
    return f'<iframe srcdoc="{source}" style="width:100%;height:42em;border:0" sandbox="allow-scripts"></iframe>'


@cache
def template(name: str) -> Any:
    """One of the templates beside this file.

    Raises:
        ModuleNotFoundError: the extra `explain` is not installed.
    """
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    loader = jinja2.PackageLoader(__package__, "")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


def _missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    message = f'the page of an explanation needs the package {error.name}: pip install "hlograph[explain]"'
    return ModuleNotFoundError(message, name=error.name)


# ---- drawings -------------------------------------------------------------------------------------------------------


def draw(block: Block, colours: Mapping[str, int], limit: int) -> Drawing:
    """The drawing of a block, of its first `limit` nodes."""
    shown = [number for number, node in enumerate(block.nodes) if not _is_constant(block, node)]
    drawing = Drawing(block.title, left_out=max(len(shown) - limit, 0))
    shown = shown[:limit]
    flows: dict[tuple[int, int], Value] = {}
    kept = set(shown)
    for number in shown:
        for source, value in block.nodes[number].operands:
            if source in kept:
                flows.setdefault((source, number), value)
    places, routes = _layout(shown, list(flows))
    bends = [x for points in routes.values() for x, _ in points]
    drawing.width = max([*bends, *[x + _WIDTH / 2 for x, _ in places.values()]], default=0) + _MARGIN
    drawing.height = max((y for _, y in places.values()), default=0) + _HEIGHT / 2 + 2 * _MARGIN
    for number in shown:
        drawing.boxes.append(_box(block.nodes[number], *places[number], colours))
    for edge, value in flows.items():
        names = sorted(value.names, key=lambda name: colours.get(name, 0))
        colour = colours[names[0]] % _COLOURS if names and names[0] in colours else None
        tooltip = f"{block.nodes[edge[0]]} to {block.nodes[edge[1]]}: {value.dtype}{value}"
        drawing.lines.append(Line(_path(routes[edge]), _numbers(names, colours), colour, tooltip))
    return drawing


def _is_constant(block: Block, node: Node) -> bool:
    """Whether it is a constant or a size, or one spread to a shape."""
    spread = "broadcast" in node.name and all(block.nodes[source].sizes_only for source, _ in node.operands)
    return node.sizes_only or (spread and not node.actions and not node.refusals)


Point = tuple[float, float]


def _layout(
    nodes: Sequence[int], edges: Sequence[tuple[int, int]]
) -> tuple[dict[int, Point], dict[tuple[int, int], list[Point]]]:
    """The centre of each node, and the points that each edge goes through; separate parts stand side by side."""
    try:
        from grandalf.graphs import Edge, Graph, Vertex
        from grandalf.layouts import SugiyamaLayout
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    vertices = {node: Vertex(node) for node in nodes}
    for vertex in vertices.values():
        vertex.view = _View()
    connections = [Edge(vertices[source], vertices[target]) for source, target in edges]
    for connection in connections:
        connection.view = _View()
    points: dict[int, Point] = {}
    routes: dict[tuple[int, int], list[Point]] = {}
    right = float(_MARGIN)
    for part in Graph(list(vertices.values()), connections).C:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace, layout.dw, layout.dh = _GAP, _LAYER - _HEIGHT, _GAP, _HEIGHT
        layout.init_all(optimize=True)
        layout.draw(_ROUNDS)
        bends = [point for edge in part.sE for point in edge.view.points]
        centres = {vertex.data: vertex.view.xy for vertex in part.sV}
        xs = [x - _WIDTH / 2 for x, _ in centres.values()] + [x for x, _ in bends]
        left, top = right - min(xs), _MARGIN + _HEIGHT / 2 - min(y for _, y in centres.values())
        points.update({node: (x + left, y + top) for node, (x, y) in centres.items()})
        for edge in part.sE:
            ends = edge.v[0].data, edge.v[1].data
            routes[ends] = [(x + left, y + top) for x, y in edge.view.points]
        right = max([x + left + _WIDTH / 2 for x, _ in centres.values()] + [x + left for x, _ in bends]) + _GAP
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


def _box(node: Node, x: float, y: float, colours: Mapping[str, int]) -> Box:
    short = _WHOLE.get(node.name, node.name)
    name = re.sub(r"^(?:\w+\([^/]*\)/)+", "", node.where)  # JAX's names are paths
    title, subtitle = (name, short) if name not in ("", short) else (short, "")
    marks = []
    if node.refusals:
        marks.append(("refuses", "×", "cannot be padded: " + "; ".join(node.refusals)))
    for kind in dict.fromkeys(action.kind for action in node.actions):
        said = [str(action) for action in node.actions if action.kind == kind]
        marks.append(("acts", kind[0], f"{kind}: " + "; ".join(dict.fromkeys(said))))
    kind = {"input": "end", "outputs": "end", "outer value": "end"}.get(node.name, "control" if node.inner else "op")
    tooltip = "\n".join([str(node), *[f"gives {value.dtype}{value}" for value in node.results]])
    return Box(
        x, y, kind, _cut(title), _cut(subtitle), tooltip, _numbers(node.names, colours), _shape(node, colours), marks
    )


def _shape(node: Node, colours: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """The shape that a node gives, in pieces: text, and the colour of the size it is."""
    if not node.results:
        return []
    value = node.results[0]
    pieces: list[tuple[str, int | None]] = [("[", None)]
    for axis, (dim, names) in enumerate(zip(value.dims, value.roots, strict=True)):
        known = sorted(colours[name] for name in names if name in colours)
        pieces += [(", ", None)] if axis else []
        pieces.append((_cut(dim), known[0] % _COLOURS if known else None))
    more = len(node.results) - 1
    return [*pieces, ("]" + (f" +{more}" if more else ""), None)]


def _numbers(names: Iterable[str], colours: Mapping[str, int]) -> str:
    return " ".join(str(colours[name]) for name in names if name in colours)


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
