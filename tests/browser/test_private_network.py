"""A page of the internet and a server it may not reach: the browser refuses, the page says why.

The page comes from a server with a certificate of its own, at an address that the browser is told
is a public one (its own switch for such tests). What it then refuses, it refuses by itself.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..http.test_tls import pair
from ..tooling.child import Yaa
from . import walks

PLAIN: dict[str, Any] = {"server": {"discover": False}}
# No other walk has a browser of its own, which can be given a mouse: 2 hovers, 4 is exact.
MOUSE = (
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4"
)


@unittest.skipUnless(shutil.which("openssl"), "needs openssl to make a certificate")
class PrivateNetwork(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-tls-")))
            cert, key = pair(folder, "yaa.test")
            tls = {"tls": {"cert": str(cert), "key": str(key)}, "hosts": ["yaa.test"]}
            public = stack.enter_context(Yaa({"server": PLAIN["server"] | tls}, at_once=True))
            local = stack.enter_context(Yaa(PLAIN, at_once=True))
            trap = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            trap.setblocking(False)
            port = urlsplit(public.url).port
            job = {
                "url": f"https://yaa.test:{port}/#key={public.key}",
                "lan": f"http://lan.yaa.test:{trap.getsockname()[1]}",
                "loop": local.url,
                "insecure": True,
                "flags": [f"--ip-address-space-overrides=127.0.0.1:{port}=public", MOUSE],
                "prefs": {
                    "network.lna.enabled": True,
                    "network.lna.blocking": True,
                    "network.lna.address_space.public.override": f"127.0.0.1:{port}",
                },
            }
            walked = self.walk("private-network", browser, job, expected=lambda complaint: True)
            with self.assertRaises(BlockingIOError, msg="the browser let a request through"):
                trap.accept()
        if why := walked.steps["permission"].get("skipped"):
            self.skipTest(f"permission was not asked for in {browser}: {why}")


if __name__ == "__main__":
    unittest.main()
