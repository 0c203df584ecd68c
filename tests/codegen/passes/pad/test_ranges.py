"""A loop's counter is in range: no clamp where that is certain, one where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builds import build
from padded_runs import check_padded

from hlograph import builder as hlo
from hlograph.builder import INT32, Tensor

Place = Callable[[Tensor, Tensor], Any]


def loop(place: Place, first: int, step: int, direction: str, limit: str) -> Callable[[Tensor], Tensor]:
    """A sum over elements at places of a counter; the limit is n, or carried along, or is a carry that may move."""

    def body(x: Tensor) -> Tensor:
        n = x.builder.size(x.dims[0], INT32)

        def more(i: Tensor, stop: Tensor, _: Tensor) -> Tensor:
            return hlo.compare(direction, i, stop if limit else n)

        def turn(i: Tensor, stop: Tensor, total: Tensor) -> list[Tensor]:
            value = hlo.reshape(hlo.dynamic_slice(x, [place(i, n)], (1,)), ())
            return [i + step, hlo.minimum_(stop, n) if limit == "moves" else stop, total * 3.0 + value]

        start = [x.builder.constant(first, INT32), n, x.builder.constant(0, x.dtype)]
        return hlo.while_loop(start, more, turn)[2]

    return body


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("place", "changes", "clamps"),
    [
        pytest.param(lambda i, n: i, {}, 0, id="forward"),
        pytest.param(lambda i, n: n - 1 - i, {}, 0, id="backward"),
        pytest.param(lambda i, n: i, {"limit": "carried"}, 0, id="a limit that is carried along"),
        pytest.param(lambda i, n: i, {"limit": "moves"}, 1, id="a limit that moves"),
        pytest.param(lambda i, n: i, {"step": 3}, 0, id="by threes"),
        pytest.param(lambda i, n: i + 1, {}, 1, id="one past"),
        pytest.param(lambda i, n: i * 2, {}, 1, id="twice"),
        pytest.param(lambda i, n: i - 1, {}, 1, id="one before"),
        pytest.param(lambda i, n: i, {"direction": "LE"}, 1, id="up to the size"),
        pytest.param(lambda i, n: i, {"first": -2}, 1, id="from below"),
    ],
)
def test_clamps(place: Place, changes: dict[str, Any], clamps: int) -> None:
    # XLA takes a loop from 0 to 1 by threes for one without a turn (jaxlib 0.10): the interpreter alone knows better.
    options = {"first": 0, "step": 1, "direction": "LT", "limit": ""} | changes
    program = build({"x": ("float64", "n")}, loop(place, **options))
    sizes = [{"n": n} for n in (1, 2, 7, 8)]
    padded = check_padded(program, {"n": 8}, sizes=sizes, compiled=options["step"] == 1)
    assert padded.op_counts().get("stablehlo.clamp", 0) == clamps
