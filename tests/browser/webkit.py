"""WebKit, the engine of Safari, by the W3C's WebDriver protocol: what puppeteer cannot drive.

The driver speaks JSON over HTTP (https://www.w3.org/TR/webdriver2/), of which this is as much as
the walk needs; the well-known client wants other versions of what the other peers want.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from ..tooling import tools

WAIT_S = 30.0
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of a reference: section 12.1
ENTER = "\ue007"
ENVIRONMENT = {
    # Its own sandbox wants namespaces of the one who starts it, which root's containers lack.
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "NO_AT_BRIDGE": "1",
}


class WebKit:
    """A browser with one page, on a screen of its own; `with WebKit() as page:`."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._session = ""

    def __enter__(self) -> WebKit:
        with self._held:
            display = self._screen()
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            self._start([str(tools.webkit().path), f"--port={port}"], DISPLAY=display)
            self._url = f"http://127.0.0.1:{port}"
            self._until_up()
            wanted = {"binary": str(tools.minibrowser()), "args": ["--automation"]}
            match = {"alwaysMatch": {"webkitgtk:browserOptions": wanted}}
            self._session = self._ask("POST", "/session", {"capabilities": match})["sessionId"]
            self._held = self._held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with self._held:
            self._ask("DELETE", f"/session/{self._session}")

    def go(self, url: str) -> None:
        self._do("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function with this body returns."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script: str, *arguments: Any) -> Any:
        """What it returns once that is true. Raises TimeoutError."""
        ends = time.monotonic() + WAIT_S
        while not (found := self.run(script, *arguments)):
            if time.monotonic() > ends:
                said = self.run("return document.body.innerText")
                raise TimeoutError(f"never true: {script}\nthe page says: {said[:2000]}")
            time.sleep(0.02)
        return found

    def type(self, selector: str, text: str) -> None:
        self._do("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def press(self, name: str) -> None:
        """Click the button of this name, once it is there."""
        self.until(
            """const found = [...document.querySelectorAll("button")].find((one) => (
                one.checkVisibility()
                && [one.textContent.trim(), one.ariaLabel, one.title].includes(arguments[0])
            )); found?.click(); return found""",
            name,
        )

    def size(self, width: int, height: int) -> None:
        self._do("POST", "/window/rect", {"width": width, "height": height})

    def shot(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(self._do("GET", "/screenshot")))

    # -- below ------------------------------------------------------------------------------------

    def _find(self, selector: str) -> str:
        wanted = {"using": "css selector", "value": selector}
        return str(self._do("POST", "/element", wanted)[ELEMENT])

    def _do(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._ask(method, f"/session/{self._session}{path}", body)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S * 2) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(f"{path}: {error.read().decode()[:1000]}") from None

    def _screen(self) -> str:
        reading, writing = os.pipe()
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24"]
        self._start([*command, "-nolisten", "tcp"], pass_fds=(writing,))
        os.close(writing)
        with os.fdopen(reading) as said:
            return f":{said.readline().strip()}"

    def _until_up(self) -> None:
        ends = time.monotonic() + WAIT_S
        while True:
            try:
                self._ask("GET", "/status")
                return
            except OSError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def _start(self, command: list[str], pass_fds: tuple[int, ...] = (), **more: str) -> None:
        process = subprocess.Popen(
            command,
            env={**os.environ, **ENVIRONMENT, **more},
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._held.callback(process.wait)
        self._held.callback(process.terminate)
