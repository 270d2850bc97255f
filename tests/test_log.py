"""Log lines hold no secret, stay on one line, and keep what only looks like a secret."""

from __future__ import annotations

import io
import json
import logging
import tempfile
import unittest
from pathlib import Path

from server import log, masking, spans

CANARY = "Qx7canaryQx7"  # not that of the other tests: it stays registered


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.stream = io.StringIO()
        log.setup("debug", stream=self.stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        self.log = log.get("test")

    def test_one_record_is_one_line(self) -> None:
        self.log.info("first\nFAKE\r\x1b[31m line\u2028next %s", "a\nb")
        text = self.stream.getvalue()
        self.assertEqual(text.count("\n"), 1)
        self.assertIn("first\\nFAKE\\r\\x1b[31m line\\u2028next a\\nb", text)

    def test_shape_of_a_line(self) -> None:
        self.log.warning("hello %s", "world")
        line = self.stream.getvalue()
        self.assertRegex(
            line, r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z WARNING yaa\.test hello world\n$"
        )

    def test_run_id_is_on_the_line_while_it_is_set(self) -> None:
        token = log.run_id.set("run_7")
        self.log.info("in")
        log.run_id.reset(token)
        self.log.info("out")
        inside, outside = self.stream.getvalue().splitlines()
        self.assertIn(" run=run_7 in", inside)
        self.assertNotIn("run=", outside)

    def test_no_secret_by_any_way_into_a_line(self) -> None:
        masking.register([CANARY])
        self.log.info({"api_key": "hush-hush", "n": 1})
        self.log.info("config %s", {"providers": {"main": {"api_key": "hush-hush"}}})
        self.log.info("%(token)s", {"token": "hush-hush"})
        self.log.info(f"path /{CANARY}")
        self.log.info("%s", CANARY.encode())
        try:
            raise ValueError(f"connect to https://me:hush-hush@host with {CANARY}")
        except ValueError:
            self.log.exception("it failed")
        text = self.stream.getvalue()
        self.assertNotIn(CANARY, text)
        self.assertNotIn("hush-hush", text)
        self.assertEqual(text.count("\n"), 6)
        self.assertIn("ValueError", text)

    def test_a_long_line_is_cut_and_holds_no_half_of_a_key(self) -> None:
        for room in (65_530, 65_500, 65_000, 64_000):
            self.log.info("x" * room + f" sk-{CANARY * 20} " + "y" * 100_000)
        for line in self.stream.getvalue().splitlines():
            self.assertNotIn("Qx7", line)
            self.assertLess(len(line), 70_000)
            self.assertRegex(line, r"… \(\d+ characters\)$")

    def test_a_record_that_is_an_object(self) -> None:
        token = spans.current.set(spans.Context("4b" * 16))
        self.log.info({"n": 1, "api_key": "hush-hush", "text": "é\n Bearer abc123def"})
        log.setup("debug", style="json", stream=self.stream)
        self.log.info({"n": 1, "api_key": "hush-hush", "text": "é\n Bearer abc123def"})
        self.log.warning("plain %s", "text")
        spans.current.reset(token)
        first, second, third = self.stream.getvalue().splitlines()
        said = {"n": 1, "api_key": "***", "text": "é\n Bearer ***"}
        self.assertIn(f" INFO yaa.test trace={'4b' * 16} " + "{", first)
        self.assertEqual(json.loads(first[first.index("{") :]), said)
        whole = json.loads(second)
        self.assertRegex(whole.pop("ts"), r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$")
        marks = {"level": "info", "logger": "yaa.test", "trace": "4b" * 16}
        self.assertEqual(whole, said | marks)
        self.assertEqual(json.loads(third)["msg"], "plain text")
        self.assertEqual(json.loads(third)["level"], "warning")

    def test_json_lines_hold_their_line_whatever_is_in_them(self) -> None:
        log.setup("debug", style="json", stream=self.stream)
        try:
            raise ValueError("a\nb\u2028c")
        except ValueError:
            self.log.exception("it\nfailed %s", {"token": "hush-hush"})
        (line,) = self.stream.getvalue().splitlines()
        self.assertIn("ValueError: a\nb\u2028c", json.loads(line)["msg"])
        self.assertNotIn("hush-hush", line)

    def test_level_and_propagation(self) -> None:
        log.setup("warning", stream=self.stream)
        self.log.info("too quiet")
        self.assertEqual(self.stream.getvalue(), "")
        self.assertFalse(logging.getLogger("yaa").propagate)
        self.assertEqual(len(logging.getLogger("yaa").handlers), 1)

    def test_a_log_file_in_a_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log.setup("info", stream=self.stream, folder=Path(folder))
            self.log.info("kept")
            log.setup("info", stream=self.stream)
            self.assertIn("kept", (Path(folder) / "yaa.log").read_text())


if __name__ == "__main__":
    unittest.main()
