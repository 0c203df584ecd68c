"""The README's tour runs as written."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_tour_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    exec(compile(blocks()[0], "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "compiles=2" in printed
    assert "stablehlo.dot_general" in printed
    assert (tmp_path / "logistic.mlir").exists()
    assert namespace["value"].shape == ()
    assert namespace["gradient"].shape == (2,)


def test_the_rule_for_a_users_op_works():
    import numpy as np
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    import hlograph

    class MyOp(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.exp(inputs[0])

    exec(compile(blocks()[1], "README.md", "exec"), {"hlograph": hlograph, "MyOp": MyOp})
    x = pt.dvector("x")
    values = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(hlograph.function([x], MyOp()(x))(values), np.exp(values), rtol=1e-14)
