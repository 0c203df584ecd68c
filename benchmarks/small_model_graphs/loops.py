"""Programs of which users of JAX say that the CPU spends its time between the operations: long loops, small carries.

In: nothing. Out: `LOOP_PROGRAMS`, JAX functions of arrays with a point to evaluate them at. The ideas are from
JAX's issues (40150, 36799, 26145, 26021, 37465) and from state-space models; the programs are written here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LoopProgram:
    """A function of arrays, with its gradient where it has one.

    Attributes:
        name: for the tables.
        sizes: what is measured, in words.
        function: makes it afresh: JAX knows functions that it has compiled by identity. Results are in a tuple.
        point: values for the arguments, float64 but for the last program's.
    """

    name: str
    sizes: str
    function: Callable[[], Callable[..., tuple[Any, ...]]]
    point: Callable[[], list[np.ndarray]]


def _with_gradient(value: Callable[..., Any], count: int) -> Callable[[], Callable[..., tuple[Any, ...]]]:
    """A maker of the function that gives the value, and the gradient by each of `count` arguments."""

    def make() -> Callable[..., tuple[Any, ...]]:
        import jax

        derivative = jax.value_and_grad(lambda *arguments: value(*arguments), argnums=tuple(range(count)))

        def value_and_gradient(*arguments: Any) -> tuple[Any, ...]:
            found, gradients = derivative(*arguments)
            return (found, *gradients)

        return value_and_gradient

    return make


# ---- 60 scalars (jax#40150) -----------------------------------------------------------------------------------------

SPECIES = 60
STEPS = 614


def _mixing(rates: Any, forcing: Any) -> Any:
    """A chain of species, each a scalar of the carry, that decay into the next one; one of them is driven."""
    import jax
    import jax.numpy as jnp

    names = [f"species_{number}" for number in range(SPECIES)]

    def step(amounts: dict[str, Any], drive: Any) -> Any:
        new = {}
        for number, name in enumerate(names):
            inflow = drive if number == 0 else amounts[names[number - 1]] * rates[number - 1]
            new[name] = amounts[name] * (1 - rates[number]) + inflow
        return new, None

    start = {name: jnp.zeros(()) for name in names}
    last, _ = jax.lax.scan(step, start, forcing)
    return sum(amount**2 for amount in last.values())


SCALAR_CARRIES = LoopProgram(
    "60 scalar carries",
    f"{STEPS} steps",
    _with_gradient(_mixing, 1),
    lambda: [np.linspace(0.1, 0.4, SPECIES), np.sin(np.arange(STEPS) / 20) ** 2],
)


# ---- a quasiseparable Cholesky factor (jax#36799) ------------------------------------------------------------------

POINTS = 2000


@cache
def _times() -> np.ndarray:
    return np.sort(np.random.default_rng(4).uniform(0, 100, POINTS))


def _quasiseparable(log_scale: Any, log_sigma: Any, log_noise: Any) -> Any:
    """The likelihood of a Matern-5/2 process with noise, by the factor of its quasiseparable matrix: 3x3 a step."""
    import jax
    import jax.numpy as jnp

    rate, variance, noise = jnp.sqrt(5.0) / jnp.exp(log_scale), jnp.exp(2 * log_sigma), jnp.exp(2 * log_noise)
    times = _times()
    values = np.sin(times / 3)

    def transition(delta: Any) -> Any:
        x = rate * delta
        rows = [
            [0.5 * x * x + x + 1, -0.5 * rate * x * x, 0.5 * rate**2 * x * (x - 2)],
            [delta * (x + 1), 1 + x - x * x, rate * x * (x - 3)],
            [0.5 * delta**2, 0.5 * delta * (2 - x), 0.5 * x * x - 2 * x + 1],
        ]
        return jnp.exp(-x) * jnp.stack([jnp.stack(row) for row in rows]).T

    powers = jnp.stack([jnp.stack([rate ** (i + j) for j in range(3)]) for i in range(3)])
    stationary = variance * powers * jnp.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]])

    def step(carry: Any, inputs: Any) -> Any:
        known, mean = carry
        delta, y = inputs
        advance = transition(delta)
        known, mean = advance @ known @ advance.T, advance @ mean
        column = stationary[:, 0] - known[:, 0]
        diagonal = stationary[0, 0] + noise - known[0, 0]
        weight = column / jnp.sqrt(diagonal)
        residual = (y - mean[0]) / jnp.sqrt(diagonal)
        return (known + jnp.outer(weight, weight), mean + weight * residual), jnp.log(diagonal) + residual**2

    start = (jnp.zeros((3, 3)), jnp.zeros(3))
    _, terms = jax.lax.scan(step, start, (np.diff(times, prepend=times[0]), values))
    return -0.5 * terms.sum()


MATRIX_RECURRENCE = LoopProgram(
    "3x3 recurrence",
    f"{POINTS:,} points",
    _with_gradient(_quasiseparable, 3),
    lambda: [np.array(1.0), np.array(-0.1), np.array(-1.0)],
)


# ---- Hodgkin and Huxley's neuron (jax#26145) ------------------------------------------------------------------------

SAMPLES = 1000
MILLISECONDS = 0.025


def _neuron(sodium: Any, potassium: Any, leak: Any) -> Any:
    """The squared distance of a neuron's mean voltage from -50 mV; exponential Euler steps for the gates."""
    import jax
    import jax.numpy as jnp

    def gate(value: Any, opening: Any, closing: Any) -> Any:
        total = opening + closing
        return opening / total + (value - opening / total) * jnp.exp(-MILLISECONDS * total)

    def ratio(x: Any) -> Any:
        """x / (exp(x) - 1), and its limit at 0."""
        small = jnp.abs(x) < 1e-6
        safe = jnp.where(small, 1.0, x)
        return jnp.where(small, 1 - x / 2, safe / jnp.expm1(safe))

    def step(state: Any, current: Any) -> Any:
        voltage, m, h, n = state
        m = gate(m, ratio(-(voltage + 40) / 10), 4 * jnp.exp(-(voltage + 65) / 18))
        h = gate(h, 0.07 * jnp.exp(-(voltage + 65) / 20), 1 / (1 + jnp.exp(-(voltage + 35) / 10)))
        n = gate(n, 0.1 * ratio(-(voltage + 55) / 10), 0.125 * jnp.exp(-(voltage + 65) / 80))
        flow = sodium * m**3 * h * (voltage - 50) + potassium * n**4 * (voltage + 77) + leak * (voltage + 54.4)
        voltage = voltage + MILLISECONDS * (current - flow)
        return (voltage, m, h, n), voltage

    start = (jnp.array(-65.0), jnp.array(0.05), jnp.array(0.6), jnp.array(0.32))
    _, voltages = jax.lax.scan(step, start, np.where(np.arange(SAMPLES) > 100, 10.0, 0.0))
    return (voltages.mean() + 50) ** 2


NEURON = LoopProgram(
    "Hodgkin-Huxley",
    f"{SAMPLES:,} steps",
    _with_gradient(_neuron, 3),
    lambda: [np.array(120.0), np.array(36.0), np.array(0.3)],
)


# ---- the mass matrix of a robot (jax#26021) ------------------------------------------------------------------------

JOINTS = 35


@cache
def _links() -> tuple[np.ndarray, ...]:
    """Of each joint: axis, offset from its parent; of each link: mass and centre; which joints move which links."""
    rng = np.random.default_rng(7)
    axes = rng.normal(size=(JOINTS, 3))
    moves = np.zeros((JOINTS, JOINTS))  # moves[link, joint]
    for number in range(JOINTS):
        moves[number, number] = 1
        if number:
            moves[number] += moves[_parent(number)]
    return (
        axes / np.linalg.norm(axes, axis=1, keepdims=True),
        rng.normal(scale=0.2, size=(JOINTS, 3)),
        rng.uniform(0.5, 2, JOINTS),
        rng.normal(scale=0.1, size=(JOINTS, 3)),
        np.minimum(moves, 1),
    )


def _parent(joint: int) -> int:
    """Five limbs of seven joints, all on the first one."""
    return joint - 1 if joint % 7 else 0


def _mass_matrix(angles: Any) -> tuple[Any, ...]:
    """The joint-space mass matrix of a tree of point masses; its kinematics are unrolled, one 4x4 a joint."""
    import jax.numpy as jnp

    axes, offsets, masses, centres, moves = _links()
    poses: list[Any] = []
    for number in range(JOINTS):
        x, y, z = axes[number]
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        turned = jnp.eye(3) + jnp.sin(angles[number]) * cross + (1 - jnp.cos(angles[number])) * (cross @ cross)
        top = jnp.concatenate([turned, offsets[number][:, None]], axis=1)
        local = jnp.concatenate([top, jnp.array([[0.0, 0.0, 0.0, 1.0]])])
        poses.append(local if number == 0 else poses[_parent(number)] @ local)
    stacked = jnp.stack(poses)
    turned_axes = jnp.einsum("jab,jb->ja", stacked[:, :3, :3], axes)
    origins = stacked[:, :3, 3]
    places = jnp.einsum("jab,jb->ja", stacked[:, :3, :3], centres) + origins
    arms = places[:, None] - origins[None]
    speeds = jnp.cross(jnp.broadcast_to(turned_axes[None], arms.shape), arms) * moves[:, :, None]
    return (jnp.einsum("l,lia,lja->ij", masses, speeds, speeds),)


MASS_MATRIX = LoopProgram(
    "mass matrix", f"{JOINTS} joints", lambda: lambda angles: _mass_matrix(angles), lambda: [np.linspace(-1, 1, JOINTS)]
)


# ---- a Kalman filter with two states --------------------------------------------------------------------------------

OBSERVATIONS = 200


@cache
def _observations() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.cumsum(np.cumsum(rng.normal(scale=0.1, size=OBSERVATIONS))) + rng.normal(size=OBSERVATIONS)


def _kalman(log_level: Any, log_slope: Any, log_noise: Any) -> Any:
    """The likelihood of a local linear trend."""
    import jax
    import jax.numpy as jnp

    advance = jnp.array([[1.0, 1.0], [0.0, 1.0]])
    observe = jnp.array([1.0, 0.0])
    disturbance = jnp.diag(jnp.stack([jnp.exp(2 * log_level), jnp.exp(2 * log_slope)]))
    noise = jnp.exp(2 * log_noise)

    def step(carry: Any, y: Any) -> Any:
        mean, covariance = carry
        mean, covariance = advance @ mean, advance @ covariance @ advance.T + disturbance
        innovation = y - observe @ mean
        spread = observe @ covariance @ observe + noise
        gain = covariance @ observe / spread
        mean = mean + gain * innovation
        covariance = covariance - jnp.outer(gain, observe @ covariance)
        return (mean, covariance), jnp.log(2 * jnp.pi * spread) + innovation**2 / spread

    _, terms = jax.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), _observations())
    return -0.5 * terms.sum()


KALMAN = LoopProgram(
    "2-state Kalman filter",
    f"{OBSERVATIONS} observations",
    _with_gradient(_kalman, 3),
    lambda: [np.array(-1.0), np.array(-2.0), np.array(0.1)],
)

# ---- no loop: differences of neighbours (jax#37465) ------------------------------------------------------------------

VOXELS = 256


def _roughness(x: Any) -> Any:
    """The sum of squared differences along each axis, for tomography."""
    import jax.numpy as jnp

    return sum(jnp.sum(jnp.square(jnp.diff(x, axis=axis))) for axis in range(x.ndim))


DIFFERENCES = LoopProgram(
    "neighbour differences",
    f"{VOXELS}^3 voxels, float32, with the gradient",
    _with_gradient(_roughness, 1),
    lambda: [np.random.default_rng(0).normal(size=(VOXELS,) * 3).astype(np.float32)],
)

_PROGRAMS = (SCALAR_CARRIES, MATRIX_RECURRENCE, NEURON, MASS_MATRIX, KALMAN, DIFFERENCES)
LOOP_PROGRAMS = {program.name: program for program in _PROGRAMS}
