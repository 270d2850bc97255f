"""Files that are no text, for `read_file`: pictures and sounds are shown, PDFs become text.

The text of a PDF comes from `pdftotext`, where the system has it; without it the model is shown the
PDF itself.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ...session.media import PDF, kind_of
from ..decorators import Context, ToolError
from ..workspace import open_for_reading

READER = "pdftotext"
MAX_PAGES = 20  # of one part
MAX_PDF_TEXT = 4 * 1024 * 1024  # bytes
MAX_SHOWN = 18_000  # characters of one part, as JSON; result.MAX_TEXT is 20,000
_PAGES = re.compile(r" *([1-9][0-9]{0,5}) *(?:- *([1-9][0-9]{0,5}) *)?")


def read_other(ctx: Context, target: Path, path: str, pages: str) -> dict[str, Any] | None:
    """Show a picture or a sound, or read a PDF; None for a file of another kind.

    `pages`: of a PDF, "" for the first ones. Raises ToolError.
    """
    with open_for_reading(target, path) as file:
        try:
            kind = kind_of(file.read(16))
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from None
    if not kind:
        return None
    reader = shutil.which(READER) if kind == PDF else None
    if reader:
        return read_pdf(ctx, reader, target, path, pages)
    if kind == PDF and pages:
        raise ToolError(f"this system has no {READER}, so pages of {path} cannot be chosen")
    ctx.show(path)
    return {"shown": path}


def read_pdf(ctx: Context, reader: str, target: Path, path: str, pages: str) -> dict[str, Any]:
    """Return {content, pages, next_page?}: the text of some pages of a PDF.

    A PDF without text, such as a scan, is shown as it is. Raises ToolError.
    """
    first, last = chosen_pages(pages)
    command = [reader, "-q", "-layout", "-enc", "UTF-8", "-f", str(first), "-l", str(last + 1)]
    with subprocess.Popen(
        [*command, str(target), "-"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        data = process.stdout.read(MAX_PDF_TEXT)
        process.stdout.close()
    if process.returncode and not data:
        raise ToolError(f"{path} has no page {first}, or {READER} cannot read it")
    read = data.decode("utf-8", "replace").removesuffix("\f").split("\f")
    texts = read[: last - first + 1]  # and one more, to know whether there is one
    if not any(text.strip() for text in texts):
        ctx.show(path)
        return {"shown": path, "note": "These pages hold no text, so the PDF itself is shown."}
    shown, number, room = list[str](), first, MAX_SHOWN
    for number, text in enumerate(texts, first):
        page = f"--- page {number} ---\n{text.strip()}"
        room -= len(json.dumps(page, ensure_ascii=False))
        if room < 0 and shown:
            break
        shown.append(page if room >= 0 else page[:MAX_SHOWN] + " …")
    found: dict[str, Any] = {
        "content": "\n".join(shown),
        "pages": f"{first}-{first + len(shown) - 1}",
    }
    more = first + len(shown)
    return found | ({"next_page": more} if len(shown) < len(read) else {})


def chosen_pages(pages: str) -> tuple[int, int]:
    """Return (first, last) of `3` or `2-5`, at most MAX_PAGES of them. Raises ToolError."""
    found = _PAGES.fullmatch(pages or f"1-{MAX_PAGES}")
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise ToolError(f"pages is {pages[:40]!r}, wanted one page or a range such as 2-5")
    first = int(found[1])
    return first, min(int(found[2] or first), first + MAX_PAGES - 1)
