"""The descriptor of a saved cluster, OVF 1.1: written and parsed without access to files.

Source: DMTF DSP0243 1.1.0, Open Virtualization Format Specification; DSP8023 is its schema. The
cluster's own description is a ProductSection (9.5), which any OVF tool preserves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

import msgspec

from aferir.cluster.description import Description, NodeKind, check
from aferir.errors import AferirError, UsageError

OVF = "http://schemas.dmtf.org/ovf/envelope/1"
RASD = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
VMDK = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"
CLASS = "org.aferir.cluster"
_LINUX_64 = 101
"""Code of 64-bit Linux in CIM_OperatingSystem.OSType."""
_CPU, _MEMORY, _IDE, _NETWORK, _DISK = 3, 4, 5, 10, 17
"""Codes of resources in CIM_ResourceAllocationSettingData.ResourceType."""
_FACTORS = re.compile(r"(?:bytes?)?\s*\*?\s*2\s*\^\s*(\d+)")
_UNITS = {"kilobytes": 2**10, "megabytes": 2**20, "gigabytes": 2**30, "byte": 1, "bytes": 1}
_UNITS |= {"kb": 2**10, "mb": 2**20, "gb": 2**30, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the package."""

    id: str
    href: str
    size: int
    is_compressed: bool = False
    """Whether the file is compressed by gzip."""
    chunk_bytes: int = 0
    """Size in bytes of the pieces `HREF.000000000` and so on into which the file is split; 0: one
    file (DSP0243, 7.1).
    """


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """One disk image."""

    id: str
    file: str
    """ID of the file that holds the disk."""
    capacity: int
    """Size in bytes as a guest sees it."""


class System(msgspec.Struct, frozen=True, kw_only=True):
    """One virtual machine that the package describes."""

    name: str
    disk: str
    """ID of the disk from which the machine boots; "" if it has no disk."""
    cpus: int
    memory_bytes: int


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a descriptor."""

    files: tuple[File, ...]
    disks: tuple[Disk, ...]
    systems: tuple[System, ...]
    properties: Mapping[str, str]
    """Properties of a cluster saved by aferir; empty in packages of other tools."""


def properties(description: Description) -> dict[str, str]:
    """Convert a cluster's description to names and texts; settings without a value are left out."""
    found: dict[str, object] = msgspec.to_builtins(description)
    return {key: str(value).lower() for key, value in found.items() if value is not None}


def description(package: Package, name: str, kind: NodeKind | None) -> Description:
    """The cluster that a package describes, called `name`; `kind` overrides its own.

    For a package of another tool: as many nodes as it has virtual machines, all like the first one.
    Errors: UsageError if it describes none.
    """
    if not package.systems:
        raise UsageError("the package describes no virtual machine")
    first = package.systems[0]
    inferred = {
        "name": "",
        "nodes": str(len(package.systems)),
        "cpus": str(first.cpus),
        "memory_bytes": str(first.memory_bytes),
    }
    found = inferred | dict(package.properties) | ({"name": name} if name else {})
    if kind is not None:
        found["kind"] = kind
        found.pop("network_device", None)  # containers have none, and other guests any
        if found.get("boot") == "pxe":
            found.pop("boot")  # containers have no firmware
    try:
        return check(msgspec.convert(found, Description, strict=False))
    except msgspec.ValidationError as error:
        raise UsageError(f"the package describes a cluster that cannot be read: {error}") from None


def write(package: Package) -> str:
    """Text of the descriptor, with elements in the order that the schema requires."""
    files = "".join(
        f"    <File ovf:href={_q(f.href)} ovf:id={_q(f.id)} ovf:size={_q(f.size)}/>\n"
        for f in package.files
    )
    disks = "".join(
        f'    <Disk ovf:capacity={_q(d.capacity)} ovf:capacityAllocationUnits="byte" '
        f"ovf:diskId={_q(d.id)} ovf:fileRef={_q(d.file)} ovf:format={_q(VMDK)}/>\n"
        for d in package.disks
    )
    values = "".join(
        f'      <Property ovf:key={_q(key)} ovf:type="string" ovf:value={_q(value)}/>\n'
        for key, value in package.properties.items()
    )
    systems = "".join(_system(system) for system in package.systems)
    name = package.properties.get("name", "cluster")
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="{OVF}" xmlns:ovf="{OVF}" xmlns:rasd="{RASD}" ovf:version="1.0" xml:lang="en-US">
  <References>
{files}  </References>
  <DiskSection>
    <Info>What the nodes start from, and their shared home</Info>
{disks}  </DiskSection>
  <NetworkSection>
    <Info>The network between the nodes</Info>
    <Network ovf:name="cluster">
      <Description>Nobody else is on it</Description>
    </Network>
  </NetworkSection>
  <VirtualSystemCollection ovf:id={_q(name)}>
    <Info>A cluster: a front end and workers</Info>
    <ProductSection ovf:class="{CLASS}">
      <Info>How aferir makes this cluster again</Info>
      <Product>aferir cluster</Product>
{values}    </ProductSection>
{systems}  </VirtualSystemCollection>
</Envelope>
"""


def read(text: bytes) -> Package:
    """Parse a descriptor, of aferir or another tool.

    Errors: UsageError if it cannot be parsed.
    """
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise UsageError("the descriptor declares entities, which no OVF descriptor needs")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without entities it is as large as it looks
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UsageError(f"the package's descriptor is no XML: {error}") from None
    if root.tag != _o("Envelope"):
        raise UsageError(
            f"the package's descriptor is no OVF 1 envelope, but `{root.tag}`",
            remedy="export it as OVF 1.0, or convert it: ovftool OTHER.ovf NEW.ova",
        )
    try:
        return _package(root)
    except AferirError:
        raise
    except (ValueError, OverflowError) as error:
        raise UsageError(f"the package's descriptor cannot be understood: {error}") from None


def _package(root: ET.Element) -> Package:
    return Package(
        files=tuple(
            File(
                id=_a(e, "id"),
                href=_href(e),
                size=int(e.get(_o("size"), "-1")),
                is_compressed=_is_compressed(e),
                chunk_bytes=_chunk_bytes(e),
            )
            for e in root.iterfind(f"{_o('References')}/{_o('File')}")
        ),
        disks=tuple(
            Disk(id=_a(e, "diskId"), file=_a(e, "fileRef"), capacity=_capacity(e))
            for e in root.iterfind(f"{_o('DiskSection')}/{_o('Disk')}")
            if e.get(_o("fileRef"))
        ),
        systems=tuple(_read_system(e, _default(root)) for e in root.iter(_o("VirtualSystem"))),
        properties={
            _a(e, "key"): e.get(_o("value"), "")
            for section in root.iter(_o("ProductSection"))
            if section.get(_o("class")) == CLASS
            for e in section.iterfind(_o("Property"))
        },
    )


def _read_system(element: ET.Element, default: str) -> System:
    found: dict[int, ET.Element] = {}
    for item in element.iterfind(f"{_o('VirtualHardwareSection')}/{_o('Item')}"):
        kind = int(_r(item, "ResourceType") or -1)
        # A disk without an image is empty; the first of the others is the boot disk.
        is_empty = kind == _DISK and "/disk/" not in _r(item, "HostResource")
        if not is_empty and _is_chosen(item, default):
            found.setdefault(kind, item)
    cpu, memory, disk = (found.get(kind) for kind in (_CPU, _MEMORY, _DISK))
    resource = "" if disk is None else _r(disk, "HostResource")
    return System(
        name=_a(element, "id"),
        disk=resource.rpartition("/disk/")[2],
        cpus=1 if cpu is None else int(_r(cpu, "VirtualQuantity")),
        memory_bytes=2**30
        if memory is None
        else int(_r(memory, "VirtualQuantity")) * unit(_r(memory, "AllocationUnits")),
    )


def _default(root: ET.Element) -> str:
    """ID of the default deployment configuration (DSP0243, 9.7)."""
    known = list(root.iterfind(f"{_o('DeploymentOptionSection')}/{_o('Configuration')}"))
    chosen = [one for one in known if one.get(_o("default")) in ("true", "1")]
    return next((one.get(_o("id"), "") for one in chosen or known), "")


def _is_chosen(item: ET.Element, default: str) -> bool:
    return default in item.get(_o("configuration"), default).split() or not default


def _href(element: ET.Element) -> str:
    """Name of a file, with percent-encoded characters (`%20`, `%5B`) decoded."""
    return unquote(_a(element, "href")).removeprefix("./")


def _is_compressed(element: ET.Element) -> bool:
    compression = element.get(_o("compression"), "")
    if compression not in ("", "identity", "gzip"):
        raise UsageError(
            f"{_a(element, 'href')} is compressed by `{compression}`, and only gzip is known",
            remedy="make the package without: ovftool --compress=0",
        )
    return compression == "gzip"


def _chunk_bytes(element: ET.Element) -> int:
    size = int(element.get(_o("chunkSize"), "0"))
    if size < 0:
        raise ValueError(f"{_a(element, 'href')} has pieces of {size} bytes")
    return size


def unit(text: str) -> int:
    """Bytes in a unit of DSP0004 (`byte * 2^20`) or OVF 1.0 (`MegaBytes`); without one, a MiB."""
    if not text:
        return 2**20
    if text.strip().lower() in _UNITS:
        return _UNITS[text.strip().lower()]
    power = _FACTORS.fullmatch(text.strip())
    if power is None or int(power[1]) > 60:
        raise ValueError(f"the unit `{text}` is not known")
    return int(2 ** int(power[1]))


def _system(system: System) -> str:
    memory = -(-system.memory_bytes // 2**20)
    items = [
        _item(1, _CPU, "CPUs", units="hertz * 10^6", quantity=system.cpus),
        _item(2, _MEMORY, "memory", units="byte * 2^20", quantity=memory),
        _item(3, _IDE, "disk controller", address="0"),
        _item(4, _DISK, "disk", resource=f"ovf:/disk/{system.disk}", parent=3),
        _item(5, _NETWORK, "network", connection="cluster"),
    ]
    return f"""    <VirtualSystem ovf:id={_q(system.name)}>
      <Info>One node</Info>
      <OperatingSystemSection ovf:id="{_LINUX_64}">
        <Info>What runs on it</Info>
        <Description>Linux</Description>
      </OperatingSystemSection>
      <VirtualHardwareSection>
        <Info>What it needs</Info>
{"".join(items)}      </VirtualHardwareSection>
    </VirtualSystem>
"""


def _item(
    number: int,
    kind: int,
    name: str,
    *,
    address: str = "",
    units: str = "",
    connection: str = "",
    resource: str = "",
    parent: int | None = None,
    quantity: int | None = None,
) -> str:
    """One resource; its elements are in alphabetical order, as the CIM schema requires."""
    elements: Sequence[tuple[str, object]] = [
        ("Address", address),
        ("AddressOnParent", "" if parent is None else 0),
        ("AllocationUnits", units),
        ("AutomaticAllocation", "true" if connection else ""),
        ("Connection", connection),
        ("ElementName", name),
        ("HostResource", resource),
        ("InstanceID", number),
        ("Parent", "" if parent is None else parent),
        ("ResourceType", kind),
        ("VirtualQuantity", "" if quantity is None else quantity),
    ]
    lines = [
        f"          <rasd:{tag}>{value}</rasd:{tag}>\n" for tag, value in elements if value != ""
    ]
    return "        <Item>\n" + "".join(lines) + "        </Item>\n"


def _capacity(disk: ET.Element) -> int:
    words = disk.get(_o("capacity"), "0")
    units = disk.get(_o("capacityAllocationUnits"), "byte")
    return int(words) * unit(units) if words.isdecimal() else 0


def _a(element: ET.Element, name: str) -> str:
    """An attribute. Errors: ValueError if the element has no attribute called `name`."""
    value = element.get(_o(name))
    if value is None:
        raise ValueError(f"a {element.tag.rpartition('}')[2]} has no {name}")
    return value


def _r(item: ET.Element, name: str) -> str:
    return (item.findtext(f"{{{RASD}}}{name}") or "").strip()


def _o(name: str) -> str:
    return f"{{{OVF}}}{name}"


def _q(value: object) -> str:
    return quoteattr(str(value))
