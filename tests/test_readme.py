"""The README's Python runs as written and does what it says; so does that of the pages that it was taken to."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytensor
import pytest

import hlograph

ROOT = Path(__file__).resolve().parent.parent
README = "README.md"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def block(page: str, has: str) -> str:
    return next(text for text in blocks(page) if has in text)


def run(page: str, *places: int | str, **names: Any) -> dict[str, Any]:
    """The names that blocks of a page, by number or by what they say, leave behind, one run after the other."""
    for place in places:
        exec(compile(block(page, place) if isinstance(place, str) else blocks(page)[place], page, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks write files."""
    monkeypatch.chdir(tmp_path)


def test_the_tour(tmp_path, capsys):
    found = run(README, 0)
    printed = capsys.readouterr().out
    stats = found["fn"].stats
    assert (stats.calls, sum(x.policy == "exact" for x in stats.by_executable)) == (99, 1)
    assert stats.compiles < 12
    assert "stablehlo.dot_general" in printed
    assert "?x2xf64" in printed
    assert (tmp_path / "logistic.mlir").exists()
    np.testing.assert_allclose(found["value"], 99 * np.log(0.5))
    np.testing.assert_allclose(found["gradient"], [49.5, 49.5])
    value, gradient = found["again"].compile()(np.ones((5, 2)), np.ones(5), np.zeros(2))
    np.testing.assert_allclose(value, 5 * np.log(0.5))
    np.testing.assert_allclose(gradient, [2.5, 2.5])


def test_every_other_block_of_the_readme(capsys):
    assert len(blocks(README)) == 4
    found = run(README, *range(4))
    printed = capsys.readouterr().out
    np.testing.assert_allclose(found["slope"], [2.5, 2.5], rtol=1e-6)
    np.testing.assert_allclose(found["curvatures"], np.full((10, 2, 2), -1.25), rtol=1e-6)
    np.testing.assert_allclose(found["state"].get_value(), [0.25, 0.25])
    picked, mean = found["picked"](np.arange(5.0), np.arange(5) > 2)
    np.testing.assert_array_equal(picked, [3.0, 4.0])
    assert mean == 3.5
    assert "3 compiles for 59 lengths" in printed


def test_the_memory_that_the_readme_says_of_a_loop():
    """By the tutorial's function; the README's numbers are in MiB."""
    page = "docs/tutorials/loops_and_memory.md"
    found: dict[str, Any] = {}
    for text in re.findall(r"```\{code-cell\} ipython3\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[:1]:
        exec(compile(text, page, "exec"), found)
    lowered = [jit(found["simulated"](512)).lower(found["h"], found["w"]) for jit in (hlograph.jit, jax.jit)]
    ours, written = (one.compile().memory_analysis().temp_size_in_bytes / 2**20 for one in lowered)
    said = re.search(r"([\d.]+) MiB in place of (\d+) for 512 steps", (ROOT / README).read_text()).groups()
    np.testing.assert_allclose([ours, written], [float(number) for number in said], rtol=0.25)
    assert written > 100 * ours


def test_the_readme_fits_a_few_screens():
    lines = (ROOT / README).read_text().splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) < 200


def test_links_lead_somewhere():
    for page in [ROOT / README, *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_tables_say_what_measured_them(tmp_path, monkeypatch):
    """Each table between markers is a benchmark's, which replaces it, with its command and a date below."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import tables
    from harness import Report, Target

    pages = [page for page in (ROOT / "docs").rglob("*.md") if "<!-- table: " in page.read_text()]
    found = {match[2]: match[0] for page in pages for match in tables.MARKED.finditer(page.read_text())}
    assert len(found) == sum(page.read_text().count("<!-- table: ") for page in pages) > 30
    for name, text in found.items():
        benchmark, _, part = name.partition(" ")
        command = f"samplers.py --parts {part}" if part else f"run.py --only {benchmark}"
        assert (ROOT / f"benchmarks/{benchmark}.py").exists(), name
        assert re.search(rf"^`python benchmarks/{command}\b.*`, 2\d\d\d-\d\d-\d\d", text, re.MULTILINE), name

    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- table: rows -->\n\nold\n\n<!-- its end -->\nafter\n")
    report = Report("", ("case", "time"), [("a", "1 us")], targets=[Target("a", 2, 1), Target("b", 1, 1)])
    assert tables.write(tmp_path, "rows", report, "python x.py", {"jax": "1.2", "cores": "2"}) == [page]
    assert not tables.write(tmp_path, "other", report, "python x.py", {})
    assert re.fullmatch(
        r"before\n\n<!-- table: rows -->\n\n\| case \| time \|\n\| --- \| --- \|\n\| a \| 1 us \|\n\n"
        r"- MISSED a: 2.*\n- met: 1 of 2 targets\n\n`python x.py`, [\d-]{10}: jax 1.2, 2 cores\n\n"
        r"<!-- its end -->\nafter\n",
        page.read_text(),
    )


# ---- pages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "places", "said"),
    [
        ("docs/index.md", (0, 1, 2), "3 compiles for 59 lengths"),
        ("docs/how-to/new_data.md", (1, 2), "2 calls; "),
        ("docs/how-to/policy.md", (0,), "n<=64"),
        ("docs/how-to/files.md", (0,), "stablehlo.multiply %x, %y : tensor<5xf64>"),
        ("docs/how-to/bundles.md", (0,), "1 ('n=100: loaded"),
        ("docs/how-to/c_functions.md", (0,), ""),
        ("docs/how-to/without_jax.md", (0,), ""),
        ("docs/how-to/data.md", (0, 1), ""),
        ("docs/how-to/serve_a_model.md", (0, 1, 2, 3), "'radon_mean': ['house']"),
        ("docs/how-to/refusals.md", (0,), "dimensions\n  n  size of axis 0 of x"),
    ],
)
def test_what_short_pages_say(page, places, said, capsys):
    run(page, *places)
    assert said in capsys.readouterr().out


def test_functions_in_jax(capsys):
    found = run("docs/how-to/jax.md", 0)
    assert "stablehlo_call[callee=logp_grad]" in capsys.readouterr().out
    assert found["logp"].stats is not None
    found = run("docs/how-to/jax.md", 1, hlograph=found["hlograph"], x=np.arange(9.0))
    explained = capsys.readouterr().out
    for guard in ("n != 2", "n != 5", "n >= 8"):
        assert guard in explained
    for n in (2, 5, 8, 11, 3, 6):
        x = np.arange(float(n))
        np.testing.assert_allclose(found["fast"](x), found["f"](x))
    assert found["fast"].stats.traces == 4


def test_a_rewrite_that_makes_functions():
    from hlograph import passes

    run("docs/how-to/own_pass.md", "def gated_call", __name__="test_readme")
    try:
        x = np.linspace(-3, 3, 12).astype(np.float32).reshape(3, 4)

        def function(x, w):
            x = (x * jax.numpy.tanh(1.5 * x)) @ w
            return x * jax.numpy.tanh(1.5 * x)

        program = hlograph.Program.parse(jax.jit(function).lower(x, np.eye(4, dtype=np.float32)).as_text())
        made = program.optimize(["inline", "gated_call"])
        assert made.text.count("call @gated") == 2
        wanted = program.interpret(x, np.eye(4, dtype=np.float32))
        np.testing.assert_allclose(made.interpret(x, np.eye(4, dtype=np.float32))[0], wanted[0], rtol=1e-6)
    finally:
        passes.forget("gated_call")


def test_random_variables():
    found = run("docs/reference/random.md", 0, 1)
    assert found["outcomes"].shape == (5,)
    assert found["again"].shape == (3,)


def test_rows_of_different_lengths():
    found = run("docs/how-to/ragged.md", 0)
    rnn, w, rows = found["rnn"], found["w"], found["rows"]
    for own, x in zip(found["found"], rows, strict=True):
        np.testing.assert_allclose(own, rnn(w, x), rtol=1e-5)
    expected = jax.grad(lambda w: sum((rnn(w, x) ** 2).sum() for x in rows))(w)
    np.testing.assert_allclose(found["gradient"], expected, rtol=1e-4)
    logp = run("docs/how-to/ragged.md", 1, **found)["logp"]
    np.testing.assert_allclose(logp([np.ones(3), np.zeros(0), np.ones(5)], 0.5), [-0.375, 0, -0.625])


def test_small_models(capsys):
    found = run("docs/explanation/cpu.md", 0)
    assert "'client: synchronous'" in capsys.readouterr().out
    value, *slopes = found["fn"](np.arange(8.0), 0.5, 0.1)
    scaled = (np.arange(8.0) - 0.5) * np.exp(-0.1)
    np.testing.assert_allclose(value, (-0.5 * scaled**2 - 0.1).sum())
    np.testing.assert_allclose(slopes, [scaled.sum() * np.exp(-0.1), (scaled**2).sum() - 8])
    assert all(type(slope) is np.ndarray for slope in slopes)


def test_the_mode():
    with pytensor.config.change_flags(mode=pytensor.config.mode):
        found = run("docs/how-to/pytensor_mode.md", 0)
        assert pytensor.config.mode == "STABLEHLO"
    np.testing.assert_array_equal(found["fn"](np.ones(3)), [2.0, 2.0, 2.0])
    np.testing.assert_allclose(found["padded"](np.zeros(7)), 7)


def test_named_dimensions(capsys):
    found = run("docs/how-to/pytensor_mode.md", 1)
    assert "(x: float64[city, month], y: float64[month]) -> (out0: float64[city])" in capsys.readouterr().out
    x, y = np.linspace(-1, 1, 60).reshape(5, 12), np.linspace(0, 1, 12)
    np.testing.assert_allclose(found["function"](x, y), (np.exp(x) * y).sum(1))


def test_sizes_from_data(capsys):
    found = run("docs/explanation/padding.md", 1)
    assert "nonzero_0  computed from data" in capsys.readouterr().out
    np.testing.assert_array_equal(found["picked"](np.arange(5.0), np.arange(5) > 2)[0], [3.0, 4.0])


def test_an_unrolled_loop_is_a_loop_again():
    import jax.numpy as jnp

    found = run("docs/reference/passes.md", "def f(x, t)", hlograph=hlograph, jnp=jnp)
    said = re.search(r'# (\d+) ops; with optimize="exact" (\d+)', block("docs/reference/passes.md", "def f(x, t)"))
    t = np.linspace(-0.56, -0.53, 1000)
    for optimize, size in zip(("default", "exact"), map(int, said.groups()), strict=True):
        lowered = hlograph.jit(found["f"], optimize=optimize).lower(1.0, jnp.asarray(t, "float32"))
        counts = lowered.stages["roll_loops"].op_counts
        assert sum(counts.values()) == size
        assert counts.get("stablehlo.while", 0) == (optimize == "exact")
        exact = np.exp(np.log(t**2 - t**3 - t).sum())
        np.testing.assert_allclose(lowered.compile()(1.0, jnp.asarray(t, "float32")), exact, rtol=1e-3)


# What the blocks of docs/developers/contributing.md take for granted; they are run where they register nothing for
# other tests.
JOURNEYS = """
import re, sys, textwrap
from pathlib import Path
from typing import Any
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
import hlograph
from hlograph import Program, builder as hlo
from hlograph.builder import lowers
from hlograph.builder import Context
from hlograph.passes import defining, ir, rewrite

INT64, Tensor = hlo.INT64, hlo.Tensor

blocks = re.findall(r"^( *)```python\\n(.*?)^ *```", Path(sys.argv[1]).read_text(), re.DOTALL | re.MULTILINE)
diagonal, negation, debugging = [textwrap.dedent(code) for _, code in blocks]

exec(diagonal)
x, v = pt.dmatrix("x"), pt.dscalar("v")
filled = hlograph.function([x, v], pt.fill_diagonal(x, v))
for shape in ((3, 3), (2, 4), (4, 2), (0, 3)):
    expected = np.arange(float(np.prod(shape))).reshape(shape)
    given = expected.copy()
    if expected.size:
        np.fill_diagonal(expected, 7.0)
    np.testing.assert_array_equal(filled(given, 7.0), expected)

exec(negation)
negated = Program.parse(
    "func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {"
    "%a = stablehlo.negate %x : tensor<3xf64> %b = stablehlo.negate %a : tensor<3xf64> return %b : tensor<3xf64> }"
)
values = np.array([1.0, -0.0, np.nan])
after = negated.optimize(["double_negation"])
assert not after.op_counts(), after.op_counts()
np.testing.assert_array_equal(*[np.signbit(p.interpret(values)[0]) for p in (negated, after)])
np.testing.assert_array_equal(*[p.interpret(values)[0] for p in (negated, after)])

u = pt.dvector("u")
inputs, outputs, args = [u], [(pt.exp(u) ** 3).sum()], [np.linspace(0, 1, 20)]
exec(debugging)
np.testing.assert_allclose(wanted[0], np.exp(3 * args[0]).sum())
"""


def test_the_journeys():
    page = str(ROOT / "docs/developers/contributing.md")
    ran = subprocess.run([sys.executable, "-c", JOURNEYS, page], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    stages = [line.split()[0] for line in ran.stdout.splitlines() if not line.startswith("{")]
    assert stages == ["emitted", "specialize", "simplify", "cpu_regions", "lowered"]
    numbers = [float(number) for number in re.findall(r"(\d+\.\d+)", ran.stdout)]
    assert len(numbers) == 9
    np.testing.assert_allclose(numbers, np.exp(3 * np.linspace(0, 1, 20)).sum(), rtol=1e-6)


def test_an_op_of_your_own(capsys):
    found = run("docs/how-to/own_op.md", 0)
    assert capsys.readouterr().out == "[-0.5   0.    0.75]\n"
    x = found["x"]
    found = run("docs/how-to/own_op.md", 1, hlo=found["hlo"], Softsign=found["Softsign"])
    np.testing.assert_array_equal(hlograph.function([x], found["Softsign"]()(x))([-1.0, 0.0, 3.0]), [-0.5, 0, 0.75])


@pytest.mark.skipif(
    len(inspect.signature(pytensor.compile.ops.FromFunctionOp._infer_shape).parameters) != 3,
    reason="another way to say shapes, before PyTensor 3.3",
)
def test_what_runs_python(capsys):
    found = run("docs/how-to/host.md", 0)
    printed = capsys.readouterr().out
    assert printed.startswith("smoothed __str__ = [0.25 1.   2.   3.   2.75]\nprogram main")
    assert "FromFunctionOp{smoothed}" in printed
    found = run("docs/how-to/host.md", 1, **found)
    np.testing.assert_allclose(found["fn"](np.eye(3)), np.full(3, np.exp(2)), rtol=1e-6)
    before = jax.config.jax_enable_x64
    try:  # importing PyTensor's JAX mode sets the flag
        found = run("docs/how-to/host.md", 2, **found)
        assert float(found["fn"](np.arange(5.0))) == 6
    finally:
        jax.config.update("jax_enable_x64", before)
