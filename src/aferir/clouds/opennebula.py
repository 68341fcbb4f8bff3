"""OpenNebula 5 and later by XML-RPC (documentation: "XML-RPC API", states of a machine).

A template of OpenNebula determines image, size and network; `size` is its name or number.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import threading
import xmlrpc.client
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

from aferir.clouds import credentials
from aferir.clouds.base import PhaseName
from aferir.clouds.context import encoded
from aferir.clouds.provider import Consistency, Look, Stage
from aferir.clouds.refused import CloudError, judged
from aferir.errors import AferirError, UsageError
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

PROVIDER = "opennebula"
_INIT, _PENDING, _ACTIVE, _DONE = 0, 1, 3, 6
_CLONING = (10, 11)
_FAILURES = (36, 37, 39, 40, 41, 42, 44, 61)
"""Values of LCM_STATE that are failures: BOOT_FAILURE, PROLOG_FAILURE and so on."""
_LCM_INIT, _PROLOG = 0, 1
_OURS = -3
"""Filter of one.vmpool.info: resources of the requesting user."""
_NOT_DONE = -1
_REMEDY = "see ONE_XMLRPC and oned.log"
_LIMIT_S = 60.0
_FEW = 4
"""Number of machines up to which their states are requested one by one; for more, the whole pool is
requested.
"""
_NO_EXISTS = 0x0400
"""Error code of OpenNebula for a machine that does not exist."""
_INTERNAL = 0x2000
_UNREADABLE = (
    *(xmlrpc.client.ResponseError, http.client.HTTPException, ET.ParseError, expat.ExpatError),
    *(ValueError, TypeError, KeyError, IndexError, AttributeError),
)
"""Exceptions for a response that is not XML-RPC, such as an HTML page: the library does not
check."""


class OpenNebula:
    """Virtual machines of one template of OpenNebula."""

    resolution_s = 0.05
    sources: dict[PhaseName, str]
    consistency = Consistency(appears_s=30.0, apart_s=0.2)
    repeatable = False

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TeF": "from the request until STATE leaves PENDING",
            "TcI": "from there until LCM_STATE leaves PROLOG, which copies the image",
            "TiI": "from BOOT until the first HTTP 200",
        }
        self._wanted = wanted
        self._lock = threading.Lock()

    def check(self) -> list[Finding]:
        """Whether the cloud accepts the credentials, and has the template."""
        try:
            _ = self._template
        except AferirError as error:
            return [Finding(PROVIDER, "missing", error.message, error.remedy)]
        return [Finding(PROVIDER, "ok", "OpenNebula lets us in and has the template")]

    def place(self) -> str:
        """Address of the daemon oned, and the user."""
        return f"{self._key.url} as {self._key.name}"

    def request(self, name: str) -> str:
        """Call one.template.instantiate for a running machine.

        Nothing of the template is changed but the section CONTEXT, if there is user data.
        """
        with self._lock:
            template = self._template
        more = _context(self._wanted.user_data)
        return str(self._ask("one.template.instantiate", template, name, False, more, False))

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """Call one.vm.info for each machine, or one.vmpool.info if there are many.

        The pool omits machines that have ended, and sometimes addresses.
        """
        found = dict(self._pool_looks()) if len(identities) > _FEW else {}
        for identity in identities:
            look = found.get(identity)
            if look is None or (look.stage == "booting" and not look.address):
                found[identity] = self._look(identity)
        return {identity: found[identity] for identity in identities}

    def remove(self, identity: str) -> bool:
        """Call one.vm.action with `terminate-hard`."""
        try:
            self._ask("one.vm.action", "terminate-hard", int(identity))
        except CloudError:
            if self._look(identity).stage in ("absent", "gone"):
                return False
            raise
        return True

    def find(self, name: str) -> list[str]:
        """IDs of machines called `name` in one.vmpool.info, in any state but DONE."""
        return [vm.findtext("ID", "") for vm in self._pool() if vm.findtext("NAME") == name]

    def named(self, prefix: str) -> dict[str, str]:
        """Machines in the answer to one.vmpool.info whose names begin with the prefix."""
        names = {vm.findtext("ID", ""): vm.findtext("NAME", "") for vm in self._pool()}
        return {number: name for number, name in names.items() if name.startswith(prefix)}

    def _look(self, identity: str) -> Look:
        try:
            return look_of(str(self._ask("one.vm.info", int(identity))))
        except _NotThereError:
            return Look("absent")

    def _pool(self) -> list[ET.Element]:
        pool = str(self._ask("one.vmpool.info", _OURS, -1, -1, _NOT_DONE))
        with _told():
            found = ET.fromstring(pool)  # noqa: S314 - of the user's own cloud
            if found.tag != "VM_POOL":
                raise ValueError(f"<{found.tag}> is no pool of machines")
            return found.findall("VM")

    def _pool_looks(self) -> Iterator[tuple[str, Look]]:
        for machine in self._pool():
            yield machine.findtext("ID", ""), look_at(machine)

    @functools.cached_property
    def _key(self) -> credentials.Key:
        return credentials.opennebula()

    @functools.cached_property
    def _template(self) -> int:
        """Number of the template. Errors: UsageError if there is none with the wanted name."""
        wanted = self._wanted.size
        pool = str(self._ask("one.templatepool.info", _OURS + 1, -1, -1))
        with _told():
            templates = ET.fromstring(pool).findall("VMTEMPLATE")  # noqa: S314 - as above
        for template in templates:
            if wanted in (template.findtext("ID"), template.findtext("NAME")):
                return int(template.findtext("ID", "0"))
        raise UsageError(f"OpenNebula has no template {wanted!r}", remedy="see `onetemplate list`")

    def _ask(self, method: str, *arguments: object) -> Any:
        """One call on a connection of its own. Errors: CloudError with OpenNebula's message."""
        session = f"{self._key.name}:{self._key.secret.text}"
        carrier = _TlsCarrier() if self._key.url.startswith("https") else _Carrier()
        with _told(), xmlrpc.client.ServerProxy(self._key.url, carrier) as server:
            call = getattr(server, method)
            answer: Any = call(session, *arguments)
            done, said = answer[0], answer[1]
        if done is True:
            return said
        code = answer[2] if len(answer) > 2 else 0
        if code == _NO_EXISTS:
            raise _NotThereError(f"OpenNebula refused {method}: {said}")
        internal = code == _INTERNAL
        raise CloudError(
            f"OpenNebula refused {method}: {said}", passing=internal, may_be_done=internal
        )


def _context(user_data: str) -> str:
    """Section of a template by which a machine is given user data; it replaces the template's.

    Source: OpenNebula's "Virtual Machine Template", "Context Section".
    """
    if not user_data:
        return ""
    told = f'USER_DATA="{encoded(user_data)}", USER_DATA_ENCODING="base64"'
    return f'CONTEXT=[NETWORK="YES", {told}]'


class _NotThereError(CloudError):
    """OpenNebula has no machine with the requested ID."""


class _Carrier(xmlrpc.client.Transport):
    """An HTTP transport for XML-RPC with a timeout."""

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        made = super().make_connection(host)
        made.timeout = _LIMIT_S
        return made


class _TlsCarrier(xmlrpc.client.SafeTransport):
    def make_connection(self, host: Any) -> http.client.HTTPSConnection:
        made = super().make_connection(host)
        made.timeout = _LIMIT_S
        return made


def look_of(described: str) -> Look:
    """State of a machine as one.vm.info describes it. Errors: CloudError if it is not XML."""
    with _told():
        return look_at(ET.fromstring(described))  # noqa: S314 - of the user's own cloud


def look_at(machine: ET.Element) -> Look:
    """State of a machine. Errors: ValueError if its state is not a number."""
    state = int(machine.findtext("STATE") or -1)
    step = int(machine.findtext("LCM_STATE") or -1)
    nic = machine.find("TEMPLATE/NIC")
    fields = ("IP", "IP6", "IP6_GLOBAL", "IP6_ULA")
    found = (nic.findtext(field) for field in fields) if nic is not None else ()
    address = next((one for one in found if one), "")
    said = machine.findtext("USER_TEMPLATE/ERROR") or f"STATE {state}, LCM_STATE {step}"
    return Look(_stage(state, step), address, said)


def _stage(state: int, step: int) -> Stage:
    if state in (_INIT, _PENDING, *_CLONING):
        return "placing"
    if state == _DONE:
        return "gone"
    if state != _ACTIVE or step in _FAILURES:
        return "failed"
    return "copying" if step in (_LCM_INIT, _PROLOG) else "booting"


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Convert errors of the library to CloudError, without the session in the message."""
    try:
        yield
    except AferirError:
        raise
    except xmlrpc.client.Fault as error:
        raise judged("OpenNebula", error.faultString, status=400, remedy=_REMEDY) from None
    except xmlrpc.client.ProtocolError as error:
        headers = {str(name): str(value) for name, value in error.headers.items()}
        said = f"status {error.errcode} {error.errmsg}"
        raise judged(
            "OpenNebula", said, status=error.errcode, headers=headers, remedy=_REMEDY
        ) from None
    except OSError as error:
        raise judged("OpenNebula", str(error), remedy=_REMEDY) from None
    except _UNREADABLE as error:
        said = f"its answer is none of XML-RPC ({error})"
        raise judged("OpenNebula", said, remedy=_REMEDY) from None
