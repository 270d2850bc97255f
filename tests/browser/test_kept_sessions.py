"""A task goes on without its page; another device of the person sees it, answers and changes it."""

from __future__ import annotations

import json
import os
import unittest
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from ..bench import peers
from ..tooling.child import Yaa
from ..tooling.relay import Relay
from . import walks
from .folder_servers import OrderedModel


class KeptSessions(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model = OrderedModel(stack)
            home = Path(stack.enter_context(TemporaryDirectory(prefix="yaa-kept-")))
            yaa = stack.enter_context(Yaa(peers.config(model.url), home=home))

            place = urlsplit(yaa.url)
            line = stack.enter_context(Relay(place.hostname or "", place.port or 0))

            def cut() -> None:
                """Take the other device's line away."""
                line.refuse(True)
                line.cut()

            def device() -> str:
                """Return a link that signs another device of the owner in, with its own key."""
                headers = {"Authorization": f"Bearer {yaa.key}", "Content-Type": "application/json"}
                request = urllib.request.Request(f"{yaa.url}/sign-in/link", b"{}", headers)
                with urllib.request.urlopen(request) as answer:
                    return line.url + str(json.load(answer)["link"])

            def documents() -> dict[str, Any]:
                """Return what is kept, by id."""
                files = home.glob("keeper/*/*.json")
                return {file.stem: json.loads(file.read_text()) for file in files}

            def plant() -> None:
                """Put many old sessions into the folder, and a file that is none."""
                folder = home / "keeper" / "@home"
                for number in range(60):
                    message = {"id": "m", "role": "user", "content": f"Old {number}"}
                    text = json.dumps({"id": f"old-{number}", "messages": [message]})
                    file = folder / f"old-{number}.json"
                    file.write_text(text)
                    os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
                (folder / "odd.json").write_text("[1]")

            asks: dict[str, Callable[..., Any]] = {
                "order": model.order,
                "hold": model.may_answer.clear,
                "let go": model.may_answer.set,
                "device": device,
                "cut": cut,
                "mend": lambda: line.refuse(False),
                "documents": documents,
                "plant": plant,
            }
            job = {"url": yaa.link, "keeps": True}
            self.walk("kept-sessions", browser, job, asks, walks.failed)


if __name__ == "__main__":
    unittest.main()
