"""One graph for each op class, as a plain program in a PJRT plugin: PyTensor's own values, or refused.

Sizes are below the bounds, and NaN, great integers and `True` stand behind them.
"""

from __future__ import annotations

import numpy as np
import op_cases
import plugin
import pytest
from support import assert_same, reference

import hlograph
from hlograph.errors import HlographError
from hlograph.runtime.calls.arguments import find_sizes

# Decompositions without a form in StableHLO.
REFUSED = {"Eig", "Schur", "SolveBilinearDiscreteLyapunov", "SolveSylvester", *op_cases.CALLS_PYTHON}


@pytest.mark.skipif(plugin.library() is None, reason=plugin.MISSING)
@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", [name for name, case in op_cases.CASES.items() if not case.draws])
def test_ops_in_a_plugin(name: str) -> None:
    case = op_cases.CASES[name]
    inputs, outputs, arrays = case.build()
    emitted = hlograph.emit_stablehlo((inputs, outputs))
    signature = emitted.signature
    values = {root.name: int(np.ravel(arrays[root.argument])[root.element or 0]) for root in signature.value_roots}
    sizes = dict(find_sizes(signature, [x.shape for x in arrays], values))
    bounds = {name: abs(size) + 3 for name, size in sizes.items()} | {count.name: 60 for count in signature.counts}
    if name in REFUSED:
        with pytest.raises(HlographError):
            emitted.plain(bounds=bounds)
        return
    run = plugin.Compiled(emitted.plain(bounds=bounds)).run(arrays, sizes)
    wanted = [case.expected(*arrays)] if case.expected else reference(inputs, outputs, arrays)
    assert not run.failed
    for found, expected in zip(run.results, wanted, strict=True):
        assert_same(found, np.asarray(expected), rtol=case.rtol, label=name)
    assert not any(np.any(rest) for rest in run.beyond)
