"""What runs in the instance: sets a store up, loads it, measures it, and checks what it holds.

Of the standard library alone (Python 3.11 or later), since an instance has nothing else: the
host packs this folder into one file and puts it there. See `aferir.programs.stores.bundle`.
"""
