"""Random programs through the direct call, in processes of their own; `make nightly` runs others and more of them."""

from __future__ import annotations

import os
import sys

import direct_programs
import pytest

from hlograph.runtime.direct import verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "16"))

DYING = """
import json, os, sys
first = int(sys.argv[sys.argv.index("--first") + 1])
print(json.dumps({"seed": first}), flush=True)
if first == 3:
    os.abort()
notes = {1: "no direct call: x is no kernel, but a y", 2: "no direct call any more: result 0 differs from PJRT's"}
print(json.dumps({"seed": first, "note": notes.get(first, "direct call of the kernels")}), flush=True)
"""


def test_random_programs() -> None:
    outcome = direct_programs.run_all(FIRST, PROGRAMS, jobs=1)
    assert not outcome.wrong, str(outcome)
    assert outcome.programs == PROGRAMS
    assert outcome.direct >= PROGRAMS / 3, str(outcome)


def test_what_goes_wrong_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With workers that end after a program each: one was refused, one differed, one died."""
    monkeypatch.setattr(direct_programs, "WORKER", [sys.executable, "-c", DYING])
    outcome = direct_programs.run_all(0, 5, jobs=2)
    assert outcome.direct == 2
    assert outcome.refused == {"x is no kernel, but a y": 1}
    seeds = [line.partition(":")[0] for line in outcome.wrong]
    assert seeds.count("seed 2") >= 1
    assert "seed 3: the process ended with -6" in "\n".join(outcome.wrong)
