"""The pages of `aferir serve` in a real browser, used by mouse and by keyboard."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from aferir.report.analyse import analyse
from aferir.report.write.html import html
from aferir.serve.export import export
from aferir.serve.server import Server
from aferir.store.lines import encode_line
from aferir.store.run import COMPLETE, RECORDS, Ending
from tests.unit.report import wide_run
from tests.unit.store.many_runs import START_NS, make, write
from tests.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright's own sockets
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
EVIL = "<script>document.title='taken'<"
NO_LIMIT = 0
"""Switches the browser's own time limits off: pytest ends a test that waits in vain."""
OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll('text')].map(
    (text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], k) => boxes.slice(k + 1).filter(([other, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([other]) => [one, other]));
})"""
"""Pairs of texts of one chart whose boxes overlap by more than the space around their letters."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve small runs, one with an evil name, and a wide one that is not complete."""
    folder = tmp_path_factory.mktemp("browser") / "runs"
    plan = make(folder, 12, shift_at=6)
    write(folder / EVIL, msgspec.structs.replace(plan, title=EVIL), started_unix_ns=START_NS)
    (folder / EVIL / RECORDS).write_bytes((folder / "made-up-000" / RECORDS).read_bytes())
    write(folder / "wide", wide_run.plan(), started_unix_ns=START_NS - 10**9)
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    with Server(runs, 0) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=NO_LIMIT
        )
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(NO_LIMIT)
    made = context.new_page()
    made.on("pageerror", lambda error: pytest.fail(f"an error of the page's script: {error}"))
    yield made
    context.close()


def shows(place: Locator, text: str) -> None:
    """Wait until a place of the page has a text."""
    eventually(lambda: text in (place.text_content() or ""), look_every_s=0.1)


def test_the_list_is_filtered_as_one_types(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.keyboard.press("/")
    page.keyboard.type("made-up-00 complete")
    shows(page.locator("#count"), "0 of 14 runs")
    page.locator("#filter").fill("made-up-00 aaaa")
    shows(page.locator("#count"), "6 of 14 runs")
    assert page.locator("#runs tbody tr:visible").count() == 6


def test_two_runs_are_compared_by_keyboard_alone(page: Page, server: Server) -> None:
    page.goto(server.url)
    for name in ("made-up-010", "made-up-001"):
        page.get_by_label(f"Compare {name}", exact=True).focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    page.get_by_text("made-up-010 against made-up-001").wait_for()


def test_a_run_is_followed_until_it_is_complete(page: Page, server: Server, runs: Path) -> None:
    folder = runs / "wide"
    lines = [encode_line(one) for one in wide_run.records(wide_run.plan())]
    (folder / RECORDS).write_bytes(b"".join(lines[:10]))
    page.goto(f"{server.url}run/wide/index.html")
    progress = page.locator("#progress")
    shows(progress, "10 of 5760 repetitions")
    with (folder / RECORDS).open("ab") as stream:
        stream.write(b"".join(lines[10:]))
    shows(progress, "5760 of 5760 repetitions")
    ending = Ending(ended_unix_ns=START_NS, records=len(lines))
    (folder / COMPLETE).write_bytes(msgspec.json.encode(ending))
    page.get_by_text("Whole report").wait_for()
    page.get_by_text("Whole report").click()
    page.locator("figure").first.wait_for()


def test_names_are_text_and_nothing_else(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.get_by_role("link", name=EVIL).click()
    shows(page.locator("h1"), EVIL)
    page.get_by_text("Report of the records so far").click()
    shows(page.locator("h1"), EVIL)
    assert page.title() != "taken"


@pytest.mark.parametrize("width", [420, 1200])
def test_twelve_environments_on_sixty_workloads_do_not_overlap(
    page: Page, tmp_path: Path, width: int
) -> None:
    plan = wide_run.plan()
    path = tmp_path / "wide.html"
    path.write_text(html(analyse(plan, wide_run.records(plan))), encoding="utf-8")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(path.as_uri())
    assert page.locator("svg text").count() > 100
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "address",
    [
        "",
        "history.html",
        "run/made-up-003/index.html",
        "compare.html?run=made-up-001&run=made-up-010",
    ],
    ids=["list", "history", "run", "comparison"],
)
def test_no_page_has_a_serious_finding_of_accessibility(
    browser: Browser, server: Server, address: str, scheme: Any
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe is not installed: pip install axe-playwright-python",
    )
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": 420, "height": 900}, bypass_csp=True
    )
    page = context.new_page()
    page.goto(f"{server.url}{address}", timeout=NO_LIMIT)
    answer = axe.Axe().run(page).response
    assert len(answer["passes"]) > 10
    found = answer["violations"]
    serious = [
        (one["id"], [node["target"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    context.close()


def test_static_files_work_without_a_server(page: Page, runs: Path, tmp_path: Path) -> None:
    written = export(runs, tmp_path / "site")
    page.goto(written[0].as_uri())
    page.locator("#filter").fill("made-up-003")
    shows(page.locator("#count"), "1 of 14 runs")
    page.get_by_role("link", name="made-up-003").click()
    page.get_by_text("compared with the run before it").click()
    page.get_by_text("made-up-003 against made-up-002").wait_for()


def test_print_leaves_out_what_only_a_screen_can_use(page: Page, server: Server) -> None:
    page.goto(server.url)
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#filter").is_hidden()
    assert page.get_by_role("link", name="made-up-003").is_visible()
    assert len(page.pdf()) > 0
