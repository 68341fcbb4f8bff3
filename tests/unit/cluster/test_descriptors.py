"""Descriptors with any text in them are parsed, or refused with an error of aferir."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from aferir.cluster import ovf
from aferir.errors import UsageError

WORDS = st.sampled_from(
    [
        "",
        "0",
        "-1",
        "1e9",
        "MegaBytes",
        "byte * 2^99",
        "99999999999999999999",
        "x",
        "\u00e9",
        "gzip",
    ]
) | st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=6)
NAMES = st.sampled_from(["ovf:href", "ovf:id", "ovf:size", "ovf:compression", "ovf:chunkSize", "a"])


def element(name: str, attributes: dict[str, str], inside: str = "") -> str:
    said = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{said}>{inside}</{name}>"


ITEMS = st.builds(
    lambda kind, quantity, units, disk, setting: element(
        "Item",
        {"ovf:configuration": setting} if setting else {},
        f"<rasd:ResourceType>{kind}</rasd:ResourceType>"
        f"<rasd:VirtualQuantity>{quantity}</rasd:VirtualQuantity>"
        f"<rasd:AllocationUnits>{units}</rasd:AllocationUnits>"
        f"<rasd:HostResource>/disk/{disk}</rasd:HostResource>",
    ),
    st.sampled_from(["3", "4", "17"]) | WORDS,
    *(WORDS for _ in range(4)),
)
DESCRIPTORS = st.builds(
    lambda files, disk, items, default: (
        f'<Envelope xmlns="{ovf.OVF}" xmlns:ovf="{ovf.OVF}" xmlns:rasd="{ovf.RASD}"><References>'
        + "".join(element("File", one) for one in files)
        + f'</References><DiskSection><Disk ovf:diskId="{disk}" ovf:fileRef="{disk}" '
        f'ovf:capacity="{disk}"/></DiskSection><DeploymentOptionSection>'
        f'<Configuration ovf:id="{default}"/></DeploymentOptionSection>'
        f'<VirtualSystem ovf:id="{disk}"><VirtualHardwareSection>{"".join(items)}'
        "</VirtualHardwareSection></VirtualSystem></Envelope>"
    ),
    st.lists(st.dictionaries(NAMES, WORDS, max_size=4), max_size=3),
    WORDS,
    st.lists(ITEMS, max_size=4),
    WORDS,
)


@given(DESCRIPTORS, WORDS)
def test_any_words_in_a_descriptor_are_a_package_or_an_error(text: str, name: str) -> None:
    with contextlib.suppress(UsageError):
        ovf.description(ovf.read(text.encode()), name, None)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_package_or_an_error(content: bytes) -> None:
    for text in (content, b"<Envelope>" + content, b'<?xml version="1.0" encoding="x"?>' + content):
        with contextlib.suppress(UsageError):
            ovf.read(text)
