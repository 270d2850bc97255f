"""Bodies that nobody sends in earnest: each is a session or a Problem, and nothing else."""

from __future__ import annotations

import copy
import random
import time
import unittest
from collections.abc import Callable
from typing import Any

from server.errors import Problem
from server.protocols.agui import request
from server.protocols.autoai import routes as autoai
from server.protocols.gateway import routes as gateway
from server.protocols.openai import chat, responses
from server.session import accept
from server.session.fold import parse_pointer

Json = dict[str, Any]

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    " ",
    "x",
    "\u0000",
    "你好😀",
    [],
    [None],
    {},
    {"a": 1},
]
INTERRUPT = {
    "id": "i",
    "reason": "input_required",
    "call_id": "c",
    "message": "?",
    "response_schema": {"type": "string", "pattern": "("},
}
SESSION: Json = {
    "id": "s",
    "messages": [
        {"id": "u", "role": "user", "content": "hi"},
        {
            "id": "m",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}],
        },
    ],
    "interrupts": [INTERRUPT],
    "environment": ["f"],
    "tools": [{"name": "n"}],
    "ext": {},
}
OF_PAGE = {**SESSION, "interrupts": [{"id": "i", "reason": "client_tool", "call_id": "c"}]}
FUNCTION = {"name": "n", "parameters": {"type": "object"}}
CALL = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
SAID = {"id": "msg_a1_0", "type": "message", "role": "assistant", "content": "x"}
EARLIER = {"previous_response_id": None, "input": [{"role": "user", "content": "x"}]}
EARLIER |= {"output": [SAID]}
BROUGHT = {
    "id": "s",
    "calls": {"c": "c"},
    "messages": [{"role": "assistant", "tool_calls": [CALL]}],
}
PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}}}


def of_asked(read: Callable[[Json], Any]) -> Callable[[Json], None]:
    """Of the fronts whose body holds a session."""

    def accepted(body: Json) -> None:
        asked = read(body)
        try:
            accept.accept(asked.document)
        except Problem as problem:
            raise asked.in_body(problem) from None

    return accepted


def naming(body: Json, taken: Any, recall: Any) -> Any:
    """The reader of Responses, with one earlier answer that a body may name."""
    return responses.read(
        body, taken, recall, lambda name, _: (EARLIER, 9) if name == "resp_a1" else None
    )


def of_openai(read: Callable[..., Any]) -> Callable[[Json], None]:
    """What a reader lets pass is a session: its places would be nobody's."""

    def accepted(body: Json) -> None:
        document, _ = read(body, ["taken"], lambda call_id: None)
        try:
            accept.accept(document)
        except Problem as problem:
            raise AssertionError(f"made a session that is none: {problem.detail}") from None

    return accepted


def of_agui(body: Json) -> None:
    given = request.read(body, "default")
    try:
        accept.accept(given.session)
    except Problem as problem:
        raise request.refused(problem, given) from None


BODIES: dict[str, tuple[Callable[[Json], None], Json]] = {
    "chat completions": (
        of_openai(chat.read),
        {
            "model": "auto",
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "x"}]},
                {
                    "role": "user",
                    "name": "u",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}},
                        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
                        {
                            "type": "file",
                            "file": {"filename": "f", "file_data": "data:a/b;base64,AA"},
                        },
                    ],
                },
                {"role": "assistant", "content": None, "tool_calls": [CALL], "yaa": BROUGHT},
                {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]},
            ],
            "tools": [{"type": "function", "function": {"name": "n", "parameters": PARAMETERS}}],
            "tool_choice": {"type": "function", "function": {"name": "n"}},
            "response_format": {"type": "json_schema", "json_schema": {"schema": PARAMETERS}},
            "stream_options": {"include_usage": True},
            "n": 1,
            "stop": ["x"],
            "temperature": 1,
            "max_tokens": 5,
            "stream": True,
            "environment_context": {"a": "b"},
        },
    ),
    "responses": (
        of_openai(naming),
        {
            "model": "auto",
            "instructions": "x",
            "previous_response_id": "resp_a1",
            "input": [
                {"type": "item_reference", "id": "msg_a1_0"},
                {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
                {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
                | {"yaa": BROUGHT},
                {"type": "function_call_output", "call_id": "c", "output": "r"},
            ],
            "tools": [{"type": "function", "name": "n", "parameters": PARAMETERS}],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"name": "n"}]},
            "text": {"format": {"type": "json_schema", "schema": PARAMETERS}},
            "reasoning": {"effort": "low"},
            "max_output_tokens": 5,
            "temperature": 1,
        },
    ),
    "agui": (
        of_agui,
        {
            "threadId": "s",
            "runId": "r",
            "state": {"yaa": {key: SESSION[key] for key in ("interrupts", "ext")}},
            "messages": [
                {"id": "u", "role": "user", "content": [{"type": "text", "text": "x"}]},
                {"id": "t", "role": "reasoning", "content": "hm"},
                {"id": "m", "role": "assistant", "toolCalls": [CALL], "metadata": {"yaa": {}}},
            ],
            "tools": [{"name": "page", "parameters": PARAMETERS}],
            "context": [{"description": "d", "value": "v"}],
            "resume": [{"interruptId": "i", "status": "cancelled", "payload": {}}],
            "forwardedProps": {"yaa": {"config": {"limits": {"max_steps": 3}}}},
        },
    ),
    "query": (
        of_asked(gateway.query),
        {
            "message": "x",
            "chatId": "s",
            "agentKey": "a",
            "references": [{"name": "a", "sizeBytes": 1, "url": "u"}],
            "scene": {"url": "u", "title": "t"},
            "params": {},
            "tools": [{"name": "n"}],
            "session": SESSION,
        },
    ),
    "submit": (
        of_asked(gateway.submit),
        {"toolId": "c", "payload": {"a": 1}, "chatId": "s", "session": OF_PAGE},
    ),
    "chat": (of_asked(gateway.chat_request), {"session": SESSION}),
    "stream": (
        of_asked(lambda body: autoai.stream(body, ["n"])),
        {
            "messages": [{"role": "user", "content": "x"}],
            "sessionId": "s",
            "environment_context": ["f"],
            "frontend_tools": [{"type": "function", "function": FUNCTION}],
            "tool_results": [{"callId": "c", "result": 1, "error": None}],
            "wait": 1,
            "session": SESSION,
        },
    ),
}


class Hostile(unittest.TestCase):
    def test_a_session_or_a_problem(self) -> None:
        for name, (read, whole) in BODIES.items():
            taken = refused = 0
            for seed in range(1500):
                body = mutated(copy.deepcopy(whole), random.Random(seed))
                before = copy.deepcopy(body)
                with self.subTest(name, seed=seed):
                    try:
                        read(body)
                        taken += 1
                    except Problem as problem:
                        self.assertLess(problem.status, 500)
                        self.assertTrue(problem.errors)
                        for error in problem.errors:
                            self.assertTrue(is_place(error["pointer"], body), error)
                        refused += 1
                    self.assertEqual(body, before, "what was sent was changed")
            self.assertGreater(min(taken, refused), 50, f"{name}: {taken} taken, {refused} refused")


class Many(unittest.TestCase):
    def test_a_body_full_of_one_thing_takes_no_more_than_its_size(self) -> None:
        """Nothing of it is held against all the rest: the server would stand still meanwhile."""
        user = {"role": "user", "content": "x"}
        flat = [{"type": "function", "name": f"f{n}"} for n in range(20_000)]
        made = {"type": "function_call", "name": "f", "arguments": "{}"}
        calls = [made | {"call_id": f"c{n}"} for n in range(40_000)]
        outputs = [
            {"type": "function_call_output", "call_id": f"c{n}", "output": ""}
            for n in range(40_000)
        ]
        waits = [{"call_id": f"c{n}", "reason": "client_tool"} for n in range(20_000)]
        words = [{"role": "assistant", "content": "x" * 50} for _ in range(20_000)]
        results = [{"callId": f"c{n}"} for n in reversed(range(20_000))]
        kept = {"messages": [user], "interrupts": waits}
        for name, read, body in (
            ("tools", naming, {"model": "a", "input": "x", "tools": flat}),
            ("texts", naming, {"model": "a", "input": [*calls[:1], *words]}),
            ("calls", naming, {"model": "a", "input": [*calls, *outputs]}),
            ("results", autoai.stream, {"session": kept, "tool_results": results}),
        ):
            more = () if read is autoai.stream else (lambda call_id: None,)
            began = time.process_time()
            try:
                read(body, [], *more)
            except Problem:
                pass
            self.assertLess(time.process_time() - began, 2, name)


def is_place(where: str, body: Json) -> bool:
    """Whether a pointer leads to something in the body, or to what is missing in something."""
    node: Any = body
    *path, last = parse_pointer(where) or [""]
    for part in path:
        if isinstance(node, dict) and part in node:
            node = node[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return False
    return isinstance(node, dict) or (isinstance(node, list) and last.isdigit())


def mutated(body: Json, random_: random.Random) -> Json:
    """The body with one to three places replaced, emptied or removed."""
    for _ in range(random_.randrange(1, 4)):
        node: Any = body
        while True:
            keys: list[Any] = list(node if isinstance(node, dict) else range(len(node)))
            if not keys:
                break
            key = random_.choice(keys)
            if isinstance(node[key], dict | list) and node[key] and random_.random() < 0.7:
                node = node[key]
                continue
            if random_.random() < 0.3:
                del node[key]
            else:
                node[key] = copy.deepcopy(random_.choice(ODD))
            break
    return body


if __name__ == "__main__":
    unittest.main()
