"""Adapts a cloud to Front's Protocol `Site`: blocking calls run in threads, Nodes have numbers."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from aferir.clouds.base import Cloud, Server, serves
from aferir.errors import AferirError

_THREADS = 32
_LOOK_S = 1.0
_SILENT_LOOKS = 3
"""Consecutive unanswered health checks after which a Node counts as dead, and not just slow."""


class CloudSite:
    """Instances of one cloud.

    The threads live until the site is closed, and so do processes that they start
    (`aferir.process.start`).
    """

    def __init__(self, cloud: Cloud) -> None:
        self.servers: list[Server] = []
        """All instances that were ever created, in the order in which they became ready."""
        self._cloud = cloud
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="cloud")
        self._making: dict[int, asyncio.Future[Server]] = {}
        self._silent: Counter[int] = Counter()

    def __enter__(self) -> Self:
        """Return the site itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release all remaining instances, and end the threads."""
        self._threads.shutdown()
        self._cloud.delete_all()

    async def allocate(self, node: int) -> str:
        """Create an instance. Errors: those of the cloud."""
        loop = asyncio.get_running_loop()
        making = loop.run_in_executor(self._threads, self._cloud.create)
        self._making[node] = making
        try:
            server = await asyncio.shield(making)
        except (AferirError, OSError):
            del self._making[node]
            raise
        self.servers.append(server)
        return server.url

    async def release(self, node: int) -> None:
        """Release an instance; if it is still being created, wait until it is."""
        making = self._making.get(node)
        if making is None:
            return
        try:
            server = await asyncio.shield(making)
        except (AferirError, OSError):
            self._making.pop(node, None)
            return
        delete = functools.partial(self._cloud.delete, server.name)
        await asyncio.get_running_loop().run_in_executor(self._threads, delete)
        self._making.pop(node, None)
        del self._silent[node]

    async def alive(self, node: int) -> bool:
        """Whether the instance has answered one of the last three health checks."""
        making = self._making.get(node)
        if making is None or not making.done():
            return True
        server = making.result()
        host, _, path = server.url.removeprefix("http://").partition("/")
        port = int(host.rpartition(":")[2])
        look = functools.partial(serves, server.address, port, f"/{path}", limit_s=_LOOK_S)
        answers = await asyncio.get_running_loop().run_in_executor(self._threads, look)
        self._silent[node] = 0 if answers else self._silent[node] + 1
        return self._silent[node] < _SILENT_LOOKS

    async def release_all(self) -> None:
        """Release every instance, including those that an earlier run of Front has left behind."""
        await asyncio.gather(*(self.release(node) for node in list(self._making)))
        await asyncio.get_running_loop().run_in_executor(self._threads, self._cloud.delete_all)

    def sent_bytes(self) -> int:
        """Bytes that all instances together have sent since the start."""
        return self._cloud.sent_bytes()
