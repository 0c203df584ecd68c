"""hlograph beside its peers, in one run.

    python benchmarks/run.py [--only NAME ...] [--quick] [--json PATH] [--markdown PATH] [--write FOLDER]

Results are printed as tables and kept as JSON in build/bench/, and with `--write docs` in the pages of docs/, see
`tables.py`. Values are compared before anything is timed; a difference ends the run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# What is measured must not depend on files that an earlier run left behind.
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
os.environ["HLOGRAPH_CACHE"] = "off"
warnings.simplefilter("ignore")

import tables  # noqa: E402
from harness import Report  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.status import Status  # noqa: E402
from rich.table import Table  # noqa: E402

BENCHMARKS = (
    "emission",
    "large_shapes",
    "dimensions",
    "overhead",
    "pytensor_mode",
    "sparse",
    "steady",
    "nuts",
    "new_length",
    "first_result",
    "cold_start",
    "second_process",
    "lengths",
    "padded",
    "rewriting",
    "stability",
    "simplify",
    "loops",
    "live_loops",
    "rows",
    "scans",
    "rounding",
    "blocks",
    "unrolled",
    "cpu_math",
    "cpu_forms",
    "small_models",
    "data",
    "small_model_remedies",
    "small_loops",
    "samplers",
    "chains",
    "without_jax",
    "artifact_load",
    "parameters",
    "large",
    "fixed_functions",
    "host_calls",
    "ops",
)
LONG = (  # only if asked for
    *("second_process", "large_shapes", "stability", "ops", "blocks", "samplers", "parameters", "large", "chains"),
)
FOLDER = Path(__file__).parent.parent / "build" / "bench"


def main() -> int:
    """Runs the benchmarks that were asked for."""
    parser = argparse.ArgumentParser(description="hlograph beside its peers, in one run")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, metavar="NAME",
                        default=[name for name in BENCHMARKS if name not in LONG],
                        help=f"which benchmarks: {', '.join(BENCHMARKS)}")  # fmt: skip
    parser.add_argument("--all", action="store_const", dest="only", help="all, also those that take long",
                        const=[name for name in BENCHMARKS if name != "samplers"])  # whose tables samplers.py writes
    parser.add_argument("--quick", action="store_true", help="few repetitions, to see that all runs")
    parser.add_argument("--json", type=Path, help="where to write the results (default: build/bench/<time>.json)")
    parser.add_argument("--markdown", type=Path, help="also write the tables as Markdown")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="also put the tables into the pages of a folder")
    options = parser.parse_args()

    import jax

    jax.config.update("jax_enable_x64", True)
    console = Console(width=None if sys.stdout.isatty() else 160)
    progress = Console(stderr=True)
    about = machine()
    console.print(", ".join(f"{name} {value}" for name, value in about.items()))
    reports: dict[str, Report] = {}
    for name in options.only:
        with progress.status(name) as status:
            reports[name] = import_module(name).run(options.quick, partial(update, status, name))
        console.print()
        console.print(table(reports[name]))
        for target in reports[name].targets:
            console.print(f"  {target}", style="green" if target.met else "red", highlight=False)
        if options.write:
            command = f"python benchmarks/run.py --only {name}{' --quick' * options.quick}"
            for page in tables.write(options.write, name, reports[name], command, about):
                console.print(f"  written to {page}")

    target_file = options.json or FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    target_file.parent.mkdir(parents=True, exist_ok=True)
    target_file.write_text(json.dumps({"machine": about} | {n: to_json(r) for n, r in reports.items()}, indent=2))
    console.print(f"\nkept in {os.path.relpath(target_file)}")
    if options.markdown:
        options.markdown.write_text("\n".join(to_markdown(report) for report in reports.values()))
    return 0


def update(status: Status, name: str, text: str) -> None:
    """Shows how far a benchmark is."""
    status.update(f"{name}: {text}")


def machine() -> dict[str, str]:
    """What the numbers depend on."""
    packages = [p for p in ("jax", "jaxlib", "numpy", "pytensor", "numba") if find_spec(p)]
    return {"Python": platform.python_version(), "cores": str(os.cpu_count())} | {p: version(p) for p in packages}


def table(report: Report) -> Table:
    """A report for the terminal."""
    result = Table(title=report.title, title_justify="left", title_style="bold")
    for index, column in enumerate(report.columns):
        result.add_column(column, justify="right" if index else "left", no_wrap=index > 0)
    for row in report.rows:
        result.add_row(*row)
    return result


def to_json(report: Report) -> dict:
    """A report for the file."""
    targets = [vars(target) | {"met": target.met} for target in report.targets]
    return {"title": report.title, "results": report.data, "targets": targets}


def to_markdown(report: Report) -> str:
    """A report as a Markdown section."""
    lines = [f"## {report.title}", "", *tables.rows(report)]
    lines += ["", *(f"- {' '.join(str(target).split())}" for target in report.targets), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
