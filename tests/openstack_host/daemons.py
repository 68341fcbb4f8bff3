"""First program of the one-host OpenStack: starts its daemons one after the other, and reaps.

It runs inside of the tree with Debian's own Python and modules, in a network, a process and a mount
namespace of its own, so that all of it ends when this ends. It takes the configuration from the
environment as JSON: `FILES`, and `PASSWORD`, `HOST`, `NETWORK`.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

PASSWORD = os.environ["PASSWORD"]
HOST = os.environ["HOST"]
NETWORK = os.environ["NETWORK"]
LOGS = pathlib.Path("/var/log/one-host")
UWSGI = ("uwsgi_python3", "--master", "--lazy-apps", "--enable-threads", "--threads", "4")
UWSGI_MORE = (
    "--rem-header",
    "Content-Length",
    "--post-buffering",
    "4096",
    "--buffer-size",
    "65535",
)


def say(words: str) -> None:
    print(f"{time.monotonic() - STARTED:6.1f} s  {words}", flush=True)


def run(*command: str, given: str | None = None, user: str = "") -> None:
    """Run a command to its end. Errors: SystemExit with its output."""
    words = ["runuser", "-u", user, "--", *command] if user else [*command]
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = f"{done.stdout[-1500:]}{done.stderr[-3000:]}"
        sys.exit(f"`{' '.join(command)}` ended with {done.returncode}: {said}")


def start(name: str, *command: str, user: str = "") -> None:
    """Start a daemon in the background, with a log of its own."""
    words = ["runuser", "-u", user, "--", *command] if user else [*command]
    with (LOGS / f"{name}.log").open("ab") as log:
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def await_port(port: int, limit_s: float = 180.0) -> None:
    """Wait until a server listens there. Errors: SystemExit."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                sys.exit(f"nobody listens on port {port}")
            time.sleep(0.1)
        else:
            return


def uwsgi(name: str, port: int, script: str, user: str) -> None:
    address = f"127.0.0.1:{port}"
    start(name, *UWSGI, *UWSGI_MORE, "--http-socket", address, "--wsgi-file", script, user=user)


def databases() -> None:
    pathlib.Path("/run/mysqld").mkdir(parents=True, exist_ok=True)
    shutil.chown("/run/mysqld", "mysql", "mysql")
    start("memcached", "memcached", "-l", "127.0.0.1", user="memcache")
    start("mariadb", "mariadbd", "--user=mysql", "--bind-address=127.0.0.1", "--skip-log-bin")
    start("rabbitmq", "rabbitmq-server")
    await_port(3306)
    lines = []
    for name in ("keystone", "glance", "placement", "nova", "neutron"):
        names = (name, "nova_api", "nova_cell0") if name == "nova" else (name,)
        for database in names:
            lines.append(f"CREATE DATABASE {database};")
            lines.append(
                f"GRANT ALL ON {database}.* TO '{name}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            )
            lines.append(
                f"GRANT ALL ON {database}.* TO '{name}'@'localhost' IDENTIFIED BY '{PASSWORD}';"
            )
    run("mariadb", given="\n".join(lines))


def identity() -> None:
    run("keystone-manage", "db_sync", user="keystone")
    run("keystone-manage", "fernet_setup", "--keystone-user=keystone", "--keystone-group=keystone")
    run(
        *("keystone-manage", "credential_setup"),
        *("--keystone-user=keystone", "--keystone-group=keystone"),
    )
    url = "http://127.0.0.1:5000/v3/"
    run(
        *("keystone-manage", "bootstrap", "--bootstrap-password", PASSWORD),
        *("--bootstrap-admin-url", url, "--bootstrap-internal-url", url),
        *("--bootstrap-public-url", url, "--bootstrap-region-id", "RegionOne"),
        user="keystone",
    )
    uwsgi("keystone", 5000, "/usr/bin/keystone-wsgi-public", "keystone")
    await_port(5000)


def tables() -> None:
    run("glance-manage", "db_sync", user="glance")
    run("placement-manage", "db", "sync", user="placement")
    run("nova-manage", "api_db", "sync", user="nova")
    run("nova-manage", "cell_v2", "map_cell0", user="nova")
    run("nova-manage", "db", "sync", user="nova")
    run("nova-manage", "cell_v2", "create_cell", "--name=cell1", user="nova")
    configured = ("--config-file", "/etc/neutron/neutron.conf")
    plugin = ("--config-file", "/etc/neutron/plugins/ml2/ml2_conf.ini")
    run("neutron-db-manage", *configured, *plugin, "upgrade", "head", user="neutron")


def services() -> None:
    neutron = ("--config-file", "/etc/neutron/neutron.conf")
    plugins = "/etc/neutron/plugins/ml2"
    await_port(5672)
    start("glance", "glance-api", user="glance")
    uwsgi("placement", 8778, "/usr/bin/placement-api", "placement")
    start("nova-api", "nova-api", user="nova")
    start("nova-scheduler", "nova-scheduler", user="nova")
    start("nova-conductor", "nova-conductor", user="nova")
    start("neutron", "neutron-server", *neutron, "--config-file", f"{plugins}/ml2_conf.ini")
    for folder in ("/run/libvirt", "/run/neutron"):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    start("virtlogd", "virtlogd")
    start("libvirtd", "libvirtd")
    for port in (9292, 8778, 8774, 9696):
        await_port(port)
    agent = ("--config-file", f"{plugins}/linuxbridge_agent.ini")
    start("bridge-agent", "neutron-linuxbridge-agent", *neutron, *agent)
    start(
        "dhcp-agent",
        *("neutron-dhcp-agent", *neutron, "--config-file", "/etc/neutron/dhcp_agent.ini"),
    )
    start("nova-compute", "nova-compute", "--config-file", "/etc/nova/nova-compute-alone.conf")


def catalogue() -> None:
    """Endpoints, one network, one flavor; as the client library of this release has it."""
    import openstack

    identity: Any = openstack.connect().identity
    for kind, port, path in (
        ("image", 9292, ""),
        ("placement", 8778, ""),
        ("compute", 8774, "/v2.1"),
        ("network", 9696, ""),
    ):
        service = identity.create_service(name=kind, type=kind)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=service.id,
                interface=interface,
                region_id="RegionOne",
                url=f"http://127.0.0.1:{port}{path}",
            )


def things() -> None:
    import openstack

    cloud = openstack.connect()
    network = cloud.network.create_network(
        name="instances",
        is_shared=True,
        provider_network_type="flat",
        provider_physical_network="prov",
        port_security_enabled=False,
    )
    cloud.network.create_subnet(
        network_id=network.id,
        ip_version=4,
        cidr=f"{NETWORK}.0/24",
        allocation_pools=[{"start": f"{NETWORK}.20", "end": f"{NETWORK}.200"}],
        gateway_ip=None,
        name="instances",
    )
    cloud.compute.create_flavor(name="node", ram=256, vcpus=1, disk=0)


def await_compute(limit_s: float = 300.0) -> None:
    import openstack

    cloud = openstack.connect()
    deadline = time.monotonic() + limit_s
    while True:
        kinds = {s.binary for s in cloud.compute.services() if s.state == "up"}
        agents = {a.binary for a in cloud.network.agents() if a.is_alive}
        if kinds >= {"nova-compute", "nova-conductor", "nova-scheduler"} and agents >= {
            "neutron-linuxbridge-agent",
            "neutron-dhcp-agent",
        }:
            break
        if time.monotonic() > deadline:
            sys.exit(f"not all is up: {kinds}, {agents}")
        time.sleep(0.5)
    run("nova-manage", "cell_v2", "discover_hosts", user="nova")


def configure() -> None:
    for path, text in json.loads(os.environ["FILES"]).items():
        pathlib.Path(path).write_text(text, encoding="utf-8")
    LOGS.mkdir(parents=True, exist_ok=True)
    LOGS.chmod(0o777)


def reap(worker: int) -> int:
    """Wait for whoever ends, as whose parent has ended falls to the first process of a namespace.

    Libvirt waits 40 s for each emulator that nobody reaps. The exit code of `worker`, once that
    has ended.
    """
    while True:
        ended, status = os.wait()
        if ended == worker:
            return os.waitstatus_to_exitcode(status)


def work() -> None:
    configure()
    for step in (databases, identity, catalogue, tables, services, await_compute, things):
        say(step.__name__)
        step()
    say("ready")
    signal.pause()


STARTED = time.monotonic()
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    child = os.fork()
    if child:
        sys.exit(reap(child))
    work()
