"""Spans reach a real receiver, in batches, without secrets; what cannot be sent is counted."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server.extensions.tracing import spans
from server.extensions.tracing.exporter import Exporter, address
from server.lib.http.client import Client
from server.telemetry.log import Rotation
from server.telemetry.trace_context import TraceContext

from ...fakes import DEFAULTS, NOWHERE
from ...telemetry.test_redact import corpus
from ...tooling import patience

SECONDS = 20


class Receiver:
    """An OTLP receiver. `answers` are used up first, then everything is taken."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        receiver = self
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.gate = threading.Event()
        self.gate.set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.gate.wait(patience.seconds(SECONDS))
                heads = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append((self.path, heads, json.loads(body)))
                status, text = receiver.answers.pop(0) if receiver.answers else (200, "{}")
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.gate.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def spans(self) -> list[dict[str, Any]]:
        return [span for _, _, body in self.requests for span in spans_in(body)]


def spans_in(body: Any) -> Iterator[dict[str, Any]]:
    for resource in body["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope["spans"]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def span(name: str = "chat m", **attributes: Any) -> spans.Span:
    return spans.child(TraceContext("4b" * 16), name, **attributes)


class Case(unittest.IsolatedAsyncioTestCase):
    def receiver(self, *answers: tuple[int, str]) -> Receiver:
        made = Receiver(*answers)
        self.addCleanup(made.close)
        return made

    most = 1 << 20  # bytes of a file

    async def exporter(
        self, folder: Path = NOWHERE, last_s: float = 5.0, **config: Any
    ) -> Exporter:
        client = Client()
        self.addAsyncCleanup(client.close)
        self.pauses: list[float] = []

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        wanted = DEFAULTS["server"]["tracing"] | config
        rotation = Rotation(self.most, 1)
        made = Exporter(wanted, folder, rotation, client, "1.2.3", sleep=sleep, last_s=last_s)
        made.open()
        self.addAsyncCleanup(made.close)
        return made


class Sending(Case):
    async def test_a_batch_with_its_headers_and_resource(self) -> None:
        receiver = self.receiver()
        exporter = await self.exporter(
            url=receiver.url, headers={"x-key": "hush-hush"}, service_name="home"
        )
        for number in range(3):
            exporter.add(span(n=number))
        await exporter.close()
        ((path, heads, body),) = receiver.requests
        self.assertEqual(path, "/v1/traces")
        self.assertEqual(heads["content-type"], "application/json")
        self.assertEqual(heads["x-key"], "hush-hush")
        resource = attributes(body["resourceSpans"][0]["resource"])
        self.assertEqual(resource, {"service.name": "home", "service.version": "1.2.3"})
        self.assertEqual([attributes(s)["n"] for s in spans_in(body)], ["0", "1", "2"])
        self.assertEqual((exporter.sent, exporter.dropped), (3, 0))

    async def test_it_sends_by_itself(self) -> None:
        receiver = self.receiver()
        exporter = await self.exporter(url=receiver.url)
        exporter.add(span())
        async with asyncio.timeout(patience.seconds(SECONDS)):
            while not exporter.sent:
                await asyncio.sleep(0.01)
        self.assertEqual(len(receiver.spans()), 1)

    async def test_attempts(self) -> None:
        for statuses, sent, requests in (
            ((503, 429), 1, 3),
            ((502, 503, 504), 0, 3),
            ((202,), 1, 1),  # not as OTLP has it, but taken is taken
            ((400,), 0, 1),
            ((401,), 0, 1),
        ):
            receiver = self.receiver(*((status, "no") for status in statuses))
            exporter = await self.exporter(url=receiver.url)
            exporter.add(span())
            with self.subTest(statuses=statuses):
                with self.maybe_warns(not sent):
                    await exporter.close()
                self.assertEqual(len(receiver.requests), requests)
                self.assertEqual((exporter.sent, exporter.dropped), (sent, 1 - sent))
                self.assertEqual(self.pauses, [1.0, 4.0][: requests - 1])

    def maybe_warns(self, warns: bool) -> Any:
        return self.assertLogs("yaa.tracing") if warns else self.assertNoLogs("yaa.tracing")

    async def test_nobody_is_there(self) -> None:
        exporter = await self.exporter(url="http://127.0.0.1:9")
        exporter.add(span())
        with self.assertLogs("yaa.tracing", "WARNING"):
            await exporter.close()
        self.assertEqual(exporter.info(), {"on": True, "content": False, "sent": 0, "dropped": 1})

    async def test_what_the_receiver_rejects_is_counted(self) -> None:
        def partial(count: Any) -> str:
            said = {"rejectedSpans": count, "errorMessage": "old"}
            return json.dumps({"partialSuccess": said})

        for answer, dropped in (
            *((partial("2"), 2), (partial(2), 2), (partial(3), 3), (partial(0), 0)),
            *((partial(10**18), 3), (partial(-7), 0), (partial([1]), 0), (partial("9" * 5000), 0)),
            *(("{}", 0), ("[]", 0), ("not JSON", 0), ("null", 0), ('{"partialSuccess":[1]}', 0)),
        ):
            receiver = self.receiver((200, answer))
            exporter = await self.exporter(url=receiver.url)
            for _ in range(3):
                exporter.add(span())
            with self.subTest(answer=answer[:60]):
                with self.maybe_warns(bool(dropped)):
                    await exporter.close()
                self.assertEqual((exporter.dropped, exporter.sent), (dropped, 3 - dropped))

    async def test_what_is_on_its_way_when_the_server_stops_is_counted(self) -> None:
        receiver = self.receiver()
        receiver.gate.clear()
        exporter = await self.exporter(url=receiver.url, last_s=0.05)
        exporter.add(span())
        with self.assertLogs("yaa.tracing", "WARNING") as logs:
            await exporter.close()
        self.assertIn("1 spans are lost: the server stops", logs.output[0])
        self.assertEqual((exporter.dropped, exporter.sent), (1, 0))

    async def test_a_receiver_that_hangs_delays_nobody_and_the_queue_is_bounded(self) -> None:
        receiver = self.receiver()
        receiver.gate.clear()
        exporter = await self.exporter(url=receiver.url, max_queue=600)
        with self.assertLogs("yaa.tracing", "WARNING") as logs:
            for number in range(5_000):
                exporter.add(span(n=number))
                if number == 600:
                    await asyncio.sleep(0.05)
        self.assertEqual(len(logs.output), 1, "it is said once")
        self.assertGreater(exporter.dropped, 3_000)
        receiver.gate.set()
        await exporter.close()
        self.assertEqual(exporter.sent + exporter.dropped, 5_000)

    async def test_off(self) -> None:
        exporter = await self.exporter()
        self.assertFalse(exporter.on)


class Content(Case):
    async def test_files_are_rotated_and_a_full_disk_is_told_once(self) -> None:
        self.most = 2000
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            exporter = await self.exporter(folder, file="t.jsonl")
            for _ in range(5):
                exporter.add(span(text="x" * 1500))
                await exporter._send_next()
            self.assertEqual(sorted(f.name for f in folder.iterdir()), ["t.jsonl", "t.jsonl.1"])
            for file in folder.iterdir():
                self.assertEqual(len(list(spans_in(json.loads(file.read_text())))), 1)
        full = await self.exporter(Path("/dev"), file="full")
        with self.assertLogs("yaa.tracing", "WARNING") as caught:
            for _ in range(3):
                full.add(span())
                await full._send_next()
        self.assertEqual(len(caught.output), 1)
        self.assertIn("No space left", caught.output[0])
        self.assertEqual(full.info()["dropped"], 3)

    async def test_no_secret_of_the_corpus_in_a_request_or_a_file(self) -> None:
        receiver = self.receiver()
        with tempfile.TemporaryDirectory() as name:
            exporter = await self.exporter(Path(name), url=receiver.url, file="t.jsonl")
            texts = list(corpus())
            for text, _ in texts:
                made = span(text, plain=text, deep=[{"content": text}], list=[text])
                made.error = text
                exporter.add(made)
            await exporter.close()
            file = Path(name) / "t.jsonl"
            written = "".join(each.read_text() for each in Path(name).iterdir())
            seen = written + json.dumps([body for *_, body in receiver.requests])
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
            self.assertEqual(exporter.sent, len(texts))
        for text, secrets in texts:
            for secret in secrets:
                with self.subTest(text=text):
                    self.assertNotIn(secret, seen)

    async def test_a_file_holds_a_request_a_line(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for _ in range(2):
                exporter = await self.exporter(Path(name), file="t.jsonl")
                exporter.add(span("x", content=[{"role": "user"}], long="y" * 100_000))
                await exporter.close()
            lines = (Path(name) / "t.jsonl").read_text().splitlines()
        told = [next(spans_in(json.loads(line))) for line in lines]
        self.assertEqual([each["name"] for each in told], ["x", "x"])
        self.assertEqual(json.loads(attributes(told[0])["content"]), [{"role": "user"}])
        self.assertRegex(attributes(told[0])["long"], r"^y{65536}… \(100000 characters\)$")

    async def test_what_is_filed_is_not_filed_again_when_the_server_stops(self) -> None:
        receiver = self.receiver()
        receiver.gate.clear()
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "t.jsonl"
            exporter = await self.exporter(Path(name), 0.05, url=receiver.url, file=file.name)
            exporter.add(span())
            async with asyncio.timeout(patience.seconds(SECONDS)):
                while not file.exists() or not file.stat().st_size:
                    await asyncio.sleep(0.01)
            exporter.add(span())
            with self.assertLogs("yaa.tracing", "WARNING"):
                await exporter.close()
            self.assertEqual(len(file.read_text().splitlines()), 1)
        self.assertEqual(exporter.dropped, 2)

    async def test_what_no_thread_writes_yet_is_filed_when_the_server_stops(self) -> None:
        gate, waits = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        class Busy(ThreadPoolExecutor):
            """One thread, which does something else before the second task, the write."""

            tasks = 0

            def submit(self, *task: Any, **more: Any) -> Any:
                self.tasks += 1
                if self.tasks == 2:
                    super().submit(gate.wait)
                    waits.set()
                return super().submit(*task, **more)

        loop.set_default_executor(Busy(1))
        self.addCleanup(gate.set)
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "t.jsonl"
            exporter = await self.exporter(Path(name), file=file.name)
            exporter.add(span())
            async with asyncio.timeout(patience.seconds(SECONDS)):
                await waits.wait()
                closing = asyncio.create_task(exporter.close())
                for _ in range(9):  # turns of the loop, until the task is cancelled
                    await asyncio.sleep(0)
                gate.set()
                await closing
            self.assertEqual(len(file.read_text().splitlines()), 1)

    async def test_a_full_disk_is_told_also_where_traces_are_sent(self) -> None:
        receiver = self.receiver()
        exporter = await self.exporter(Path("/dev"), url=receiver.url, file="full")
        with self.assertLogs("yaa.tracing", "WARNING") as logs:
            for _ in range(3):
                exporter.add(span())
                await exporter._send_next()
        self.assertEqual(len(logs.output), 1)
        self.assertIn("not filed: full: No space left", logs.output[0])
        self.assertEqual((exporter.sent, exporter.dropped), (3, 0))

    async def test_a_file_that_cannot_be_written(self) -> None:
        exporter = await self.exporter(Path(__file__), file="t.jsonl")
        exporter.add(span())
        with self.assertLogs("yaa.tracing", "WARNING") as logs:
            await exporter.close()
        self.assertIn("t.jsonl: Not a directory", logs.output[0])
        self.assertEqual(exporter.dropped, 1)


class Addresses(unittest.TestCase):
    def test_a_collector_alone_stands_for_its_path(self) -> None:
        for url, expected in (
            ("", ""),
            ("http://h:4318", "http://h:4318/v1/traces"),
            ("http://h:4318/", "http://h:4318/v1/traces"),
            ("https://h/api/public/otel/v1/traces", "https://h/api/public/otel/v1/traces"),
        ):
            self.assertEqual(address(url), expected)


if __name__ == "__main__":
    unittest.main()
