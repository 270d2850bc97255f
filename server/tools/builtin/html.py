"""Conversion of a fetched page to text, in the child.

The server fetches (tools/fetch.py) but never parses the page: in the child a hostile document can
only use up one call's limits. The server does not import this module, and so saves the memory of
the HTML parser.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from ..decorators import Context, ToolError

# Encodings that a page may declare; others of Python's codecs are unsafe for untrusted input.
ENCODINGS = re.compile(
    r"utf-?(8|16(le|be)?)|us-ascii|ascii|latin-?1|iso-8859-\d{1,2}|(windows-|cp)125\d|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5|shift[_-]jis|euc-(jp|kr)|iso-2022-jp",
    re.IGNORECASE,
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f]+")

SKIPPED = frozenset("script style noscript template svg iframe object select".split())
BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2"
    " h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split()
)
VOID = frozenset("br hr img input link meta wbr area base col embed source track".split())


def readable(
    ctx: Context, body: str, content_type: str, url: str, offset: int, max_chars: int
) -> dict[str, Any]:
    """Return {title?, text, chars, next_offset?} of a document.

    `body`: its bytes, decoded as latin-1. `chars`: length of the whole text.
    """
    text = decode_document(body.encode("latin-1"), content_type)
    found: dict[str, Any] = {}
    if "html" in content_type.lower() or text.lstrip()[:15].lower().startswith("<!doctype html"):
        page = TextCollector(url)
        page.feed(text)
        page.close()
        text = page.text()
        if title := " ".join("".join(page.title).split()):
            found["title"] = title[:300]
    part = text[offset : offset + max_chars]
    found |= {"text": part, "chars": len(text)}
    if offset + len(part) < len(text):
        found["next_offset"] = offset + len(part)
    return found


def decode_document(data: bytes, content_type: str) -> str:
    """Return a document as text. Raises ToolError for binary data.

    The encoding is that of the byte order mark, the header or the <meta> element, else UTF-8.
    """
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    if b"\0" in data[:1024]:
        raise ToolError(f"it is no text but {content_type or 'of an unknown type'}")
    for place in (content_type, data[:2048].decode("latin-1")):
        named = _CHARSET.search(place)
        if named and ENCODINGS.fullmatch(named[1]):
            return data.decode(named[1], "replace")
    return data.decode("utf-8", "replace")


class TextCollector(HTMLParser):
    """A parser that collects text.

    Blocks become lines, headings and items are marked, links are written as in Markdown.
    """

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.url = url
        self.title: list[str] = []
        self._parts: list[str] = []
        self._skipping = ""  # tag of the element that is skipped
        self._depth = 0  # how many elements of that tag are open
        self._in_title = self._in_pre = False
        self._link = ("", 0)  # URL of the open link, and the index in _parts where its text begins

    def text(self) -> str:
        """Return the collected text, without runs of empty lines."""
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        if self._skipping:
            self._depth += tag == self._skipping
        elif tag in SKIPPED:
            self._skipping, self._depth = tag, 1
        elif tag == "title":
            self._in_title = not self.title
        else:
            self._begin(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if self._skipping:
            self._depth -= tag == self._skipping
            if self._depth == 0:
                self._skipping = ""
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            address, begin = self._link
            label = "".join(self._parts[begin:]).strip() if address else ""
            if label:
                self._parts[begin:] = [f"[{label}]({address})"]
            self._link = ("", 0)
        elif tag in BLOCKS and tag not in VOID:
            self._in_pre = self._in_pre and tag != "pre"
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Add text, with white space collapsed outside of <pre>."""
        if self._in_title:
            self.title.append(data)
        elif not self._skipping:
            text = data if self._in_pre else _BLANKS.sub(" ", data)
            if not self._in_pre and self._parts and self._parts[-1].endswith((" ", "\n")):
                text = text.lstrip(" ")
            if text:
                self._parts.append(text)

    def _begin(self, tag: str, attrs: dict[str, str | None]) -> None:
        if tag in BLOCKS:
            self._parts.append(
                "\n\n" if tag in ("p", "table", "ul", "ol") or tag[0] == "h" else "\n"
            )
        if tag == "pre":
            self._in_pre = True
        elif tag == "li":
            self._parts.append("- ")
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._parts.append("#" * int(tag[1]) + " ")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        elif tag == "img" and (alt := attrs.get("alt")):
            self._parts.append(f"[image: {' '.join(alt.split())}]")
        elif tag == "a":
            self._link = (self._address(attrs.get("href") or ""), len(self._parts))

    def _address(self, href: str) -> str:
        """Return the absolute URL of a link; "" if it cannot be fetched or is within the page."""
        try:
            address = urljoin(self.url, href.strip())
        except ValueError:
            return ""
        here = not href.strip() or href.strip().startswith("#")
        return address if address.startswith(("http://", "https://")) and not here else ""
