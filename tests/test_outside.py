"""JAX's own primitive harnesses with named sizes: one in sixty, all of them every night (`make outside`)."""

import os

import outside
import pytest

EVERY = 1 if "HLOGRAPH_NIGHTLY" in os.environ else 60
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("policy", ["padded", "exact"])
def test_harnesses_of_jax(policy, part):
    """Under either policy another half of them."""
    place = part + PARTS * (policy == "exact")
    verdicts = [outside.judge(harness, policy) for harness in outside.harnesses(2 * PARTS * EVERY, place * EVERY)]
    assert verdicts
    assert [v for v in verdicts if v.kind in ("wrong", "broken")] == []
    assert sum(v.kind == "right" for v in verdicts) > len(verdicts) / 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("under", ["vmap", "grad", "rows"])
def test_harnesses_of_jax_under_a_transformation(under, part):
    """Others of them, a tenth as many."""
    place = 5 + 7 * part + {"vmap": 0, "grad": 3, "rows": 6}[under]
    verdicts = [outside.judge(harness, "padded", under) for harness in outside.harnesses(20 * min(EVERY, 30), place)]
    assert [v for v in verdicts if v.kind in ("wrong", "broken")] == []
    assert any(v.kind == "right" for v in verdicts)
