"""The reference of the C headers is generated from them, and the stored one is up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.checkout import ROOT

HEADER = """\
/* THING: counts things.
 *
 *     thing_open(&thing);
 */
#include <stddef.h>

/* What went wrong. */
enum thing_status {
    THING_OK = 0,
    THING_ERROR = -1 /* errno says why */
};

struct thing;

/* Opens one, for
 * `context`. */
int thing_open(struct thing** out, void* context);
int thing_hidden_(void);
static inline int thing_next(int n) {
    return n + 1;
}
"""


@pytest.fixture(scope="module")
def headers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("headers", ROOT / "scripts/site/headers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_declarations_have_the_comment_above_them(headers: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "thing.h"
    path.write_text(HEADER, encoding="utf-8")
    found = headers.read(path)
    assert (found.summary, found.text) == ("counts things", "    thing_open(&thing);")
    status, opening, following = found.declarations
    assert status.comment == "What went wrong."
    assert status.members == (("THING_OK = 0", ""), ("THING_ERROR = -1", "errno says why"))
    assert opening.comment == "Opens one, for\n`context`."
    assert opening.code == "int thing_open(struct thing** out, void* context);"
    assert following.code == "static inline int thing_next(int n);"


def test_the_committed_pages_are_what_the_headers_say(headers: ModuleType) -> None:
    """Run `make reference` where this fails."""
    for path, content in headers.pages().items():
        assert path.read_text(encoding="utf-8") == content
