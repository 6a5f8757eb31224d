"""A web page as Markdown: without scripts and styles, its links made absolute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from interlock.decoders.child import Answer, serve

_UNSEEN = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas")
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def markdown(data: bytes, ask: Mapping[str, Any]) -> Answer:
    """`ask`: `url`, where it came from. The page is UTF-8, the answer too."""
    soup = BeautifulSoup(data.decode(errors="replace"), "html.parser")
    base = soup.find("base", href=True)
    here = urljoin(ask["url"], str(base["href"])) if base is not None else ask["url"]
    title = soup.title.get_text(" ", strip=True) if soup.title is not None else ""
    for unseen in soup.find_all([*_UNSEEN, "title"]):
        unseen.decompose()
    for link in soup.find_all("a", href=True):
        link["href"] = _absolute(here, str(link["href"]))
    for image in soup.find_all("img"):
        source = str(image.get("src", ""))
        if source.startswith("data:"):
            image.replace_with(str(image.get("alt", "")))
        else:
            image["src"] = _absolute(here, source)
    try:
        text = MarkdownConverter(heading_style="ATX").convert_soup(soup)
    except RecursionError:  # tags nested by the thousand: a page for machines
        text = soup.get_text("\n")
    text = _BLANK_LINES.sub("\n\n", text).strip()
    return {"title": title}, text.encode(errors="replace")


def _absolute(here: str, link: str) -> str:
    try:
        return urljoin(here, link)
    except ValueError:
        return link


if __name__ == "__main__":
    serve(markdown)
