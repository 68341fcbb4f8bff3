"""Hold `request-clients` against a server that stamps what it sends."""
