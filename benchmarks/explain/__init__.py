"""Plant causes that `aferir explain` must find, and compare environments without a cause."""
