"""Search for settings that keep balance-rr from retransmitting what has arrived already.

Each change is tried alone on a test network; those that help are combined. The result is printed
with its gain, as the commands that set it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.aggregation.tuning import Gain

NAME = "tune"
HELP = "settings against balance-rr's retransmissions"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate tune`."""
    from aferir.aggregation.verbs.parameters import TuneParameters
    from aferir.cli.parameters import add_options

    add_options(parser, TuneParameters)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Try all candidates and print the gain."""
    from aferir.aggregation.measure import Result, measure
    from aferir.aggregation.places import place, usual_kind
    from aferir.aggregation.traffic import PROGRAM, Task
    from aferir.aggregation.tuning import Candidate, search
    from aferir.aggregation.verbs.parameters import TuneParameters, network_of
    from aferir.cli.console import console
    from aferir.cli.parameters import read_options
    from aferir.model.network import Bonding, Traffic
    from aferir.programs.kernels import kernel_path

    chosen = read_options(TuneParameters, options)
    usual = usual_kind(Bonding(mode="balance-rr"))
    kind = usual if chosen.network == "auto" else chosen.network
    err = console(stderr=True)
    with place(kind, kernel_path(PROGRAM)) as found:

        def run(candidate: Candidate) -> Result:
            task = Task(
                network=network_of(chosen),
                method=candidate.method,
                traffic=Traffic(seconds=chosen.seconds),
                tuning=candidate.tuning,
            )
            return measure(found, task)

        gain = search(run, lambda name: err.print(f"trying {name}"))
    if options.json:
        import msgspec

        document = {
            "retransmissions": gain.retransmissions,
            "throughput": gain.throughput,
            "before": gain.before,
            "after": gain.after,
            "trials": gain.trials,
        }
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        _print(gain)
    return 0


def _print(gain: Gain) -> None:
    from aferir.aggregation.tuning import share

    for trial in gain.trials:
        result = trial.result
        print(
            f"{result.throughput_bps * 8e-6:8.1f} Mbit/s  {share(result) * 100:7.3f} % sent again "
            f"({result.spurious_segments} of {result.retransmitted_segments} in vain)  "
            f"{trial.candidate.name}"
        )
    after = gain.after.candidate
    print(
        f"\n{after.name}: {gain.retransmissions:.3f} times the retransmissions, "
        f"{gain.throughput:.2f} times the throughput"
    )
    if not after.tuning.bond_offloads:
        print("  ethtool -K bond0 tso off gso off")
    for setting in after.tuning.settings:
        print(f"  sysctl -w {setting.name}={setting.value}")
    if after.method.packets_per_slave != 1:
        print(f"  ip link set bond0 type bond packets_per_slave {after.method.packets_per_slave}")
