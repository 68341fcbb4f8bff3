"""OpenNebula 5 and later by XML-RPC (its documentation: "XML-RPC API", states of a machine).

A template of OpenNebula names image, size and network; `size` is its name or number.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import xmlrpc.client
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from aferir.clouds import credentials
from aferir.clouds.base import PhaseName
from aferir.clouds.remote import Look, Stage
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

PROVIDER = "opennebula"
_INIT, _PENDING, _ACTIVE, _DONE = 0, 1, 3, 6
_CLONING = (10, 11)
_FAILURES = (36, 37, 39, 40, 41, 42, 44, 61)
"""Of LCM_STATE: BOOT_FAILURE, BOOT_MIGRATE_FAILURE, PROLOG_FAILURE and so on."""
_LCM_INIT, _PROLOG = 0, 1
_OURS = -3
"""Of one.vmpool.info: resources of the user who asks."""
_NOT_DONE = -1
_OWN_ERRORS = (OSError, xmlrpc.client.Error, http.client.HTTPException, ET.ParseError)


class OpenNebula:
    """Machines of one template."""

    resolution_s = 0.0
    sources: dict[PhaseName, str]

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TeF": "from the request until STATE leaves PENDING",
            "TcI": "from there until LCM_STATE leaves PROLOG, which copies the image",
            "TiI": "from BOOT until the first HTTP 200",
        }
        self._wanted = wanted

    def check(self) -> list[Finding]:
        """Whether it lets us in, and has the template."""
        try:
            _ = self._template
        except AferirError as error:
            return [Finding(PROVIDER, "missing", error.message, error.remedy)]
        return [Finding(PROVIDER, "ok", "OpenNebula lets us in and has the template")]

    def request(self, name: str) -> str:
        """one.template.instantiate, running and not held, with nothing changed."""
        return str(self._ask("one.template.instantiate", self._template, name, False, "", False))

    def look(self, identity: str) -> Look:
        """one.vm.info."""
        return look_of(str(self._ask("one.vm.info", int(identity))))

    def remove(self, identity: str) -> None:
        """one.vm.action, without a farewell."""
        with contextlib.suppress(ProgramError):  # of one that is going already
            self._ask("one.vm.action", "terminate-hard", int(identity))

    def find(self, name: str) -> list[str]:
        """Of that name in one.vmpool.info, whatever their state but DONE."""
        pool = str(self._ask("one.vmpool.info", _OURS, -1, -1, _NOT_DONE))
        with _told():
            machines = ET.fromstring(pool).findall("VM")  # noqa: S314 - of the user's own cloud
        return [vm.findtext("ID", "") for vm in machines if vm.findtext("NAME") == name]

    @functools.cached_property
    def _key(self) -> credentials.Key:
        return credentials.opennebula()

    @functools.cached_property
    def _template(self) -> int:
        """Number of the template. Errors: UsageError where there is none of that name."""
        wanted = self._wanted.size
        pool = str(self._ask("one.templatepool.info", _OURS + 1, -1, -1))
        with _told():
            templates = ET.fromstring(pool).findall("VMTEMPLATE")  # noqa: S314 - as above
        for template in templates:
            if wanted in (template.findtext("ID"), template.findtext("NAME")):
                return int(template.findtext("ID", "0"))
        raise UsageError(f"OpenNebula has no template {wanted!r}", remedy="see `onetemplate list`")

    def _ask(self, method: str, *arguments: object) -> Any:
        """One call on a connection of its own. Errors: ProgramError, in OpenNebula's words."""
        session = f"{self._key.name}:{self._key.secret.text}"
        with _told(), xmlrpc.client.ServerProxy(self._key.url) as server:
            call = getattr(server, method)
            answer: Any = call(session, *arguments)
        if not isinstance(answer, list) or len(answer) < 2:
            raise ProgramError(f"OpenNebula's answer to {method} is none")
        if answer[0] is not True:
            raise ProgramError(f"OpenNebula refused {method}: {answer[1]}")
        return answer[1]


def look_of(described: str) -> Look:
    """How far a machine is that one.vm.info describes. Errors: ProgramError where it is no XML."""
    with _told():
        machine = ET.fromstring(described)  # noqa: S314 - of the user's own cloud
    state = int(machine.findtext("STATE") or -1)
    step = int(machine.findtext("LCM_STATE") or -1)
    address = machine.findtext("TEMPLATE/NIC/IP") or ""
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
    """Errors of the library as one of ours, without the session in it."""
    try:
        yield
    except _OWN_ERRORS as error:
        said = error.faultString if isinstance(error, xmlrpc.client.Fault) else str(error)
        raise ProgramError(f"OpenNebula: {said}", remedy="see ONE_XMLRPC and oned.log") from None
