"""System packages that a clone needs are installed with retries, or a message names them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.checkout import ROOT

SCRIPT = ROOT / "scripts/system-packages"
TOOLS = (
    *("sh", "awk", "cat", "date", "env", "grep", "head", "mkdir"),
    *("mktemp", "printf", "rm", "sed", "tail", "tr"),
)
RELEASES = {
    "debian 12": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "debian 13": 'ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    "ubuntu 22.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5"\n',
    "ubuntu 24.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.1"\n',
    "fedora": "ID=fedora\nVERSION_ID=41\n",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "arch": "ID=arch\n",
    "suse": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
}
APT_GET = """echo "$*" >> asked
case "$1" in $AT_WORK) ;; *) exit 0 ;; esac
[ "$(grep -c . slept 2> /dev/null || true)" -ge "$FOR_SLEEPS" ] && exit 0
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1234 ($AT_WORK_IS)" >&2
exit 100
"""
APT_CACHE = """shift
for one; do
  version=1.0-1
  for left_out in $NOT_IN_ARCHIVE; do [ "$one" = "$left_out" ] && version='(none)'; done
  printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n  Version table:\\n' "$one" "$version"
done
"""
DPKG_QUERY = """for one; do :; done
case " $INSTALLED " in *" $one "*|*" all "*) echo "install ok installed" ;; *) exit 1 ;; esac
"""


class Machine:
    """A folder with the programs that the script may use: real ones, and some in their place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs = folder / "bin"
        self._programs.mkdir()
        for name in TOOLS:
            real = shutil.which(name)
            assert real is not None
            (self._programs / name).symlink_to(real)
        self.program("id", "echo 0\n")
        self.program("sleep", 'echo "$1" >> slept\n')

    def program(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def run(self, release: str, *words: str, status: int = 0, **variables: str) -> str:
        """What the script prints there."""
        (self._folder / "os-release").write_text(RELEASES[release], encoding="utf-8")
        settings = {"AT_WORK": "nobody", "AT_WORK_IS": "", "FOR_SLEEPS": "0", "INSTALLED": ""}
        done = subprocess.run(
            [str(SCRIPT), *words],
            cwd=self._folder,
            env={
                **settings,
                "NOT_IN_ARCHIVE": "",
                "PATH": str(self._programs),
                "OS_RELEASE": str(self._folder / "os-release"),
                **variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout

    def lines(self, name: str) -> list[str]:
        """Lines of a file that the programs have written."""
        path = self._folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def forget(self, name: str) -> None:
        (self._folder / name).unlink()

    def installed(self) -> list[str]:
        """Packages that were asked for, in one go."""
        (line,) = (line for line in self.lines("asked") if line.startswith("install"))
        return [word for word in line.split()[1:] if not word.startswith("-")]


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def machine(bare: Machine) -> Machine:
    for name, text in {
        "apt-get": APT_GET,
        "apt-cache": APT_CACHE,
        "dpkg-query": DPKG_QUERY,
    }.items():
        bare.program(name, text)
    return bare


@pytest.mark.parametrize("release", ["debian 12", "debian 13", "ubuntu 24.04"])
def test_packages_that_are_missing_are_installed(machine: Machine, release: str) -> None:
    said = machine.run(release, "run", INSTALLED="lxc g++")
    assert machine.lines("asked")[0] == "update"
    assert {"python3-venv", "python3-dev", "mmdebstrap"} <= {*machine.installed()}
    assert not {"lxc", "g++", "nginx-light"} & {*machine.installed()}
    assert "Installing system packages: python3-venv" in said


def test_what_tests_need_comes_with_dev(machine: Machine) -> None:
    machine.run("debian 12", "dev")
    assert {"g++", "user-mode-linux", "nginx-light", "nbdkit-plugin-python"} <= {
        *machine.installed()
    }
    assert "jq" not in machine.installed()


def test_what_pages_use_comes_with_docs(machine: Machine) -> None:
    machine.run("debian 12", "docs")
    assert {"g++", "libopenmpi-dev", "nginx-light", "jq", "redis-server"} <= {*machine.installed()}


def test_what_kernels_are_compiled_with_comes_first_and_the_rest_apart(machine: Machine) -> None:
    parts = {}
    for part in ("build", "rest", "all"):
        machine.run("debian 12", "dev", part)
        parts[part] = machine.installed()
        machine.forget("asked")
    assert {"g++", "libopenmpi-dev", "libmariadb-dev"} <= {*parts["build"]}
    assert parts["build"] + parts["rest"] == parts["all"]


def test_where_nothing_is_missing_nothing_is_asked_for(machine: Machine) -> None:
    assert machine.run("debian 12", "dev", INSTALLED="all") == ""
    assert machine.lines("asked") == []


def test_ubuntu_22_04_gets_a_python_that_is_new_enough(machine: Machine) -> None:
    machine.run("ubuntu 22.04", "run")
    assert {"python3.11-venv", "python3.11-dev"} <= {*machine.installed()}
    assert not {"python3-venv", "python3-dev"} & {*machine.installed()}


def test_what_the_archive_lacks_is_left_out_and_said(machine: Machine) -> None:
    said = machine.run("ubuntu 24.04", "dev", NOT_IN_ARCHIVE="lxd user-mode-linux")
    assert "not in the archive of Ubuntu 24.04.1, and left out: user-mode-linux lxd" in said
    assert not {"lxd", "user-mode-linux"} & {*machine.installed()}
    assert "memcached" in machine.installed()


@pytest.mark.parametrize("step", ["update", "install"])
def test_whoever_is_at_the_packages_is_waited_for_and_named_once(
    machine: Machine, step: str
) -> None:
    said = machine.run(
        "ubuntu 22.04", "run", AT_WORK=step, AT_WORK_IS="unattended-upgr", FOR_SLEEPS="3"
    )
    assert said.count("waiting for process 1234 (unattended-upgr)") == 1
    assert machine.lines("slept") == ["5", "5", "5"]
    assert [line.split()[0] for line in machine.lines("asked")].count(step) == 4
    assert "done in" in said


def test_whoever_never_ends_is_waited_for_half_an_hour(machine: Machine) -> None:
    said = machine.run(
        "debian 12", "run", status=1, AT_WORK="update", AT_WORK_IS="apt", FOR_SLEEPS="1000"
    )
    assert sum(map(int, machine.lines("slept"))) == 1800
    assert "process 1234 (apt) still holds the packages after 1800 s" in said
    assert "failed" in said


def test_a_failure_of_another_kind_is_not_waited_for(machine: Machine) -> None:
    machine.program("apt-get", "echo 'E: Unable to locate package' >&2; exit 100\n")
    assert "E: Unable to locate package" in machine.run("debian 12", "run", status=1)
    assert machine.lines("slept") == []


def test_without_root_it_is_said_what_to_type(machine: Machine) -> None:
    machine.program("id", "echo 1000\n")
    said = machine.run("debian 12", "run")
    assert "sudo apt-get install --no-install-recommends g++ python3-venv" in said
    assert machine.lines("asked") == []


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("fedora", ("dnf install gcc-c++", "nbdkit-python-plugin nbdfuse")),
        ("rocky", ("dnf install gcc-c++", "nbdkit-python-plugin nbdfuse")),
        ("arch", ("pacman -S --needed gcc", "libnbd fuse3, and nbdkit")),
        ("suse", ("install a C++ compiler", "nbdfuse of libnbd")),
    ],
)
def test_elsewhere_it_is_said_once_what_to_install(
    bare: Machine, release: str, words: tuple[str, ...]
) -> None:
    said = bare.run(release, "dev", "build")
    assert all(one in said for one in words)
    assert bare.run(release, "dev", "rest") == ""
