"""Documents as text: structure kept, everything else left out, nothing hostile believed."""

from __future__ import annotations

import time
import unittest

from server.tools.builtin.html import decode_document, readable
from server.tools.decorators import Context

CTX = Context({}, lambda _: None)


def text(html: str, url: str = "http://a.org/d/") -> str:
    body = html.encode().decode("latin-1")
    return str(readable(CTX, body, "text/html; charset=utf-8", url, 0, 10**6)["text"])


class Pages(unittest.TestCase):
    def test_structure(self) -> None:
        cases = [
            ("<p>a  b\n c</p><p>d</p>", "a b c\n\nd"),
            ("<h1>T</h1>x<h2>U</h2>", "# T\nx\n\n## U"),
            ("<ul><li>a<li>b</ul>", "- a\n- b"),
            ("<pre> x\n  y</pre>", "x\n  y"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<a href='p?q=1'>l</a>", "[l](http://a.org/d/p?q=1)"),
            ("<a href='#top'>l</a><a name=x>m</a>", "lm"),
            ("<a href='javascript:x'>l</a>", "l"),
            ("<a href='http://[bad'>l</a>", "l"),
            ("<img alt='a  cat'> &amp; &lt;b&gt; &#x1F600;", "[image: a cat] & <b> 😀"),
            ("<script>a<b</script><style>c</style><template>d</template>e", "e"),
            ("<svg><svg></svg>x</svg>y", "y"),
            ("<table><tr><td>1<td>2</table>", "| 1 | 2"),
            ("<p>never closed <b>bold", "never closed bold"),
            ("</div></a></title>x", "x"),
            ("", ""),
        ]
        for html, found in cases:
            with self.subTest(html):
                self.assertEqual(text(html), found)

    def test_deep_documents(self) -> None:
        began = time.process_time()
        for html in ("<a href=x>y" * 20_000 + "</a>" * 20_000, "<div>" * 50_000, "&" * 200_000):
            text(html)
        self.assertLess(time.process_time() - began, 10)

    def test_encodings(self) -> None:
        cases = [
            ("é".encode(), "", "é"),
            ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
            ('<meta charset="windows-1251">Привет'.encode("cp1251"), "text/html", "Привет"),
            ("日本".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本"),
            ("é".encode("utf-8-sig"), "text/html; charset=latin-1", "é"),
            (b"ab", "text/html; charset=rot13", "ab"),
            (b"\xff", "text/html; charset=utf-8", "\ufffd"),
        ]
        for data, kind, found in cases:
            with self.subTest(kind):
                self.assertTrue(decode_document(data, kind).endswith(found))


if __name__ == "__main__":
    unittest.main()
