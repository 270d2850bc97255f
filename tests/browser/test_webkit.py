"""The main way through the page in WebKit: a session that streams, asks, is left and found again.

Left at the worst moments: WebKit keeps a page that is left and what it has begun.
"""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling import tools
from ..tooling.child import Yaa
from .walks import SHOTS
from .webkit import ENTER, WebKit

FIELD = "form.composer textarea"
COMPLAINTS = """globalThis.complaints ??= [];
    addEventListener("error", (event) => complaints.push(`${event.message} ${event.filename}`));
    addEventListener("unhandledrejection", (event) => complaints.push(String(event.reason)));"""
SAYS = "return document.body.innerText.includes(arguments[0])"
WORDS = """return (document.querySelector(".chunk:last-child > .message:last-child")?.textContent
    .match(/@\\d+@/g)?.length ?? 0) >= arguments[0]"""
SHELL = 'bench tokens=5 delay_us=0 tool=shell{"command":"echo $((6*7))"}'

# Allows it in the moment in which it is drawn: in one of three, the run has not come to rest.
ALLOWS = """const look = new MutationObserver(() => {
        const allow = document.querySelector(".ask .ask-actions:not([hidden]) .primary");
        if (allow) look.disconnect();
        allow?.click();
    });
    look.observe(document.body, { childList: true, subtree: true });"""


@tools.needs(tools.webkit())
class Walk(unittest.TestCase):
    def setUp(self) -> None:
        stack = self.enterContext(ExitStack())
        config = peers.config(peers.start(stack, "tests.bench.provider"))
        self.yaa = stack.enter_context(Yaa(config, at_once=True))
        self.page = stack.enter_context(WebKit())
        self.page.go(self.yaa.link)
        self.ready()
        # A title by the model may come before the page is left, or after it.
        self.page.run('yaa.use("ui/commands").context().actions.choose("yaa", "auto_title", false)')

    def ready(self) -> None:
        self.page.until(f"return document.querySelector('{FIELD}')?.checkVisibility()")
        self.page.until(SAYS, "Connected")
        self.page.run(COMPLAINTS)

    def leave(self) -> None:
        self.assertEqual(self.page.run("return complaints"), [])
        self.page.go("about:blank")
        self.page.go(self.yaa.url + "/")
        self.ready()

    def open(self, title: str) -> None:
        """The session in the list, once it is there."""
        found = """const row = [...document.querySelectorAll(".row-open")]
            .find((one) => one.textContent.includes(arguments[0])); row?.click(); return row"""
        self.page.until(found, title)

    def say(self, text: str) -> None:
        self.page.type(FIELD, text + ENTER)

    def test_a_session(self) -> None:
        page = self.page
        self.assertNotIn("#", page.run("return location.href"), "the key is gone from the address")
        page.run(ALLOWS)
        self.say(SHELL)
        page.until(WORDS, 5)
        page.press("Settings")
        page.until("return document.querySelector('dialog[open]')")
        page.shot(SHOTS / "webkit-settings.png")
        page.run("document.querySelector('dialog[open]').close()")
        page.size(400, 800)
        page.shot(SHOTS / "webkit-phone.png")
        wide = page.run("return document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wide, 0, "nothing is wider than the page")
        self.assertEqual(page.run("return complaints"), [])

    def test_left_in_the_middle(self) -> None:
        """Of a stream, and in the moment that it is whole and stored: nothing is missing."""
        for words, title in ((2, "begun"), (60, "half"), (150, "whole")):
            with self.subTest(title):
                self.page.press("New session")
                self.say(f"{title} bench tokens=150 delay_us=4000")
                self.page.until(WORDS, words)
                self.leave()
                self.open(title)
                self.page.until(WORDS, 150)

    def test_left_while_it_is_asked(self) -> None:
        self.say(SHELL)
        self.page.until(SAYS, "Allow once")
        self.leave()
        self.open("bench")
        self.page.press("Allow once")
        self.page.until(WORDS, 5)


if __name__ == "__main__":
    unittest.main()
