"""Rewrites that a test registers go with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hlograph import passes
from hlograph.codegen.passes.rewriting import REWRITES


@pytest.fixture(autouse=True)
def own_rewrites() -> Iterator[None]:
    passes.available()  # hlograph's own are registered
    before = dict(REWRITES)
    yield
    REWRITES.clear()
    REWRITES.update(before)
