"""Crossings of curves that cross at known places."""

from __future__ import annotations

from aferir.statistics.crossing import Band, Crossing, crossings

SIZES = (1.0, 2.0, 4.0, 8.0, 16.0)


def curve(*values: float, spread: float = 0.0) -> list[Band]:
    return [
        Band(at, value - spread, value + spread) for at, value in zip(SIZES, values, strict=True)
    ]


def test_a_curve_that_overtakes_another_crosses_it_once() -> None:
    flat, rising = curve(5, 5, 5, 5, 5), curve(1, 2, 4, 8, 16)
    assert crossings(rising, flat) == (Crossing(4.0, 8.0, higher=True),)
    assert crossings(flat, rising) == (Crossing(4.0, 8.0, higher=False),)
    assert crossings(flat, curve(6, 6, 6, 6, 6)) == ()


def test_overlapping_quartiles_decide_nothing() -> None:
    flat, rising = curve(5, 5, 5, 5, 5, spread=1), curve(1, 2, 4, 8, 16, spread=1)
    assert crossings(rising, flat) == (Crossing(2.0, 8.0, higher=True),)
    assert crossings(flat, curve(4, 6, 4, 6, 4, spread=1)) == ()


def test_every_change_is_found_in_the_order_of_places() -> None:
    flat, wave = curve(5, 5, 5, 5, 5), curve(9, 1, 1, 9, 5)
    assert crossings(wave, flat) == (Crossing(1.0, 2.0, False), Crossing(4.0, 8.0, True))
    assert crossings(list(reversed(wave)), flat) == crossings(wave, flat)


def test_only_common_places_count() -> None:
    assert crossings(curve(9, 9, 1, 1, 1)[:2], curve(5, 5, 5, 5, 5)) == ()
    assert crossings([], curve(5, 5, 5, 5, 5)) == ()
