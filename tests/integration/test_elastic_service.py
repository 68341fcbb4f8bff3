"""Front over real sockets, with an environment that the test controls."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.elastic import http
from aferir.elastic.door import Limits
from aferir.elastic.front import Settings
from aferir.elastic.ledger import Ledger
from aferir.elastic.service import Service
from aferir.errors import ProgramError


class Cloud:
    """Instances that exist in a set alone; `deeds` say what becomes of each allocation.

    One that is late ends once `goes_on` is set.
    """

    def __init__(self, deeds: list[str] | None = None) -> None:
        self.deeds = deeds or []
        self.goes_on = asyncio.Event()
        self.there: set[int] = set()
        self.dead: set[int] = set()

    async def allocate(self, node: int) -> str:
        deed = self.deeds.pop(0) if self.deeds else "works"
        if deed == "fails":
            raise ProgramError("quota exceeded")
        self.there.add(node)
        if deed == "late":
            await self.goes_on.wait()
        return f"http://127.0.0.1:9/{node}"

    async def release(self, node: int) -> None:
        self.there.discard(node)

    async def alive(self, node: int) -> bool:
        return node not in self.dead

    async def release_all(self) -> None:
        self.there.clear()

    def sent_bytes(self) -> int:
        return 0


def serving(
    tmp_path: Path,
    act: Callable[[Service, int, Cloud], Awaitable[None]],
    cloud: Cloud | None = None,
    limits: Limits | None = None,
    **policy: Any,
) -> dict[str, int]:
    """Do something with a service; its books afterwards, when it has been stopped."""
    cloud = cloud or Cloud()

    async def go() -> dict[str, int]:
        with Ledger(tmp_path / "ledger", 0.0) as ledger:
            made = Service(
                Settings(**({"clients_per_node": 2, "patience_s": 600.0} | policy)),
                cloud,
                ledger,
                limits or Limits(watch_s=0.02),
            )
            port = await made.start()
            try:
                await asyncio.wait_for(act(made, port, cloud), 120)
            finally:
                await made.stop()
            books = made.seen().books
        assert cloud.there == set()
        assert books["received"] == sum(books.values()) - books["received"]
        with Ledger(tmp_path / "ledger", 0.0) as again:
            assert again.books().received == books["received"]
        return books

    return asyncio.run(go())


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, while the service continues."""
    while not condition():  # noqa: ASYNC110 - counts of the service
        await asyncio.sleep(0.01)


async def ask(port: int, line: str, *headers: str) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join([f"{line} HTTP/1.1", *headers, "", ""]).encode())
    said = await reader.read()
    writer.close()
    head, _, body = said.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(one.split(": ", 1) for one in lines), body


def test_a_client_is_redirected_and_leaves_by_its_own_path(tmp_path: Path) -> None:
    async def act(made: Service, port: int, cloud: Cloud) -> None:
        status, headers, _ = await ask(port, "GET /")
        assert (status, headers["Location"]) == (302, "http://127.0.0.1:9/0")
        assert (await ask(port, "DELETE /leave/0"))[0] == 404
        assert (await ask(port, "DELETE /leave/"))[0] == 404
        assert made.seen().clients == 1
        path = headers["Aferir-Leave"]
        assert (await ask(port, f"DELETE {path}?outcome=blessed"))[0] == 400
        assert (await ask(port, f"GET {path}"))[0] == 405
        assert (await ask(port, f"DELETE {path}?outcome=abandoned"))[0] == 204
        assert (await ask(port, f"DELETE {path}"))[0] == 404
        await made.settled()
        assert cloud.there == set()

    assert serving(tmp_path, act)["abandoned"] == 1


def test_a_client_that_waits_too_long_is_blocked(tmp_path: Path) -> None:
    async def act(made: Service, port: int, cloud: Cloud) -> None:
        assert (await ask(port, "GET /"))[0] == 503
        cloud.goes_on.set()
        await made.settled()

    assert serving(tmp_path, act, Cloud(["late"]), patience_s=0.1)["blocked"] == 1


def test_a_client_that_goes_while_it_waits_has_abandoned(tmp_path: Path) -> None:
    async def act(made: Service, port: int, cloud: Cloud) -> None:
        _reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await until(lambda: made.seen().waiting == 1)
        writer.close()
        await until(lambda: made.seen().waiting == 0)
        cloud.goes_on.set()
        await made.settled()

    assert serving(tmp_path, act, Cloud(["late"]))["abandoned"] == 1


def test_allocations_that_fail_or_never_end_are_counted_and_nothing_leaks(tmp_path: Path) -> None:
    async def act(made: Service, port: int, cloud: Cloud) -> None:
        assert (await ask(port, "GET /"))[0] == 503
        assert made.seen().events["allocation-failed"] == 2
        assert made.seen().events["allocation-overdue"] == 1
        cloud.goes_on.set()
        await made.settled()
        assert cloud.there == set()

    cloud = Cloud(["fails", "late", "fails"])
    limits = Limits(watch_s=0.02, allocation_s=0.1)
    assert serving(tmp_path, act, cloud, limits)["failed"] == 1


def test_clients_of_a_node_that_died_have_failed_and_can_no_longer_leave(tmp_path: Path) -> None:
    async def act(made: Service, port: int, cloud: Cloud) -> None:
        _status, headers, _body = await ask(port, "GET /")
        cloud.dead.add(0)
        await made.settled()
        assert (await ask(port, f"DELETE {headers['Aferir-Leave']}"))[0] == 404

    assert serving(tmp_path, act)["failed"] == 1


def test_a_client_that_never_leaves_does_not_keep_its_place_for_ever(tmp_path: Path) -> None:
    async def act(made: Service, port: int, _: Cloud) -> None:
        await ask(port, "GET /")
        await made.settled()

    assert serving(tmp_path, act, limits=Limits(stay_s=0.1, watch_s=9))["failed"] == 1


def test_a_restarted_front_ends_instances_and_settles_clients_of_the_one_before(
    tmp_path: Path,
) -> None:
    cloud = Cloud()

    async def crash() -> None:
        with Ledger(tmp_path / "ledger", 0.0) as ledger:
            first = Service(Settings(clients_per_node=1, patience_s=600.0), cloud, ledger)
            port = await first.start()
            _status, headers, _body = await ask(port, "GET /")
            reader, late = await asyncio.open_connection("127.0.0.1", port)
            late.write(f"DELETE {headers['Aferir-Leave']} HTTP/1.1".encode())
            await until(lambda: first._door._connections == 1)
            await first.abort()
        late.write(b"\r\n\r\n")
        assert b" 503 " in await reader.readline()
        late.close()
        assert cloud.there == {0}

    asyncio.run(crash())
    with (tmp_path / "ledger").open("a") as torn:
        torn.write('{"at_s":1,"ev')

    async def act(made: Service, port: int, cloud: Cloud) -> None:
        assert cloud.there == set()
        assert made.seen().books["failed"] == 1
        assert (await ask(port, "GET /"))[0] == 302

    assert serving(tmp_path, act, cloud)["received"] == 2


def test_status_and_page_are_for_who_has_the_token(tmp_path: Path) -> None:
    async def act(made: Service, port: int, _: Cloud) -> None:
        for path in ("/status", "/live", "/status?token=guess", "/live?token=%C3%A9"):
            assert (await ask(port, f"GET {path}"))[0] == 403
        bearer = f"Authorization: Bearer {made.token}"
        status, _headers, body = await ask(port, "GET /status", bearer)
        assert (status, json.loads(body)["clients"]) == (200, 0)
        assert (await ask(port, "POST /status", bearer))[0] == 405
        assert b"polyline" in (await ask(port, f"GET /live?token={made.token}"))[2]

    serving(tmp_path, act)


def test_slow_and_malformed_clients_disturb_nobody(tmp_path: Path) -> None:
    async def act(_made: Service, port: int, _: Cloud) -> None:
        _slow, held = await asyncio.open_connection("127.0.0.1", port)
        held.write(b"GET / HT")
        for wrong, status in (
            (b"nonsense\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
            (b"BREW / HTTP/1.1\r\n\r\n", b"501"),
            (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"431"),
            (b"GET /nothing HTTP/1.1\r\n\r\n", b"404"),
            (b"\xff\xfe\r\n\r\n", b"400"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(wrong)
            assert status in await reader.readline(), wrong[:40]
            writer.close()
        assert (await ask(port, "GET /"))[0] == 302
        held.close()

    assert serving(tmp_path, act, limits=Limits(head_s=600.0, watch_s=9))["received"] == 1


def test_a_client_that_does_not_end_its_request_is_cut_off(tmp_path: Path) -> None:
    async def act(_made: Service, port: int, _: Cloud) -> None:
        slow, held = await asyncio.open_connection("127.0.0.1", port)
        held.write(b"GET / HT")
        assert await slow.read() == b""
        held.close()

    assert serving(tmp_path, act, limits=Limits(head_s=0.1, watch_s=9))["received"] == 0


@settings(max_examples=300)
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda method, target, lines: "\r\n".join([f"{method} {target} HTTP/1.1", *lines]).encode(),
        st.sampled_from(["GET", "DELETE", "PUT", ""]),
        st.text(max_size=40),
        st.lists(st.text(max_size=20), max_size=4),
    )
)
def test_whatever_is_sent_is_a_request_or_a_bad_one(head: bytes) -> None:
    with contextlib.suppress(http.BadRequestError):
        assert http.parse(head).path.startswith("/")
