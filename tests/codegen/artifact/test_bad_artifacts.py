"""Artifacts made by hand to do harm are refused by name, or run; none ends the process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import bad_artifacts
import pytest
from support import NIGHTLY

import hlograph
from hlograph.errors import ArtifactError

NAMES = list(bad_artifacts.RUNS)
SHORT = ["sort odd cmp", "reduce_window dilation", "dyn red win odd", "a long minimum"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", bad_artifacts.REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    text, message = bad_artifacts.REFUSED[name]
    with pytest.raises(ArtifactError, match=re.escape(message)):
        hlograph.Program.parse(text)


def test_what_is_not_refused_runs_or_is_an_error() -> None:
    names = NAMES if NIGHTLY else SHORT
    command = [sys.executable, bad_artifacts.__file__, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600 if NIGHTLY else 300)
    assert done.returncode == 0, f"{done.stdout[-300:]}\n{done.stderr[-2000:]}"
    found = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines())
    assert list(found) == names
    assert Counter(found.values())["runs"] >= len(names) // 2
