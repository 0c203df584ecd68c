"""The comparison of a direct call with PJRT's: the same bits for the user's arguments, and for random ones like them.

In: two ways to run one executable, and arguments. Out: a refusal where the results differ. It runs the function
`TRIALS` more times, so it is for functions whose time the arguments' values do not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .steps import DirectCallRefused

TRIALS = 8  # random inputs tried before a function is given out

Way = Callable[..., Any]


def compare(direct: Way, pjrt: Way, arrays: Sequence[np.ndarray], trials: int = TRIALS, seed: int = 0) -> None:
    """Runs both ways with these arrays, and with random ones made of them.

    Raises:
        DirectCallRefused: a result differs; the message says which.
    """
    random = np.random.default_rng(seed)
    for trial in range(-1, trials):
        given = [varied(array, trial, random) for array in arrays] if trial >= 0 else arrays
        what = f"random input {trial:d}" if trial >= 0 else "the arguments"
        expected = pjrt(*given)
        try:
            found = difference(direct(*given), expected)
        except RuntimeError as error:
            raise DirectCallRefused(f"for {what} {error}") from None
        if found:
            raise DirectCallRefused(f"{found} for {what}")


def difference(found: Any, expected: Any) -> str:
    """What differs from PJRT's results; "" where every bit is the same."""
    ours, theirs = (list(map(np.asarray, jax.tree.leaves(results))) for results in (found, expected))
    if len(ours) != len(theirs):
        return f"{len(ours):d} results where PJRT gives {len(theirs):d}"
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            return f"result {i:d} differs from PJRT's"
    return ""


def varied(array: np.ndarray, trial: int, random: np.random.Generator) -> np.ndarray:
    """An array of the same dtype and shape with other values; integers and booleans only change places."""
    if array.dtype.kind not in "fc":
        return random.permutation(array.reshape(-1)).reshape(array.shape)
    noise = random.standard_normal(array.shape)
    with np.errstate(all="ignore"):
        changed = array * (1 + 0.1 * noise) + 0.01 * random.standard_normal(array.shape)
        if trial == 1:
            changed = noise * float(np.finfo(array.dtype).tiny) / 8
        if trial == 2:
            changed = np.where(
                random.random(array.shape) < 0.2, random.choice([np.nan, np.inf, -np.inf], array.shape), changed
            )
        return np.asarray(changed, array.dtype)
