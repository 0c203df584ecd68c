"""docs/ops.md is what `make ops` writes, and its marks hold."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from op_cases import CASES
from op_coverage import PAGE, of_this_release, written
from op_runs import marks

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(not of_this_release(), reason="docs/ops.md is of another PyTensor")
def test_the_table_of_ops_is_the_one_that_is_written(tmp_path: Path) -> None:
    found = tmp_path / "ops.md"
    # In a process of its own: it imports all of PyTensor and its other backends.
    command = [sys.executable, str(ROOT / "tests/op_coverage.py"), "--markdown", str(found), "--known", str(PAGE)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if found.exists() and found.read_text().splitlines()[3] != PAGE.read_text().splitlines()[3]:
        pytest.skip(f"the page is of other releases: {PAGE.read_text().splitlines()[3]}")
    assert ended.returncode == 0, ended.stderr
    assert found.read_text() == PAGE.read_text(), "run `make ops`"
    rows = {line.split(" | ")[0].strip("| `"): line for line in PAGE.read_text().splitlines()}
    assert rows["Solve"].startswith("| `Solve` | x | x |  | x | x | x | x | x | x |")


@pytest.mark.skipif(not of_this_release(), reason="docs/ops.md is of another PyTensor")
@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", CASES)
def test_the_marks_of_an_op_hold(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = marks(CASES[name])
    assert tuple(found.values()) == written(PAGE.read_text())[name], f"{found}; run `make ops`"
