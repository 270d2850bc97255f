"""Sessions of strangers: real ones, broken, through the real intake, toolbox and loop.

What must hold: a document is refused with a 4xx that says where, or it runs; a run ends with
exactly one terminal event, which is never a mistake of ours; the client's fold is the server's
document; and what came of it, or of any beginning of it, may be POSTed again.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import io
import json
import random
import tempfile
import time
from contextlib import aclosing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from server.agent.loop import BaseAgent
from server.config import Config
from server.errors import Problem
from server.lib import strict_json
from server.lib.http.client import Client
from server.lib.strict_json import JSONError, canonical
from server.models import registry
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders
from server.session.agents import Agents
from server.session.fold import Folder, digest
from server.session.limits import LimitCeilings
from server.telemetry import log
from server.tools.base import Emit, Invocation, Tool
from server.tools.execution_claims import Locks
from server.tools.fetch import FetchTool
from server.tools.function_tools import ChildTool
from server.tools.runner import Outcome
from server.tools.session_files import SessionFiles
from server.tools.toolbox import Toolbox

from ..agent.test_loop import complete
from ..fakes import DEFAULTS, Ids, ManualClock, MemoryClaims, ScriptedModel, user
from ..test_app import FULL
from .mutate import TEXTS, broken_json, spelled

MOST_S = 3.0  # of CPU for one document; anything near it is a way to stall everybody else
PAGE_TOOL: Any = {"name": "page_title", "parameters": {"type": "object"}}
ARGUMENTS = (
    "{}", "", "[]", "null", '{"expression":"6*7"}', '{"command":"ls"}', '{"path":"a.txt"}',
    '{"question":"Sure?"}', '{"a":' * 200, '{"expression":"9**9**9"}', '{"x":"{{calculator+1d}}"}',
    '{"path":"a", "path":"b"}', '{"expression": 1e999}', '{"steps":["a","b"]}', "{'a': 1}",
    '{"id":"msg_1"}', '{"name":"shell"}', '{"tasks":[{"id":"1","title":"t"}]}',
)  # fmt: skip


def trial(chance: random.Random) -> str:
    """One broken session, POSTed as bytes. Returns what became of it."""
    found = corpus()
    document = broken_json(chance.choice(found), found, chance)
    raw = spelled(document, spelled_corpus(), chance)
    began = time.process_time()
    outcome = asyncio.run(posted(raw, chance))
    took = time.process_time() - began
    assert took < MOST_S, f"{took:.1f} s of CPU for {raw!r:.3000}"
    return outcome


async def posted(raw: bytes, chance: random.Random) -> str:
    try:
        document = strict_json.loads(raw)
    except JSONError:
        return "not JSON"
    host, outcome = agent(chance), ""
    for number in range(3):  # with what a person would answer in between
        try:
            before = copied(document)
            document = await run(host, document, chance)
        except Problem as problem:
            assert 400 <= problem.status < 500, problem.body()
            strict_json.loads(strict_json.dumps(problem.body()))
            assert number == 0, f"what came of it is refused: {problem.body()} of {before!r:.1500}"
            return f"refused: {problem.code}"
        outcome = f"{number + 1} runs: {document['status']}, {document.get('finish_reason')}"
        if not document["interrupts"]:
            break
        complete(document)
    return outcome


async def run(host: BaseAgent, document: Any, chance: random.Random) -> Any:
    """Raises Problem where it is refused, AssertionError where a law is broken."""
    given: Any = copied(document)
    made = host.prepare(document)
    folder, found, stops_at = Folder(given), list[Any](), chance.randrange(1, 60)
    beginning: Any | None = None
    async with asyncio.timeout(60), aclosing(made.events()) as source:
        async for event in source:
            event = copied(event)
            folder.apply(event)
            found.append(event)
            if len(found) == stops_at:
                folder.flush()
                beginning = copied(given)
    folder.flush()
    ends = [e for e in found if e["type"] in ("RUN_FINISHED", "RUN_ERROR")]
    assert ends == found[-1:], f"{len(ends)} terminal events, the last is {found[-1]}"
    assert ends[0].get("code") != "internal", f"{ends[0]} {LOG.getvalue()[-3000:]}"
    assert canonical(given) == canonical(made.session), "the folds differ"
    said = ends[0]["metadata"]["yaa"]
    assert said["digest"] == digest(given, said["since"]), "the digest differs"
    if beginning is not None:
        admissible(beginning, chance)
    return given


def copied(document: Any) -> Any:
    return json.loads(json.dumps(document))


def admissible(document: Any, chance: random.Random) -> None:
    """Any beginning of a run leaves a document that may be POSTed."""
    shown = f"{document!r:.3000}"
    try:
        agent(chance).prepare(document)
    except Problem as problem:
        raise AssertionError(f"a beginning is refused: {problem.body()} of {shown}") from None


# -- a host ----------------------------------------------------------------------------------------

LOG = io.StringIO()
AGENTS = Agents()


def agent(chance: random.Random) -> BaseAgent:
    """One that has never heard of anything; only its toolbox is made once."""
    log.setup("error", stream=LOG)
    LOG.seek(0)
    LOG.truncate()
    toolbox = shared_toolbox()
    model = Model(functools.partial(said, chance, tool_names()))
    given = config()
    return BaseAgent(
        given,
        model,  # type: ignore[arg-type]
        toolbox,
        MemoryClaims(),  # type: ignore[arg-type]
        agents=AGENTS,
        ceilings=LimitCeilings(given.server["limits"], {}),
        workspaces=SessionFiles(given.home),
        locks=Locks(),
        ids=Ids(f"{chance.getrandbits(40):x}-"),
        clock=ManualClock(),
    )


def said(chance: random.Random, names: list[str], messages: list[Any]) -> list[tuple[Any, ...]]:
    """A model that says anything at all, also what it should not."""
    parts: list[tuple[Any, ...]] = []
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        match chance.randrange(6):
            case 0:
                parts.append(("think", [chance.choice(TEXTS)]))
            case 1 | 2:
                parts.append(("text", [chance.choice(TEXTS), chance.choice(TEXTS)]))
            case 3 if chance.random() < 0.1:
                parts.append(("error", "it is gone"))
            case _:
                parts.append(("call", chance.choice(names), [chance.choice(ARGUMENTS)]))
    return sorted(parts, key=lambda part: ("think", "text", "call", "error").index(part[0]))


class Model(ScriptedModel):
    """Found as a real one is, then scripted."""

    def resolve(self, provider: Any, owner: str = "") -> ScriptedModel:
        real_models().resolve(provider)
        return self


class Dry(Tool):
    """A tool that runs nothing on this machine but says that it did."""

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        emit("working\n")
        return Outcome("ok", {"did": call.args})


def dry(tool: Tool) -> Tool:
    """The tool, not run; as it is if it only works on the session."""
    if not isinstance(tool, ChildTool | FetchTool):
        return tool
    made: type[Tool] = type("Dried", (Dry, type(tool)), {})
    return made(**{each.name: getattr(tool, each.name) for each in fields(tool)})


@functools.cache
def config() -> Config:
    server = copy.deepcopy(DEFAULTS["server"])
    server["sandbox"]["require"] = "none"
    server["discover"] = False
    return Config(server, copy.deepcopy(DEFAULTS["session"]), Path(tempfile.gettempdir()))


@functools.cache
def real_models() -> Models:
    made = Models(config().server, Client(), {}, DiscoveredProviders())
    made.fallbacks["demo"] = registry.Model("demo", "demo", ScriptedModel(lambda messages: []))
    return made


@functools.cache
def shared_toolbox() -> Toolbox:
    toolbox = Toolbox(config(), Client())
    catalog = toolbox._catalog
    catalog.entries = {
        name: replace(entry, tool=dry(entry.tool)) for name, entry in catalog.entries.items()
    }
    return toolbox


@functools.cache
def tool_names() -> list[str]:
    return [*(tool["name"] for tool in shared_toolbox().info()), "page_title", "nothing", "x"]


# -- real sessions ---------------------------------------------------------------------------------


@functools.cache
def corpus() -> Any:
    """Documents at every stage of conversations of several kinds."""
    config = {"context": {"budget": 300}, "yaa": {"language": "en"}}
    kinds: Any = [
        {},
        {"tools": [PAGE_TOOL], "config": {"tool": {"shell": {"auto_approve": True}}}},
        {"config": {"yaa": {"mode": "plan_execute", "auto_title": True}}},
        {"config": {"yaa": {"output_schema": {"type": "object"}, "mode": "react"}}},
        {"config": config, "grants": [{"tool": "shell", "decision": "allow"}]},
        {"config": {"limits": {"max_steps": 2}}, "environment": ["it is late"]},
    ]
    documents: Any = [copy.deepcopy(FULL)]
    for vector in json.loads((Path(__file__).parent.parent / "vectors/fold.json").read_text()):
        documents.append(vector["session"])
    for number, kind in enumerate(kinds):
        chance = random.Random(number)
        document: Any = {"id": f"s{number}", "messages": [user("go on " * 30)], **kind}
        for turn in range(4):
            documents += asyncio.run(stages(document, chance))
            document = complete(copy.deepcopy(documents[-1]))
            document["messages"].append(user("and then?", f"u{number}-{turn}"))
    return documents


async def stages(document: Any, chance: random.Random) -> list[Any]:
    given, found = copied(document), [document]
    folder = Folder(given)
    async for event in agent(chance).prepare(copied(document)).events():
        folder.apply(copied(event))
        if chance.random() < 0.15:
            folder.flush()
            found.append(copied(given))
    folder.flush()
    return [*found, given]


@functools.cache
def spelled_corpus() -> list[bytes]:
    return [json.dumps(document).encode() for document in corpus()]
