"""Hosts with an address, a root file system and an sshd of their own, reached by OpenSSH."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.hosts import messages, reaching
from aferir.hosts.environment import Host, RemoteEnvironment
from aferir.hosts.line import Line
from aferir.hosts.reaching import Asked
from aferir.hosts.spread import Spread
from aferir.linux import process
from aferir.model.host import HostSpec
from aferir.model.plan import EnvironmentSpec
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import MPIS, Mpi, placement_options
from aferir.store import open_run
from tests.integration import real_hosts
from tests.integration.farm_experiment import EXPERIMENT
from tests.integration.real_hosts import Lab, Machine
from tests.integration.support import own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
SPEC = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28)


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        folder = tmp_path_factory.mktemp("farm")
        with real_hosts.lab(folder, ["a", "b", "c"]) as made:
            made.machines["a"].boot()
            made.machines["b"].boot()
            real_hosts.wait_for(made, "a", "b")
            yield made


def aferir(*arguments: str | Path) -> subprocess.Popen[str]:
    return process.start(
        [sys.executable, "-m", "aferir", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def asked(*specs: HostSpec) -> dict[str, Asked]:
    hosts = reaching.connect(specs)
    try:
        return reaching.ask(hosts)
    finally:
        for host in hosts:
            host.lose()


def refused(farm: Lab, name: str = "a", **changed: str) -> str:
    """Error of a host that is reached with other options of ssh."""
    options = [word for key, value in changed.items() for word in ("-o", f"{key}={value}")]
    reach = ("ssh", "-F", str(farm.config), "-o", "ControlPath=none", *options, name)
    with pytest.raises(MissingError) as error:
        Line(HostSpec(name=name, reach=reach)).close()
    assert error.value.remedy
    return f"{error.value.message}; {error.value.remedy}"


def test_one_experiment_is_over_hosts_that_differ_in_all(farm: Lab, tmp_path: Path) -> None:
    hosts = "\n".join(f"[[host]]\nname = '{n}'\nreach = \"{farm.reach(n)}\"" for n in "abc")
    file = tmp_path / "farm.toml"
    file.write_text(EXPERIMENT.format(hosts=hosts), encoding="utf-8")
    begun = time.time_ns()
    with real_hosts.own_kernel(farm, "c") as guest:
        guest.run(["date", "-s", "2001-02-03"])
        real_hosts.wait_for(farm, "c")
        child = aferir("run", file, "--runs", tmp_path / "runs", "--json")
        out, err = child.communicate()
        assert child.returncode == 0, err
    found = json.loads(out)["evaluation"]["cells"]
    assert {cell["group"] for cell in found} == {"ep", "ranks", "sweep", "bulk", "beside"}
    cells = {cell["environment"]: cell for cell in found}
    assert cells.keys() == {"bare", "lxc", "podman", "kernel", "both", "served"}
    assert [(cell["cell"], cell["failures"]) for cell in found if cell["failures"]] == [], err
    (run,) = (tmp_path / "runs").iterdir()
    written = open_run(run)
    facts = written.provenance.facts["hosts"]
    kernels = {name: one["machine"]["kernel"] for name, one in facts.items()}
    assert kernels["a"] == kernels["b"] != kernels["c"]
    assert "host c: its clock is 2" in err
    assert all(begun < record.started_unix_ns < time.time_ns() for record in written.records)
    assert real_hosts.left(farm.machines["a"]) == real_hosts.left(farm.machines["b"]) == []


def test_a_host_where_nothing_answers(farm: Lab) -> None:
    assert "is it up" in refused(farm, HostName="10.0.1.99")


def test_a_host_whose_cable_is_cut(farm: Lab) -> None:
    farm.cable("b", "down")
    try:
        assert "is it up" in refused(farm, "b")
    finally:
        farm.cable("b", "up")


def test_a_host_that_refuses_the_key(farm: Lab) -> None:
    process.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(farm.folder / "other")])
    text = farm.config.read_text(encoding="utf-8")
    stranger = farm.folder / "stranger"
    stranger.write_text(text.replace(f"{farm.folder}/key", f"{farm.folder}/other"), "utf-8")
    with pytest.raises(MissingError, match="Permission denied") as error:
        Line(HostSpec(name="a", reach=("ssh", "-F", str(stranger), "-S", "none", "a")))
    assert "ssh-copy-id" in error.value.remedy


def test_a_host_with_another_key_than_before(farm: Lab) -> None:
    known = farm.folder / "known_before"
    others = (farm.folder / "known_hosts").read_text(encoding="utf-8").splitlines()
    address = farm.machines["a"].place.address
    known.write_text(f"{address} {others[1].split(' ', 1)[1]}\n", encoding="utf-8")
    assert "ssh-keygen -R" in refused(farm, UserKnownHostsFile=str(known))


def test_a_host_with_another_architecture(farm: Lab) -> None:
    reach = (*farm.spec("a").reach, "linux32")
    with pytest.raises(MissingError, match="its processor is i686"):
        Line(HostSpec(name="a", reach=reach))


@pytest.fixture
def odd(farm: Lab) -> Iterator[Callable[[str, str], Machine]]:
    """Host b as it never was: booted after some commands, or with lines for its sshd."""
    machine = farm.machines["b"]

    def booted(commands: str, sshd: str = "") -> Machine:
        machine.off()
        machine.more = commands
        real_hosts.configured(machine, sshd)
        machine.boot()
        real_hosts.wait_for(farm, "b")
        return machine

    yield booted
    booted("")


Odd = Callable[..., Machine]
FULL = "mount -t tmpfs -o size=64k full {}; cat /dev/zero > {}/all 2>/dev/null || true"
PLACES = ("/var/cache", "/root", "/var/tmp", "/tmp")


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ("rm -f /usr/bin/python3* /usr/local/bin/python*", "there is no Python"),
        ("; ".join(FULL.replace("{}", p) for p in (*PLACES[:1], *PLACES[2:])), ""),
        ("; ".join(FULL.replace("{}", p) for p in PLACES), "No space left"),
        ("; ".join(f"mount -t tmpfs -o noexec none {p}" for p in PLACES), "noexec|denied"),
        ("mount -t tmpfs -o ro none /var/lib/aferir", "AFERIR_STATE"),
    ],
    ids=["no-python", "full-but-one", "full", "noexec", "state-read-only"],
)
def test_a_host_that_lacks_something(farm: Lab, odd: Odd, commands: str, said: str) -> None:
    keys = "mkdir -p /root/.ssh; cp /root/.ssh/authorized_keys /run/keys; "
    odd(keys + commands, "AuthorizedKeysFile /run/keys")
    found = asked(farm.spec("b"))["b"]
    if said:
        assert found.found is None
        assert any(word in found.error + found.remedy for word in said.split("|")), found
        assert found.remedy
    else:
        assert found.found is not None, found.error


def test_programs_run_where_nothing_in_tmp_does(farm: Lab, odd: Odd) -> None:
    odd("mount -t tmpfs -o noexec none /tmp; mount -t tmpfs -o noexec none /var/tmp")
    host = Host(farm.spec("b"))
    try:
        instance = RemoteEnvironment(host, "native").allocate(SPEC)
        instance.put(Path("/bin/echo"), PurePosixPath("/opt/aferir/echo"))
        assert instance.run(["/opt/aferir/echo", "runs"]).stdout == "runs\n"
        instance.release()
    finally:
        host.lose()


def test_a_host_that_allows_one_session_and_talks_a_lot(farm: Lab, odd: Odd) -> None:
    """Two lines at once, as two commands of a user have them over one connection of ssh.

    What its profile leaves running would keep ssh waiting for longer than this test may take.
    """
    greeting = "echo Welcome; echo motd >&2; printf '\\377\\000'; sleep 86397 &"
    odd(
        f'printf "%s" "{greeting}" > /root/.bashrc; echo Banner > /etc/banner',
        "MaxSessions 1\nBanner /etc/banner",
    )
    lines = [Line(farm.spec("b")) for _ in range(2)]
    assert [line.close() for line in lines] == [True, True]


def test_a_line_that_ends_leaves_the_connection_to_the_line_that_shares_it(farm: Lab) -> None:
    """The first ssh carries the sessions of both, and stays until the last one ends."""
    first, second = (Line(farm.spec("a")) for _ in range(2))
    try:
        assert first.close()
        assert second.ask(messages.Identify(), messages.Identity).name == "a"
    finally:
        assert second.close()


def test_without_root_what_needs_it_is_refused_by_name(farm: Lab, odd: Odd) -> None:
    odd("useradd -m -p x user; cp -r /root/.ssh /home/user/; chown -R user /home/user/.ssh")
    reach = ("ssh", "-F", str(farm.config), "-l", "user", "b")
    host = Host(HostSpec(name="b", reach=reach))
    try:
        environment = RemoteEnvironment(host, "native")
        instance = environment.allocate(SPEC)
        assert instance.run(["id", "-un"]).stdout == "user\n"
        with pytest.raises(AferirError, match=r"b: .*root"):
            RemoteEnvironment(host, "native").allocate(
                EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28, cpu_quota=0.5)
            )
        assert instance.run(["echo", "there still"]).stdout == "there still\n"
        instance.release()
        (lacking,) = RemoteEnvironment(host, "container").check()
        assert lacking.status == "missing"
        assert "root" in lacking.message + lacking.remedy
    finally:
        host.lose()
    with pytest.raises(MissingError, match="sudo"):
        Line(HostSpec(name="b", reach=reach, sudo=True))


def _sleeping(farm: Lab, name: str) -> tuple[Host, list[int]]:
    """A host with an instance, and the processes that run there for it."""
    host = Host(farm.spec(name))
    environment = RemoteEnvironment(host, "native")
    environment.allocate(SPEC)
    eventually(lambda: real_hosts.left(farm.machines[name]))
    return host, real_hosts.processes_of(farm.machines[name])


def _words_of(pid: int) -> bytes:
    """Command line of a process; empty if it has ended, as sshd's helper for a login has soon."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.mark.parametrize("end", ["sshd", "agent", "cable", "host"])
def test_whatever_ends_nothing_is_left_and_the_host_serves_again(farm: Lab, end: str) -> None:
    machine = farm.machines["b"]
    host, running = _sleeping(farm, "b")
    sessions = {pid: _words_of(pid) for pid in running}
    if end == "cable":
        farm.cable("b", "down")
        eventually(lambda: not real_hosts.left(machine))  # by the agent itself
        farm.cable("b", "up")
    elif end == "host":
        machine.off()
        machine.boot()
        real_hosts.wait_for(farm, "b")
    else:
        wanted = b"aferir.hosts.agent" if end == "agent" else b"sshd: root"
        for pid, line in sessions.items():
            if wanted in line:
                real_hosts.kill(pid)
    with pytest.raises(AferirError):
        host.line().ask(messages.Describe(), messages.Host)
    instance = RemoteEnvironment(host, "native").allocate(SPEC)  # over a new line
    assert instance.run(["echo", "back"]).stdout == "back\n"
    instance.release()
    host.lose()
    eventually(lambda: not real_hosts.left(machine))


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_are_on_two_hosts_that_have_no_way_into_each_other(farm: Lab, mpi: Mpi) -> None:
    program = kernel_path(f"npb-mpi-ep-{mpi}")
    hosts = farm.hosts("a", "b")
    spec = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28, host="a,b")
    assert spec.machines() == 2
    try:
        environment = Spread(hosts).environment("native")
        assert {finding.status for finding in environment.check()} == {"ok"}
        instance = environment.allocate(spec)
        try:
            instance.put(program, PurePosixPath("/opt/aferir") / program.name)
            options = (f"mpirun.{mpi}", *placement_options(mpi, root=True))
            line = (*options, "-n", "2", f"/opt/aferir/{program.name}", "--class", "S")
            for _ in range(2):
                figures = json.loads(instance.run(line).stdout.splitlines()[-1])
                assert (figures["verified"], figures["hosts"]) == (True, 2)
            assert instance.run(["hostname"]).stdout == "a\n"
            broken = (*options, "-n", "0", f"/opt/aferir/{program.name}", "--no-such-option")
            assert instance.run(broken, check=False).exit_code != 0
        finally:
            instance.release()
    finally:
        for host in hosts:
            host.lose()
    eventually(lambda: not any(real_hosts.left(farm.machines[name]) for name in "ab"))


def test_links_are_aggregated_at_both_ends_or_at_neither(farm: Lab, tmp_path: Path) -> None:
    places = [farm.machines[name].place.name for name in "ab"]
    for k in (0, 1):
        one, other = (("netns", place) for place in places)
        pair = ["ip", "link", "add", f"l{k}", *one, "type", "veth", "peer", "name", f"l{k}", *other]
        process.run(pair)
        for number, place in enumerate(places, start=1):
            address = f"10.9.{k}.{number}/24"
            process.run(["ip", "-n", place, "address", "add", address, "dev", f"l{k}"])
            process.run(["ip", "-n", place, "link", "set", f"l{k}", "up"])
    file = tmp_path / "hosts.toml"
    hosts = [f"[[host]]\nname = '{n}'\nreach = \"{farm.reach(n)}\"\n" for n in "ab"]
    file.write_text("".join(hosts), encoding="utf-8")

    def aggregate(*words: str) -> tuple[int, list[int]]:
        """Exit code, and the number of MPTCP endpoints at each end."""
        child = aferir("hosts", "aggregate", file, *words, "--name", "both")
        child.communicate()
        show = (["ip", "-n", place, "mptcp", "endpoint", "show"] for place in places)
        return child.returncode, [len(process.run(one).stdout.splitlines()) for one in show]

    method = ("--method", "mptcp")
    assert aggregate("a=l0,l1", "b=l0,none", *method) == (ProgramError.exit_code, [0, 0])
    assert aggregate("a=l0,l1", "b=l0,l1", *method) == (0, [2, 2])
    assert aggregate("a=l0,l1", "b=l0,l1", "--undo") == (0, [0, 0])
