"""Artifacts made by hand to do harm are refused by name, or run; none ends the process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter

import bad_artifacts
import fuzz_artifacts
import pytest
import workers
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


# ---- a sample of mutated artifacts (`make nightly` runs more of tests/fuzz_artifacts.py), and what is counted --------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("forge", [False, True])
def test_mutated_artifacts_are_programs_or_errors(forge: bool) -> None:
    outcome = fuzz_artifacts.fuzz(first=7, count=12, jobs=1, forge=forge)
    assert outcome.wrong == []
    assert outcome.counts.total() == 12


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("os.kill(os.getpid(), 11)", f"died of {-signal.SIGSEGV} in load"),
        ("time.sleep(60)", "hung in load"),
        ("print(json.dumps([5, 'end', 'raw KeyError: x']), flush=True)", "raw KeyError: x"),
    ],
)
def test_what_goes_wrong_is_counted_and_named(code: str, what: str) -> None:
    begin = "import json, os, time; print(json.dumps([5, 'load', '']), flush=True); "
    command = [sys.executable, "-c", begin + code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert fuzz_artifacts.Outcome.of(workers.watch(process, 2.0)).wrong == [f"5: {what}"]
