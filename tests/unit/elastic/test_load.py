"""Load of cores between two readings of their counters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir.elastic.load import Look, all_watch_s, loads
from aferir.elastic.viewers import Watched
from aferir.elastic.watching import watch
from aferir.programs.others import Others


def test_the_load_of_the_servers_core_is_that_of_where_it_ran_last() -> None:
    looks = [
        Look(0.0, {0: (0, 0), 1: (0, 0)}, 0),
        Look(1.0, {0: (50, 100), 1: (0, 100)}, 0),
        Look(2.0, {0: (50, 200), 1: (90, 200)}, 1),
    ]
    found = loads(looks)
    assert found.at_s == (1.0, 2.0)
    assert found.all_cores == pytest.approx((25.0, 45.0))
    assert found.server_core == pytest.approx((50.0, 90.0))


def test_a_core_without_a_tick_has_no_load() -> None:
    looks = [Look(0.0, {0: (5, 5)}, 0), Look(0.001, {0: (5, 5)}, 0), Look(1.0, {0: (6, 9)}, 3)]
    assert loads(looks).at_s == ()


def watched(*watching: int) -> Watched:
    given: dict[str, Any] = dict.fromkeys(Watched.__struct_fields__, 0)
    given |= dict.fromkeys(("bytes_by_second", "rates_bps", "seconds_at_rate"), ())
    given |= {"clients": max(watching), "streaming_by_second": watching}
    return Watched(**given)


def test_all_watch_from_when_the_last_has_come_until_the_first_leaves() -> None:
    one, other = watched(1, 3, 3, 3, 3, 3, 2), watched(2, 2, 2, 2, 1)
    assert all_watch_s([one], 0.5) == (2.5, 6.0)
    assert all_watch_s([one, other], 0.5) == (2.5, 4.0)
    assert all_watch_s([one, other], 3.0) is None
    assert all_watch_s([one, msgspec.structs.replace(other, clients=4)], 0.5) is None


def test_viewers_elsewhere_enter_on_the_hosts_in_turn(tmp_path: Path) -> None:
    enter = tmp_path / "enter"
    enter.write_text(
        '#!/bin/sh\nAFERIR_PROGRAMS=${0%/*}; export AFERIR_PROGRAMS; exec sh -c "$2"\n'
    )
    program = tmp_path / "video-clients"
    answer = msgspec.json.encode(
        {**msgspec.structs.asdict(watched(1)), "program": "video-clients", "verified": True}
    ).decode()
    program.write_text(f"#!/bin/sh\necho \"$*\" >> {tmp_path}/said\necho '{answer}'\n")
    for path in (enter, program):
        path.chmod(0o755)
    hosts = Others(("b", "c", "d"), "10.0.0.1", str(enter))
    running = watch(
        "http://10.0.0.1/v",
        ["--startup", "1"],
        clients=5,
        interval_s=0.01,
        limit_s=600.0,
        elsewhere=hosts,
    )
    assert len(asyncio.run(running)) == 3
    said = sorted((tmp_path / "said").read_text().splitlines())
    words = "--url http://10.0.0.1/v --startup 1 --clients {} --interval 0.030000"
    assert said == sorted(words.format(share) for share in (2, 2, 1))
