"""Plant causes that `aferir explain` has to find, and compare environments without a cause."""
