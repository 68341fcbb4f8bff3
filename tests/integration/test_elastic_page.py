"""The live page in a real browser."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from aferir.elastic.service import Service
from tests.integration.test_elastic_service import Cloud, ask, serving

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


async def shown(url: str, profile: Path) -> str:
    """The page's elements after some seconds."""
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    options += [f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom"]
    child = await asyncio.create_subprocess_exec(
        BROWSER,
        *options,
        url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said, _ = await child.communicate()
    return said.decode()


@pytest.mark.skipif(BROWSER is None, reason="needs a browser: apt-get install chromium")
def test_the_page_shows_clients_instances_and_who_was_blocked(tmp_path: Path) -> None:
    async def act(made: Service, port: int, _: Cloud) -> None:
        for _client in range(3):
            assert (await ask(port, "GET /"))[0] == 302
        page = await shown(f"http://127.0.0.1:{port}/live?token={made.token}", tmp_path / "one")
        values = dict(re.findall(r'<output id="(\w+)">([^<]*)</output>', page))
        assert values == {"clients": "3", "instances": "2", "blocked": "0", "bandwidth": "0.0"}
        assert "3 received" in page
        assert len(re.findall(r'points="[\d., ]+"', page)) == 4
        refused = await shown(f"http://127.0.0.1:{port}/live?token=guess", tmp_path / "two")
        assert "polyline" not in refused

    serving(tmp_path, act)
