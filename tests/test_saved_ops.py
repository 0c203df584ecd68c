"""One graph for each op class as a file: what loads without being allowed anything gives PyTensor's own values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import op_cases
import pytest
from support import assert_same, reference

import hlograph
from hlograph.errors import HlographError


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", [name for name, case in op_cases.CASES.items() if not case.draws])
def test_ops_in_files(name: str, tmp_path: Path) -> None:
    case = op_cases.CASES[name]
    inputs, outputs, arrays = case.build()
    program = hlograph.emit_stablehlo((inputs, outputs))
    if name in op_cases.CALLS_PYTHON:
        with pytest.raises(HlographError):
            program.save(tmp_path / "op.mlirbc")
        return
    function = hlograph.load(program.save(tmp_path / "op.mlirbc")).compile(policy="exact", outputs="numpy")
    results = function(*arrays)
    wanted = [case.expected(*arrays)] if case.expected else reference(inputs, outputs, arrays)
    for found, expected in zip(results if isinstance(results, tuple | list) else [results], wanted, strict=True):
        assert_same(np.asarray(found), np.asarray(expected), rtol=case.rtol, label=name)
