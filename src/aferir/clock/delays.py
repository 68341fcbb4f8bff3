"""Model of datagram delays: a floor for each direction, jitter, rare long delays, loss.

The floor is the delay of an idle path; the two directions of one node differ by a constant that no
exchange of messages can reveal. Above it is a lognormal body (queues, interrupts) and occasionally
a Pareto tail (the scheduler ran another process).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
"""Array of delays above the floor, in s. Single precision suffices: its resolution is 0.1 ps at 1
us, and at most 0.1 us at 1 s.
"""


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a path; the defaults are the gigabit Ethernet of Dutra 2015, 7.3.

    Half a round trip took 44.5 us there; the jitter is set so that the exchange ends after the 30
    messages of section 7.4, and then it takes the 2.9 ms of that section too.
    """

    floor_s: float = 44e-6
    """One-way delay in s, the mean of both directions."""
    asymmetry_s: float = 2e-6
    """Largest |a| in s: a node's two floors are `floor + a` and `floor - a`, with uniform a."""
    jitter_s: float = 0.65e-6
    """Median of the usual delay above the floor in s, which is lognormal."""
    jitter_sigma: float = 0.7
    """Standard deviation of the natural logarithm of the usual delay."""
    tail_probability: float = 0.01
    tail_scale_s: float = 10e-6
    """Smallest of the rare long delays in s, which are added to the usual one."""
    tail_shape: float = 1.5
    """Shape of the Pareto distribution of long delays; below 2 its variance is infinite."""
    loss: float = 1e-5
    """Probability that a datagram is lost."""
    timeout_s: float = 10e-3
    """Time in s after which the client considers an exchange lost."""
    cold_s: float = 50e-6
    """Additional duration of the first exchange in s, which halves with each further one."""

    def __post_init__(self) -> None:
        """Raise ValueError for values that no network has."""
        times = (self.floor_s, self.jitter_s, self.tail_scale_s, self.timeout_s, self.cold_s)
        if min(times) < 0 or not 0 <= self.asymmetry_s <= self.floor_s:
            raise ValueError("delays are not negative, and asymmetry_s is at most floor_s")
        if not 0 <= self.tail_probability <= 1 or not 0 <= self.loss < 1:
            raise ValueError("tail_probability is in [0, 1] and loss in [0, 1)")
        if self.tail_shape <= 0 or self.jitter_sigma < 0:
            raise ValueError("tail_shape is positive and jitter_sigma not negative")


NETWORKS = {
    "gigabit": Network(),
    "datacentre": Network(
        floor_s=9e-6, asymmetry_s=0.5e-6, jitter_s=0.4e-6, tail_scale_s=5e-6, cold_s=20e-6
    ),
}


def draw_asymmetries(rng: np.random.Generator, network: Network, nodes: int) -> Array:
    """Draw each node's forward floor minus the mean of both directions, in s, shape (nodes,)."""
    return rng.uniform(-network.asymmetry_s, network.asymmetry_s, nodes)


def draw_jitter(rng: np.random.Generator, network: Network, shape: tuple[int, int]) -> Single:
    """Delays above the floor, in s. Single precision halves the time to draw them."""
    if network.jitter_s > 0:
        delays = rng.standard_normal(shape, dtype=np.float32)
        delays *= np.float32(network.jitter_sigma)
        delays += np.float32(math.log(network.jitter_s))
        np.exp(delays, out=delays)
    else:
        delays = np.zeros(shape, dtype=np.float32)
    # The few long delays are drawn by index: a mask over all delays would cost more.
    hits = int(rng.binomial(delays.size, network.tail_probability))
    if hits:
        long = network.tail_scale_s * (1 + rng.pareto(network.tail_shape, hits))
        delays.reshape(-1)[rng.integers(delays.size, size=hits)] += long.astype(np.float32)
    return delays


def draw_losses(rng: np.random.Generator, network: Network, answered: NDArray[np.int64]) -> Array:
    """Draw each node's number of lost exchanges, given its number of answered ones; same shape.

    Losses are independent of delays, so their number is negative binomial and their order is
    irrelevant: they only take time.
    """
    lost = 1 - (1 - network.loss) ** 2
    if lost == 0:
        return np.zeros(answered.shape)
    return rng.negative_binomial(answered, 1 - lost).astype(np.float64)
