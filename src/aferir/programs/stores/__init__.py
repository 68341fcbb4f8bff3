"""Real programs that keep data on disks: sequence search, databases, key-value stores.

Each is set up, loaded, measured and checked by a program of ours that runs in the instance
(`inside`) and starts the real ones there. What they are made of comes from Debian packages,
which the images of an experiment get (`packages`).
"""
