"""Whole servers killed while files change: runs, restores, applies, fills and uploads.

    python3 -m tests.chaos.files --stories 40 --seed 7

Each story has two servers with a home folder each, and a person with one document. Its model writes
hundreds of files by `shell`; a server is killed with SIGKILL at a moment that the seed chooses; the
person POSTs what there is to the same server, started again, or to the other one, with the objects.
Afterwards the files are those of the tree that the document stands at, byte for byte with modes and
links. In between each file is an old or a new one. What lies beside is untouched.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import random
import stat
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

from server.session.fold import Folder
from server.session.workspace_stand import stand_of
from server.settings.real_folders import Folders
from server.workspace.places import Place, Places

from ..agent.test_loop import Client
from ..fakes import DEFAULTS, answer, user
from ..tooling.child import Yaa
from ..workspace.made import Files, read
from .test_kill import Provider, post

Json = dict[str, Any]
MODES = ("own", "overlay", "write")
RUN_AS = int(DEFAULTS["server"]["sandbox"]["run_as"])
POSTS = 30  # of one turn, at most
LOST = (OSError, http.client.HTTPException, AssertionError)  # of a client whose server is killed
LIVES_S = 60.0


class Model(Provider):
    """Runs the commands that the last order of a person lists, one after the other."""

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        at = max(i for i, m in enumerate(messages) if "order=" in str(m["content"]))
        text = messages[at]["content"]
        text = text if isinstance(text, str) else text[0]["text"]
        order = json.JSONDecoder().raw_decode(text.partition("order=")[2])[0]
        done = sum(bool(m.get("tool_calls")) for m in messages[at:])
        deltas: list[Json] = [{"content": "Done."}]
        if done < len(order):
            calls = [("shell", json.dumps({"command": command})) for command in order[done]]
            deltas = [
                {"tool_calls": [self.call(place, f"call_{at}_{done}_{place}", name, arguments)]}
                for place, (name, arguments) in enumerate(calls)
            ]
        chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        reason = "tool_calls" if done < len(order) else "stop"
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.stream(chunks)

    @staticmethod
    def call(index: int, call_id: str, name: str, arguments: str) -> Json:
        function = {"name": name, "arguments": arguments}
        return {"index": index, "id": call_id, "type": "function", "function": function}


@contextmanager
def model() -> Iterator[str]:
    """Serve the scripted model; give its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def commands(chance: random.Random, turn: int) -> list[list[str]]:
    """Return rounds of commands that make and change some 200 files, links and folders."""
    many = chance.randint(120, 260)
    fill = (
        f"i=0; while [ $i -lt {many} ]; do mkdir -p d$((i%7)); rm -rf d$((i%7))/f$i;"
        f" echo {turn}-{chance.random()} $i > d$((i%7))/f$i; i=$((i+1)); done"
    )
    odd = [
        f"mkdir -p odd; printf '{turn} \\377' > odd/\"$(printf 'n\\nl \\377')\"",
        f"ln -sfn d{chance.randrange(7)}/f{turn} link; ln -sfn ../../outside out",
        f"chmod {chance.choice(('755', '600', '444', '640'))} d1/f1 d2/f2",
        f"rm -rf d{chance.randrange(7)}",
        "mkdir -p empty/in/side; rm -rf turned; "
        + chance.choice(("mkdir turned; echo x > turned/x", "ln -s odd turned", "echo t > turned")),
        f"head -c {chance.randint(1, 900_000)} /dev/urandom > big",
        "mv d3 moved || true; rm -rf moved/f3",
    ]
    chance.shuffle(odd)
    some = odd[: chance.randint(2, 5)]
    return [[fill], *([command] for command in some), ["echo one > par1", "echo two > par2"]]


def tree_of(folder: Path) -> str:
    """Return the id of the tree of a folder, as docs/design/workspace.md defines it."""

    def _tree(path: bytes, top: Json) -> str:
        entries: Json = {}
        for name in os.listdir(path):
            inner = os.path.join(path, name)
            about = os.lstat(inner)
            key = name.decode("utf-8", "surrogateescape")
            if stat.S_ISLNK(about.st_mode):
                target = os.readlink(inner).decode("utf-8", "surrogateescape")
                entries[key] = ["l", target]
            elif stat.S_ISDIR(about.st_mode):
                entries[key] = ["d", about.st_mode & 0o777, _tree(inner, {})]
            else:
                with open(inner, "rb") as file:
                    data = file.read()
                entries[key] = ["f", about.st_mode & 0o777, len(data), _hash(data)]
        return _hash(_canonical({"entries": entries, **top}))

    return _tree(os.fsencode(folder), {"left": {}})


def _canonical(directory: Json) -> bytes:
    return json.dumps(directory, sort_keys=True, separators=(",", ":")).encode("ascii")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content(objects: Path, tree: str) -> Files:
    """Return what a tree holds, as `made.read` returns a folder; each object is checked."""

    def _load(name: str) -> bytes:
        data = (objects / name[:2] / name[2:]).read_bytes()
        if _hash(data) != name:
            raise AssertionError(f"object {name} holds something else")
        return data

    found: Files = {}
    waiting = [(b"", tree)]
    while waiting:
        above, name = waiting.pop()
        for key, entry in json.loads(_load(name))["entries"].items():
            path = os.path.join(above, key.encode("utf-8", "surrogateescape"))
            if entry[0] == "l":
                found[path] = ("l", entry[1].encode("utf-8", "surrogateescape"))
            elif entry[0] == "f":
                found[path] = ("f", entry[1], _load(entry[3]))
            else:
                found[path] = ("d", entry[1])
                waiting.append((path, entry[2]))
    return found


class Host:
    """One server with a home folder and a real folder `notes`, started again after it is killed."""

    def __init__(self, base: Path, name: str, mode: str, url: str) -> None:
        self.name, self.home, self.notes = name, base / name, base / f"notes-{name}"
        for folder in (self.home, self.notes):
            folder.mkdir()
        (self.home / "tools").mkdir()
        folders: Json = {}
        if mode != "own":
            folders = {"notes": {"path": str(self.notes), "mode": mode}}
            for number in range(40):
                (self.notes / f"theirs-{number}").write_text(f"{name} {number}")
            (self.notes / "theirs-0").chmod(0o750)
            (self.notes / "theirs-link").symlink_to("theirs-1")
            if os.geteuid() == 0:
                for path in (self.notes, *self.notes.iterdir()):
                    os.chown(path, RUN_AS, RUN_AS, follow_symlinks=False)
        provider = {"api_url": url, "api_key": "k", "model_name": "m"}
        self.config: Json = {
            "server": {"discover": False, "providers": {"main": provider}, "folders": folders},
            "session": {"config": {"tool": {"shell": {"auto_approve": True}}}},
        }
        self.mode = mode
        self.folder = "notes" if folders else None
        self.places = Places(self.home, Folders(folders))
        self.yaa: Yaa | None = None
        self.guard = threading.RLock()  # held while it is started or killed, and looked at then

    def place(self, session: str) -> Place:
        """Return where the workspace of a session is."""
        return self.places.find("", session, self.folder)

    def up(self) -> Yaa:
        """Return the server, started if it is not."""
        with self.guard:
            if self.is_dead():
                self.kill()
                self.yaa = Yaa(self.config, home=self.home)
                self.yaa.__enter__()
            assert self.yaa is not None
            return self.yaa

    def kill(self) -> None:
        """End it as a power cut would."""
        with self.guard:
            if self.yaa is not None:
                self.yaa.kill()
                self.yaa.__exit__()
                self.yaa = None

    def is_dead(self) -> bool:
        """Tell whether it was killed and is not started again."""
        with self.guard:
            child = self.yaa.child if self.yaa else None
            return child is None or child.process.poll() is not None

    def ask(self, method: str, path: str, body: bytes | Json | None = None, **more: str) -> Any:
        """Return (status, body) of a request; the body parsed where it is JSON."""
        yaa = self.up()
        headers = {"Authorization": f"Bearer {yaa.key}", **more}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        connection = http.client.HTTPConnection(yaa.url.removeprefix("http://"), timeout=LIVES_S)
        try:
            connection.request(method, path, body, headers)
            given = connection.getresponse()
            data = given.read()
            is_json = "json" in (given.getheader("content-type") or "")
            return given.status, json.loads(data) if is_json else data
        finally:
            connection.close()


class Story:
    """One document, two servers and the kills that a seed chooses. Raises AssertionError."""

    def __init__(self, base: Path, url: str, seed: str, mode: str) -> None:
        self.chance, self.mode = random.Random(f"{seed}/{mode}"), mode
        self.base = base
        base.chmod(0o711)
        self.hosts = [Host(base, name, mode, url) for name in ("one", "two")]
        self.host = self.hosts[0]
        outside = base / "outside"
        outside.mkdir()
        (outside / "kept").write_text("nothing to do with it")
        (outside / "kept").chmod(0o666)
        outside.chmod(0o777)
        self.outside = self._outside()
        self.client = Client()
        self.client.kept |= {"id": "story", "messages": []}
        if mode != "own":
            self.client.kept["workspace"] = {"folder": "notes"}
        self.kills: Counter[str] = Counter()
        self.said: list[str] = []

    def close(self) -> None:
        for host in self.hosts:
            host.kill()

    # -- what is looked at

    def _outside(self) -> list[Any]:
        found = []
        for path in (self.base / "outside", self.base / "outside" / "kept"):
            about = path.stat()
            found.append((path.name, about.st_mode, about.st_mtime_ns, about.st_ino))
        return [*found, (self.base / "outside" / "kept").read_text()]

    def files(self, host: Host | None = None) -> Path:
        return (host or self.host).place("story").files

    def check(self) -> None:
        """The files are what the document says, and all trees that it names are whole."""
        stand = stand_of(self.client.kept)
        assert stand, "the document stands at no tree"
        found = tree_of(self.files())
        if found != stand:
            self._differ(read(self.files()), content(self._objects(), stand))
        self.same(read(self.files()), content(self._objects(), stand))
        assert self._outside() == self.outside, "a folder outside was touched"

    def whole(self, trees: set[str]) -> None:
        """Every tree can be had whole from one of the servers."""
        for tree in trees:
            missing = []
            for host in self.hosts:
                try:
                    content(host.place("story").objects, tree)
                    break
                except FileNotFoundError as error:
                    missing.append(str(error.filename))
            else:
                raise AssertionError(f"tree {tree} cannot be had: {missing}")

    def trees(self) -> set[str]:
        """Return every tree that the document names."""
        about = self.client.kept.get("workspace", {})
        found = {about.get("tree"), about.get("start")} - {None}
        for message in self.client.kept["messages"]:
            found |= set((message.get("result") or {}).get("tree", {}).values()) - {None}
        return found

    def _objects(self) -> Path:
        return self.host.place("story").objects

    def same(self, found: Files, wanted: Files) -> None:
        if found != wanted:
            self._differ(found, wanted)

    def _differ(self, found: Files, wanted: Files) -> None:
        names = sorted(p for p in found.keys() | wanted.keys() if found.get(p) != wanted.get(p))
        rows = [(name, _short(found.get(name)), _short(wanted.get(name))) for name in names[:5]]
        raise AssertionError(f"{len(names)} files differ, as {rows}")

    def mixed(self, folder: Path, before: Files, after: Files) -> None:
        """Each file is the old or the new one; none that both have is gone; one draft at most."""
        found = read(folder)
        drafts = [p for p in found if os.path.basename(p).startswith(b".yaa-")]
        assert len(drafts) <= 1, drafts
        for path, row in found.items():
            if path in drafts:
                continue
            known = [each.get(path, ("",)) for each in (before, after)]
            if row[0] == "d":  # its mode is set at the end
                assert any(each[0] == "d" for each in known), path
            else:
                assert row in known, (path, _short(row), [_short(each) for each in known])
        for path, row in before.items():
            if row[0] != "d" and after.get(path, ("d",))[0] != "d":
                assert path in found, f"{path!r} is in both trees, and gone"

    # -- what a person does

    def turn(self, order: list[list[str]], cut: int | None = None) -> int:
        """Ask for commands, and go on until they are done. Kill the server after `cut` events;
        return how many there were."""
        number = len(self.client.kept["messages"])
        self.client.kept["messages"].append(user(f"order={json.dumps(order)}", f"u{number}"))
        return self.go_on(cut)

    def go_on(self, cut: int | None = None) -> int:
        total = 0
        for _ in range(POSTS):
            left = None if cut is None else cut - total
            try:
                outcome = post(self.host.up(), self.client.sends(), left, Folder(self.client.kept))
            except LOST:  # killed by another thread
                if not self.host.is_dead():
                    raise
                self.elsewhere()
                continue
            total += outcome.seen
            if cut is not None and total >= cut:
                self.kills["event"] += 1
                self.host.kill()
                cut = None
                if not outcome.end:  # else the files are here, and nothing is left to go on with
                    self.elsewhere()
            if not outcome.end:
                if self.host.is_dead():
                    self.elsewhere()
                continue
            status = self.client.kept["status"]
            if status == "completed":
                return total
            if status == "error":
                self.said.append(f"error: {self.client.kept.get('error')}")
            self.decide()
        raise AssertionError(f"no end: {json.dumps(self.client.kept)[-1500:]}")

    def elsewhere(self) -> None:
        """Go on at the same server, started again, or at the other one."""
        self.host.kill()
        if self.chance.random() < 0.4:
            self.host = next(host for host in self.hosts if host is not self.host)

    def decide(self) -> None:
        """Answer what is asked, as a person would who wants the files of the document."""
        kept = self.client.kept
        for interrupt in kept.get("interrupts", ()):
            if interrupt["reason"] == "workspace_missing":
                self.carry(interrupt["objects"])
        answer(kept, "workspace_missing", {"action": "uploaded"})
        answer(kept, "workspace_restore", {"action": "restore"})
        answer(kept, "tool_call", {"approved": True})
        answer(kept, "indeterminate", {"action": "skip"})
        answer(kept, "model_error", {"retry": True})

    def carry(self, objects: list[Json]) -> None:
        """Bring objects from the other server by the routes; at times one of them is killed in the
        middle of a request."""
        source = next(host for host in self.hosts if host is not self.host)
        strike = self.chance.randrange(len(objects) * 3)
        for number, row in enumerate(objects):
            status, data = source.ask("GET", f"/objects/{row['sha256']}")
            assert status == 200, (status, data)
            if number == strike:
                self.half(f"/objects/{row['sha256']}", data)
                self.kills["upload of an object"] += 1
            status, told = self.host.ask("PUT", f"/objects/{row['sha256']}", data)
            assert status == 200, (status, told)
        if self.chance.random() < 0.5:  # as the page does
            self.carry_start(source)

    def carry_start(self, source: Host) -> None:
        """Bring the tree that the session began with, as far as the other server has it."""
        waiting = [self.client.kept["workspace"]["start"]]
        while waiting:
            sha256 = waiting.pop()
            status, data = source.ask("GET", f"/objects/{sha256}")
            if status == 404:
                continue
            entries = (data if isinstance(data, dict) else json.loads(data))["entries"].values()
            waiting += [entry[2] for entry in entries if entry[0] == "d"]
            text = data if isinstance(data, bytes) else _canonical(data)
            status, told = self.host.ask("PUT", f"/objects/{sha256}", text)
            assert status == 200, (status, told)

    def half(self, path: str, data: bytes) -> None:
        """Send half a body, and kill the server."""
        yaa = self.host.up()
        connection = http.client.HTTPConnection(yaa.url.removeprefix("http://"), timeout=LIVES_S)
        connection.putrequest("PUT", path)
        connection.putheader("Authorization", f"Bearer {yaa.key}")
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders()
        connection.send(data[: len(data) // 2])
        self.host.kill()
        connection.close()

    # -- kills in the middle

    def when(self, mark: str, folder: Path, changed: list[bytes]) -> Killer:
        """Return what kills the server once a mark is in the state and, for some seeds, one of
        these files has been changed."""
        state = self.host.place("story").state / "state.json"
        path = None
        if changed and self.chance.random() < 0.8:
            path = os.path.join(os.fsencode(folder), self.chance.choice(changed))
        return Killer(self.host, state, mark, path)

    def settled(self, host: Host) -> None:
        """Wait until no process of the killed server is at work any more."""
        state = host.place("story").state
        for name in ("lock", "state.lock"):
            if (state / name).exists():
                with (state / name).open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)

    def back(self, messages: int) -> None:
        """Take out all messages but the first, and go on; the server is killed while it restores
        the files."""
        before = read(self.files())
        kept = self.client.kept
        self.whole(self.trees())
        gone = self.trees()
        kept["messages"] = kept["messages"][:messages]
        kept["interrupts"] = []
        stand = stand_of(kept)
        assert stand
        if not self.has(stand):  # it was made at the other server
            return self._go_back(gone)
        after = content(self._objects(), stand)
        changed = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
        changed = sorted(p for p in changed if (before.get(p) or after[p])[0] != "d")
        host, folder = self.host, self.files()
        with self.when("restoring", folder, changed) as killer:
            killer.then = lambda: self._after_kill(host, folder, before, after)
            self._go_back(gone)
        self.kills["restore"] += killer.killed
        return None

    def _go_back(self, gone: set[str]) -> None:
        self.turn([])
        self.check()
        self.whole(gone)

    def has(self, tree: str) -> bool:
        try:
            content(self._objects(), tree)
        except FileNotFoundError:
            return False
        return True

    def _after_kill(self, host: Host, folder: Path, before: Files, after: Files) -> None:
        self.settled(host)
        self.mixed(folder, before, after)

    def upload(self) -> None:
        """Upload a file, and kill the server in the middle of the body or between two pieces."""
        query = "&folder=notes" if self.mode != "own" else ""
        at = f"/workspaces/story/file?path={quote('up load')}{query}"
        place = self.files() / "up load"
        old, new = os.urandom(1000), os.urandom(self.chance.randint(2, 3_000_000))
        assert self.host.ask("PUT", at, old)[0] == 200
        how = self.chance.choice(("half", "pieces", "any"))
        if how == "half":
            self.half(at, new)
        elif how == "pieces":
            middle = self.chance.randint(1, len(new) - 1)
            told = {"Content-Range": f"bytes 0-{middle - 1}/{len(new)}"}
            assert self.host.ask("PUT", at, new[:middle], **told)[0] == 202
            self.host.kill()
            assert place.read_bytes() == old
            told = {"Content-Range": f"bytes */{len(new)}"}
            assert self.host.ask("PUT", at, b"", **told) == (202, {"received": middle})
            told = {"Content-Range": f"bytes {middle}-{len(new) - 1}/{len(new)}"}
            assert self.host.ask("PUT", at, new[middle:], **told)[0] == 200
            assert place.read_bytes() == new
        else:
            pieces = self.host.place("story").state / "pieces"
            with Killer(self.host, pieces, "", os.fsencode(place)) as killer:
                with contextlib.suppress(*LOST):
                    self.host.ask("PUT", at, new)
            self.kills["upload, at the end"] += killer.killed
        self.kills["upload"] += how != "any"
        self.settled(self.host)
        assert place.read_bytes() in (old, new), "an upload left a part"
        status, told = self.host.ask("PUT", at, new)
        assert (status, place.read_bytes() == new) == (200, True), told
        messages = self.client.kept["messages"]
        self.client.kept.setdefault("workspace", {}).update(
            tree=told["tree"], message=messages[-1]["id"]
        )
        self.check()

    def apply(self) -> None:
        """Apply a part of the overlay, and kill the server in the middle; then the rest is left."""
        at, query = "/workspaces/story", "?folder=notes"
        status, told = self.host.ask("GET", f"{at}/status{query}")
        assert status == 200, told
        paths = sorted(row["path"] for row in told["files"])
        disputed = {row["path"].split("/")[0] for row in told["files"] if row.get("conflict")}
        # A server that lacks what the session began with cannot tell who changed a file.
        start = self.client.kept["workspace"]["start"]
        assert not disputed or not self.has(start), disputed
        tops = sorted({path.split("/")[0] for path in paths} - disputed)
        if not tops:
            return
        real = self.host.notes
        before, layer = read(real), read(self.files())
        chosen = self.chance.sample(tops, self.chance.randint(1, len(tops)))
        changed = [_bytes(path) for path in paths if path.split("/")[0] in chosen]
        after = _applied(before, layer, chosen)
        body = {"paths": chosen}
        host = self.host
        with self.when("applying", real, changed) as killer:
            killer.then = lambda: self._after_kill(host, real, before, after)
            with contextlib.suppress(*LOST):
                self.host.ask("POST", f"{at}/apply{query}", body)
        self.kills["apply"] += killer.killed
        status, told = self.host.ask("POST", f"{at}/apply{query}", body)
        assert (status, told["left"], told["conflicts"]) == (200, [], []), told
        self.same(read(real), after)
        self.same(read(self.files()), layer)
        status, told = self.host.ask("GET", f"{at}/status{query}")
        left = sorted(row["path"] for row in told["files"])
        wanted = [path for path in paths if path.split("/")[0] not in chosen]
        assert left == wanted, (chosen, left[:5], wanted[:5])

    def tell(self) -> None:
        """The whole story."""
        chance = self.chance
        notes = {host.name: read(host.notes) for host in self.hosts}
        if self.mode == "overlay":  # killed while the copy is filled
            with self.when("filling", self.files(), [b"theirs-20"]) as killer:
                self.turn([["echo first > first"]])
            self.kills["fill"] += killer.killed
        else:
            self.turn([["echo first > first"]])
        self.check()
        for number in range(2):
            self.turn(commands(chance, number), cut=chance.randint(1, 60))
            self.check()
            if not number:
                middle = len(self.client.kept["messages"])
        if self.mode == "overlay":
            for host in self.hosts:
                self.same(read(host.notes), notes[host.name])
        self.upload()
        self.back(middle)
        if self.mode == "overlay":
            self.apply()
        self.turn(commands(chance, 2), cut=chance.randint(1, 60))
        self.check()
        self.whole(self.trees())


def _applied(before: Files, layer: Files, chosen: list[str]) -> Files:
    """Return what the real folder is with these top names of the layer."""
    names = {_bytes(name) for name in chosen}
    found = {path: row for path, row in before.items() if path.split(b"/")[0] not in names}
    return found | {path: row for path, row in layer.items() if path.split(b"/")[0] in names}


def _bytes(text: str) -> bytes:
    """Return the name that a text of a result stands for: U+F700 + byte is that byte."""
    return b"".join(
        bytes([ord(one) - 0xF700]) if 0xF700 <= ord(one) < 0xF800 else one.encode() for one in text
    )


def _short(row: Any) -> Any:
    return tuple(part[:30] if isinstance(part, bytes) else part for part in row) if row else row


class Killer:
    """Kills a server from a thread once a file of a workspace changes; `killed` tells whether."""

    def __init__(self, host: Host, state: Path, mark: str, path: bytes | None) -> None:
        self._host, self._state, self._mark, self._path = host, state, mark.encode(), path
        self._before = self._seen()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.killed = False
        self.then: Callable[[], None] = lambda: None
        self._wrong: list[BaseException] = []

    def __enter__(self) -> Killer:
        self._yaa = self._host.up()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._wrong:
            raise self._wrong[0]

    def _watch(self) -> None:
        while not self._over.is_set():
            if self._due():
                self._strike()
                break
            os.sched_yield()

    def _strike(self) -> None:
        with self._host.guard:
            self._yaa.kill()
            self.killed = True
            try:
                self.then()
            except BaseException as error:
                self._wrong.append(error)

    def _due(self) -> bool:
        if self._mark:
            try:
                if self._mark not in self._state.read_bytes():
                    return False
            except OSError:
                return False
            if self._path is None:
                return True
        elif not self._state.exists():
            return False
        return bool(self._seen() != self._before)

    def _seen(self) -> Any:
        if self._path is None:
            return None
        try:
            about = os.lstat(self._path)
        except OSError:
            return None
        return about.st_ino, about.st_mtime_ns, about.st_mode


def told(seed: str, mode: str) -> tuple[Counter[str], str]:
    """Tell a story; return how often a server was killed at what, and what was wrong, "" if
    nothing."""
    with ExitStack() as stack:
        holder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(model())
        story = Story(Path(os.path.realpath(holder)), url, seed, mode)
        stack.callback(story.close)
        try:
            story.tell()
        except Exception as error:
            trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
            return story.kills, f"{mode} --seed {seed}: {error!r:.2000} {story.said}\n{trace}"
        return story.kills, ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.files", description=__doc__)
    parser.add_argument("--stories", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mode", choices=MODES, help="else all in turn")
    options = parser.parse_args()
    began, kills, wrong = time.monotonic(), Counter[str](), 0
    for number in range(options.stories):
        mode = options.mode or MODES[number % len(MODES)]
        found, said = told(str(options.seed + number), mode)
        kills += found
        wrong += bool(said)
        print(f"{number + 1}: {mode}, {sum(found.values())} kills {said}", flush=True)
    print(f"killed {sum(kills.values())}: {dict(kills)}")
    print(f"{options.stories} stories from --seed {options.seed}, {wrong} wrong, ", end="")
    print(f"{time.monotonic() - began:.0f} s")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
