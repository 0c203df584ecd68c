"""The README's tour runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_tour_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    exec(compile(blocks()[0], "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    stats = namespace["fn"].stats
    assert (stats.calls, sum(x.policy == "exact" for x in stats.by_executable)) == (102, 3)
    assert stats.compiles < 12
    assert "stablehlo.dot_general" in printed
    assert (tmp_path / "logistic.mlir").exists()
    assert namespace["value"].shape == ()
    assert namespace["gradient"].shape == (2,)


def test_jax_pytensor_names_and_one_compile_for_every_length(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in blocks()[:5]:
        exec(compile(block, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "stablehlo_call[callee=logp]" in printed
    assert namespace["draws"].shape == (100, 5)
    np.testing.assert_allclose(namespace["state"].get_value(), 0)
    assert "(sales: float64[city, month], price: float64[month]) -> (out0: float64[city])" in printed
    assert "9 compiles for 59 lengths" in printed
    picked, mean = namespace["picked"](np.arange(5.0), np.arange(5) > 2)
    np.testing.assert_array_equal(picked, [3.0, 4.0])
    assert mean == 3.5
    assert "nonzero_0  computed from data" in printed


def test_loops(capsys):
    import jax
    import jax.numpy as jnp

    import hlograph

    namespace: dict = {"jax": jax, "jnp": jnp, "hlograph": hlograph}
    block = blocks()[5]
    exec(compile(block, "README.md", "exec"), namespace)
    bytes_, *table = capsys.readouterr().out.splitlines()
    said = [int(number.replace(",", "")) for number in re.search(r"# ([\d,]+), not ([\d,]+)", block).groups()]
    written = jax.jit(namespace["simulated"]).lower(*(namespace[name] for name in ("h", "w", "data"))).compile()
    assert written.memory_analysis().temp_size_in_bytes > 100 * int(bytes_)
    np.testing.assert_allclose([int(bytes_), written.memory_analysis().temp_size_in_bytes], said, rtol=0.1)
    assert any(line.startswith("sink_reductions") for line in table)


def test_small_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in (blocks()[0], blocks()[6]):
        exec(compile(block, "README.md", "exec"), namespace)
    assert "'client: synchronous'" in capsys.readouterr().out
    value, gradient = namespace["small"](np.ones((5, 2)), np.ones(5), np.zeros(2))
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(value, 5 * np.log(0.5))
    np.testing.assert_allclose(gradient, [2.5, 2.5])


def test_the_rule_for_a_users_op_works():
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    import hlograph

    class MyOp(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.exp(inputs[0])

    exec(compile(blocks()[7], "README.md", "exec"), {"hlograph": hlograph, "MyOp": MyOp})
    x = pt.dvector("x")
    values = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(hlograph.function([x], MyOp()(x))(values), np.exp(values), rtol=1e-14)
