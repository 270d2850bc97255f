"""A saved page with a picture and a citation, opened from the disk."""

from __future__ import annotations

import base64
import tempfile
import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling import pictures
from ..tooling.child import Yaa
from . import walks
from .test_citations import CitingModel, search_service


class SavedPage(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model = CitingModel(stack)
            config = peers.config(model.url)
            config["server"]["search"] = {"url": search_service(stack)}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            picture = base64.b64encode(pictures.png(64, 48)).decode()
            job = {"url": yaa.link, "folder": folder, "picture": picture}
            self.walk("saved-page", browser, job, {"order": model.order})


if __name__ == "__main__":
    unittest.main()
