"""Elementwise work that moves into the loops which read it: the same numbers, clamped slices included."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from hlograph import Program
from hlograph.passes import Report

SHAPE = (6, 4)
RANDOM = np.random.default_rng(0)
ARRAYS = {name: RANDOM.normal(size=SHAPE).astype(np.float32) for name in "xy"}
ARRAYS |= {
    name: RANDOM.normal(size=shape).astype(np.float32)
    for name, shape in {"row": (4,), "column": (6,), "s": (), "turned": (4, 6), "one": (1, 4)}.items()
}
ARRAYS |= {"p": RANDOM.random(SHAPE) < 0.5, "q": np.array(True)}
ARRAYS["x"][2, 1], ARRAYS["y"][3, 0] = np.nan, np.inf
Work = Callable[[Any], Any]


def program(work: Work, rows: int = 1, count: int = 6, ahead: int = 0, whole: bool = False) -> Program:
    """A loop that reads rows of what is made of `ARRAYS`; it may also be returned whole."""

    def function(arrays: dict[str, Any]) -> Any:
        made = work(SimpleNamespace(**arrays))

        def step(i: Any, g: Any) -> Any:
            return jnp.cos(g) + lax.dynamic_slice(made, (i + ahead, 0), (rows, 4), allow_negative_indices=False)

        found = lax.fori_loop(0, count, step, jnp.full((rows, 4), 0.5, np.float32))
        return (found, made) if whole else found

    text = jax.jit(function, keep_unused=True).lower(ARRAYS).as_text()
    return Program.parse(text).optimize(["inline", "canonicalize"])


def moved(program: Program) -> tuple[Program, Report]:
    reports: list[Report] = []
    return program.optimize(["work_into_loops"], reports=reports), reports[0]


WORK: dict[str, Work] = {
    "elementwise": lambda a: (a.x - a.y) * (a.x - a.y),
    "broadcast of a row": lambda a: jnp.broadcast_to(a.row, SHAPE),
    "broadcast of a column": lambda a: a.column[:, None] * a.x,
    "broadcast of a scalar": lambda a: a.x / a.s,
    "broadcast of size 1": lambda a: jnp.broadcast_to(-a.one, SHAPE),
    "transposed": lambda a: (-a.turned).T,
    "broadcast and transposed": lambda a: jnp.broadcast_to(a.column, (4, 6)).T,
    "iota of rows": lambda a: lax.broadcasted_iota(np.float32, SHAPE, 0) + a.x,
    "iota of columns": lambda a: lax.broadcasted_iota(np.float32, SHAPE, 1) + a.x,
    "select": lambda a: lax.select(a.p, a.x, a.y),
    "select by a scalar": lambda a: lax.select(a.q, a.x, a.y),
    "clamp by scalars": lambda a: lax.clamp(a.s, a.x, a.s),
    "compare and convert": lambda a: lax.convert_element_type(a.x < a.y, np.float32),
    "constants": lambda a: lax.max(lax.select(a.p, jnp.full(SHAPE, np.nan), jnp.full(SHAPE, 3.0)), a.x),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("rows", "count", "ahead"), [(1, 6, 0), (2, 3, 0), (1, 6, 3), (1, 6, -2), (2, 3, 5)], ids=lambda number: str(number)
)
@pytest.mark.parametrize("work", WORK)
def test_slices_of_work(work: str, rows: int, count: int, ahead: int) -> None:
    """Slices of one and of two rows, also such as would leave the array and are clamped."""
    before = program(WORK[work], rows, count, ahead)
    after, report = moved(before)
    assert report.rewritten, report.text
    arrays = [ARRAYS[name] for name in sorted(ARRAYS)]  # as JAX orders a dict
    np.testing.assert_array_equal(after.interpret(*arrays)[0], before.interpret(*arrays)[0])
    head = after.text.split("stablehlo.while")[1].splitlines()[0]
    assert "6x4" not in head.rpartition(" : ")[2], "the array is not carried any more"


TABLE = np.add.outer(np.arange(6, dtype=np.float32), np.arange(4, dtype=np.float32))
# What stays: the work, how it is read, and why.
STAYS: dict[str, tuple[Work, dict[str, Any], str]] = {
    "sine": (lambda a: jnp.sin(a.x), {}, "costs more than storing it, and is better done for all steps at"),
    "table": (lambda a: TABLE, {}, ""),
    "reversed": (lambda a: a.x[::-1], {}, ""),
    "needed whole": (
        lambda a: -a.x,
        {"whole": True},
        "the whole array is used by func.return, so that it has to be stored anyway",
    ),
    "read again and again": (
        lambda a: a.x * a.y,
        {"count": 60},
        "what makes it is used elsewhere too, or is read more than once, and is expensive to do again",
    ),
    "no less memory": (
        lambda a: -a.x[::-1],
        {},
        "what it is made from is not kept otherwise and takes as much memory (96 bytes)",
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name: str) -> None:
    work, options, reason = STAYS[name]
    before = program(work, **options)
    after, report = moved(before)
    assert after.text == before.text
    assert [reason in note.reason for note in report.notes] == ([True] if reason else [])
