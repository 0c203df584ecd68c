"""The walk through a graph: operands first, each node once, known variables and finished nodes left out."""

import pytensor.tensor as pt

from hlograph.codegen.graph import order


def test_operands_come_first_from_left_to_right_and_once() -> None:
    x, y = pt.vectors("x", "y")
    left, right = pt.exp(x), pt.sin(y)
    both = left * right
    out = pt.concatenate([both, left])
    found = order([out, right])
    assert found.index(left.owner) < found.index(right.owner) < found.index(both.owner) < found.index(out.owner)
    assert len(found) == len(set(found))
    assert found[-1] is out.owner


def test_the_walk_stops_at_known_variables_and_finished_nodes() -> None:
    x = pt.vector("x")
    a = pt.exp(x)
    b = pt.sin(a)
    c = pt.tanh(b)
    assert order([c], {b}) == [c.owner]
    assert order([c], (), {b.owner}) == [c.owner]
    assert order([c], {c}) == []
    assert order([x]) == []
