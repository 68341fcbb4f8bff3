"""Hosts that hibernate while they have no instance: this saves energy, but delays allocations.

Dutra 2015, 5.5, proposes it for the servers that an elastic service has released: a busy and an
idle one differ little in power, so only one that is off or asleep saves energy.
"""

from __future__ import annotations

import math

import msgspec


class Hibernation(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, and when they hibernate; times in seconds."""

    hosts: int
    per_host: int
    """Number of instances for which a host has room."""
    after_s: float
    """Time without an instance after which a host hibernates; infinity: never."""
    wake_s: float
    """Time that a hibernated host takes until it can carry out an allocation."""

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if self.hosts < 1 or self.per_host < 1:
            raise ValueError("hibernation: at least one host, and one instance on each")
        if not (self.after_s >= 0 and 0 <= self.wake_s < math.inf):
            raise ValueError("hibernation: times are not negative, and a host wakes some time")


class HostUse(msgspec.Struct, frozen=True, kw_only=True):
    """Use of all hosts over a run."""

    awake_s: float = 0.0
    """Sum over hosts of the time in seconds in which they were awake or waking."""
    asleep_s: float = 0.0
    wakes: int = 0

    def energy_j(self, awake_w: float, asleep_w: float) -> float:
        """Energy in J of all hosts, which take these powers in W when awake and asleep."""
        return awake_w * self.awake_s + asleep_w * self.asleep_s


class _Host:
    """One host, which is awake and empty at first."""

    def __init__(self) -> None:
        self.load = 0
        self.ready_s = 0.0
        self.empty_since_s = 0.0


class Hosts:
    """Places instances on hosts and wakes them; calls are in the order of time."""

    def __init__(self, settings: Hibernation) -> None:
        self._settings = settings
        self._hosts = [_Host() for _ in range(settings.hosts)]
        self._of: dict[int, _Host] = {}
        self._asleep_s = 0.0
        self._wakes = 0

    def place(self, now: float, node: int) -> float:
        """Place an instance; returns the seconds until its host is awake.

        The fullest awake host with room is chosen, so that others can hibernate; a host that
        hibernates only if no awake one has room. If all are full, the one with the fewest instances
        takes one more.
        """
        room = [host for host in self._hosts if host.load < self._settings.per_host]
        if room:
            chosen = min(room, key=lambda host: (self._slept_s(host, now) > 0, -host.load))
        else:
            chosen = min(self._hosts, key=lambda host: host.load)
        slept_s = self._slept_s(chosen, now)
        if slept_s > 0:
            self._asleep_s += slept_s
            self._wakes += 1
            chosen.ready_s = now + self._settings.wake_s
        chosen.load += 1
        self._of[node] = chosen
        return max(0.0, chosen.ready_s - now)

    def release(self, now: float, node: int) -> None:
        """Remove an instance from its host; an instance that was never placed is ignored."""
        host = self._of.pop(node, None)
        if host is None:
            return
        host.load -= 1
        if host.load == 0:
            host.empty_since_s = now

    def use(self, now: float) -> HostUse:
        """Use of the hosts from 0 until now."""
        asleep_s = self._asleep_s + sum(self._slept_s(host, now) for host in self._hosts)
        whole_s = now * self._settings.hosts
        return HostUse(awake_s=whole_s - asleep_s, asleep_s=asleep_s, wakes=self._wakes)

    def _slept_s(self, host: _Host, now: float) -> float:
        """Seconds for which a host has been hibernating; 0 if it is awake."""
        if host.load:
            return 0.0
        return max(0.0, now - host.empty_since_s - self._settings.after_s)
