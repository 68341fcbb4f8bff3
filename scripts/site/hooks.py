"""Hooks of MkDocs: files of the repository that pages link to become pages of the site.

Pages link to sources and tables of published results by their path in the repository, so that links
work there, too. Sources outside docs/ are shown as highlighted code, Markdown files as pages. A
link to anything that is not there ends a strict build.
"""

from __future__ import annotations

import logging
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
"""Folder of the site for files outside docs/."""
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[#)])")
_ESCAPED_BAR = re.compile(r"(?m)^\|.*`.*\\\|.*$")
_CODE_SPAN = re.compile(r"`[^`]*`")
_LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".toml": "toml"}
_FOREIGN_SCRIPT = "https://unpkg.com/iframe-worker/shim"
_OWN_SCRIPT = "assets/iframe-worker.js"
_LIST = "<!-- pages of this folder -->"
_LOG = logging.getLogger("mkdocs.hooks.repository")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put all pages of a folder in the place of its name in the navigation, once each."""
    listed = set(_pages_in(config.nav))
    config.nav = _expanded(config.nav, Path(config.docs_dir), listed)
    return config


def _pages_in(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from _pages_in(below)
    elif isinstance(nav, list):
        for one in nav:
            yield from _pages_in(one)


def _expanded(nav: object, docs: Path, listed: set[str]) -> object:
    if isinstance(nav, dict):
        return {title: _expanded(below, docs, listed) for title, below in nav.items()}
    if isinstance(nav, list):
        several = (_expanded(one, docs, listed) for one in nav)
        return [one for made in several for one in (made if isinstance(made, list) else [made])]
    if not isinstance(nav, str) or not nav.endswith("/"):
        return nav
    found = sorted(page.relative_to(docs).as_posix() for page in (docs / nav).rglob("*.md"))
    first = [page for page in found if page == f"{nav}index.md"]
    rest = [page for page in found if page not in {*first, *listed}]
    return [*first, *rest]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs/ that pages link to, and those that these link to."""
    script = str(ROOT / "scripts/site/iframe-worker.js")
    files.append(File.generated(config, _OWN_SCRIPT, abs_src_path=script))
    waiting = [
        (posixpath.join("docs", file.src_uri), file.content_string)
        for file in files.documentation_pages()
    ]
    added: set[str] = set()
    while waiting:
        source, content = waiting.pop()
        for target in _outside(source, content):
            path = ROOT / target
            if target in added or not path.is_file():
                continue
            added.add(target)
            if path.suffix == ".md":
                text = path.read_text(encoding="utf-8")
                waiting.append((target, text))
                files.append(_page(config, target, text))
            elif path.suffix in _LANGUAGES:
                files.append(_page(config, f"{target}.md", _code(target)))
            else:
                files.append(File.generated(config, f"{FOLDER}/{target}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Point links to files of the repository at their pages in the site."""
    source = page.file.src_uri
    if _LIST in markdown:
        markdown = markdown.replace(_LIST, _list_of(source, files))
    outside = source.startswith(f"{FOLDER}/")
    here = source.removeprefix(f"{FOLDER}/") if outside else f"docs/{source}"

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), found[0]))
        if (ROOT / target).is_dir():
            return _of_a_folder(found[0], target, source)
        uri = _uri(target)
        if uri is None or files.get_file_from_path(uri) is None:
            return found[0]  # MkDocs says what is wrong with it
        return posixpath.relpath(uri, posixpath.dirname(source) or ".")

    return _bars_in_code(_LINK.sub(moved, markdown))


def _bars_in_code(markdown: str) -> str:
    r"""Write `a|b` in cells of tables for `a\|b`, which GitHub needs and MkDocs shows as it is."""
    return _ESCAPED_BAR.sub(
        lambda row: _CODE_SPAN.sub(lambda span: span[0].replace("\\|", "|"), row[0]), markdown
    )


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load the script that search from the disk needs from the site and not from another host."""
    folder = posixpath.dirname(page.file.dest_uri)
    return output.replace(_FOREIGN_SCRIPT, posixpath.relpath(_OWN_SCRIPT, folder or "."))


def on_post_template(output_content: str, **_: object) -> str:
    """Leave that script out of pages that are no documentation, such as the one of status 404."""
    return output_content.replace(f'<script src="{_FOREIGN_SCRIPT}"></script>', "")


def _list_of(source: str, files: Files) -> str:
    """List of the other pages in the folder of a page, by their titles."""
    folder = posixpath.dirname(source)
    found = []
    for file in files.documentation_pages():
        if posixpath.dirname(file.src_uri) == folder and file.src_uri != source:
            title = re.search(r"^# (.*)$", file.content_string, re.MULTILINE)
            name = posixpath.basename(file.src_uri)
            found.append(f"- [{title[1] if title else name}]({name})")
    return "\n".join(found)


def _of_a_folder(written: str, target: str, source: str) -> str:
    """Link to the first page of a folder of docs/; other folders have no page here."""
    if target.startswith("docs/"):
        uri = posixpath.join(target.removeprefix("docs/"), "index.md")
        return posixpath.relpath(uri, posixpath.dirname(source) or ".")
    _LOG.warning("%s links to the folder %s, which has no page", source, written)
    return written


def _outside(source: str, content: str) -> set[str]:
    """Paths in the repository of linked files that are not below docs/."""
    folder = posixpath.dirname(source)
    found = {posixpath.normpath(posixpath.join(folder, one)) for one in _LINK.findall(content)}
    return {one for one in found if not one.startswith(("docs/", ".."))}


def _uri(target: str) -> str | None:
    """Path in the site of a file of the repository; None for one that is outside of it."""
    if target.startswith(".."):
        return None
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    is_code = posixpath.splitext(target)[1] in _LANGUAGES
    return f"{FOLDER}/{target}.md" if is_code else f"{FOLDER}/{target}"


def _page(config: MkDocsConfig, path: str, text: str) -> File:
    return File.generated(config, f"{FOLDER}/{path}", content=text)


def _code(target: str) -> str:
    text = (ROOT / target).read_text(encoding="utf-8")
    language = _LANGUAGES[posixpath.splitext(target)[1]]
    return f"# {target}\n\n``````{language}\n{text}\n``````\n"
