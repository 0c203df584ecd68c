"""docs/ops.md is what `make ops` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_table_of_ops_is_the_one_that_is_written(tmp_path: Path) -> None:
    written = tmp_path / "ops.md"
    # In a process of its own: it imports all of PyTensor and its other backends.
    command = [sys.executable, str(ROOT / "tests/op_coverage.py"), "--markdown", str(written)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 0, ended.stderr
    found, page = (path.read_text().splitlines() for path in (written, ROOT / "docs/ops.md"))
    if found[3] != page[3]:
        pytest.skip(f"the page is of other releases: {page[3]}")
    assert found == page, "run `make ops`"
    counts = {line.split(" | ")[0].strip("| "): line for line in found[10:]}
    assert counts["`Solve`"].count("| x ") == 3  # JAX, Numba, hlograph
    assert counts["`Print`"].count("| x ") == 0
