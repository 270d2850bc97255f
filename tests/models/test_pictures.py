"""A picture that `python` draws, seen by a model of each API byte by byte, or told in words.

The server is real, and so is the tool's process; the model's side is a script.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from server.session import media

from ..mission import test_tools as harness
from ..tooling import pictures, turns
from .fakes import Reply, answer, error, serving
from .speakers import SPEAKERS, Speaker
from .test_made import SHAPES
from .test_made import body as made_body

Json = dict[str, Any]
DRAWN = pictures.png(64, 48)
APPROVED = {"python": {"auto_approve": True}, "shell": {"auto_approve": True}}
LOOK = ("call", "c2", "read_file", [json.dumps({"path": "plot.png"})])
DRAW: list[Any] = [("call", "c1", "python", [json.dumps({"code": pictures.DRAWS})])]
SEEN: list[Any] = [("text", ["A grey plot."])]
DATA_URL = re.compile(r"data:(image/[a-z]+);base64,(.*)", re.DOTALL)


def seen_by(speaker: Speaker, body: Json) -> list[bytes]:
    """The pictures in a request, from the place where its API has those of results."""
    urls: list[Any] = []
    if speaker.api == "chat":
        for message in body["messages"]:
            parts = message["content"] if isinstance(message["content"], list) else []
            assert message["role"] == "user" or not parts, message["role"]
            urls += [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    elif speaker.api == "responses":
        for item in body["input"]:
            if item.get("type") == "function_call_output" and isinstance(item["output"], list):
                urls += [p["image_url"] for p in item["output"] if p["type"] == "input_image"]
    else:
        for turn in body["messages"]:
            for block in turn["content"]:
                if block["type"] == "tool_result" and isinstance(block["content"], list):
                    sources = [p["source"] for p in block["content"] if p["type"] == "image"]
                    urls += [f"data:{s['media_type']};base64,{s['data']}" for s in sources]
    found = [DATA_URL.fullmatch(url) for url in urls]
    return [base64.b64decode(each[2], validate=True) for each in found if each]


class Case(harness.Case):
    async def begin(
        self, speaker: Speaker, *replies: Reply, servers: Json | None = None, **settings: Any
    ) -> None:
        self.peer = await self.enterAsyncContext(serving(*replies))
        entry = {"api_url": self.peer.url, "model_name": "m", "api": speaker.api, **settings}
        await self.start(providers={"main": entry}, mcpServers=servers or {})

    def bodies(self) -> list[Json]:
        return [request.json for request in self.peer.requests]


def script(speaker: Speaker, *answers: list[Any]) -> list[bytes]:
    return [answer(speaker.stream(parts)) for parts in answers]


class Seen(Case):
    async def test_what_python_drew_is_seen_in_each_api(self) -> None:
        for speaker in turns.share(SPEAKERS, 3):
            with self.subTest(speaker.api):
                await self.begin(speaker, *script(speaker, DRAW, [LOOK], SEEN, SEEN))
                session = await self.run_session(**APPROVED)
                self.assertEqual(session["messages"][-1]["content"], "A grey plot.")
                self.assertEqual([seen_by(speaker, body) for body in self.bodies()],
                                 [[], [], [DRAWN]])  # fmt: skip
                (item,) = self.results(session)[1]["result"]["media"]
                self.assertEqual(base64.b64decode(item["data"]), DRAWN)
                self.assertEqual((item["width"], item["height"], item["path"]),
                                 (64, 48, "plot.png"))  # fmt: skip
                # it goes on elsewhere: a server that never saw the file shows it too
                session["messages"].append({"role": "user", "content": "And now?"})
                await asyncio.to_thread(self.api.run, {**session, "id": "another"})
                self.assertEqual(seen_by(speaker, self.bodies()[-1]), [DRAWN])

    async def test_what_a_model_makes_is_in_its_message_and_goes_back(self) -> None:
        """In a stream and without, in the document elsewhere, and in the next request."""
        for speaker in turns.share(SPEAKERS, 3):
            with self.subTest(speaker.api):
                made = next(s for a, n, s in SHAPES.values() if a == speaker.api and n != "audio")
                body = made_body(speaker.api, made(base64.b64encode(DRAWN).decode()))
                drawn = answer(body, kind="application/json")
                await self.begin(speaker, drawn, *script(speaker, SEEN), drawn)
                first: Json = {"messages": [{"role": "user", "content": "Draw"}]}
                session = await asyncio.to_thread(self.api.run, first)
                said = session["messages"][-1]
                self.assertEqual(base64.b64decode(said["media"][0]["data"]), DRAWN)
                session["messages"].append({"role": "user", "content": "Bluer"})
                await asyncio.to_thread(self.api.run, {**session, "id": "another"})
                request = self.bodies()[-1]
                sent = request["input" if speaker.api == "responses" else "messages"]
                shows = [each for each in sent if base64.b64encode(DRAWN).decode() in str(each)]
                self.assertEqual([each["role"] for each in shows], ["user"])
                after = sent[sent.index(shows[0]) - 1 :]
                self.assertEqual(after[0]["role"], "assistant")
                self.assertIn("Bluer", str(after[1:]))

    async def test_the_oldest_go_where_a_session_is_full_and_are_named(self) -> None:
        speaker = SPEAKERS[0]
        await self.begin(speaker, *script(speaker, DRAW, [LOOK], SEEN, DRAW, [LOOK], SEEN))
        session = await self.run_session(**APPROVED)
        shown = next(m for m in session["messages"] if media.of_message(m))
        old = {"media_type": "image/png", "name": "old.png", "bytes": 5, "path": "old.png"}
        for number in range(1, 4):  # three of 5.3 MB are the room of a session
            made = {**old, "data": base64.b64encode(bytes([number]) * 4_000_000).decode()}
            call: Json = {"id": f"old{number}", "type": "function"}
            call["function"] = {"name": "read_file", "arguments": "{}"}
            result = {**shown["result"], "media": [made]}
            session["messages"] += [
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"old{number}", "content": f"old {number}"}
                | {"name": "read_file", "result": result},
            ]
        session["messages"] += [
            {"role": "assistant", "content": "Seen."},
            {"role": "user", "content": "Once more."},
        ]
        self.assertLess(media.room_left(session["messages"]), len(DRAWN))
        after = await asyncio.to_thread(self.api.run, {**session, "id": "full"})
        tools = [m for m in after["messages"] if m["role"] == "tool"]
        kept = [[len(each["data"]) for each in media.of_message(m)] for m in tools]
        self.assertEqual(kept[-1], [len(base64.b64encode(DRAWN))], "the new one is there")
        self.assertEqual([len(each) for each in kept[2:5]], [0, 1, 1], "one of the old has gone")
        [left] = tools[2]["result"]["media"]
        self.assertEqual(left["sha256"], hashlib.sha256(b"\1" * 4_000_000).hexdigest())
        self.assertIn("left out of the session to make room", tools[2]["content"])
        self.assertIn('read_file("old.png") shows the file', tools[2]["content"])

    async def test_never_between_the_results_of_one_message(self) -> None:
        speaker = SPEAKERS[0]
        more = ("call", "c3", "read_file", [json.dumps({"path": "none.txt"})])
        await self.begin(speaker, *script(speaker, DRAW, [LOOK, more], SEEN))
        await self.run_session(**APPROVED)
        roles = [message["role"] for message in self.bodies()[-1]["messages"]]
        self.assertEqual(roles[-4:], ["assistant", "tool", "tool", "user"])

    async def test_a_model_without_vision_is_told_in_words(self) -> None:
        for speaker in turns.share(SPEAKERS, 3):
            with self.subTest(speaker.api):
                await self.begin(
                    speaker,
                    *script(speaker, DRAW, [LOOK], SEEN),
                    model_type={"is_vision": False},
                )
                session = await self.run_session(**APPROVED)
                self.assertEqual(session["status"], "completed")
                sent = json.dumps(self.bodies()[-1])
                self.assertNotIn(base64.b64encode(DRAWN).decode()[:40], sent)
                self.assertIn("64 x 48 pixels", sent)
                self.assertIn("this model cannot be given it", sent)

    async def test_a_refused_picture_becomes_words_once_for_the_run(self) -> None:
        for number, (status, words) in enumerate(
            (
                ("400 Bad Request", "messages.2: Could not process image"),
                ("404 Not Found", "No endpoints found that support image input"),
                ("413 Payload Too Large", "the image is too large"),
                ("422 Unprocessable Entity", "unknown variant `image_url`, expected `text`"),
            )
        ):
            speaker = SPEAKERS[number % len(SPEAKERS)]
            with self.subTest(speaker.api, words=words):
                drawn, looks, again, said = script(speaker, DRAW, [LOOK], DRAW, SEEN)
                await self.begin(speaker, drawn, looks, error(status, words), again, said)
                session = await self.run_session(**APPROVED)
                self.assertEqual(session["status"], "completed")
                seen = [len(seen_by(speaker, body)) for body in self.bodies()]
                self.assertEqual(seen, [0, 0, 1, 0, 0])

    async def test_another_refusal_stays_an_error(self) -> None:
        for speaker in turns.share(SPEAKERS, 3):
            with self.subTest(speaker.api):
                refusal = error("400 Bad Request", "the prompt is forbidden")
                await self.begin(speaker, *script(speaker, DRAW, [LOOK]), refusal)
                session = await self.run_session(**APPROVED)
                self.assertEqual((session["status"], len(self.peer.requests)), ("failed", 3))


class Tools(Case):
    ATTACHES = '''
        from yaa import tool, Context

        @tool(read_only=True)
        def chart(ctx: Context, name: str, copies: int = 1, show: bool = True) -> str:
            """Draw."""
            for number in range(copies):
                with open(f"{number}{name}", "wb") as file:
                    file.write(bytes.fromhex("%s") + (b"" if copies == 1 else b"%%d" %% number))
                ctx.attach(f"{number}{name}", show=show)
            return "drawn"
    '''

    async def chart(self, data: bytes, **args: Any) -> tuple[Json, list[bytes]]:
        self.write(self.home / "tools" / "charts.py", self.ATTACHES % data.hex())
        speaker = SPEAKERS[0]
        call = ("call", "c1", "chart", [json.dumps({"name": "a.png", **args})])
        await self.begin(speaker, *script(speaker, [call], SEEN))
        session = await self.run_session()
        return self.results(session)[0], seen_by(speaker, self.bodies()[-1])

    async def test_attached_and_shown(self) -> None:
        result, seen = await self.chart(DRAWN)
        self.assertEqual(seen, [DRAWN])
        self.assertEqual([each["path"] for each in result["result"]["attachments"]], ["0a.png"])

    async def test_of_an_mcp_server(self) -> None:
        for speaker in turns.share(SPEAKERS, 3):
            with self.subTest(speaker.api):
                text = "png:" + base64.b64encode(DRAWN).decode()
                call = ("call", "c1", "mcp__pics__echo", [json.dumps({"text": text})])
                source = Path(__file__).parents[1] / "tools" / "mcp_server.py"
                entry = {"command": sys.executable, "args": [str(source), str(self.home / "notes")]}
                await self.begin(
                    speaker,
                    *script(speaker, [call], SEEN),
                    servers={"pics": {**entry, "trust": True}},
                )
                session = await self.run_session()
                self.assertEqual(seen_by(speaker, self.bodies()[-1]), [DRAWN])
                self.assertIn("see\n[image image/png", self.results(session)[0]["content"])

    async def test_attached_only(self) -> None:
        result, seen = await self.chart(DRAWN, show=False)
        self.assertEqual(seen, [])
        self.assertNotIn("media", result["result"])

    async def test_a_pdf_goes_where_it_is_taken_and_else_in_words(self) -> None:
        data = base64.b64encode(pictures.PDF).decode()
        self.write(self.home / "tools" / "charts.py", self.ATTACHES % pictures.PDF.hex())
        call = ("call", "c1", "chart", [json.dumps({"name": "a.pdf"})])
        names = {"chat": "file", "responses": "input_file", "messages": "document"}
        for speaker in turns.share(SPEAKERS, 3):
            part = names[speaker.api]
            for quirks in ({}, {"documents": False}):
                with self.subTest(speaker.api, quirks=quirks):
                    await self.begin(speaker, *script(speaker, [call], SEEN), quirks=quirks)
                    self.assertEqual((await self.run_session())["status"], "completed")
                    sent = json.dumps(self.bodies()[-1])
                    self.assertEqual(data in sent, not quirks)
                    self.assertEqual(f'"type": "{part}"' in sent, not quirks)
                    self.assertEqual("Read it as text" in sent, bool(quirks))

    async def test_many_pictures_are_refused_in_words(self) -> None:
        result, seen = await self.chart(DRAWN, copies=9)
        self.assertTrue(result["is_error"])
        self.assertIn("at most 8 files", result["content"])
        self.assertEqual((len(result["result"]["media"]), len(seen)), (8, 1), "they are the same")

    async def test_hostile_files(self) -> None:
        for name, (data, words) in {
            "cut off": (DRAWN[:-5], "cut off or broken"),
            "svg": (b"<svg><script>alert(1)</script></svg>", "neither a PNG"),
            "a bomb": (pictures.png(60_000, 60_000), "60000 x 60000 pixels"),
        }.items():
            with self.subTest(name):
                result, seen = await self.chart(data)
                self.assertEqual((result["is_error"], seen), (True, []))
                self.assertIn(words, result["content"])

    async def test_a_polyglot_loses_what_stands_behind_the_picture(self) -> None:
        result, seen = await self.chart(DRAWN + b"<script>alert(1)</script>")
        self.assertEqual(seen, [DRAWN])
