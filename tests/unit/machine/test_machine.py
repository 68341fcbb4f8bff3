from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir import machine
from aferir.linux import process
from aferir.machine import capabilities, facts, own_group, packages, parse, privileges

XEON = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model name\t: Intel(R) Xeon(R) Processor @ 2.70GHz
flags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm
bugs\t\t: spectre_v1

processor\t: 1
model name\t: another
"""
GRAVITON = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm
CPU implementer\t: 0x41
CPU part\t: 0xd0c
"""


def test_the_first_processor_is_read() -> None:
    found = parse.processor(XEON)
    assert found.model == "Intel(R) Xeon(R) Processor @ 2.70GHz"
    assert found.hypervisor
    assert "bugs" not in found.flags


def test_an_arm_processor_has_no_name_but_numbers() -> None:
    found = parse.processor(GRAVITON)
    assert found.model == "0x41 0xd0c"
    assert not found.hypervisor
    assert found.flags == ("fp", "asimd", "evtstrm")


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\ncpu\t\t: POWER9, altivec\nclock\t: 2166MHz\n", "POWER9, altivec"),
        ("processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n", "sifive,u74-mc"),
        ("vendor_id : IBM\nprocessor 0: version = FF,  machine = 8561\n", "s390 8561"),
        ("", "unknown"),
    ],
    ids=["POWER", "RISC-V", "s390", "nothing"],
)
def test_processors_of_other_architectures_have_other_keys(cpuinfo: str, model: str) -> None:
    assert parse.processor(cpuinfo).model == model


def test_memory_is_in_bytes() -> None:
    text = "MemTotal:       24684096 kB\nSwapTotal:             0 kB\nHugePages_Total:       3\n"
    assert parse.meminfo_bytes(text) == 24684096 * 1024
    assert parse.meminfo_bytes(text, "SwapTotal") == 0
    assert parse.meminfo_bytes(text, "Missing") == 0


@pytest.mark.parametrize(
    ("text", "size"), [("32K", 32768), ("1M\n", 2**20), ("7", 7), ("", 0), ("K", 0), ("1.5M", 0)]
)
def test_sizes_of_caches(text: str, size: int) -> None:
    assert parse.size_bytes(text) == size


@given(st.sets(st.integers(0, 300)))
def test_any_set_of_cpus_is_read_back(cpus: set[int]) -> None:
    assert parse.cpu_list(_kernel_list(sorted(cpus))) == tuple(sorted(cpus))


def _kernel_list(cpus: list[int]) -> str:
    ranges: list[list[int]] = []
    for cpu in cpus:
        if ranges and cpu == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, part)) for part in ranges) + "\n"


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    parse.processor(text)
    parse.meminfo_bytes(text)
    parse.size_bytes(text)
    parse.cpu_list(text)
    parse.key_values(text)
    parse.chosen(text)
    parse.steal_s(text, 100)
    parse.load(text)


def test_os_release_loses_its_quotes() -> None:
    text = '# comment\nID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
    assert parse.key_values(text) == {
        "ID": "debian",
        "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)",
    }


def test_the_chosen_word_is_in_brackets() -> None:
    assert parse.chosen("always [madvise] never\n") == "madvise"
    assert parse.chosen("performance\n") == "performance"


def test_steal_is_the_eighth_number() -> None:
    assert parse.steal_s("cpu  10 20 30 40 50 60 70 350 0 0\ncpu0 1 2\n", 100) == 3.5
    assert parse.steal_s("cpu  10 20 30\n", 100) == 0.0


@pytest.mark.parametrize(
    ("dmi", "hypervisor", "container", "kvm_clock", "who"),
    [
        ("QEMU Standard PC (Q35 + ICH9, 2009)", True, "", True, "qemu"),
        ("Amazon EC2 m5.large", True, "", True, "amazon"),
        ("innotek GmbH VirtualBox", True, "", True, "virtualbox"),
        ("Dell Inc. PowerEdge R640", False, "", False, "none"),
        ("", True, "", True, "kvm"),
        ("", True, "", False, "unknown"),
        ("QEMU Standard PC", True, "lxc", True, "lxc"),
    ],
)
def test_the_hypervisor_of_a_machine(
    dmi: str, hypervisor: bool, container: str, kvm_clock: bool, who: str
) -> None:
    found = parse.virtualisation(
        dmi, hypervisor=hypervisor, container=container, kvm_clock=kvm_clock
    )
    assert found == who


def test_the_remedy_is_a_command_line_that_can_be_pasted() -> None:
    assert packages.command(["lxc", "uidmap"], "sudo ", has_apt=True, has_dnf=False) == (
        "sudo apt-get install --no-install-recommends -y lxc uidmap"
    )
    assert "dnf provides" in packages.command(["lxc"], "", has_apt=False, has_dnf=True)
    assert "Debian or Ubuntu" in packages.command(["lxc"], "", has_apt=False, has_dnf=False)


def test_mmdebstrap_comes_with_the_keys_to_trust_a_mirror() -> None:
    assert "debian-archive-keyring" in packages.install_command(["mmdebstrap"])
    assert packages.missing(["sh", "no-such-program-anywhere"]) == ["no-such-program-anywhere"]


def test_where_debian_has_no_package_the_remedy_is_a_page() -> None:
    said = packages.install_command(["apptainer"])
    assert "https://apptainer.org/" in said
    assert packages.named_in(said) == ()


def test_this_machine_is_described_as_json() -> None:
    found = machine.describe()
    again = msgspec.json.decode(msgspec.json.encode(found))
    assert again["machine"]["cpus"] >= 1
    assert again["machine"]["memory_bytes"] > 2**26
    assert again["software"]["python"].startswith("3.")


def test_the_commit_of_a_work_tree_says_whether_files_were_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = process.run(["git", *who, *arguments], directory=tmp_path)
        return done.stdout.strip()

    assert facts.git_revision(tmp_path) == ""
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/file").write_text("one", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    commit = git("rev-parse", "HEAD")
    assert facts.git_revision(tmp_path / "inside") == commit
    (tmp_path / "inside/file").write_text("two", encoding="utf-8")
    assert facts.git_revision(tmp_path / "inside") == f"{commit}-dirty"


def test_a_folder_that_was_removed_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert facts.git_revision(Path()) == ""
    monkeypatch.chdir(tmp_path)


def test_a_quiet_bare_machine_has_nothing_to_complain_of() -> None:
    quiet = msgspec.structs.replace(
        facts.collect(),
        virtualisation="none",
        clock_source="tsc",
        frequency_governor="performance",
        load=(0.0, 0.0, 0.0),
        steal_s=0.0,
        ksm=False,
        cgroups="v2",
        own_group="",
        limits=own_group.Limits(),
    )
    assert {finding.status for finding in capabilities.findings(quiet)} == {"ok"}


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        ({"virtualisation": "kvm"}, "virtualisation"),
        ({"clock_source": "hpet"}, "clock"),
        ({"frequency_governor": "powersave"}, "frequency"),
        ({"cpus": 2, "load": (1.5, 0.0, 0.0)}, "load"),
        ({"cpus": 2, "steal_s": 50.0, "uptime_s": 1000.0}, "steal"),
        ({"ksm": True}, "ksm"),
        ({"cgroups": "none"}, "cgroups"),
        ({"own_group": "batch, which is idle"}, "own-group"),
    ],
)
def test_what_spoils_results_is_said_with_a_remedy(change: dict[str, object], subject: str) -> None:
    noisy = msgspec.structs.replace(facts.collect(), **change)
    found = [f for f in capabilities.findings(noisy) if f.subject == subject]
    assert [f.status for f in found] in (["degraded"], ["missing"])
    assert found[0].remedy


def test_caches_of_the_last_level_count_once_however_many_cpus_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "_CPU", tmp_path)
    assert facts.last_level_caches_bytes() == 0
    caches = {
        ("cpu0", "index0"): ("1", "Instruction", "64K", "1"),
        ("cpu0", "index2"): ("2", "Unified", "2M", "1"),
        ("cpu0", "index3"): ("3", "Unified", "32M", "3"),
        ("cpu1", "index3"): ("3", "Unified", "32M", "3"),
        ("cpu10", "index3"): ("3", "Unified", "16384K", "4"),
    }
    for (cpu, index), values in caches.items():
        folder = tmp_path / cpu / "cache" / index
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_map"), values, strict=True):
            (folder / name).write_text(f"{value}\n")
    assert facts.last_level_caches_bytes() == 48 * 2**20


def test_the_command_for_root_keeps_its_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/venv/bin/aferir", "measure", "--in", "podman network=none"])
    assert privileges.as_root_command() == (
        "sudo /venv/bin/aferir measure --in 'podman network=none'"
    )
