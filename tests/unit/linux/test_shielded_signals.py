"""A signal during a release is not lost, and does not interrupt the release."""

from __future__ import annotations

import signal

import pytest

from aferir.linux.interrupts import ending_signals, shielded


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_instances_are_given_back_ends_the_run_afterwards(
    number: signal.Signals,
) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    given_back = []

    def run() -> None:
        with ending_signals(), shielded():
            signal.raise_signal(number)
            given_back.append("instance")

    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(number, before)
    assert given_back == ["instance"]


def test_one_that_comes_during_an_interruption_does_not_interrupt_again() -> None:
    given_back = []
    with ending_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            for name in ("first", "second"):
                with shielded():
                    signal.raise_signal(signal.SIGTERM)
                    given_back.append(name)
    assert given_back == ["first", "second"]
