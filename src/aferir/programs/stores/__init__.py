"""Real programs that store data on disks: sequence search, databases, key-value stores.

A driver that runs in the instance (`inside`) sets each of them up, loads, measures and checks it.
The programs come from Debian packages, which the images of an experiment contain (`packages`).
"""
