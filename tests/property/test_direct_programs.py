"""Random programs through the direct call, in processes of their own; `make nightly` runs others and more of them."""

from __future__ import annotations

import os
import sys

import direct_programs
import pytest
from direct_programs import DIRECT, WRONG

from hlograph.runtime.direct import verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "16"))

DYING = """
import json, os, sys
first = int(sys.argv[sys.argv.index("--first") + 1])
if first == 3:
    os.abort()
notes = {1: "no direct call: x is no kernel, but a y", 2: "no direct call any more: result 0 differs from PJRT's"}
print(json.dumps(notes.get(first, "direct call of the kernels")), flush=True)
"""


def test_random_programs() -> None:
    found = direct_programs.run_all(FIRST, PROGRAMS, jobs=1)
    assert not [what for what in found if what.startswith(WRONG)]
    assert found.total() == PROGRAMS
    assert found[DIRECT] >= PROGRAMS / 3, found


def test_what_goes_wrong_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With workers that end after a program each: one was refused, one differed, one died."""
    monkeypatch.setattr(direct_programs, "WORKER", [sys.executable, "-c", DYING])
    found = direct_programs.run_all(0, 5, jobs=2)
    assert (found.pop(DIRECT), found.pop("x is no kernel, but a y")) == (2, 1)
    seeds = [what.removeprefix(WRONG).partition(": ")[0] for what in found]
    assert sorted(seeds) == ["seed 2", "seed 3"]
    assert any("seed 3: the process ended with -6" in what for what in found)
