"""What is known not to compile for a platform, each with its reason. Everything else that fails is an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Programs that do not compile.

    Attributes:
        where: what their key matches (`platform/policy/devices/group/name`).
        error: what the message matches.
        reason: why, for the table.
    """

    where: str
    error: str
    reason: str


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        r"/(rules|scalars)/",
        "custom call 'hlograph.host' is not one that a file may hold",
        "it calls Python of the process that made it, which no file holds",
    ),
    Refusal(
        r"^gpu/.*/rules/(Schur|SolveContinuousLyapunov|BilinearSolveDiscreteLyapunov)\.",
        "PassError",
        "XLA has no Schur decomposition for GPUs, also not for `jax.scipy.linalg.schur`",
    ),
    Refusal(
        r"^tpu/\w+/4/",
        "A tuple parameter that is being flattened shouldn't have frontend attributes",
        "XLA:TPU's factorizations (Cholesky of float64) of a matrix that is divided among devices; `jax.jit` of "
        "`jnp.linalg.cholesky` says the same",
    ),
    Refusal(
        r"^tpu/.*/scalars/Gamma[UL]?\.",
        "shift-right-arithmetic with different element types",
        "the sign bit of a float64, which `jax.scipy.special.gamma` takes: `jax.jit(jnp.signbit)` says the same (a "
        "float32's compiles)",
    ),
    Refusal(
        r"^tpu/.*/scalars/Abs\.dynamic\.complex128$",
        "ended the process",
        "XLA:TPU ends the process on the absolute value of a complex128, also for `jax.jit(jnp.abs)` "
        "(`operand->shape().IsTuple()`); a complex64's compiles",
    ),
    Refusal(
        r"^tpu/.*/builder/(next_after|reduce_precision)\.",
        "different element types|X{64.128} element types",
        "ops on the bits of a float64, which is a pair of float32 there; no lowering rule emits them, and "
        "`jax.jit(jnp.nextafter)` says the same",
    ),
    Refusal(
        r"/4/builder/mulhi\.",
        "Unable to convert MHLO to StableHLO",
        "XLA's partitioner for several devices does not know `chlo.mulhi`, which no lowering rule emits",
    ),
)


def known(key: str, error: str) -> Refusal | None:
    """The refusal that explains an error, if any does."""
    return next((x for x in REFUSALS if re.search(x.where, key) and re.search(x.error, error)), None)


def stale(possible: Sequence[str], errors: Mapping[str, str]) -> list[Refusal]:
    """The refusals that refuse nothing, of those for whose programs there are results.

    Args:
        possible: the keys of all programs.
        errors: key to error ("" for none), as far as there are results.
    """
    used = {known(key, error) for key, error in errors.items() if error}
    return [
        refusal
        for refusal in REFUSALS
        if refusal not in used and all(key in errors for key in possible if re.search(refusal.where, key))
    ]
