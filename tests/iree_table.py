"""What IREE makes of the graphs of `op_cases`, with known sizes: the table of docs/how-to/iree.md.

    python tests/iree_table.py [--jobs 2] [--only Softmax,Pad]

Cases are run in processes of their own. Without `--only` the table of the page is written anew (some minutes).
IREE's compiler is a tool of its own, whose Python package is not imported: its MLIR is another than jaxlib's. Its
runtime runs in this process.
"""

import argparse
import importlib.util
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import workers
from op_cases import CASES

import hlograph
from hlograph.errors import HlographError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "iree.md"
START, END = "<!-- the table: python tests/iree_table.py -->\n", "<!-- its end -->\n"
SECONDS, CHUNK = 300, 12
NAMES = list(CASES)

FLAGS = (
    "--iree-input-type=stablehlo",
    "--iree-input-demote-f64-to-f32=false",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
    "--mlir-disable-threading",
    "--iree-llvmcpu-link-embedded=false",  # float64's sin, cos, tanh, ... are libm's
)


class CannotCompile(Exception):
    """IREE's compiler refuses a module, in its words."""


def installed() -> bool:
    """Whether there is a compiler and a runtime."""
    return _tool() is not None and importlib.util.find_spec("iree.runtime") is not None


def compiled(program: hlograph.Program, *, seconds: float = 120) -> Callable[..., list[np.ndarray[Any, Any]]]:
    """A function of arrays, by IREE.

    Raises:
        CannotCompile: the compiler refuses, or takes too long.
    """
    tool = _tool()
    assert tool is not None, "IREE's compiler is installed"
    try:
        made = subprocess.run(
            [tool, "-", *FLAGS], input=program.text.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotCompile(f"no result in {seconds:.0f} s") from None
    if made.returncode:
        words = made.stderr.decode(errors="replace")
        raise CannotCompile(words.partition("error: ")[2].partition("\n")[0] or words.strip().partition("\n")[0])
    return _loaded(made.stdout)


def _tool() -> str | None:
    package = importlib.util.find_spec("iree.compiler") if importlib.util.find_spec("iree") else None
    if package is None or package.origin is None:
        return None
    tool = Path(package.origin).parent / "_mlir_libs" / "iree-compile"
    return str(tool) if tool.exists() else None


def _loaded(code: bytes) -> Callable[..., list[np.ndarray[Any, Any]]]:
    import iree.runtime as runtime

    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    module = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    function = context.modules[module.name]["main"]

    def call(*arguments: Any) -> list[np.ndarray[Any, Any]]:
        found = function(*[np.asarray(x) for x in arguments])
        return [np.array(x.to_host() if hasattr(x, "to_host") else x) for x in jax.tree.leaves(found)]

    return call


def outcome(name: str) -> str:
    """`works`, or what is in the way, in a line."""
    case = CASES[name]
    try:
        program = hlograph.emit_stablehlo(case.build(static=True)[:2]).optimize(["for_iree"])
    except HlographError as error:
        return f"refused: {str(error).partition(' (at ')[0].partition(';')[0].removeprefix('for_iree: ')}"
    try:
        function = compiled(program, seconds=60)
    except CannotCompile as error:
        return f"no compile: {str(error)[:90]}"
    inputs, outputs, arrays = case.build(5)
    key = [jax.random.key(7)] if case.draws else []
    wanted = hlograph.emit_stablehlo((inputs, outputs)).compile(policy="exact")(*key, *arrays)
    found = function(*[np.asarray(jax.random.key_data(each)) for each in key], *arrays)
    for result, right in zip(found, jax.tree.leaves(wanted), strict=False):
        if not np.allclose(result, np.asarray(right), rtol=1e-9, atol=1e-11, equal_nan=True):
            return "WRONG"
    return "works"


def _tried(place: int) -> str:
    try:
        found = outcome(NAMES[place])
    except Exception as error:  # whatever IREE's runtime raises
        found = f"error: {type(error).__name__}: {str(error)[:80]}"
    return " ".join(found.replace("|", "/").split())


def table(names: list[str], jobs: int) -> str:
    """The names of those that work in a paragraph, the others in a table."""
    places = [NAMES.index(name) for name in names]
    found = {NAMES[k]: what for k, what in workers.all_of(__file__, places, CHUNK, jobs=jobs, seconds=SECONDS)}
    count = Counter(value.partition(":")[0] for value in found.values())
    shown = ", ".join(f"{number} {kind}" for kind, number in count.most_common())
    works = ", ".join(name for name in names if found[name] == "works")
    lines = ["", f"Of {len(found)} ops: {shown}.", "", f"Right: {works}.", ""]
    groups: dict[str, list[str]] = {}
    for name in names:
        if found[name] != "works":
            groups.setdefault(_short(found[name]), []).append(name)
    lines += ["| ops | |", "|---|---|", *(f"| {', '.join(group)} | {what} |" for what, group in groups.items())]
    return "\n".join([*lines, "", ""])


def _short(outcome: str) -> str:
    """An outcome without what differs from op to op: numbers of values, bytes, names of sizes."""
    text = re.sub(r"\(\w+_\d+(, \w+_\d+)*\) ", "", outcome)
    text = re.sub(r": %\d+ = .*| for function\. Got .*|Got \d+.*", "", text)
    return text.replace(
        "Please report issues to https://github.com/iree-org/iree/issues and include the crash back", "a crash"
    )


def main() -> None:
    """Writes the page, or shows what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return workers.serve(options.worker, _tried)
    text = table([name for name in options.only.split(",") if name] or NAMES, options.jobs)
    if options.only:
        return print(text)
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + text + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
