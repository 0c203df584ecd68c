"""docs/reference/ops.md is what `make ops` writes, and its marks hold; each op class as a file, and in a plugin."""

import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import plugin
import pytest
from op_cases import CALLS_PYTHON, CASES
from op_coverage import PAGE, Runs, marks, of_this_release, written

from hlograph.errors import HlographError

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(not of_this_release(), reason="docs/reference/ops.md is of another PyTensor")
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


@pytest.mark.skipif(not of_this_release(), reason="docs/reference/ops.md is of another PyTensor")
@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", CASES)
def test_the_marks_of_an_op_hold(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = marks(CASES[name])
    assert tuple(found.values()) == written(PAGE.read_text())[name], f"{found}; run `make ops`"


SAME = [name for name, case in CASES.items() if not case.draws]
# Decompositions without a form in StableHLO.
NOT_PLAIN = {"Eig", "Schur", "SolveBilinearDiscreteLyapunov", "SolveSylvester", *CALLS_PYTHON}


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", SAME)
def test_ops_in_files(name: str, tmp_path: Path) -> None:
    with pytest.raises(HlographError) if name in CALLS_PYTHON else nullcontext():
        Runs(CASES[name]).saved(tmp_path / "op.mlirbc")


@pytest.mark.skipif(plugin.library() is None, reason=plugin.MISSING)
@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", SAME)
def test_ops_in_a_plugin(name: str) -> None:
    with pytest.raises(HlographError) if name in NOT_PLAIN else nullcontext():
        Runs(CASES[name]).in_a_plugin()
