"""Random programs through the direct call, in processes of their own; `make nightly` runs others and more of them."""

import os

import direct_programs
import pytest
from direct_programs import DIRECT, WRONG

from hlograph.runtime.direct import verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "16"))


def test_random_programs() -> None:
    found = direct_programs.run_all(FIRST, PROGRAMS, jobs=1)
    assert not [what for what in found if what.startswith(WRONG)]
    assert found.total() == PROGRAMS
    assert found[DIRECT] >= PROGRAMS / 3, found


def test_what_is_wrong() -> None:
    """A result that differs and a process that dies; what is refused is counted by its reason."""
    notes = ["no direct call any more: result 0 differs from PJRT's", "died of -6 in run", "no direct call: x3 is a y"]
    assert [direct_programs.judged(7, note).startswith(WRONG) for note in (*notes, DIRECT)] == [
        True,
        True,
        False,
        False,
    ]
    assert direct_programs.judged(7, notes[2]) == "N is a y"
