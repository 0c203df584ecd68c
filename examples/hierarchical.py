"""Varying intercepts, and data that keep growing: one program for every number of rows and groups.

    python examples/hierarchical.py

`group` says for each row which intercept it uses; the gradient adds each row's share back to its group.
"""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph


def main() -> None:
    """Builds the model, runs it on three growing data sets."""
    x, y, group = pt.vector("x"), pt.vector("y"), pt.vector("group", dtype="int64")
    intercepts, slope = pt.vector("intercepts"), pt.scalar("slope")
    residual = y - intercepts[group] - slope * x
    log_density = -0.5 * pt.sum(residual**2) - 0.5 * pt.sum(intercepts**2) - 0.5 * slope**2
    gradients = pytensor.grad(log_density, [intercepts, slope])

    run = hlograph.function(
        [x, y, group, intercepts, slope],
        [log_density, *gradients],
        dims={"x": ("rows",), "y": ("rows",), "group": ("rows",), "intercepts": ("groups",)},
    )
    rng = np.random.default_rng(0)
    for rows, groups in ((20, 3), (50, 3), (200, 8)):
        where = rng.integers(0, groups, rows)
        values = rng.normal(size=rows), rng.normal(size=rows), where, rng.normal(size=groups), 0.5
        value, by_group, by_slope = run(*values)
        print(f"{rows:4} rows, {groups} groups: log-density {value:9.3f}, gradient {by_slope:8.3f}, {by_group.shape}")
    print(run.stats)

    try:
        run(np.zeros(3), np.zeros(3), np.array([0, 1, 2]), np.zeros(2), 0.5)
    except IndexError as error:
        print(f"a group that does not exist: {error}")


if __name__ == "__main__":
    main()
