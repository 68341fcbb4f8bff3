"""Counterparts of clouds that do not run here: what their programming interfaces answer.

Each keeps machines that run after two looks, and checks what it can of a request. What has ended is
still told of by its id, as those clouds do. Sources: the API references of EC2 (RunInstances,
DescribeInstances, TerminateInstances) and of CloudStack (deployVirtualMachine, queryAsyncJobResult,
listVirtualMachines), OpenNebula's of XML-RPC (one.vm.info).
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xmlrpc.client import dumps, loads

LOOKS = 2
"""Number of requests about a machine before it is reported as running."""


class Machines:
    """State of the simulated cloud."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """Names of the machines that have not ended, by id."""
        self.ended: dict[str, str] = {}
        self.looks: dict[str, int] = {}
        self.fails = False
        self.asked: list[str] = []
        self.user_data: list[str] = []
        """User data of each machine, as the request had it."""

    def add(self, name: str) -> str:
        number = str(len(self.looks) + 1)
        self.names[number] = name
        self.looks[number] = 0
        return number

    def end(self, number: str) -> bool:
        """False if there was never one of that number."""
        if number in self.names:
            self.ended[number] = self.names.pop(number)
        return number in self.ended

    def knows(self, number: str) -> bool:
        return number in self.names or number in self.ended

    def running(self, number: str) -> bool:
        self.looks[number] += 1
        return self.looks[number] > LOOKS


@contextlib.contextmanager
def served(answer: Callable[[str, str], tuple[int, str]]) -> Iterator[int]:
    """An HTTP server on the loopback whose `answer` takes path and body; its port."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, text = answer(self.path, body)
            content = text.encode()
            self.send_response(status)
            kind = "application/json" if text.startswith("{") else "text/xml"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_HEAD = _answer  # noqa: N815 - so the library finds them

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def ec2(machines: Machines) -> Callable[[str, str], tuple[int, str]]:
    def answer(path: str, body: str) -> tuple[int, str]:
        given = dict(urllib.parse.parse_qsl(body or urllib.parse.urlsplit(path).query))
        action = given["Action"]
        machines.asked.append(action)
        if action == "DescribeImages":
            return 200, _ec2(action, f"<imagesSet>{_IMAGE}</imagesSet>")
        if action == "RunInstances":
            if machines.fails:
                return 503, _refused("InsufficientInstanceCapacity", "there is no room")
            token = given["ClientToken"]
            machines.user_data.append(given.get("UserData", ""))
            known = (number for number, name in machines.names.items() if name == token)
            number = next(known, None) or machines.add(token)
            return 200, _ec2(action, f"<instancesSet>{_instance(number, 'pending')}</instancesSet>")
        if action == "CreateTags":
            return 200, _ec2(action, "<return>true</return>")
        if action == "TerminateInstances":
            return _terminated(machines, given["InstanceId.1"])
        assert action == "DescribeInstances"
        return _described(machines, given)

    return answer


def _terminated(machines: Machines, identity: str) -> tuple[int, str]:
    if machines.end(identity.removeprefix("i-")):
        return 200, _ec2("TerminateInstances", "")
    return 400, _refused("InvalidInstanceID.NotFound", f"no {identity}")


def _described(machines: Machines, given: dict[str, str]) -> tuple[int, str]:
    """Instances with those IDs, or an error if one is unknown; without IDs, those of a token."""
    identities = [given[key].removeprefix("i-") for key in given if key.startswith("InstanceId.")]
    for number in identities:
        if not machines.knows(number):
            return 400, _refused("InvalidInstanceID.NotFound", f"no i-{number}")
    token = given.get("Filter.1.Value.1", "")
    items = "".join(
        _instance(number, _state(machines, number, looked_at=number in identities), name)
        for number, name in {**machines.names, **machines.ended}.items()
        if number in identities or fnmatch.fnmatchcase(name, token)
    )
    sets = f"<item><reservationId>r-1</reservationId><instancesSet>{items}</instancesSet></item>"
    found = f"<reservationSet>{sets if items else ''}</reservationSet>"
    return 200, _ec2("DescribeInstances", found)


def _state(machines: Machines, number: str, *, looked_at: bool) -> str:
    if number in machines.ended:
        return "terminated"
    return "running" if looked_at and machines.running(number) else "pending"


_IMAGE = """<item><imageId>ami-1</imageId><name>aferir-node</name>
<imageState>available</imageState></item>"""


def _ec2(action: str, inner: str) -> str:
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    return f'<{action}Response xmlns="{space}"><requestId>1</requestId>{inner}</{action}Response>'


def _refused(code: str, said: str) -> str:
    error = f"<Error><Code>{code}</Code><Message>{said}</Message></Error>"
    return f"<Response><Errors>{error}</Errors><RequestID>1</RequestID></Response>"


def _instance(number: str, state: str, name: str = "") -> str:
    return f"""<item><clientToken>{name}</clientToken>
<instanceId>i-{number}</instanceId><imageId>ami-1</imageId>
<instanceState><code>0</code><name>{state}</name></instanceState><instanceType>t2.micro</instanceType>
<launchTime>2026-01-01T00:00:00.000Z</launchTime><privateIpAddress>127.0.0.1</privateIpAddress>
<placement><availabilityZone>here</availabilityZone></placement></item>"""


def cloudstack(machines: Machines) -> Callable[[str, str], tuple[int, str]]:
    def answer(path: str, _: str) -> tuple[int, str]:
        given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
        command = given["command"]
        machines.asked.append(command)
        assert given["signature"]
        listed: dict[str, dict[str, Any]] = {
            "listServiceOfferings": {"serviceoffering": [_OFFERING]},
            "listTemplates": {"template": [_TEMPLATE]},
            "listZones": {"zone": [{"id": "z", "name": "zone", "networktype": "Basic"}]},
            "listVirtualMachines": {"virtualmachine": [
                _virtual(number, name, machines.running(number))
                for number, name in machines.names.items()
                if given.get("id", number) == number and given.get("name", "") in name
            ]},
        }  # fmt: skip
        if command == "deployVirtualMachine":
            machines.user_data.append(given.get("userdata", ""))
            made: dict[str, Any] = {"id": machines.add(given["name"]), "jobid": "1"}
        elif command == "destroyVirtualMachine":
            machines.end(given["id"])
            made = {"jobid": "2"}
        elif command == "queryAsyncJobResult":
            number = max(machines.looks)
            found = _virtual(number, machines.names.get(number, ""), False)
            made = {"jobstatus": 1, "jobresult": {"virtualmachine": found}}
        else:
            made = listed.get(command, {})
        return 200, json.dumps({f"{command.lower()}response": made})

    return answer


_OFFERING = {"id": "o", "name": "small", "memory": 256, "cpunumber": 1}
_TEMPLATE = {
    "id": "t",
    "name": "aferir-node",
    "hypervisor": "KVM",
    "format": "QCOW2",
    "ostypename": "Debian",
    "displaytext": "",
    "size": 1,
}


def _virtual(number: str, name: str, runs: bool) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "displayname": name,
        "zoneid": "z",
        "zonename": "zone",
        "state": "Running" if runs else "Starting",
        "passwordenabled": False,
        "haenable": False,
        "serviceofferingid": "o",
        "serviceofferingname": "small",
        "templateid": "t",
        "created": "2026-01-01T00:00:00+0000",
        "securitygroup": [],
        "nic": [{"ipaddress": "127.0.0.1", "isdefault": True}],
    }


def _described_one(machines: Machines, number: str) -> str:
    state, step = (3, 3) if machines.running(number) else (1, 0)
    if machines.fails:
        state, step = 3, 39
    if number in machines.ended:
        state, step = 6, 0
    name = {**machines.names, **machines.ended}[number]
    return (
        f"<VM><ID>{number}</ID><NAME>{name}</NAME><STATE>{state}</STATE>"
        f"<LCM_STATE>{step}</LCM_STATE><TEMPLATE><NIC><IP>127.0.0.1</IP></NIC></TEMPLATE></VM>"
    )


_CONTEXT = r'CONTEXT=\[NETWORK="YES", USER_DATA="([^"]*)", USER_DATA_ENCODING="base64"\]'


def opennebula(machines: Machines) -> Callable[[str, str], tuple[int, str]]:
    def answer(_: str, body: str) -> tuple[int, str]:
        arguments, name = loads(body)
        method = str(name)
        machines.asked.append(method)
        if arguments[0] != "oneadmin:secret":
            result: list[Any] = [False, "User couldn't be authenticated, aborting.", 256]
        elif method == "one.templatepool.info":
            inner = "<VMTEMPLATE><ID>7</ID><NAME>aferir-node</NAME></VMTEMPLATE>"
            result = [True, f"<VMTEMPLATE_POOL>{inner}</VMTEMPLATE_POOL>", 0]
        elif method == "one.template.instantiate":
            assert arguments[1] == 7
            told = re.fullmatch(_CONTEXT, str(arguments[4]))
            machines.user_data.append(told[1] if told else str(arguments[4]))
            result = [True, int(machines.add(str(arguments[2]))), 0]
        elif method.startswith("one.vm.") and not machines.knows(str(arguments[-1])):
            result = [False, "Error getting virtual machine, it does not exist.", 0x400]
        elif method == "one.vm.info":
            result = [True, _described_one(machines, str(arguments[1])), 0]
        elif method == "one.vm.action":
            machines.end(str(arguments[2]))
            result = [True, arguments[2], 0]
        else:
            inner = "".join(_described_one(machines, number) for number in machines.names)
            result = [True, f"<VM_POOL>{inner}</VM_POOL>", 0]
        return 200, dumps((result,), methodresponse=True)

    return answer
