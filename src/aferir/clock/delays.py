"""Delays of datagrams: a floor for each direction, jitter above it, rare long delays, loss.

The floor is what the path takes when nothing is in the way; the two directions of one node
differ by a constant that no exchange of messages can reveal. Above it stands a lognormal body
(queues, interrupts) and, now and then, a Pareto tail (a scheduler that ran somebody else).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
"""Delays above the floor: microseconds to seconds, where single precision is 0.1 ps and 0.1 us."""


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What a datagram meets on its way. The default is the gigabit Ethernet of Dutra 2015, 7.3.

    Half a round trip took 44.5 us there; jitter is set so that the exchange ends after the 30
    messages of section 7.4, and then it takes the 2.9 ms of that section too.
    """

    floor_s: float = 44e-6
    """One way, mean of both directions."""
    asymmetry_s: float = 2e-6
    """Half-width: a node's floors are `floor + a` and `floor - a`, with a uniform in this."""
    jitter_s: float = 0.65e-6
    """Median of the lognormal body."""
    jitter_sigma: float = 0.7
    """Standard deviation of the body's logarithm."""
    tail_probability: float = 0.01
    tail_scale_s: float = 10e-6
    """Smallest delay of the Pareto tail; it is added to the body."""
    tail_shape: float = 1.5
    """Below 2 the variance is infinite."""
    loss: float = 1e-5
    """Probability for each datagram."""
    timeout_s: float = 10e-3
    """What the client waits before it takes an exchange as lost."""
    cold_s: float = 50e-6
    """The first exchange takes this much longer, the second half of it, and so on."""

    def __post_init__(self) -> None:
        """Refuse what no network does."""
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
    """Forward floor minus the mean floor of each node's path, shape (nodes,)."""
    return rng.uniform(-network.asymmetry_s, network.asymmetry_s, nodes)


def draw_jitter(rng: np.random.Generator, network: Network, shape: tuple[int, int]) -> Single:
    """Delays above the floor, in seconds. Single precision halves the time that this takes."""
    if network.jitter_s > 0:
        delays = rng.standard_normal(shape, dtype=np.float32)
        delays *= np.float32(network.jitter_sigma)
        delays += np.float32(math.log(network.jitter_s))
        np.exp(delays, out=delays)
    else:
        delays = np.zeros(shape, dtype=np.float32)
    # The few long delays are drawn where they fall: a mask over all would cost more than they do.
    hits = int(rng.binomial(delays.size, network.tail_probability))
    if hits:
        long = network.tail_scale_s * (1 + rng.pareto(network.tail_shape, hits))
        delays.reshape(-1)[rng.integers(delays.size, size=hits)] += long.astype(np.float32)
    return delays


def draw_losses(rng: np.random.Generator, network: Network, answered: NDArray[np.int64]) -> Array:
    """Exchanges that were lost before so many others were answered, of the same shape.

    Losses are independent of delays, so their number is negative binomial and their order is
    of no interest: they only cost time.
    """
    lost = 1 - (1 - network.loss) ** 2
    if lost == 0:
        return np.zeros(answered.shape)
    return rng.negative_binomial(answered, 1 - lost).astype(np.float64)
