"""I/O by level and time by layer, from texts of the kernel and of `io-account`."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.model.record import Sample
from aferir.probes import account, frequency, perf_stat
from aferir.probes.base import Snapshot, of_tenant
from aferir.probes.io import IoProbe, Spent, parse_blkio, parse_io, parse_stat, spent

FIXTURES = Path(__file__).parent / "fixtures"
IO = "rchar: 100\nwchar: 20\nsyscr: 3\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 0\n"


def by_name(samples: tuple[Sample, ...]) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples}


def stat_line(name: str, *, user: int, system: int, guest: int) -> str:
    fields = ["0"] * 50
    fields[11], fields[12], fields[40] = str(user), str(system), str(guest)
    return f"7 ({name}) " + " ".join(fields)


def test_io_of_several_processes_is_added_up() -> None:
    assert parse_io(IO + IO)["rchar"] == 200
    assert parse_io("rchar: x\nnonsense") == {}


def test_volume_is_what_ended_children_and_the_instances_first_process_moved() -> None:
    before: Snapshot = {"children:io": IO, "process:io": IO}
    after: Snapshot = {
        "children:io": IO.replace("100", "612"),
        "process:io": IO.replace("20", "532"),
    }
    found = by_name(IoProbe().samples(before, after, 1.0, "host"))
    assert (found["program_read_bytes"], found["program_write_bytes"]) == (512, 512)
    assert found["cache_read_bytes"] == 0


def test_what_we_write_ourselves_is_no_volume_of_a_guest() -> None:
    line = stat_line("qemu-system-x86", user=0, system=0, guest=0)
    before: Snapshot = {"process:stat": line, "children:io": IO, "process:io": IO}
    after = {**before, "children:io": IO.replace("100", "999")}
    assert by_name(IoProbe().samples(before, after, 1.0, "host"))["program_read_bytes"] == 0


def test_a_guests_time_is_no_time_of_its_emulator() -> None:
    assert parse_stat(stat_line("a b) c", user=300, system=50, guest=200), 100) == Spent(1, 0.5, 2)


def test_what_stands_for_an_emulated_guests_processors_is_its_guests_time() -> None:
    files = {
        "process:stat": stat_line("qemu-system-x86", user=300, system=50, guest=0),
        "process:processors": "\n".join(
            stat_line("qemu-system-x86", user=user, system=9, guest=0) for user in (150, 100)
        ),
    }
    assert spent(files, 100) == Spent(0.5, 0.5, 2.5)
    files["process:stat"] = stat_line("qemu-system-x86", user=300, system=50, guest=200)
    assert spent(files, 100) == Spent(1, 0.5, 2)


def test_a_guest_and_its_emulator_are_looked_at_over_the_same_time() -> None:
    line = stat_line("qemu-system-x86", user=100, system=0, guest=0)
    inside = "cpu 100 0 50 0 0 0 0 0 0 0\n"
    before: Snapshot = {
        "process:stat": line,
        "/proc/stat": inside,
        of_tenant("/proc/stat", 2): inside,
    }
    after = {
        **before,
        "process:stat": line.replace("100", "400"),
        "/proc/stat": inside.replace("100", "200"),
        of_tenant("/proc/stat", 2): inside.replace("50", "250"),
    }
    found = by_name(IoProbe().samples(before, after, 1.0, "instance"))
    assert (found["guest_user_s"], found["guest_system_s"]) == (1.0, 2.0)
    assert found["instance_user_s"] == 3.0
    container = {"process:stat": stat_line("aferir-container", user=5, system=5, guest=0)}
    assert IoProbe().samples(container, container, 1.0, "instance") == ()


def test_the_parts_of_a_control_groups_time_are_scaled_to_its_exact_sum() -> None:
    usage = "cgroup:cpuacct/cpuacct.usage"
    files = {usage: "4000000000\n", f"{usage}_user": "1000000000", f"{usage}_sys": "1000000000"}
    assert spent(files, 100) == Spent(2.0, 2.0)


def test_version_2_and_ended_children_tell_the_time_too() -> None:
    text = "usage_usec 3000000\nuser_usec 1000000\nsystem_usec 2000000\n"
    assert spent({"cgroup:unified/cpu.stat": text}, 100) == Spent(1.0, 2.0)
    assert spent({"children:rusage": "1.5 0.5"}, 100) == Spent(1.5, 0.5)
    assert spent({}, 100) is None


def test_a_groups_operations_are_those_of_all_devices() -> None:
    assert parse_blkio("8:0 Read 3\n8:0 Write 1\n7:0 Read 2\nTotal 6\n") == {"Read": 5, "Write": 1}


def test_paged_volume_is_counted_in_kibibytes() -> None:
    before, after = {"/proc/vmstat": "pgpgin 1\npgpgout 2\n"}, {"/proc/vmstat": "pgpgin 3\n"}
    assert by_name(IoProbe().samples(before, after, 1.0, "host")) == {"paged_in_bytes": 2048}


def document(**changes: object) -> str:
    fields: dict[str, object] = {
        "program": "io-account",
        "verified": True,
        "duration_s": 10.0,
        "cpus": 2,
        "all": {"user_s": 5, "system_s": 5, "guest_s": 0, "idle_s": 10, "looks": 1000},
        "target": {"user_s": 4, "system_s": 4, "guest_s": 0, "idle_s": 0, "looks": 400},
        "lost": 0,
        "look_cost_s": 1e-5,
        "frequency": {"looks": 3, "mean_hz": 3e9, "least_hz": 2.9e9, "most_hz": 3.1e9},
        "cycles": None,
        "block": {"reads": 1, "writes": 2, "others": 0},
        "own_cpu_s": 0.02,
    }
    return json.dumps({**fields, **changes})


def test_watching_costs_its_own_time_and_what_its_looks_took() -> None:
    found = account.parse('{"program":"io-account","ready":true}\n' + document())
    assert found is not None
    assert found.cost_share == pytest.approx((0.02 + 1000e-5) / 10)
    figures = by_name(account.samples(found))
    assert figures["issued_write_operations"] == 2
    assert figures["core_frequency_during_hz"] == 3e9
    assert "counted_user_cycles" not in figures


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", document(verified=False), "{" * 9999])
def test_what_is_no_account_is_none(text: str) -> None:
    assert account.parse(text) is None


def test_a_frequency_that_two_chains_do_not_agree_on_is_none() -> None:
    assert frequency.parse('{"frequency_hz": 3e9, "add_frequency_hz": 3.01e9}') == 3e9
    assert frequency.parse('{"frequency_hz": 3e9, "add_frequency_hz": 1e9}') is None


def test_the_manuals_example_of_perf_stat_is_read() -> None:
    counts = perf_stat.parse((FIXTURES / "perf-stat-manual.txt").read_text(encoding="utf-8"))
    assert counts["cycles:u"] == 229_570_665_834
    assert counts["branches:u"] == 69_704_684_856
    assert counts["cycles:u"] / counts["task-clock:u"] / 1e6 == pytest.approx(2.742, abs=5e-4)
    assert not any("elapsed" in name or name == "user" for name in counts)


def test_recordings_of_a_machine_without_counters_have_no_cycles() -> None:
    for name in ("perf-stat-no-counters.csv", "perf-stat-no-counters.jsonl"):
        counts = perf_stat.parse((FIXTURES / name).read_text(encoding="utf-8"))
        assert counts["task-clock"] > 0
        assert "context-switches" in counts
        assert perf_stat.cycles(counts) is None


def test_columns_before_the_count_do_not_matter() -> None:
    line = "700,,cycles:u,1000,100.00,,"
    time = "     1.000201001"
    for text in (
        line,
        f"{time},{line}",
        f"CPU0,{line}",
        f"{time},S0,2,{line}",
        f"S0-D0-C1,2,{line}",
    ):
        assert perf_stat.parse(text) == {"cycles:u": 700.0}
        assert perf_stat.parse(text.replace(",", ";")) == {"cycles:u": 700.0}


def test_counts_of_intervals_processors_and_kinds_of_cores_are_added() -> None:
    times = "".join(f"{second}.000201001,{second}00,,cycles:u,1000,100.00,,\n" for second in (1, 2))
    assert perf_stat.parse(times) == {"cycles:u": 300.0}
    each = (
        "CPU0,7,,cycles:k,9,100.00,,",
        "CPU1,<not counted>,,cycles:k,0,0,,",
        "CPU2,8,,cycles:k,9,1,,",
    )
    assert perf_stat.parse("\n".join(each)) == {"cycles:k": 15.0}
    kinds = "40,,cpu_core/cycles/u,9,1,,\n2,,cpu_atom/cycles/u,9,1,,\n9,,cpu_core/cycles/k,9,1,,"
    assert perf_stat.parse(kinds) == {"cycles:u": 42.0, "cycles:k": 9.0}
    assert perf_stat.parse("7,,cycles [cpu_core],9,1,,") == {"cycles": 7.0}
    kinds = re.sub(r"/(\w),", r":\1/,", kinds)  # as perf names `cycles:u` itself
    assert perf_stat.parse(kinds) == {"cycles:u": 42.0, "cycles:k": 9.0}
    lines = [
        '{"interval" : 1.0, "counter-value" : "7.000000", "unit" : "", "event" : "cycles:u"}',
        '{"interval" : 2.0, "cpu" : "1", "counter-value" : "8.000000", "event" : "cycles:u"}',
    ]
    assert perf_stat.parse("\n".join(lines)) == {"cycles:u": 15.0}


def test_repeated_runs_have_a_variance_that_is_no_control_group() -> None:
    assert perf_stat.parse("700,,cycles:u,0.50%,1000,100.00,,") == {"cycles:u": 700.0}
    with pytest.raises(perf_stat.PerfStatError, match="control groups"):
        perf_stat.parse("700,,cycles:u,system.slice/a.service,1000,100.00,,")
    with pytest.raises(perf_stat.PerfStatError, match="control groups"):
        perf_stat.parse(
            "  700      cycles:u     a.service    #  2 GHz\n 1.000000000 seconds time elapsed"
        )


GERMAN = """
      83723,452481      task-clock:u (msec)       #    1,004 CPUs utilized
             3.188      page-faults:u             #    0,039 M/sec
   229.570.665.834      cycles:u                  #    2,742 GHz        ( +-  0,5% )

      83,409183620 seconds time elapsed
"""


@pytest.mark.parametrize("group", [".", "\u202f", "\u00a0", ""])
def test_a_table_of_another_locale_is_read(group: str) -> None:
    counts = perf_stat.parse(re.sub(r"(?<=\d)\.(?=\d)", group, GERMAN))
    assert counts["task-clock:u"] == pytest.approx(83723.452481)
    assert counts["page-faults:u"] == 3188
    assert counts["cycles:u"] == 229_570_665_834


@pytest.mark.parametrize(
    "text",
    [
        "83723,452481,msec,task-clock:u,1000,100.00,,",  # a decimal comma in columns of commas
        "1,000201001,700,,cycles:u,1000,100.00,,",
        "make-77,700,,cycles:u,1000,100.00,,",
        "   788.234      cycles:k\n",
        "   1.5 msec task-clock\n   1,5      cycles:k\n",
        '{"counter-value" : "7,000000", "event" : "cycles:u"}',
    ],
)
def test_what_may_be_one_of_two_numbers_is_refused(text: str) -> None:
    with pytest.raises(perf_stat.PerfStatError):
        perf_stat.parse(text)


def test_perf_is_asked_for_what_can_be_read_in_one_way() -> None:
    words, variables = perf_stat.command(("task-clock", "cycles:u"), ("true",))
    assert words[:3] == ["perf", "stat", "-j"]
    assert variables == {"LC_ALL": "C"}


def test_either_part_of_the_cycles_follows_from_the_other_and_the_sum() -> None:
    assert perf_stat.cycles({"cycles:u": 5, "cycles:k": 3}) == (5, 3)
    assert perf_stat.cycles({"cycles": 8, "cycles:k": 3}) == (5, 3)
    assert perf_stat.cycles({"cycles": 8}) is None


@given(
    st.lists(
        st.sampled_from(
            [
                *("1", "700", "1.000201001", ",", ",,", ";", ".", " ", "cycles:u", "msec", "CPU0"),
                *("<not counted>", "100.00", "\n", "seconds time elapsed", "0.5%", "\u202f", "# 2"),
            ]
        ),
        max_size=20,
    )
)
def test_no_mixture_of_its_words_breaks_the_reader_of_perf(words: list[str]) -> None:
    with contextlib.suppress(perf_stat.PerfStatError):
        assert all(value >= 0 for value in perf_stat.parse("".join(words)).values())


@given(st.text())
def test_no_text_breaks_a_reader(text: str) -> None:
    with contextlib.suppress(perf_stat.PerfStatError):
        perf_stat.parse(text)
    parse_io(text)
    parse_blkio(text)
    account.parse(text)
