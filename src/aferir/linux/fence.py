"""Keeps strangers out of a VXLAN: its packets are accepted from the hosts that it joins alone.

VXLAN authenticates nobody (RFC 7348, 7): the kernel accepts a frame from any sender, and learns
from it to which address it sends what is for that frame's MAC address. So one packet of a stranger
would redirect traffic to them. A table of nft(8) drops such packets before they are unpacked; those
of other networks, which may share the port, pass.
"""

from __future__ import annotations

import contextlib
import ipaddress

from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process
from aferir.linux.journal import Entry
from aferir.model.overlay import PORT, Overlay

KIND = "fence"
_NUMBER_AT, _NUMBER_BITS = 96, 24
"""Place and length of the network's number, in bits from the UDP header on (RFC 7348, 5)."""
_TIME_LIMIT_S = 60.0


def begin(overlay: Overlay | None) -> Entry | None:
    """Drop packets of strangers from now on, if there is a network; `give_back` ends that.

    Errors: MissingError with the reason; nothing is left then.
    """
    if overlay is None:
        return None
    entry = journal.write(KIND, {})
    try:
        _apply(rules(_table(entry), overlay))
    except (MissingError, ProgramError) as error:
        give_back(entry)
        raise MissingError(
            f"strangers cannot be kept out of the network of several hosts: {error.message}",
            remedy="install nftables there; it takes root, and a kernel with nf_tables",
        ) from None
    except BaseException:
        give_back(entry)
        raise
    return entry


def give_back(entry: Entry) -> None:
    """Remove the table and erase the entry; a table that does not exist is no error."""
    if entry.boot_id == journal.boot_id():
        with contextlib.suppress(MissingError):  # without nft there is none
            _apply(f"table inet {_table(entry)}\ndelete table inet {_table(entry)}\n")
    journal.erase(entry)


def rules(table: str, overlay: Overlay) -> str:
    """Commands of nft that make the table: packets are counted, and dropped unless of a peer.

    They are dropped before connections are tracked, as a flood of them would fill that table.
    """
    family = "ip" if ipaddress.ip_address(overlay.peers[0]).version == 4 else "ip6"
    number = f"udp dport {PORT} @th,{_NUMBER_AT},{_NUMBER_BITS} {overlay.number}"
    strangers = f"{family} saddr != {{ {', '.join(dict.fromkeys(overlay.peers))} }}"
    return (
        f"table inet {table} {{\n"
        "  chain strangers {\n"
        "    type filter hook prerouting priority raw; policy accept;\n"
        f"    {strangers} {number} counter drop\n"
        "  }\n"
        "}\n"
    )


def _table(entry: Entry) -> str:
    return f"aferir_{entry.id}"


def _apply(text: str) -> None:
    process.run(["nft", "-f", "-"], input_text=text, timeout_s=_TIME_LIMIT_S)
