"""docs/explanation/stages.md: its blocks are what examples/stages.py prints, and its Python runs."""

import platform
import re
import runpy
from importlib.metadata import version
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = (ROOT / "docs" / "explanation" / "stages.md").read_text()

# What XLA says differs between its releases and between processors.
TABLES = {"stages", "unrolled", "stacked"}
OF_XLA = {*TABLES, "optimized HLO"}
HERE = version("jaxlib") == "0.10.2" and platform.machine() == "x86_64"


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What the example prints, by section."""
    before = jax.config.jax_enable_x64
    try:
        return dict(runpy.run_path(str(ROOT / "examples" / "stages.py"))["sections"]())
    finally:
        jax.config.update("jax_enable_x64", before)


def test_the_blocks_are_what_the_example_prints(printed: dict[str, str]) -> None:
    blocks = dict(re.findall(r"<!-- ([\w ]+) -->\n```\n(.*?)\n```", DOCUMENT, re.DOTALL))
    assert blocks.keys() == printed.keys()
    for name, block in blocks.items():
        if name not in OF_XLA or HERE:
            assert block == printed[name].rstrip(), name
        elif name in TABLES:
            assert of_the_module(block) == of_the_module(printed[name])


def of_the_module(table: str) -> list[list[str]]:
    """The stages and their numbers of ops, without what XLA says."""
    return [line.split()[:2] for line in table.splitlines() if not line.startswith("optimized HLO")]


def test_one_divide(printed: dict[str, str]) -> None:
    assert printed["graph"].count("True_div") == 3
    assert printed["module"].count("stablehlo.divide") == 1
    assert printed["optimized HLO"].count(" divide(") == 1


def test_the_python_in_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code, *_) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(code, "stages.md", "exec"), namespace)
    out = capsys.readouterr().out
    assert "('emitted', 'specialize', 'cpu_regions', 'lowered')" in out
    assert "'stablehlo.divide': 1" in out
