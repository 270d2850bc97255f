"""Log lines hold no secret, stay on one line, and keep what only looks like a secret."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.lib.runtime.run_id import run_id
from server.telemetry import log, redact, trace_context
from server.telemetry.log import RotatingFile, Rotation

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

    def test_escapes_are_those_of_python(self) -> None:
        """But not by its codec, which is imported when it is first used."""
        for code in (*range(0x100), 0x2027, 0x2028, 0x2029, 0x1F600):
            with self.subTest(code=hex(code)):
                text, line = chr(code), log.one_line(chr(code))
                self.assertIn(line, (text, text.encode("unicode_escape").decode()))
                self.assertTrue(line.isprintable() or code in (0xA0, 0xAD))

    def test_no_failure_reaches_what_logs(self) -> None:
        """The line that can be written again says how many are lost."""

        class Failing:
            error: Exception | None = None

            def write(self, lines: Any) -> None:
                if self.error is not None:
                    raise self.error

            def close(self) -> None:
                pass

        class Unprintable:
            def __str__(self) -> str:
                raise MemoryError

        (handler,) = logging.getLogger("yaa").handlers
        assert isinstance(handler, log.DelayedHandler)
        output = Failing()
        handler.outputs.insert(0, output)
        for error in (MemoryError(), OSError(24, "Too many open files"), RecursionError()):
            with self.subTest(error=error):
                before = self.stream.getvalue()
                output.error = error
                for _ in range(2):
                    self.log.warning("a line")
                output.error = None
                self.log.warning("%s", Unprintable())
                self.log.warning("again")
                first, second = self.stream.getvalue()[len(before) :].splitlines()
                self.assertIn("yaa.test again", first)
                self.assertIn("yaa.log 3 lines are lost: they could not be made", second)

    def test_shape_of_a_line(self) -> None:
        self.log.warning("hello %s", "world")
        line = self.stream.getvalue()
        self.assertRegex(
            line, r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z WARNING yaa\.test hello world\n$"
        )

    def test_run_id_is_on_the_line_while_it_is_set(self) -> None:
        token = run_id.set("run_7")
        self.log.info("in")
        run_id.reset(token)
        self.log.info("out")
        inside, outside = self.stream.getvalue().splitlines()
        self.assertIn(" run=run_7 in", inside)
        self.assertNotIn("run=", outside)

    def test_no_secret_by_any_way_into_a_line(self) -> None:
        redact.register([CANARY])
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

    def test_no_secret_in_an_object_of_short_values(self) -> None:
        """Its values are masked one by one, and the masked form of a value is remembered."""
        late = "Lz4lateLz4late"
        for _ in range(2):
            self.log.info({"session": late, "model": "m", "ms": 3, "key_name": "home"})
            redact.register([late])
        self.log.info({"name": "authorization", "value": "hush-hush"})
        self.log.info({"X-Api-Key": "hush-hush", "clientSecret": "hush-hush", "n": None})
        self.log.info({"path": "https://me:hush-hush@host/x", "key_name": "home"})
        self.log.info({"session": "sk-hush-hush-hush-hush", late: 1})
        self.log.info({"text": "the password is hush-hush"})
        first, second, *others = self.stream.getvalue().splitlines()
        self.assertIn(late, first)
        self.assertIn('"key_name":"home"', first)
        self.assertIn('{"session":"***","model":"m","ms":3,"key_name":"home"}', second)
        for line in others:
            self.assertIn("***", line)
            self.assertNotIn("hush", line)
            self.assertNotIn(late, line)

    def test_a_long_line_is_cut_and_holds_no_half_of_a_key(self) -> None:
        for room in (65_530, 65_500, 65_000, 64_000):
            self.log.info("x" * room + f" sk-{CANARY * 20} " + "y" * 100_000)
        for line in self.stream.getvalue().splitlines():
            self.assertNotIn("Qx7", line)
            self.assertLess(len(line), 70_000)
            self.assertRegex(line, r"… \(\d+ characters\)$")

    def test_one_that_just_fits_is_whole(self) -> None:
        text = "x" * log.LONGEST
        self.assertEqual(log.safe(text), text)
        self.assertTrue(log.safe(f"{text}x").endswith(f"x… ({len(text) + 1} characters)"))

    def test_a_record_that_is_an_object(self) -> None:
        token = trace_context.current.set(trace_context.TraceContext("4b" * 16))
        self.log.info({"n": 1, "api_key": "hush-hush", "text": "é\n Bearer abc123def"})
        log.setup("debug", style="json", stream=self.stream)
        self.log.info({"n": 1, "api_key": "hush-hush", "text": "é\n Bearer abc123def"})
        self.log.warning("plain %s", "text")
        trace_context.current.reset(token)
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

    def test_what_asyncio_says_is_a_line_too(self) -> None:
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        secret = OSError("Bearer sk-canary0123456789abcdef0123456789abcdef")
        loop.call_exception_handler({"message": "out of system resource", "exception": secret})
        logging.getLogger("asyncio").info("Using selector")
        (line,) = self.stream.getvalue().splitlines()
        self.assertRegex(line, r"^\S+ ERROR asyncio out of system resource\\n")
        self.assertNotIn("canary", line)

    def test_level_and_propagation(self) -> None:
        log.setup("warning", stream=self.stream)
        self.log.info("too quiet")
        self.assertEqual(self.stream.getvalue(), "")
        self.assertFalse(logging.getLogger("yaa").propagate)
        self.assertEqual(len(logging.getLogger("yaa").handlers), 1)


class Writes(io.StringIO):
    """A stream that counts what is written to it at a time."""

    count = 0

    def flush(self) -> None:
        self.count += 1
        super().flush()


class Later(unittest.IsolatedAsyncioTestCase):
    """Lines that wait: an hour here, so that only what is tested ends it."""

    def setUp(self) -> None:
        self.stream = Writes()
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        self.log = log.get("test")

    def wait(self, delay_s: float = 3600.0) -> None:
        log.setup("debug", stream=self.stream, delay_s=delay_s)

    def said(self) -> list[str]:
        return [line.partition("yaa.test ")[2] for line in self.stream.getvalue().splitlines()]

    async def test_many_are_one_write_when_their_time_has_come(self) -> None:
        self.wait(0.01)
        for number in range(50):
            self.log.info("line %d", number)
        self.assertEqual(self.said(), [])
        while not self.stream.count:
            await asyncio.sleep(0.001)
        self.assertEqual(self.said(), [f"line {number}" for number in range(50)])
        self.log.info("again")
        while self.stream.count < 2:
            await asyncio.sleep(0.001)
        self.assertEqual((self.said()[50:], self.stream.count), (["again"], 2))

    async def test_a_warning_waits_for_nothing_and_comes_last(self) -> None:
        self.wait()
        self.log.info("first")
        self.log.debug("second")
        self.log.warning("third")
        self.assertEqual((self.said(), self.stream.count), (["first", "second", "third"], 1))

    async def test_a_line_is_of_the_run_it_was_made_in(self) -> None:
        self.wait()
        token = run_id.set("run_7")
        self.log.info("in")
        run_id.reset(token)
        self.log.info("out")
        logging.getLogger("yaa").handlers[0].flush()
        inside, outside = self.stream.getvalue().splitlines()
        self.assertIn(" run=run_7 in", inside)
        self.assertNotIn("run=", outside)

    async def test_what_waits_is_bounded(self) -> None:
        self.wait()
        for number in range(log.MOST_WAITING - 1):
            self.log.info("line %d", number)
        self.assertEqual(self.said(), [])
        self.log.info("last")
        self.assertEqual((len(self.said()), self.stream.count), (log.MOST_WAITING, 1))

    async def test_a_thread_writes_at_once_and_in_order(self) -> None:
        self.wait()
        self.log.info("first")
        await asyncio.to_thread(self.log.info, "second")
        self.assertEqual(self.said(), ["first", "second"])

    async def test_one_that_does_not_fit_its_text_takes_no_other_with_it(self) -> None:
        redact.register(["hush-hush"])
        unfit: list[tuple[str, tuple[Any, ...], str]] = [
            ("%d", ("hush-hush",), "TypeError"),
            ("%d", (float("inf"),), "OverflowError"),
            ("%s %s", ("hush-hush",), "TypeError"),
            ("%(name)s", ({"other": "hush-hush"},), "KeyError"),
        ]
        self.wait()
        with contextlib.redirect_stderr(io.StringIO()) as told:
            for number, (text, values, kind) in enumerate(unfit):
                self.log.info("first")
                self.log.info(text, *values)
                self.log.warning("third")
                first, second, third = self.said()[3 * number :]
                self.assertEqual((first, third), ("first", "third"))
                self.assertIn(f"does not fit its values: {kind}(", second)
        self.assertNotIn("hush", self.stream.getvalue() + told.getvalue())

    async def test_nothing_is_lost_when_the_handlers_change(self) -> None:
        self.wait()
        self.log.info("first")
        log.setup("debug", stream=io.StringIO())
        self.assertEqual(self.said(), ["first"])

    def test_without_a_loop_and_in_the_next_one(self) -> None:
        self.wait()

        async def run(text: str) -> None:
            self.log.info(text)

        asyncio.run(run("first"))  # ends before its time has come
        asyncio.run(run("second"))
        self.assertEqual(self.said(), [])
        self.log.info("third")
        self.assertEqual(self.said(), ["first", "second", "third"])


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.stream = io.StringIO()
        self.log = log.get("test")
        self.addCleanup(log.setup, "error", stream=io.StringIO())

    def keep_in(self, path: Path, most: int = 10_000) -> None:
        log.setup("info", stream=self.stream, file=RotatingFile(path, Rotation(most, 2)))

    def test_the_same_lines_as_on_the_stream(self) -> None:
        self.keep_in(self.folder / "yaa.log")
        redact.register(["hush-hush"])
        self.log.info("kept, hush-hush, half a pair: \ud800")
        written = (self.folder / "yaa.log").read_text()
        self.assertEqual(len(written.splitlines()), 1)
        self.assertIn("kept", written)
        self.assertNotIn("hush-hush", written)

    def test_rotated(self) -> None:
        self.keep_in(self.folder / "yaa.log", 1000)
        for number in range(100):
            self.log.info("line %d", number)
        names = sorted(file.name for file in self.folder.iterdir())
        self.assertEqual(names, ["yaa.log", "yaa.log.1", "yaa.log.2"])
        self.assertIn("line 99", (self.folder / "yaa.log").read_text().splitlines()[-1])

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_full_disk_is_told_once_and_when_it_is_over(self) -> None:
        self.keep_in(Path("/dev/full"))
        for number in range(5):
            self.log.info("line %d", number)
        lines = self.stream.getvalue().splitlines()
        self.assertEqual(sum("line " in line for line in lines), 5, "the stream has them all")
        (told,) = [line for line in lines if "full cannot be written" in line]
        self.assertIn("WARNING yaa.log", told)
        self.assertIn("No space left on device", told)

    def test_how_many_were_lost(self) -> None:
        path = self.folder / "logs" / "yaa.log"  # the folder is not there yet
        self.keep_in(path)
        for number in range(3):
            self.log.info("line %d", number)
        path.parent.mkdir()
        self.log.info("again")
        self.assertIn("yaa.log is written again; 3 lines are lost", self.stream.getvalue())
        self.assertIn("again", path.read_text())

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_stream_that_is_full_or_closed_breaks_nothing(self) -> None:
        with Path("/dev/full").open("w", buffering=1) as full:
            log.setup("info", stream=full)
            self.log.info("lost")
            log.setup("error", stream=self.stream)
            with contextlib.suppress(OSError):
                full.close()


if __name__ == "__main__":
    unittest.main()
