"""Draws what `small_models` measured: a figure for each model, bars for a call and for the first call.

python benchmarks/run.py --only small_models --json build/bench/small_models.json
python benchmarks/small_models_plot.py build/bench/small_models.json     # into docs/images/small_models/
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "small_models"
COLORS = {"hlograph": "#c2410c", "PyTensor JAX": "#64748b", "PyTensor Numba": "#94a3b8", "jax.jit": "#cbd5e1"}
# For each measure: the axis, and what a second is in its unit.
AXES = {"call": ("a call, µs", 1e6), "first call": ("first call, s", 1.0)}


def main() -> None:
    """One SVG file for each model in the results."""
    parser = argparse.ArgumentParser(description="Figures of the small models' times")
    parser.add_argument("results", type=Path, help="what benchmarks/run.py --json wrote")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the figures go")
    options = parser.parse_args()
    by_model: dict[str, dict[str, Any]] = {}
    for result in json.loads(options.results.read_text())["small_models"]["results"]:
        by_model.setdefault(result["model"], {})[result["measure"]] = result
    options.folder.mkdir(parents=True, exist_ok=True)
    # The same results give the same file: identifiers do not come from a random number, and there is no date in it.
    with plt.rc_context({"svg.hashsalt": "hlograph", "svg.fonttype": "none", "font.family": "sans-serif"}):
        for model, measures in by_model.items():
            draw(model, measures, options.folder / f"{model.replace(' ', '_').lower()}.svg")


def draw(model: str, measures: Mapping[str, Mapping[str, Any]], target: Path) -> None:
    """One model's figure.

    Args:
        model: its name.
        measures: for "call" and "first call", by peer {"seconds": ...}, and "sizes".
        target: the SVG file to write.
    """
    figure, panels = plt.subplots(1, 2, figsize=(8, 1.9), sharey=True, layout="constrained")
    for panel, (measure, (label, scale)) in zip(panels, AXES.items(), strict=True):
        peers = [peer for peer in COLORS if peer in measures[measure]]
        values = [measures[measure][peer]["seconds"] * scale for peer in peers]
        low = min(values) / 3
        widths = [value - low for value in values]
        bars = panel.barh(peers, widths, left=low, color=[COLORS[peer] for peer in peers], height=0.7)
        panel.bar_label(bars, labels=[f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in values], padding=3, fontsize=8)
        panel.set_xscale("log")
        panel.minorticks_off()
        panel.set_xlim(low, max(values) * 2)
        panel.set_xlabel(label, fontsize=9)
        panel.tick_params(labelsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()
    figure.suptitle(f"{model} ({measures['call']['sizes']}), value and gradient", fontsize=10)
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
