"""Policies and buckets: which sizes are compiled as they are and which are padded, and to what."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph import Bucket, Program
from hlograph.errors import PolicyError
from hlograph.runtime.executables.policy import Policies, dependent_roots

TWO = """func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]},
                         %y: tensor<?xf32> {hlograph.name = "y", hlograph.dims = ["m"]}) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}"""
EQUAL = TWO.replace("func.func @main", "func.func @main").replace(
    "-> tensor<?xf32> {", '-> tensor<?xf32> attributes {hlograph.constraints = [["n == m", "join"]]} {'
)


def signature(text: str = TWO):
    return Program.parse(text).signature


def test_default_buckets_are_geometric_multiples_of_eight() -> None:
    bucket = Bucket()
    bounds = sorted({bucket.bound(size) for size in range(10_001)})
    assert bounds[0] == 16
    assert all(bound % 8 == 0 for bound in bounds)
    assert all(b <= a * 1.25 + 8 for a, b in itertools.pairwise(bounds))
    assert len(bounds) == 28  # and three exact sizes are the most that lengths up to 10,000 compile


@given(
    size=st.integers(0, 10**7),
    factor=st.floats(1.01, 10),
    start=st.integers(1, 1000),
    multiple=st.integers(1, 128),
)
def test_a_bound_holds_its_size_and_is_its_own_bound(size: int, factor: float, start: int, multiple: int) -> None:
    bucket = Bucket(factor, start, multiple)
    bound = bucket.bound(size)
    assert bound >= size
    assert bound % multiple == 0
    assert bucket.bound(bound) == bound
    assert bound <= max(start + multiple, size * factor + 2 * multiple)


def test_a_limit_is_the_last_bound_and_refuses_what_is_above() -> None:
    bucket = Bucket(limit=100)
    assert bucket.bound(97) == 100
    assert bucket.bound(100) == 100
    with pytest.raises(PolicyError, match="size 101 is above the bucket's limit 100"):
        bucket.bound(101)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factor": 1.0}, "factor must be greater than 1"),
        ({"factor": float("nan")}, "factor must be greater than 1"),
        ({"start": 0}, "start must be a positive integer"),
        ({"multiple": 2.5}, "multiple must be a positive integer"),
        ({"limit": -1}, "limit must be an integer >= 0"),
    ],
)
def test_impossible_buckets(arguments: dict, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Bucket(**arguments)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("fast", "policy: expected 'auto', 'exact', 'padded', a Bucket, or an int"),
        (True, "policy: expected 'auto'"),
        ({"k": "padded"}, "the program has no size 'k'"),
        ({"n": "pad"}, "policy of 'n': expected 'auto'"),
        ({"n": -3}, "policy of 'n': the bound -3 is not between 0 and"),
        ({"n": 2**40}, "is not between 0 and"),
    ],
)
def test_impossible_policies(policy, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policies(policy, signature())


def test_sizes_that_must_be_equal_are_one_size() -> None:
    assert {name: str(dim) for name, dim in dependent_roots(signature(EQUAL)).items()} == {"m": "n"}
    policies = Policies({"m": "padded"}, signature(EQUAL))
    assert policies.plan({"n": 9, "m": 9}).bounds == {"n": 16}
