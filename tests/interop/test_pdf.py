"""The text of PDFs by the real `pdftotext`: pages, umlauts, Chinese, scans, broken files."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

from server.tools.builtin.documents import MAX_PAGES
from server.tools.builtin.files import read_file
from server.tools.decorators import Context, ToolError

from ..tooling import tools
from ..tools.builtin.test_files import Case

GERMAN = "Grüße aus Köln: ÄÖÜ äöü ß – 10 €"
CHINESE = "合同编号：二〇二六"
WINDOWS = "cp1252"  # WinAnsiEncoding


def latin(*lines: str) -> bytes:
    """A page's content in the font F1."""
    shown = [f"<{line.encode(WINDOWS).hex()}> Tj 0 -16 Td" for line in lines]
    return f"BT /F1 12 Tf 72 700 Td {' '.join(shown)} ET".encode()


def wide(text: str) -> bytes:
    """A page's content in the font F2, whose codes are UTF-16."""
    return f"BT /F2 12 Tf 72 700 Td <{text.encode('utf-16-be').hex()}> Tj ET".encode()


def stream(data: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(data), data)


def pdf(pages: Sequence[bytes]) -> bytes:
    """A file of these pages, written by hand: two fonts, neither of which is embedded."""
    codes = "".join(f"<{ord(each):04x}> <{ord(each):04x}>\n" for each in sorted({*CHINESE}))
    names = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /W def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len({*CHINESE})} beginbfchar\n{codes}endbfchar\nendcmap end end"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",  # the pages, which are known only below
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Wide /Encoding /Identity-H"
        b" /DescendantFonts [5 0 R] /ToUnicode 7 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Wide /FontDescriptor 6 0 R /DW 1000"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        b"<< /Type /FontDescriptor /FontName /Wide /Flags 4 /FontBBox [0 0 1000 1000]"
        b" /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>",
        stream(names.encode()),
    ]
    kids = []
    for content in pages:
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (len(objects) + 2)
        )
        objects.append(stream(content))
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(kids))
    made, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return made + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(made))
    )


class RealReader(Case):
    def setUp(self) -> None:
        super().setUp()
        self.said: list[Any] = []
        self.ctx = Context({}, self.said.append)

    def write(self, data: bytes, name: str = "a.pdf") -> None:
        (self.root / name).write_bytes(data)

    @tools.needs(tools.pdftotext())
    def test_the_text_of_pages(self) -> None:
        self.write(pdf([latin("First page.", GERMAN), wide(CHINESE), latin("Third.")]))
        found = read_file(self.ctx, "a.pdf")
        self.assertEqual(found["pages"], "1-3")
        self.assertNotIn("next_page", found)
        first, second, third = found["content"].split("--- page ")[1:]
        self.assertIn(GERMAN, first)
        self.assertIn(CHINESE, second)
        self.assertIn("Third.", third)
        self.assertEqual(self.said, [], "the text is enough")

    @tools.needs(tools.pdftotext())
    def test_some_of_many_pages(self) -> None:
        self.write(pdf([latin(f"This is number {n}.") for n in range(1, 31)]), "größe 合同.pdf")
        for pages, wanted, further in (
            ("", f"1-{MAX_PAGES}", MAX_PAGES + 1),
            ("2", "2-2", 3),
            ("29-30", "29-30", None),
            ("25-99", "25-30", None),
        ):
            with self.subTest(pages):
                found = read_file(self.ctx, "größe 合同.pdf", pages=pages)
                self.assertEqual((found["pages"], found.get("next_page")), (wanted, further))
                first, _, last = wanted.partition("-")
                self.assertIn(f"--- page {first} ---\nThis is number {first}.", found["content"])
                self.assertIn(f"number {last}.", found["content"])
                self.assertNotIn(f"number {int(last) + 1}.", found["content"])
        with self.assertRaisesRegex(ToolError, "no page 31"):
            read_file(self.ctx, "größe 合同.pdf", pages="31")

    @tools.needs(tools.pdftotext())
    def test_a_scan_is_shown(self) -> None:
        self.write(pdf([b"0 0 100 100 re f", b"0 0 9 9 re f"]))
        self.assertIn("no text", read_file(self.ctx, "a.pdf")["note"])
        self.assertEqual(self.said, [{"show": {"path": "a.pdf"}}])

    @tools.needs(tools.pdftotext())
    def test_files_that_are_broken(self) -> None:
        whole = pdf([latin(GERMAN)] * 3)
        for name, data in (
            ("cut", whole[: len(whole) // 2]),
            ("empty", b"%PDF-1.7\n"),
            ("noise", b"%PDF-1.7\n" + bytes(range(256)) * 40),
            ("endless", whole.replace(b"/Kids [", b"/Kids [2 0 R ")),
        ):
            with self.subTest(name):
                self.write(data)
                try:
                    found = read_file(self.ctx, "a.pdf")
                except ToolError as error:
                    self.assertIn("cannot read it", str(error))
                else:
                    self.assertTrue(GERMAN in found.get("content", "") or "note" in found, found)


if __name__ == "__main__":
    unittest.main()
