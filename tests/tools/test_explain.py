"""`hlograph.explain`: what it says of each kind of size, of padding and of refusals; and its page."""

import re
from contextlib import nullcontext
from html import unescape
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from support import PaddingRefusedWarning

import hlograph
from hlograph import explain

TWO_REFUSALS = """
func.func @main(
    %x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]},
    %y: tensor<?xf32> {hlograph.name = "y", hlograph.dims = ["m"]},
    %z: tensor<?xf32> {hlograph.name = "z", hlograph.dims = ["p"]}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.custom_call @first(%x) : (tensor<?xf32>) -> tensor<f32>
  %1 = stablehlo.custom_call @second(%y) : (tensor<?xf32>) -> tensor<f32>
  %2 = stablehlo.exponential %z : tensor<?xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %3 : tensor<f32>, tensor<f32>, tensor<f32>
}
"""


def spec(*shape: Any) -> Any:
    """A float32 argument of a JAX function."""
    return jax.ShapeDtypeStruct(shape, "float32")


def regression() -> Any:
    """Two roots, a mask at each contraction over rows."""
    x, y, beta = pt.dmatrix("x"), pt.dvector("y"), pt.dvector("beta")
    loss = ((y - pt.exp(x @ beta)) ** 2).sum()
    loss.name = "loss"
    return explain(([x, y, beta], [loss]), dims={"x": ("n", "m"), "y": ("n",), "beta": ("m",)})


def part(found: Any, title: str) -> list[tuple[str, ...]]:
    """The rows of the part with this title, or whose title begins so; none where there is no such part."""
    return next((rows for head, rows in found.sections if head.startswith(title)), [])


def test_static_programs() -> None:
    found = explain(hlograph.Program.parse("func.func @main() { return }"))
    assert found.text.startswith("program main\ninputs\noutputs\ndimensions: every size is static\n")
    assert not {"refused", "policy"} & {title for title, _ in found.sections}
    assert found.operations == []


def test_one_root() -> None:
    found = explain(hlograph.emit_stablehlo(lambda x: jnp.exp(x).sum(), spec("n")), policy="padded")
    assert part(found, "dimensions") == [("n", "size of axis 0 of x")]
    assert part(found, "policy") == [
        ("n", "padded: at most one compile for each of the bounds 16, 24, 32, 40, 56, ...")
    ]
    assert [row[:3] for row in part(found, "padding")] == [("mask", "n", "with 0.0")]
    assert "1 mask (bounds n = 128)" in str(found)


def test_two_roots() -> None:
    text = regression().text
    assert "  n  size of axis 0 of x\n     also axis 0 of y\n" in text
    assert "  m  size of axis 1 of x\n     also axis 0 of beta\n" in text
    assert re.search(r"\n  mask  n  with 0.0  at reduce \(loss\)  its padding is unknown, because ", text)


def test_roots_that_follow_from_others() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    found = explain(([x, y], [x + y]), policy={"x_0": 40})
    assert sorted(how for _, how in part(found, "policy")) == ["as x_0", "one compile for all sizes up to 40"]
    assert "x_0 == y_0" in found.text or "y_0 == x_0" in found.text


def test_sizes_of_values_and_of_data() -> None:
    x, k = pt.dvector("x"), pt.lscalar("k")
    found = explain(([x, k], [pt.arange(k), pt.nonzero(x)[0], pt.concatenate([x, x, x[:1]]) * 2]), dims={"x": ("n",)})
    assert "float64[2*n + min(n, 1)]" in {gives for _, _, gives, _ in found.operations}
    origins = dict(part(found, "dimensions"))
    assert origins["k"] == "value of k"
    assert "computed from data, at most n" in origins.values()


def test_demands_and_checks() -> None:
    x = pt.dvector("x")
    checked = Assert("it must be positive")(x[5], x[0] > 0)
    found = explain(([x], [checked]), dims={"x": ("n",)})
    assert any(row[0] == "n >= 6" and row[1].startswith("index") for row in part(found, "constraints"))
    assert part(found, "checks") == [("AssertionError", "it must be positive")]


def test_a_refusal_says_why_and_what_follows() -> None:
    program = hlograph.emit_stablehlo(lambda a, y: (jnp.linalg.eigvals(a), y * 2), spec("n", "n"), spec("m"))
    found = explain(program)
    call, reason = "custom_call lapack_sgeev_ffi (eig)", "there is no rule for calls of 'lapack_sgeev_ffi'"
    assert part(found, "refused") == [("n:", call, reason, "-> compiled exactly")]
    assert part(found, "padding") == []
    assert [row[1].endswith("as padding is refused") for row in part(found, "policy")] == [True, False]
    function = program.compile(policy="padded")  # a call refuses the same size, and no other
    for size in (3, 4):
        with pytest.warns(PaddingRefusedWarning, match="n cannot be padded") if size == 3 else nullcontext():
            values, doubled = function(np.diag([3.0, 2.0]).astype(np.float32), np.ones(size, np.float32))
        np.testing.assert_array_equal(np.sort(np.real(values)), [2, 3])
        np.testing.assert_array_equal(doubled, np.full(size, 2))
    assert [one.sizes for one in function.stats.by_executable] == ["n=2, m<=16"]
    assert [row[3] for row in found.operations if row[1] == call] == [f"refused: {reason}"]


def test_all_refusals_are_listed_and_other_sizes_stay_padded() -> None:
    found = explain(hlograph.Program.parse(TWO_REFUSALS, allow=["*"]))
    calls = [("n:", "custom_call first (line 7)"), ("m:", "custom_call second (line 8)")]
    assert [row[:2] for row in part(found, "refused")] == calls
    assert [row[:2] for row in part(found, "padding")] == [("mask", "p")]


def test_a_function_has_its_own_policy_and_statistics() -> None:
    x = pt.dvector("x")
    function = hlograph.function(
        [x], pt.exp(x).sum(), dims={"x": ("n",)}, policy={"n": hlograph.Bucket(start=4, limit=30)}
    )
    for size in (1, 2, 3):
        function(np.ones(size))
    found = explain(function)
    assert part(found, "policy") == [("n", "one compile for each of the bounds 8, 16, 24, 30")]
    assert "(bounds n = 30)" in found.text
    assert re.search(r"so far: 3 calls, 1 compile\n  padded  n<=8  3 calls, 75% padding\n", found.text)
    with pytest.raises(TypeError, match="dims and specs are for graphs"):
        explain(function, dims={"x": (3,)})


def test_a_jitted_function() -> None:
    jitted = hlograph.jit(lambda x: jnp.exp(x).sum(), dims={"x": ("n",)}, policy="padded")
    with pytest.raises(ValueError, match="has traced 0 programs"):
        explain(jitted)
    jitted(np.ones(3, np.float32))
    assert part(explain(jitted), "policy")[0][1].startswith("padded")
    jitted(np.ones(3, np.int32))
    with pytest.raises(ValueError, match="has traced 2 programs"):
        explain(jitted)
    assert part(explain(jitted, np.ones(3, np.int32)), "inputs")[0][1] == "int32"


def test_bounds_and_policies_are_checked() -> None:
    program = hlograph.emit_stablehlo(lambda x: jnp.exp(x).sum(), spec("n"))
    assert "(bounds n = 5)" in explain(program, bounds={"n": 5}).text
    with pytest.raises(hlograph.errors.HlographError, match="no size 'q'"):
        explain(program, bounds={"q": 5})
    with pytest.raises(hlograph.errors.HlographError, match="no size 'q'"):
        explain(program, policy={"q": "exact"})


def test_a_huge_program_stays_readable() -> None:
    lines = [f"  %v{i + 1} = stablehlo.exponential %v{i} : tensor<?xf32>" for i in range(10_000)]
    body = "\n".join(lines)
    text = f"func.func @main(%v0: tensor<?xf32>) -> tensor<?xf32> {{\n{body}\n  return %v10000 : tensor<?xf32>\n}}"
    found = explain(hlograph.Program.parse(text))
    assert "10000 of 10000 operations touched" in found.text
    assert len(found.text.splitlines()) < 40
    assert max(map(len, found.text.splitlines())) < 200
    assert len(found.operations) == 10_000


def test_the_page_has_what_the_text_has_escaped_and_loads_nothing(tmp_path: Path) -> None:
    x = pt.dvector("<script>alert(1)</script>\"'&")
    y = pt.exp(x)
    y.name = '"></td><img src=x onerror=alert(1)>'
    found = explain(([x], [y.sum(), y]))
    html = found.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert html == found.html == found._repr_html_()
    assert not re.search(r"<img|<script|https?:|@import|url\(|src=\"|href=", html)
    shown = unescape(re.sub(r"<[^>]*>", " ", html.partition("<h1>")[2].partition("<h2>operations</h2>")[0]))
    assert shown.split() == found.text.split()


def test_every_op_is_on_the_page() -> None:
    found = regression()
    rows = {name: (gives, marks) for _, name, gives, marks in found.operations}
    assert rows["reduce (loss)"] == ("float64[]", "mask: n with 0.0")
    assert any(name.startswith("dot_general (") and row == ("float64[n, 1]", "") for name, row in rows.items())
    assert not any(name.startswith(("constant", "get_dimension_size")) for name in rows)
    assert "<td>mask: n with 0.0</td>" in found.html
    found = explain(lambda x: jax.lax.scan(lambda c, row: (c + jnp.tanh(row).sum(), row * c), 0.0, x), spec("n", 3))
    blocks = [block.rpartition(": ")[2] for block, name, *_ in found.operations if name.startswith(("tanh", "while"))]
    assert (blocks[0], "condition" in blocks) == ("", False)
    assert {block.rpartition(": ")[2] for block, *_ in found.operations} >= {"", "condition", "body"}


def test_derivatives_and_loops_over_a_batch_are_listed() -> None:
    x = pt.fvector("x")
    function = hlograph.function([x], pt.sum(x[x > 0] ** 2), name="squares")
    jax.grad(function)(np.ones(3, np.float32))
    jax.vmap(function)(np.ones((2, 3), np.float32))
    found = explain(function)
    assert part(found, "made for JAX's transformations") == [
        ("squares_batched", "a loop over the batch of x: a size depends on data"),
        ("squares_vjp", "1 call, 1 compile"),
    ]
