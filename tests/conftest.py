"""For all tests."""

import signal

from hypothesis import settings

# The machine is shared: how long one example takes says nothing about the code.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")

# What a shell starts in the background ignores it, and so would all that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
