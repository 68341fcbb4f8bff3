"""Real daemons that report a UPS (NUT with dummy-ups, apcupsd, snmpd), read over loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aferir.errors import AferirError
from aferir.power.base import PowerError, Source
from aferir.power.sources import source
from aferir.power.watch import Watched, mean_of, watch
from tests.listening import port_of
from tests.waiting import eventually

pytestmark = pytest.mark.integration
DRIVER, UPSD, SNMPD = Path("/lib/nut/dummy-ups"), Path("/lib/nut/upsd"), Path("/usr/sbin/snmpd")
UPS_MIB = "1.3.6.1.2.1.33.1"
GOOD = {
    "ups.status": "OL",
    "ups.load": "33",
    "ups.power.nominal": "1000",
    "ups.realpower.nominal": "865",
}


def until(ready: Callable[[], object]) -> None:
    """Wait until the condition holds; a daemon that does not answer yet is no error."""

    def answer() -> object:
        with contextlib.suppress(AferirError, OSError):
            return ready()
        return False

    eventually(answer)


def port_when_it_listens(child: subprocess.Popen[bytes], protocol: str = "tcp") -> int:
    """The port on which a daemon listens. Errors: AssertionError if it ends before."""
    eventually(lambda: child.poll() is not None or port_of(child.pid, protocol))
    port = port_of(child.pid, protocol) if child.poll() is None else None
    assert port is not None, f"{child.args!r} has ended"
    return port


@contextlib.contextmanager
def daemon(words: list[str], folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("ab") as log:
        child = subprocess.Popen(
            words, cwd=folder, stdout=log, stderr=log, env={**os.environ, **variables}
        )
        try:
            yield child
        finally:
            child.kill()
            child.wait()


def look(one: Source) -> Watched:
    return watch({"it": one}, seconds=0.2, every_s=0.1)[0]


def says(found: Watched, watts: float) -> bool:
    return bool(found.power_w) and all(w == pytest.approx(watts) for w in found.power_w)


NONSENSE = {
    "more": ({"ups.realpower": "2000"}, "more than the 1297.5 W"),
    "apparent": ({"ups.realpower": "500", "ups.power": "300"}, "500 W is not the power of 300 VA"),
    "negative": ({"ups.load": "-5"}, "neither its power nor its load"),
    "sentinel": ({"ups.realpower": "65535"}, "stands for `unknown`"),
    "nothing": ({"ups.load": "0"}, "0 W"),
    "words": ({"ups.load": "nonsense"}, "neither its power nor its load"),
    "waiting": ({"ups.status": "WAIT"}, "stale"),
}
"""UPS variables that are not plausible, and the reason with which they are refused."""


class Nut:
    """One upsd with a dummy driver for each UPS, whose variables are in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.drivers: dict[str, subprocess.Popen[bytes]] = {}
        self.variables = {"NUT_CONFPATH": str(folder), "NUT_STATEPATH": str(folder)}
        devices = {"good": GOOD, "mortal": GOOD}
        devices |= {name: {**GOOD, **changes} for name, (changes, _) in NONSENSE.items()}
        sections = [f"[{n}]\ndriver = dummy-ups\nport = {n}.dev\npollinterval = 1" for n in devices]
        self.write("ups.conf", "\n".join(sections))
        # MAXAGE: on a busy machine a driver may be silent for long, which is not its death.
        self.write("upsd.conf", "LISTEN 127.0.0.1 0\nMAXAGE 3600")
        self.write("upsd.users", "")
        for name, said in devices.items():
            self.write(f"{name}.dev", "\n".join(f"{key}: {value}" for key, value in said.items()))
        self.devices = tuple(devices)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"{text}\n", encoding="ascii")
        (self.folder / name).chmod(0o640)

    def source(self, name: str) -> Source:
        return source(f"nut:{name}@127.0.0.1:{self.port}")


@pytest.fixture(scope="module")
def nut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nut]:
    if not (DRIVER.exists() and UPSD.exists()):
        pytest.skip("NUT is not installed: apt-get install nut-server")
    made = Nut(tmp_path_factory.mktemp("nut"))
    user = ["-u", "root"] if os.geteuid() == 0 else []
    with contextlib.ExitStack() as running:
        for name in made.devices:
            words = [str(DRIVER), "-F", "-a", name, *user]
            made.drivers[name] = running.enter_context(daemon(words, made.folder, **made.variables))
        until(lambda: len([*made.folder.glob("dummy-ups-*")]) >= len(made.devices))
        words = [str(UPSD), "-F", *user]
        made.port = port_when_it_listens(
            running.enter_context(daemon(words, made.folder, **made.variables))
        )
        until(lambda: look(made.source("good")).power_w)
        until(lambda: look(made.source("mortal")).power_w)
        yield made


def test_nut_tells_load_times_nominal_power_with_its_step(nut: Nut) -> None:
    found = look(nut.source("good"))
    assert says(found, 0.33 * 865)
    assert found.description is not None
    assert found.description.resolution_w == pytest.approx(8.65)
    mean = mean_of(found)
    assert mean is not None
    assert mean.step_w == pytest.approx(8.65 / 12**0.5)


@pytest.mark.parametrize("name", NONSENSE)
def test_a_ups_that_reports_nonsense_is_refused_with_the_reason(nut: Nut, name: str) -> None:
    why = NONSENSE[name][1]
    until(lambda: any(why in reason for reason in look(nut.source(name)).refused))
    assert look(nut.source(name)).power_w == ()


def test_a_driver_that_died_makes_the_data_stale(nut: Nut) -> None:
    nut.drivers["mortal"].kill()
    until(lambda: not look(nut.source("mortal")).power_w)
    assert look(nut.source("mortal")).power_w == ()
    assert look(nut.source("good")).power_w


def test_an_unknown_ups_and_a_closed_port_are_said(nut: Nut) -> None:
    with pytest.raises(PowerError, match="UNKNOWN-UPS"):
        nut.source("other").read()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(PowerError, match="does not answer"):
            source(f"nut:good@127.0.0.1:{closed.getsockname()[1]}").read()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[int]:
    """An SNMP agent with the objects of a UPS (RFC 1628)."""
    if not SNMPD.exists() or shutil.which("snmpget") is None:
        pytest.skip("no SNMP agent is installed: apt-get install snmpd snmp")
    objects = {
        "1.1.0": "octet_str APC", "1.2.0": "octet_str Test", "2.1.0": "integer 2",
        "2.2.0": "integer 0", "2.3.0": "integer 30", "2.4.0": "integer 100",
        "2.5.0": "integer 240", "4.1.0": "integer 3", "4.4.1.5.1": "integer 33",
        "9.5.0": "integer 1500", "9.6.0": "integer 865", "4.4.1.4.1": "integer 2855",
    }  # fmt: skip
    lines = [f"override {UPS_MIB}.{key} {value}" for key, value in objects.items()]
    (tmp_path / "snmpd.conf").write_text(
        "\n".join(["rocommunity public 127.0.0.1", *lines, ""]), encoding="ascii"
    )
    words = [str(SNMPD), "-f", "-Lo", "-C", "-c", "snmpd.conf", "-I", "-smux", "udp:127.0.0.1:0"]
    with daemon(words, tmp_path, SNMP_PERSISTENT_DIR=str(tmp_path)) as child:
        port = port_when_it_listens(child, "udp")
        until(lambda: source(f"snmp:{UPS_MIB}.4.1.0@127.0.0.1:{port}").read())
        yield port


def unpacked(folder: Path) -> Path:
    """apcupsd without installing it: Debian lets it and NUT not be installed side by side."""
    names = ["apcupsd", "libusb-0.1-4"]
    words = ["apt-get", "download", *names]
    got = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    if got.returncode != 0:
        pytest.skip("apcupsd cannot be downloaded here")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder / "root")], check=True)
    return folder / "root"


def test_apcupsd_tells_load_times_nominal_power(agent: int, tmp_path: Path) -> None:
    root = unpacked(tmp_path)
    library = next(root.glob("**/libusb-0.1.so.4")).parent
    settings = {
        "UPSNAME": "it", "UPSCABLE": "ether", "UPSTYPE": "snmp",
        "DEVICE": f"127.0.0.1:{agent}:RFC:public", "POLLTIME": "1", "NETSERVER": "on",
        "NISIP": "127.0.0.1", "NISPORT": "0", "LOCKFILE": str(tmp_path),
        "SCRIPTDIR": str(tmp_path), "PWRFAILDIR": str(tmp_path), "NOLOGINDIR": str(tmp_path),
        "EVENTSFILE": str(tmp_path / "events"), "STATFILE": str(tmp_path / "status"),
        "BATTERYLEVEL": "5", "MINUTES": "3", "TIMEOUT": "0", "ANNOY": "0",
    }  # fmt: skip
    lines = [f"{key} {value}" for key, value in settings.items()]
    (tmp_path / "apcupsd.conf").write_text(
        "\n".join(["## apcupsd.conf v1.1 ##", *lines, ""]), encoding="ascii"
    )
    words = [str(root / "sbin/apcupsd"), "-b", "-f", str(tmp_path / "apcupsd.conf")]
    words += ["-P", str(tmp_path / "pid")]
    with daemon(words, tmp_path, LD_LIBRARY_PATH=str(library)) as child:
        ups = source(f"apcupsd:127.0.0.1:{port_when_it_listens(child)}")
        until(lambda: look(ups).power_w)
        found = look(ups)
        assert says(found, 0.33 * 865)
        assert found.description is not None
        assert found.description.most_w == pytest.approx(1.5 * 865)  # overload


def test_an_outlet_by_snmp_tells_its_number_times_its_scale(agent: int) -> None:
    found = look(source(f"snmp:{UPS_MIB}.4.4.1.4.1*0.1@127.0.0.1:{agent}"))
    assert says(found, 285.5)
    nothing = look(source(f"snmp:{UPS_MIB}.9.99.0@127.0.0.1:{agent}"))
    assert nothing.power_w == ()
    assert nothing.refused
