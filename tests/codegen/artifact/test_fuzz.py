"""A sample of mutated artifacts (`make nightly` runs tests/fuzz_artifacts.py at length), and what is counted."""

from __future__ import annotations

import signal
import subprocess
import sys

import fuzz_artifacts
import pytest


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
def test_what_goes_wrong_is_counted_and_named(code: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_artifacts, "SECONDS", 2.0)
    begin = "import json, os, time; print(json.dumps([5, 'load', '']), flush=True); "
    command = [sys.executable, "-c", begin + code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert fuzz_artifacts.Outcome.of(fuzz_artifacts.watch(process)).wrong == [f"5: {what}"]
