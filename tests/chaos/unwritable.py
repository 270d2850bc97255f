"""`python3 -m tests.chaos.unwritable`: each route that changes something, on a disk that refuses.

A story is a request. Each call that it makes of the file system fails in turn: that one, and that
one and all later ones, with each error that a disk has. What must hold: an answer that says it is
done is true, one that refuses has changed nothing, and one that says `unfinished` is finished by
the next request, once the disk takes it. No answer is of a server that broke, or names its folders.
What a disk that became read-only did not let the server take back (a draft, an empty folder, a code
that nobody knows) may be left.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import hashlib
import json
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from server.api.auth import Keys
from server.api.objects import Objects
from server.api.router import Router
from server.api.sign_in import SignInLinks
from server.api.sign_in_codes import SignInCodes
from server.api.workspaces import WorkspaceFiles
from server.session.limits import LimitCeilings
from server.workspace.operations import Operations, Places

from ..api import fakes
from ..api.fakes import KEYS, nothing
from ..extensions import rows_for
from .faulty_disk import ANY, FOREVER, GROWING, Refusal, contents, refusing

FULL = (errno.ENOSPC, errno.EDQUOT)
ERRORS = (*FULL, errno.EROFS, errno.EIO, errno.EACCES)
CODES = ("disk_full", "disk_failed", "file_unusable")
LIMITS: Any = {"max_request_size": 1 << 20, "max_values": 10_000}
TEXT = b"x" * 5_000
BODY = b"an object of a client's"
KEY = "a" * 20  # the owner's
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # there is much to be made durable


class World:
    """A home with a session of its own folder, an overlay, settings, and the router of them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "config.json").write_text(json.dumps({"server": {"keep_days": 5}}))
        self.opened: dict[str, Operations] = {}
        for name in ("own", "layer", "folder", "state-own", "state-layer", "objects", "agents"):
            (home / name).mkdir()
        workspaces, ceilings = self, LimitCeilings(LIMITS, {})
        keys = Keys(KEYS)
        table = {
            **WorkspaceFiles(workspaces, ceilings).routes(),
            **Objects(workspaces, ceilings).routes(),
            **SignInLinks(home, keys).routes(),
        }
        for added in rows_for("unwritable_routes"):
            table |= added(home)
        self.router = Router(table, nothing, keys)

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> Workspace:
        return Workspace(self, folder_name)

    def operations(self, folder: str | None) -> Operations:
        """Return those of a workspace, opened once, as its process would."""
        name = "layer" if folder else "own"
        if name not in self.opened:
            at = str(self.home)
            real = f"{at}/folder" if folder else None
            parts = f"{at}/{name}", f"{at}/state-{name}", f"{at}/objects", real
            self.opened[name] = Operations(Places(*parts, wait_s=5))
        return self.opened[name]

    def close(self) -> None:
        for each in self.opened.values():
            each.close()
        self.opened.clear()

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> fakes.Call:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        data = data.encode() if isinstance(data, str) else data
        told = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        call = fakes.Call(method, path, told, data)
        await self.router(call.exchange)
        return call

    def seen(self) -> dict[str, Any]:
        """Return what people see: files, settings, agents, objects, whether a code is good."""
        places = ("own", "layer", "folder", "agents")
        found: dict[str, Any] = {name: contents(self.home / name) for name in places}
        document = json.loads((self.home / "config.json").read_text())
        for entry in document["server"].get("api_keys", []):
            entry["key"] = "made"
        found["config"] = document
        wanted = self.home / "objects" / hashlib.sha256(BODY).hexdigest()[:2]
        found["object"] = (wanted / hashlib.sha256(BODY).hexdigest()[2:]).exists()
        found["codes"] = len(contents(self.home / "sign_in"))
        return found


class Workspace:
    """What the server's side of a workspace is, with its operations in this process."""

    def __init__(self, world: World, folder: str | None) -> None:
        self._world, self._folder = world, folder
        self.mode, self.is_recorded = "overlay" if folder else "own", True

    def exists(self) -> bool:
        return True

    def describe(self, _session: Any) -> str:
        return ""

    async def request(self, name: str, **arguments: Any) -> Any:
        return self._world.operations(self._folder).perform(name, arguments)


class Story(NamedTuple):
    """A request, and what is done before it. `is_same`: it may be done though it was refused,
    since nobody can tell by it."""

    name: str
    method: str
    path: str
    body: Any = None
    before: Callable[[World], Any] | None = None
    is_same: bool = False


def put(path: str, text: bytes = b"one\n", query: str = "") -> Callable[[World], Any]:
    return lambda world: world.ask("PUT", f"/workspaces/s/file?path={path}{query}", text)


async def files(world: World) -> None:
    for path in ("a", "b/c", "b/d/e", "b/f"):
        await put(path)(world)


async def unrecorded(world: World) -> None:
    """Files that a tool wrote since the last record."""
    await files(world)
    for path in ("a", "b/c", "b/new", "z"):
        (world.home / "own" / path).write_text("two\n")


async def earlier(world: World) -> None:
    """Files, their tree, and changes since."""
    await files(world)
    tree = (await world.ask("POST", "/workspaces/s/record")).json["tree"]
    (world.home / "tree").write_text(tree)
    await put("a", b"two\n")(world)
    await put("new/deep")(world)
    await world.ask("DELETE", "/workspaces/s/file?path=b/d")


async def layer(world: World) -> None:
    """An overlay that was filled, with changes."""
    for path in ("a", "b/c", "b/d"):
        (world.home / "folder" / path).parent.mkdir(exist_ok=True)
        (world.home / "folder" / path).write_text("one\n")
    await world.ask("GET", "/workspaces/s/files?folder=f")
    for path in ("a", "n/o", "n/p"):
        await put(path, b"two\n", "&folder=f")(world)
    await world.ask("DELETE", "/workspaces/s/file?path=b&folder=f")


async def folder(world: World) -> None:
    for path in ("a", "b/c", "b/d"):
        (world.home / "folder" / path).parent.mkdir(exist_ok=True)
        (world.home / "folder" / path).write_text("one\n")


async def moved_folder(world: World) -> None:
    """An overlay whose real folder has changed since."""
    await folder(world)
    await world.ask("GET", "/workspaces/s/files?folder=f")
    (world.home / "folder" / "a").write_text("three\n")
    (world.home / "folder" / "g").write_text("three\n")


async def half(world: World) -> None:
    await world.ask(
        "PUT", "/workspaces/s/file?path=h&upload=u", b"123", Content_Range="bytes 0-2/6"
    )


async def code(world: World) -> None:
    made = SignInCodes(world.home).make(KEY)
    (world.home / "code").write_text(made)


W, OVER = "/workspaces/s", "?folder=f"
ID = hashlib.sha256(BODY).hexdigest()
STORIES = (
    Story("upload", "PUT", f"{W}/file?path=a", TEXT),
    Story("upload into new folders", "PUT", f"{W}/file?path=n/e/w", TEXT, files),
    Story("upload over a file", "PUT", f"{W}/file?path=b/c", TEXT, files),
    Story("upload, last piece", "PUT", f"{W}/file?path=h&upload=u", b"456", half),
    Story("upload into an overlay", "PUT", f"{W}/file?path=b/c&folder=f", TEXT, layer),
    Story("remove a file", "DELETE", f"{W}/file?path=a", None, files),
    Story("remove a folder", "DELETE", f"{W}/file?path=b", None, files),
    Story("remove a new file", "DELETE", f"{W}/file?path=z", None, unrecorded),
    Story("remove a changed folder", "DELETE", f"{W}/file?path=b", None, unrecorded),
    Story("move a changed folder", "POST", f"{W}/move", {"from": "b", "to": "x/y"}, unrecorded),
    Story("move", "POST", f"{W}/move", {"from": "b", "to": "x/y"}, files),
    Story("record", "POST", f"{W}/record", None, files),
    Story("restore", "POST", f"{W}/restore", {"tree": "TREE"}, earlier),
    Story("apply", "POST", f"{W}/apply{OVER}", {}, layer),
    Story("apply one", "POST", f"{W}/apply{OVER}", {"paths": ["n/o"]}, layer),
    Story("discard", "POST", f"{W}/discard{OVER}", {}, layer),
    Story("fill", "GET", f"{W}/files{OVER}", None, folder, is_same=True),
    Story("take over", "POST", f"{W}/record{OVER}", None, moved_folder),
    Story("object", "PUT", f"/objects/{ID}", BODY, None, is_same=True),
    Story("link", "POST", "/sign-in/link"),
    Story("sign in", "POST", "/sign-in", {"code": "CODE"}, code),
    *(Story(*row) for rows in rows_for("UNWRITABLE") for row in rows),
)


async def play(story: Story, refusal: Refusal | None, home: Path) -> tuple[Any, ...]:
    """Return (what was seen before, the answer, what is seen when the disk is well again)."""
    world = World(home)
    try:
        if story.before:
            await story.before(world)
        body = story.body
        if isinstance(body, dict):
            text = json.dumps(body)
            for name in ("tree", "code"):
                if (home / name).exists():
                    text = text.replace(name.upper(), (home / name).read_text())
            body = json.loads(text)
            if "changes" in body:
                data = (home / "config.json").read_bytes()
                body["revision"] = hashlib.sha256(data).hexdigest()
        before = world.seen()
        headers = {"Content_Range": "bytes 3-5/6"} if "upload=u" in story.path else {}
        if refusal is None:
            call = await world.ask(story.method, story.path, body, **headers)
        else:
            with refusing(refusal):
                call = await world.ask(story.method, story.path, body, **headers)
        if story.path.startswith(W):  # whatever comes next finishes what was begun
            over = OVER if "folder=f" in story.path else ""
            after = await world.ask("POST", f"{W}/record{over}")
            assert after.status == 200, after.answer
        world.close()  # and another process finds the same
        return before, call, world.seen()
    finally:
        world.close()


def judge(story: Story, found: tuple[Any, ...], done: Any, home: str, stays: bool) -> str:
    """Return what is wrong; "" if nothing is. `stays`: nothing could be taken back."""
    before, call, after = found
    if call.status == 0:
        return "there is no answer"
    answer = call.json
    text = json.dumps(answer)
    if home in text:
        return f"it names a folder of the server: {text[:200]}"
    if call.status < 300:
        return "" if after == done else f"{call.status}, and {differing(after, done)}"
    if answer.get("code") not in CODES:
        return f"{call.status} {answer.get('code')}: {answer.get('detail')}"
    if "; " not in answer["detail"]:
        return f"no next step: {answer['detail']}"
    wanted = (done,) if answer.get("unfinished") else (before, done) if story.is_same else (before,)
    if after in wanted or stays and without_strays(after, before) in wanted:
        return ""
    if answer.get("partial") and "files were applied" in text:
        return ""
    if answer.get("partial") and "a part of the folder is gone" in text:
        return ""
    state = "done" if after == done else differing(after, before)
    return f"{call.status} {answer['detail'][:90]!r}, and it is {state}"


def without_strays(after: Any, before: Any) -> Any:
    """Return a state without drafts, folders and codes that are new in it."""
    found = {**after, "codes": before["codes"]}
    for name in ("own", "layer", "folder", "agents"):
        found[name] = {
            path: row
            for path, row in after[name].items()
            if path in before[name] or not ("/." in f"/{path}" or row[0] == "d")
        }
    return found


def differing(one: Any, other: Any) -> str:
    """Return the places at which two states differ."""
    rows = []
    for name in one:
        a, b = one[name], other[name]
        if a != b and isinstance(a, dict) and isinstance(b, dict):
            a_b = {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
            rows.append(f"{name}: {sorted(a_b)[:4]}")
        elif a != b:
            rows.append(f"{name}: {a} for {b}")
    return "; ".join(rows)


def attempts(story: Story, number: int, stride: int) -> Iterator[tuple[str, str]]:
    """Yield (what failed, what was wrong) of each attempt."""
    names = GROWING if number in FULL else ANY
    done: Any = None
    for count in (1, FOREVER):
        first, stays = 0, count > 1 and number not in FULL
        while True:
            refusal = Refusal(number, first, count, names)  # none fails at first
            with tempfile.TemporaryDirectory(prefix="yaa-unwritable-", dir=FAST) as folder_name:
                home = Path(folder_name) / "home"
                home.mkdir(mode=0o700)
                found = asyncio.run(play(story, refusal if first else None, home))
            if not first:
                done = found[2]
                assert found[1].status < 300, (story.name, found[1].answer)
            else:
                where = f"{story.name}: {errno.errorcode[number]} call {first}"
                where += " and all later ones" if count > 1 else ""
                yield where, judge(story, found, done, str(home), stays)
                if refusal.calls < first:
                    break
            first = first + stride if first else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.unwritable")
    parser.add_argument("stories", nargs="*", help="names, in part; all without one")
    parser.add_argument("--stride", type=int, default=1, help="try every n-th call")
    parser.add_argument("--brief", action="store_true", help="a full and a read-only disk alone")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    wrong = 0
    for story in STORIES:
        if options.stories and not any(each in story.name for each in options.stories):
            continue
        began, tried, faults = time.monotonic(), 0, Counter[str]()
        for number in (errno.ENOSPC, errno.EROFS) if options.brief else ERRORS:
            for where, fault in attempts(story, number, options.stride):
                tried += 1
                if fault:
                    faults[where + ": " + fault] += 1
        wrong += len(faults)
        print(f"{story.name}: {tried} attempts, {time.monotonic() - began:.0f} s", flush=True)
        for each in list(faults)[:20]:
            print(f"  {each}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
