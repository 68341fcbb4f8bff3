"""Conditions that the tables of Dutra 2015, chapter 5, share."""

from __future__ import annotations

from aferir.report.published.model import Condition, Fields

NO_XEN = (
    "aferir starts no guests under Xen, and a cloud does not tell a run which hypervisor its "
    "hosts have"
)
_PRETTY = {
    "openstack": "OpenStack",
    "opennebula": "OpenNebula",
    "kvm": "KVM",
    "xen": "Xen",
    "lxc": "LXC",
    "native": "the host itself",
}


def pretty(name: str) -> str:
    """Name of a technology as its makers write it."""
    return _PRETTY.get(name, name)


def title(fields: Fields) -> str:
    """Title of a row: its cloud manager and hypervisor."""
    return f"{pretty(fields['iaas'])}, {pretty(fields['hypervisor'])}"


def of_row(fields: Fields) -> tuple[Condition, ...]:
    """Conditions by which a run matches the row: a cloud with the row's manager."""
    return (
        Condition("kind", "cloud"),
        Condition("cloud.provider", fields["iaas"], "simulated hosts"),
    )
