"""expand_linalg: open sizes are refused. Its factors and solves of known sizes: test_triangles.py."""

from __future__ import annotations

import pytest

import hlograph
from hlograph import errors


@pytest.mark.parametrize("op", ["fft %a, type = FFT, length = [4] : ({0}) -> {0}", "cholesky %a, lower = true : {0}"])
def test_open_sizes_are_refused(op: str) -> None:
    kind = "tensor<?x4xcomplex<f64>>"
    body = f"%r = stablehlo.{op.format(kind)}\n  return %r : {kind}"
    program = hlograph.Program.parse(f"func.func @main(%a: {kind}) -> {kind} {{\n  {body}\n}}")
    with pytest.raises(errors.PassError, match="expand_linalg needs static shapes; specialize first"):
        program.optimize(["expand_linalg"])
