"""The driver that runs in the instance: sets a store up, loads, measures and checks it.

It needs only the standard library (Python 3.11 or later), as an instance has nothing else. The host
packs this folder into one file and puts it there. See `aferir.programs.stores.bundle`.
"""
