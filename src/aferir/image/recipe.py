"""Recipe of the userland of containers and guests, and the sources of its packages.

The userland is of the same release as the host's, because our programs are built on the host and
need the same C library. Packages come from the host's own apt sources, so that a local mirror or
a snapshot is used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

import msgspec

from aferir.errors import MissingError
from aferir.image import initramfs

VERSION = 3
"""Version of the build procedure; increase it when a change of the procedure changes the result."""
PACKAGES = (
    *("ethtool", "iproute2", "kmod", "libgomp1", "libstdc++6", "mount"),
    *("nginx-light", "qemu-guest-agent"),
)
OUT = "aferir-out"
"""Folder at the root of the tree during the build, where the hook stores the kernel."""
_COMPONENTS = ("main", "universe")
_ACQUIRE = re.compile(r"^Acquire::(?:https?::|Check-|Retries|ForceIPv)")
_KERNELS = {
    ("debian", "amd64"): "linux-image-cloud-amd64",
    ("debian", "arm64"): "linux-image-cloud-arm64",
    ("ubuntu", "amd64"): "linux-image-virtual",
    ("ubuntu", "arm64"): "linux-image-virtual",
}

HOOK = """set -eu
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir "$1/{out}"
cd "$1/{out}"
named() {{  # the first package of kind $2 that $1 depends on
  apt-cache depends "$1" | sed -n "s/^ *Depends: \\(linux-$2-[0-9].*\\)/\\1/p" | head -n 1
}}
image=$(named {kernel} image)
apt-get -q download "$image" $(named "$image" modules) busybox-static
echo aferir > "$1/etc/hostname"
: > "$1/etc/resolv.conf"
printf '%s' "$GUEST_INIT" > "$1/sbin/aferir-guest"
printf '%s' "$CONTAINER_INIT" > "$1/sbin/aferir-container"
chmod 755 "$1/sbin/aferir-guest" "$1/sbin/aferir-container"
"""

MERGED_HOOKS = "/usr/share/mmdebstrap/hooks/maybe-merged-usr"
"""Folder of mmdebstrap's hooks that merge /usr before anything is unpacked. The package that would
merge it afterwards needs all of Perl, 50 MB. mmdebstrap 0.8 (Ubuntu 22.04) does not have them.
"""
_MANUALS_HOOK = '--essential-hook=mkdir -p "$1/usr/share/man/man1"'
"""Hook that makes a folder which links of Java's alternatives need although manual pages are
excluded.
"""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that determines the content of an image."""

    distribution: str
    suite: str
    architecture: str
    kernel: str
    packages: tuple[str, ...] = PACKAGES
    version: int = VERSION

    @property
    def hash(self) -> str:
        """First 16 hexadecimal digits of a SHA-256 over the recipe and our own scripts."""
        scripts = [
            HOOK,
            initramfs.GUEST_INIT,
            initramfs.CONTAINER_INIT,
            initramfs.archive({}, b"").hex(),
            *initramfs.MODULES,
            *initramfs.NETWORK_MODULES,
        ]
        content = msgspec.json.encode([self, scripts], order="sorted")
        return hashlib.sha256(content).hexdigest()[:16]


def for_host(os_release: Mapping[str, str], machine: str, extra: tuple[str, ...] = ()) -> Recipe:
    """Recipe for a host, from its os-release(5) and `uname -m`, with `extra` packages.

    Neither their order nor those that every image has make another image.

    Errors: MissingError if the host is neither Debian nor Ubuntu.
    """
    distribution = os_release.get("ID", "")
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    suite = os_release.get("VERSION_CODENAME", "")
    kernel = _KERNELS.get((distribution, architecture))
    if not kernel or not suite:
        name = os_release.get("PRETTY_NAME", distribution or "this system")
        raise MissingError(
            f"images are made of Debian or Ubuntu packages, and this host is {name} on {machine}",
            remedy="run aferir on Debian or Ubuntu (amd64 or arm64) for containers and guests",
        )
    return Recipe(
        distribution=distribution,
        suite=suite,
        architecture=architecture,
        kernel=kernel,
        packages=(*PACKAGES, *sorted({*extra} - {*PACKAGES})),
    )


def command(
    recipe: Recipe,
    sources: list[str],
    target: str,
    mode: str,
    apt: list[str],
    *,
    merged_hooks: bool = True,
) -> list[str]:
    """The mmdebstrap(1) command line; `target` is a folder, or `-` for a tar on stdout.

    `merged_hooks`: this host has the folder MERGED_HOOKS.
    """
    options = [f"--aptopt={line}" for line in apt]
    options += [
        f"--dpkgopt=path-exclude=/usr/share/{folder}/*"
        for folder in ("doc", "man", "locale", "info", "zoneinfo")
    ]
    hook = HOOK.format(out=OUT, kernel=recipe.kernel)
    return [
        "mmdebstrap",
        "--variant=essential",
        f"--mode={mode}",
        f"--architectures={recipe.architecture}",
        f"--include={','.join(recipe.packages)}",
        *options,
        *([f"--hook-dir={MERGED_HOOKS}"] if merged_hooks else []),
        _MANUALS_HOOK,
        f"--customize-hook={hook}",
        recipe.suite,
        target,
        *sources,
    ]


def apt_options(dump: str) -> list[str]:
    """Options of `apt-config dump` that a chroot would lack, such as proxies."""
    return [line for line in dump.splitlines() if _ACQUIRE.match(line) and not line.endswith('"";')]


def one_line_sources(text: str, suite: str) -> str:
    """Lines of a sources.list(5) that serve `suite`: binary packages with `main`."""
    kept = []
    for line in text.splitlines():
        found = re.fullmatch(r"\s*deb\s+(\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+([^#]*)(#.*)?", line)
        if found is None or found[3] not in _suites(suite):
            continue
        components = [name for name in found[4].split() if name in _COMPONENTS]
        if "main" in components:
            kept.append(f"deb {found[1] or ''}{found[2]} {found[3]} {' '.join(components)}")
    return "".join(f"{line}\n" for line in kept)


def deb822_sources(text: str, suite: str) -> str:
    """Stanzas of a .sources file (deb822 form of sources.list(5)) that serve `suite`."""
    kept = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = _fields(stanza)
        suites = [name for name in fields.get("suites", "").split() if name in _suites(suite)]
        components = [c for c in fields.get("components", "").split() if c in _COMPONENTS]
        off = fields.get("enabled", "yes").strip().lower() in ("no", "false", "0")
        if off or not suites or "main" not in components or "deb" not in fields["types"].split():
            continue
        chosen = {
            **fields,
            "types": "deb",
            "suites": " ".join(suites),
            "components": " ".join(components),
        }
        kept.append("".join(f"{key.title()}: {value}\n" for key, value in chosen.items()))
    return "\n".join(kept)


def _suites(suite: str) -> set[str]:
    return {suite, f"{suite}-updates", f"{suite}-security"}


def _fields(stanza: str) -> dict[str, str]:
    """Fields of one stanza; continuation lines, e.g. of an inline key, are preserved."""
    fields: dict[str, str] = {"types": ""}
    key = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t"):
            key = key or "types"
            fields[key] += f"\n{line}"
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()
    return fields
