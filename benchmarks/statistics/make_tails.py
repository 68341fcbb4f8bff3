"""Make `src/aferir/statistics/biweight_tails.csv`: quantiles of the biweight's studentised centre.

For each n so many samples of a normal distribution are drawn; the table holds the values of
|centre| / error that are exceeded with the given probabilities. Run from the project's root:
`python benchmarks/statistics/make_tails.py` (a quarter of an hour on one core).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from aferir.statistics.robust import biweight

LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)
SIZES = (*range(8, 21), 22, 24, 26, 28, 30, 35, 40, 50, 70, 100, 200)
CHUNK = 50_000
TARGET = Path("src/aferir/statistics/biweight_tails.csv")


def quantiles(n: int, draws: int, seed: int) -> list[float]:
    """Quantiles of |centre| / error over `draws` samples of size n."""
    rng = np.random.default_rng([seed, n])
    values = []
    for _ in range(draws // CHUNK):
        centre, error, _, _ = biweight(rng.normal(size=(CHUNK, n)))
        values.append(np.abs(centre) / error)
    return [float(q) for q in np.quantile(np.concatenate(values), 1 - np.array(LEVELS))]


def main(draws: int = 1_000_000, seed: int = 1) -> None:
    """Write the table: a line of levels, then one line for each number of samples."""
    lines = [",".join(("n", *(f"{level:g}" for level in LEVELS)))]
    for n in SIZES:
        lines.append(",".join((str(n), *(f"{q:.4g}" for q in quantiles(n, draws, seed)))))
        print(lines[-1], flush=True)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
