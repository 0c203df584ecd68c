"""The minimum cut, against all choices."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from hlograph.codegen.analysis.costs import FOREVER, Value, cheapest

prices = st.sampled_from([0, 1, 2, 3, 5, 8, 13, FOREVER])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[int, Value[int]], list[int]]:
    """Values 0, 1, ..., each computed from earlier ones; and which of them are needed."""
    size = draw(st.integers(1, 6))
    values = {}
    for number in range(size):
        sources = draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        again = draw(prices) if number else FOREVER
        values[number] = Value(sources, again, draw(st.sampled_from([1, 2, 4, 7])))
    return values, draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3))


def least(values: dict[int, Value[int]], needed: list[int]) -> int:
    """The least price over all sets of kept values."""
    best = FOREVER
    for kept in chain.from_iterable(combinations(values, count) for count in range(len(values) + 1)):
        price = sum(values[number].keep for number in kept)
        again: set[int] = set()
        pending = list(needed)
        while pending:
            number = pending.pop()
            if number not in kept and number not in again:
                again.add(number)
                pending += values[number].sources
        best = min(best, price + sum(values[number].again for number in again))
    return best


@settings(max_examples=200)
@given(graphs())
def test_no_choice_is_cheaper(graph: tuple[dict[int, Value[int]], list[int]]):
    values, needed = graph
    choice = cheapest(values, needed)
    assert choice.price == least(values, needed)
    priced = [values[number].keep for number in choice.kept] + [values[number].again for number in choice.again]
    assert sum(priced) == choice.price
    available = choice.kept | choice.again
    assert available >= set(needed)
    assert all(set(values[number].sources) <= available for number in choice.again)


def test_a_long_chain():
    """Of 3,000 values in a row one is kept: the cheapest, unless too much is to be computed again."""
    for again, best in ((500, 2999), (0, 100)):
        values = {
            n: Value([n - 1] if n else [], again if n else FOREVER, 10_000 - 51 * (n == 100)) for n in range(3000)
        }
        assert cheapest(values, [2999]).kept == {best}
