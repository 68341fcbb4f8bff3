"""Order of the cells within a round: pure functions, reproducible by their seed.

Repetition k of every cell of a group runs in round k, so that slow changes of the machine affect
all environments alike, and no environment always follows the same one (Abedi and Brecht 2017,
"Conducting repeatable experiments in highly variable cloud computing environments").
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from aferir.model.plan import Cell, Order

_Item = TypeVar("_Item")


def arrange(cells: Sequence[Cell], order: Order, seed: int, slot: int) -> tuple[Cell, ...]:
    """Cells of a round in the order in which they run.

    `slot` is the number of the round, warm-up rounds included. `interleaved`: groups in the order
    of the plan, with the environments of a group next to each other; `random`: all cells shuffled.
    """
    if order == "random":
        return tuple(_random(seed, "round", slot).sample(list(cells), len(cells)))
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    return tuple(
        cell for name, members in groups.items() for cell in rotate(members, seed, name, slot)
    )


def rotate(items: Sequence[_Item], seed: int, name: str, slot: int) -> tuple[_Item, ...]:
    """Seeded order of `items` that balances both positions and predecessors.

    Each of n items comes first once in n rounds. The rounds of a block are the rows of a Williams
    square in a random order, with the items assigned to its letters at random (Williams 1949): for
    even n each item follows every other one once in a block, for odd n twice in two blocks. So no
    item always runs in the state that one particular item leaves.
    """
    if not items:
        return ()
    n = len(items)
    block, turn = divmod(slot, n)
    # Both blocks of a pair have the same letters: the second one mirrors the first.
    letters = _random(seed, name, block // 2 if n % 2 else block).sample(list(items), n)
    row = _random(seed, f"{name}/rows", block).sample(range(n), n)[turn]
    zigzag = [k // 2 if k % 2 == 0 else n - (k + 1) // 2 for k in range(n)]
    order = [letters[(place + row) % n] for place in zigzag]
    return tuple(reversed(order)) if n % 2 and block % 2 else tuple(order)


def _random(seed: int, name: str, number: int) -> Random:
    return Random(f"{seed}/{name}/{number}")  # noqa: S311  an order, not a secret
