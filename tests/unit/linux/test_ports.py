"""A reserved port stays free for the server that is to use it."""

from __future__ import annotations

import socket

import pytest

from aferir.linux import ports


def server(*, reuse: bool) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
    return made


def test_a_server_may_listen_on_it_and_others_may_not() -> None:
    with ports.reserved() as port:
        with server(reuse=False) as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with server(reuse=True) as wanted, socket.socket() as client:
            wanted.bind(("127.0.0.1", port))
            wanted.listen()
            client.connect(("127.0.0.1", port))


def test_two_are_not_the_same() -> None:
    with ports.reserved() as one, ports.reserved() as other:
        assert one != other
