"""The same answer in the words of three APIs, and what a request says in the same three.

SPEAKERS are those of the APIs that are there.

An answer is a list of ("think", pieces, seal), ("text", pieces) and ("call", id, name, pieces);
`Speaker.stream` makes the bytes of each, `Speaker.heard` reads the conversation of a request back,
as (who, what) pairs that do not depend on the API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from server.models.provider import API_PATHS

Part = tuple[Any, ...]
Json = dict[str, Any]
Heard = list[tuple[str, Any]]

PROMPT, CACHED, COMPLETION = 30, 20, 7  # tokens of every answer


def frame(event: Json, named: bool = True) -> bytes:
    name = f"event: {event['type']}\n" if named else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


class Speaker:
    api: str = "chat"
    sealed = False  # thoughts come with something that must go back

    def stream(self, parts: list[Part], stop: str = "") -> bytes:
        """The event stream. `stop`: "length", "refusal", or as the parts have it."""
        return b"".join(self.frames(parts, stop))

    def frames(self, parts: list[Part], stop: str = "") -> list[bytes]:
        raise NotImplementedError

    def heard(self, body: Json) -> Heard:
        raise NotImplementedError


class Chat(Speaker):
    def frames(self, parts: list[Part], stop: str = "") -> list[bytes]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        calls = 0
        for kind, *rest in parts:
            if kind == "think":
                deltas += ({"reasoning_content": piece} for piece in rest[0])
            elif kind == "text":
                deltas += ({"content": piece} for piece in rest[0])
            else:
                call_id, name, pieces = rest
                function = {"name": name, "arguments": ""}
                first = {"index": calls, "id": call_id, "type": "function", "function": function}
                deltas.append({"tool_calls": [first]})
                for piece in pieces:
                    later = {"index": calls, "function": {"arguments": piece}}
                    deltas.append({"tool_calls": [later]})
                calls += 1
        end = stop or ("tool_calls" if calls else "stop")
        usage: Json = {"prompt_tokens": PROMPT, "completion_tokens": COMPLETION}
        usage |= {"prompt_tokens_details": {"cached_tokens": CACHED}}
        chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
        chunks.append({"choices": [], "usage": {**usage, "total_tokens": PROMPT + COMPLETION}})
        frames = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        return [*frames, b"data: [DONE]\n\n"]

    def heard(self, body: Json) -> Heard:
        found: Heard = []
        for message in body["messages"]:
            if message.get("reasoning_content"):
                found.append(("thought", message["reasoning_content"]))
            if message["role"] == "tool":
                found.append(("result", (message["tool_call_id"], message["content"])))
            elif message["content"]:
                found.append((message["role"], message["content"]))
            for call in message.get("tool_calls") or ():
                found.append(("call", (call["id"], call["function"]["name"])))
        return found


class Messages(Speaker):
    api: str = "messages"
    sealed = True

    def frames(self, parts: list[Part], stop: str = "") -> list[bytes]:
        return [frame(event) for event in self._events(parts, stop)]

    def _events(self, parts: list[Part], stop: str) -> Iterator[Json]:
        usage = {"input_tokens": PROMPT - CACHED - 4, "cache_creation_input_tokens": 4}
        usage |= {"cache_read_input_tokens": CACHED, "output_tokens": 1}
        message: Json = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m-1"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        yield {"type": "ping"}
        for index, (kind, *rest) in enumerate(parts):
            block, deltas = self._block(kind, rest)
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        calls = any(part[0] == "call" for part in parts)
        reason = {"length": "max_tokens", "": "tool_use" if calls else "end_turn"}.get(stop, stop)
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": COMPLETION}}
        yield {"type": "message_stop"}

    def _block(self, kind: str, rest: list[Any]) -> tuple[Json, list[Json]]:
        if kind == "think":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in rest[0]]
            deltas.append({"type": "signature_delta", "signature": rest[1]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        if kind == "text":
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": piece} for piece in rest[0]
            ]
        call_id, name, pieces = rest
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]

    def heard(self, body: Json) -> Heard:
        found: Heard = [("system", block["text"]) for block in body.get("system") or ()]
        for turn in body["messages"]:
            for block in turn["content"]:
                if block["type"] == "thinking":
                    found.append(("thought", (block["thinking"], block["signature"])))
                elif block["type"] == "tool_use":
                    found.append(("call", (block["id"], block["name"])))
                elif block["type"] == "tool_result":
                    found.append(("result", (block["tool_use_id"], block["content"])))
                else:
                    found.append((turn["role"], block["text"]))
        return found


class Responses(Speaker):
    api: str = "responses"
    sealed = True

    def frames(self, parts: list[Part], stop: str = "") -> list[bytes]:
        events = [
            {**event, "sequence_number": n} for n, event in enumerate(self._events(parts, stop))
        ]
        return [frame(event) for event in events]

    def _events(self, parts: list[Part], stop: str) -> Iterator[Json]:
        response: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m-1"}
        response |= {"status": "in_progress", "output": [], "error": None, "tools": []}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto"}
        yield {"type": "response.created", "response": response}
        yield {"type": "response.in_progress", "response": response}
        done: list[Json] = []
        for index, (kind, *rest) in enumerate(parts):
            item, within = self._item(kind, rest, index)
            empty = item | {
                key: [] for key in ("content", "summary") if isinstance(item.get(key), list)
            }
            if kind == "call":
                empty["arguments"] = ""
            empty.pop("encrypted_content", None)
            place = {"output_index": index, "item_id": item["id"]}
            yield {"type": "response.output_item.added", "output_index": index, "item": empty}
            yield from (event | place for event in within)
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
            done.append(item)
        usage: Json = {"input_tokens": PROMPT, "output_tokens": COMPLETION}
        usage |= {"total_tokens": PROMPT + COMPLETION}
        usage |= {"input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 4}}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
        status = "incomplete" if stop else "completed"
        end = {**response, "status": status, "output": done, "usage": usage}
        if stop:
            end["incomplete_details"] = {
                "reason": {"length": "max_output_tokens", "refusal": "content_filter"}[stop]
            }
        yield {"type": f"response.{status}", "response": end}

    def _item(self, kind: str, rest: list[Any], index: int) -> tuple[Json, list[Json]]:
        part: Json
        item: Json
        place: Json
        events: list[Json]
        if kind == "think":
            text, name = "".join(rest[0]), "response.reasoning_summary"
            place = {"summary_index": 0}
            part = {"type": "summary_text", "text": text}
            item = {"type": "reasoning", "id": f"rs_{index}", "summary": [part]}
            events = [
                {"type": f"{name}_part.added", **place, "part": {**part, "text": ""}},
                *({"type": f"{name}_text.delta", **place, "delta": piece} for piece in rest[0]),
                {"type": f"{name}_text.done", **place, "text": text},
                {"type": f"{name}_part.done", **place, "part": part},
            ]
            return {**item, "encrypted_content": rest[1]}, events
        if kind == "text":
            text, place = "".join(rest[0]), {"content_index": 0}
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": f"msg_{index}", "role": "assistant"}
            more = {**place, "logprobs": []}
            events = [
                {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
                *(
                    {"type": "response.output_text.delta", **more, "delta": piece}
                    for piece in rest[0]
                ),
                {"type": "response.output_text.done", **more, "text": text},
                {"type": "response.content_part.done", **place, "part": part},
            ]
            return {**item, "status": "completed", "content": [part]}, events
        call_id, call, pieces = rest
        text, name = "".join(pieces), "response.function_call_arguments"
        item = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": call}
        events = [
            *({"type": f"{name}.delta", "delta": piece} for piece in pieces),
            {"type": f"{name}.done", "arguments": text, "name": call},
        ]
        return {**item, "arguments": text, "status": "completed"}, events

    def heard(self, body: Json) -> Heard:
        found: Heard = []
        for item in body["input"]:
            kind = item.get("type")
            if kind == "reasoning":
                summary = "".join(part["text"] for part in item["summary"])
                found.append(("thought", (summary, item["encrypted_content"])))
            elif kind == "function_call":
                found.append(("call", (item["call_id"], item["name"])))
            elif kind == "function_call_output":
                found.append(("result", (item["call_id"], item["output"])))
            else:
                found.append((item["role"], item["content"]))
        return found


ALL_SPEAKERS: tuple[Speaker, ...] = (Chat(), Responses(), Messages())
SPEAKERS = tuple(each for each in ALL_SPEAKERS if each.api in API_PATHS)
BY_API = {each.api: each for each in SPEAKERS}
