"""The network programs: parameters, commands, and parsers that survive any text."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.errors import ProgramError, UnverifiedError
from aferir.linux import ports, process
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Program
from aferir.programs.network.ends import both_ends
from aferir.programs.network.iperf3 import IPERF3
from aferir.programs.network.netpipe import (
    NETPIPE,
    NetpipeParameters,
    netpipe_options,
    parse_points,
)
from aferir.programs.network.sweep import NETWORK
from tests.unit.programs.taking import command_of, wrong_with

SIZES: list[dict[str, object]] = [
    {
        "message_bytes": size,
        "rounds": 100,
        "latency_s": 1e-5 * size,
        "median_latency_s": 1.1e-5 * size,
        "throughput_bps": 1e5,
        "min_s": 0.9e-5 * size,
        "p50_s": 1e-5 * size,
        "p90_s": 1.2e-5 * size,
        "there_s": 0.9e-5,
        "back_s": 1.1e-5,
    }
    for size in (1, 2, 4)
]
SWEEP: dict[str, object] = {
    "program": "net-sweep",
    "transport": "tcp",
    "mode": "blocking",
    "verified": True,
    "duration_s": 7e-5,
    "sizes": [*SIZES, {**SIZES[0], "message_bytes": 8, "p99_s": 2e-5}],
}
# What NPopenmpi 3.7.2 printed over loopback; on a terminal its progress comes in between.
NETPIPE_TABLE = """Sending output to /dev/stdout
0: host
       1 0.268782   0.00002839
  1:       2 bytes     20 times -->       2 0.478346   0.00003190
    0.48 Mbps in      31.90 usec
     128 26.653053   0.00003664
"""
IPERF: dict[str, object] = {
    "intervals": [
        {"sum": {"start": 0, "end": 0.1, "bits_per_second": 8e9}},
        {"sum": {"start": 0.1, "end": 0.2, "bits_per_second": 4e9}},
    ],
    "end": {
        "sum_sent": {"seconds": 0.2, "bits_per_second": 6e9, "retransmits": 0},
        "sum_received": {"seconds": 0.25, "bits_per_second": 5.6e9},
    },
}
CASES: tuple[tuple[Program[Any], str], ...] = (
    (NETWORK, json.dumps(SWEEP)),
    (NETPIPE, NETPIPE_TABLE),
    (IPERF3, json.dumps(IPERF)),
)


def samples_of(workload: Program[Any], text: str) -> dict[str, float]:
    return {f.metric: f.value for f in workload.parse(text) if isinstance(f, Sample)}


def series_of(workload: Program[Any], text: str) -> dict[tuple[str, str], Series]:
    return {(f.metric, f.label): f for f in workload.parse(text) if isinstance(f, Series)}


def test_a_sweep_gives_curves_over_the_sizes() -> None:
    assert samples_of(NETWORK, json.dumps(SWEEP)) == {
        "duration_s": 7e-5,
        "most_throughput_bps": 1e5,
        "least_latency_s": 1e-5,
    }
    curves = series_of(NETWORK, json.dumps(SWEEP))
    assert list(curves["latency_s", ""].at) == [1, 2, 4, 8]
    assert curves["latency_s", ""].values == (1e-5, 2e-5, 4e-5, 1e-5)
    assert curves["latency_quantile_s", "p90"].values[0] == 1.2e-5
    assert curves["one_way_s", "there"].values == (0.9e-5,) * 4
    # Three sizes had too few round trips for it.
    assert list(curves["latency_quantile_s", "p99"].at) == [8]
    assert ("latency_quantile_s", "p99.9") not in curves


def test_a_stream_says_nothing_of_latency() -> None:
    text = json.dumps(SWEEP | {"mode": "stream"})
    assert set(series_of(NETWORK, text)) == {("throughput_bps", "")}
    assert "least_latency_s" not in samples_of(NETWORK, text)


def test_wrong_data_gives_no_number() -> None:
    line = {"program": "net-sweep", "verified": False, "error": "byte 3 was wrong"}
    with pytest.raises(UnverifiedError, match="byte 3"):
        NETWORK.parse(json.dumps(line))


@pytest.mark.parametrize("bad", [None, "1", True, -1.0, 0, float("nan"), 10**400, [1]])
@pytest.mark.parametrize("key", ["message_bytes", "latency_s", "throughput_bps"])
def test_a_size_without_its_figures_is_refused(key: str, bad: object) -> None:
    with pytest.raises(ProgramError):
        NETWORK.parse(json.dumps(SWEEP | {"sizes": [SIZES[0] | {key: bad}]}))


def test_netpipes_mbps_are_of_two_to_the_twentieth() -> None:
    points = parse_points(NETPIPE_TABLE)
    assert [point.bytes for point in points] == [1, 128]
    # 8 bits in 28.39 us are 281,789 bit/s.
    assert points[0].throughput_bps == pytest.approx(1 / 28.39e-6, rel=1e-3)
    assert points[1].throughput_bps == pytest.approx(128 / 36.64e-6, rel=1e-3)


def test_iperf3s_bits_become_bytes() -> None:
    assert samples_of(IPERF3, json.dumps(IPERF)) == {
        "duration_s": 0.25,
        "throughput_bps": 7e8,
        "retransmits_count": 0,
    }
    over_time = series_of(IPERF3, json.dumps(IPERF))["interval_throughput_bps", ""]
    assert list(over_time.at) == [0.1, 0.2]
    assert over_time.values == (1e9, 5e8)


def test_iperf3s_own_error_is_handed_on() -> None:
    with pytest.raises(ProgramError, match="no route"):
        IPERF3.parse(json.dumps(IPERF | {"error": "no route to host"}))


@pytest.mark.parametrize(
    ("workload", "parameters", "name"),
    [
        (NETWORK, {"transport": "udp"}, "transport"),
        (NETWORK, {"mode": "fast"}, "mode"),
        (NETWORK, {"server": "example.org"}, "server"),
        (NETWORK, {"server": "--serve"}, "server"),
        (NETWORK, {"token": "a" * 33}, "token"),
        (NETWORK, {"least_bytes": 9, "most_bytes": 8}, "least_bytes"),
        (NETWORK, {"transport": "mpi", "port": 5000}, "port"),
        (NETWORK, {"mpi": "mpich"}, "mpi"),
        (NETWORK, {"pairs": True}, "pairs"),
        (NETPIPE, {"mode": "async"}, "mode"),
        (NETPIPE, {"mode": "stream"}, "mode"),
        (IPERF3, {"reverse": 1}, "reverse"),
        (IPERF3, {"transfer_bytes": 1}, "transfer_bytes"),
    ],
)
def test_impossible_parameters_are_named(
    workload: Program[Any], parameters: dict[str, Parameter], name: str
) -> None:
    assert wrong_with(workload, parameters)[0].startswith(f"{name}: ")


def test_possible_parameters_pass() -> None:
    assert not wrong_with(NETWORK, {})
    assert not wrong_with(NETWORK, {"transport": "mpi", "mpi": "mpich", "pairs": 12})
    assert not wrong_with(NETWORK, {"server": "10.0.0.1", "port": 5025, "token": "a b"})
    assert not wrong_with(NETPIPE, {"transport": "mpi", "mode": "async"})
    assert not wrong_with(IPERF3, {"pairs": 4, "reverse": True})


def test_parameters_become_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    (tmp_path / "net-sweep").touch(mode=0o755)
    command = command_of(NETWORK, {"mode": "async", "most_bytes": 64, "server_netns": "b"})
    assert command.arguments == ("--mode", "async", "--most-bytes", "64", "--server-netns", "b")
    assert netpipe_options(
        NetpipeParameters(transport="mpi", mode="bidirectional", rounds=5)
    ) == [
        "-2", "-a", "-o", "/dev/stdout", "-l", "1", "-u", str(2**20), "-n", "5",
    ]  # fmt: skip
    assert "-a" not in netpipe_options(NetpipeParameters(mode="bidirectional"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def _figures_or_program_error(workload: Program[Any], text: str) -> None:
    try:
        figures = workload.parse(text)
    except ProgramError:
        return
    values = [f.value for f in figures if isinstance(f, Sample)]
    values += [value for f in figures if isinstance(f, Series) for value in f.values]
    assert values
    assert all(abs(value) < float("inf") for value in values)


@settings(deadline=None)
@given(changes=st.dictionaries(st.sampled_from(sorted(SWEEP)), json_values))
def test_any_sweep_gives_figures_or_a_program_error(changes: dict[str, object]) -> None:
    _figures_or_program_error(NETWORK, json.dumps(SWEEP | changes))


@settings(deadline=None)
@given(changes=st.dictionaries(st.sampled_from(sorted(SIZES[0])), json_values))
def test_any_size_gives_figures_or_a_program_error(changes: dict[str, object]) -> None:
    _figures_or_program_error(NETWORK, json.dumps(SWEEP | {"sizes": [SIZES[0] | changes]}))


@settings(deadline=None)
@given(changes=st.dictionaries(st.sampled_from(["intervals", "end", "error"]), json_values))
def test_any_result_of_iperf3_gives_figures_or_a_program_error(changes: dict[str, object]) -> None:
    _figures_or_program_error(IPERF3, json.dumps(IPERF | changes))


@settings(deadline=None)
@given(
    text=st.text()
    | st.lists(
        st.from_regex(r" *[0-9]{1,20} +[0-9]{1,20}\.[0-9]{6} +[0-9]{1,20}\.[0-9]{8}\n"), max_size=5
    ).map("".join)
)
def test_any_table_gives_figures_or_a_program_error(text: str) -> None:
    _figures_or_program_error(NETPIPE, text)


@settings(deadline=None)
@given(cut=st.integers(0, 300))
def test_a_result_that_was_cut_gives_no_wrong_number(cut: int) -> None:
    for workload, text in CASES:
        _figures_or_program_error(workload, text[:cut])


SERVER = """#!/bin/sh
read -r _ < {folder}/begin
: > {folder}/listens
exec /bin/sleep 6000
"""
CLIENT = """#!/bin/sh
if [ -e {folder}/listens ]; then echo measured; exit; fi
echo refused
echo >> {folder}/tries
if [ $(wc -l < {folder}/tries) -eq 25 ]; then echo > {folder}/begin; fi
"""


def test_a_client_that_is_refused_is_tried_again_until_the_server_listens(tmp_path: Path) -> None:
    """However late that is; the server ends with the client."""
    os.mkfifo(tmp_path / "begin")
    for name, text in (("server", SERVER), ("client", CLIENT), ("sleep", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text.format(folder=tmp_path), encoding="ascii")
        (tmp_path / name).chmod(0o755)
    command = both_ends([str(tmp_path / "server")], [str(tmp_path / "client")])
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = process.run([str(command.program), *command.arguments], environment=path)
    assert done.stdout == "measured\n"


@pytest.mark.parametrize(
    ("program", "workload", "parameters"),
    [
        ("iperf3", IPERF3, {"transfer_bytes": 2**24}),
        ("NPtcp", NETPIPE, {"most_bytes": 16, "rounds": 10}),
        ("NPopenmpi", NETPIPE, {"most_bytes": 16, "rounds": 10, "transport": "mpi"}),
    ],
)
def test_the_peers_themselves_are_read(
    program: str, workload: Program[Any], parameters: dict[str, Parameter]
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine")
    with ports.reserved() as port:
        own = {"port": port} if workload is IPERF3 else {}
        command = command_of(workload, {**parameters, **own})
        line = [str(command.program), *command.arguments]
        done = process.run(line, environment=command.environment)
    assert samples_of(workload, done.stdout)["duration_s"] > 0
