"""The three independent readers of AG-UI that our streams are held against.

model_errors   the pydantic models of `ag-ui-protocol`: is each event of a known shape
rule_errors    `ag-ui-validate`: is the sequence lawful (order, pairing, everything closed)
replay         the official TypeScript client with its verifier and reducer: what an application
               ends up with

All take the text of responses. Nothing here is ours but the comparing.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import ag_ui.core
from ag_ui_validate import create_validator
from pydantic import TypeAdapter, ValidationError

from server.lib.http import sse

from ..tooling import tools

Json = dict[str, Any]

RESULT_OF_UNKNOWN_CALL = "AGUI207"
CLIENT_SECONDS = 60


def events_of(stream: str) -> list[Any]:
    decoder = sse.Decoder()
    found = [*decoder.feed(stream.encode()), *decoder.end()]
    return [json.loads(event.data) for event in found]


def model_errors(stream: str) -> list[str]:
    """What the official models say against the events; extra fields count too."""
    adapter = TypeAdapter(ag_ui.core.Event)
    errors = []
    for number, event in enumerate(events_of(stream)):
        try:
            parsed = adapter.validate_python(event)
        except ValidationError as error:
            errors.append(f"{number} {event['type']}: {error}")
            continue
        kept = parsed.model_dump(mode="json", by_alias=True, exclude_none=True)
        if lost := set(event) - set(kept):
            errors.append(f"{number} {event['type']}: fields the protocol does not have: {lost}")
    return errors


def written(body: Json) -> list[Json]:
    """The same RunAgentInput as the official models write it: without what is absent, and with
    null for it."""
    read = ag_ui.core.RunAgentInput.model_validate(body)
    return [
        read.model_dump(mode="json", by_alias=True, exclude_none=bare) for bare in (True, False)
    ]


def rule_errors(stream: str, earlier_calls: tuple[str, ...] = ()) -> list[str]:
    """Findings of the validator, errors and warnings.

    It judges one run at a time and by the protocol before 1.0, so it has to be told of the calls
    of earlier runs: a resumed run sends their results and no second START (AG-UI 1.0, interrupts).
    """
    validator = create_validator()
    for event in events_of(stream):
        validator.feed(event)
    validator.finalize()
    report = validator.report()
    assert not report.internal_errors, report.internal_errors
    return [
        f"{item.event_index} {item.rule} {item.severity}: {item.message}"
        for item in report.diagnostics
        if item.severity in ("error", "warning")
        and not (
            item.rule == RESULT_OF_UNKNOWN_CALL
            and any(f"'{call}'" in item.message for call in earlier_calls)
        )
    ]


def replay(session: Json, runs: list[Json], cut: int = 1000) -> Json:
    """What the official client holds after these runs; see agui_client.mjs for the shapes."""
    node = tools.program_node().path
    assert node is not None
    job = {
        "threadId": session["id"],
        "messages": [agui_message(message) for message in session["messages"]],
        "state": {"yaa": {key: value for key, value in session.items() if key != "messages"}},
        "cut": cut,
        "runs": runs,
    }
    done = subprocess.run(
        [str(node), str(tools.ROOT / "tests" / "interop" / "agui_client.mjs")],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=CLIENT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: Json = json.loads(done.stdout)
    return found


def agui_message(message: Json) -> Json:
    """A message of a session as AG-UI has it. Reasoning is a message of its own there."""
    wanted = {"id": message["id"], "role": message["role"]}
    if message.get("content") or message["role"] != "assistant":
        wanted["content"] = message["content"]
    if calls := message.get("tool_calls"):
        wanted["toolCalls"] = [
            {key: call[key] for key in ("id", "type", "function")} for call in calls
        ]
    if message["role"] == "tool":
        wanted["toolCallId"] = message["tool_call_id"]
    return wanted


def shown(messages: list[Json]) -> list[Json]:
    """The client's messages without what has no counterpart in ours: reasoning and activity are
    messages there, metadata and sealed values are carried along, an assistant without text may
    have empty text."""
    kept = []
    for message in messages:
        if message["role"] in ("reasoning", "activity"):
            continue
        carried = ("metadata", "name", "encryptedValue")
        bare = {key: value for key, value in message.items() if key not in carried}
        if message["role"] == "assistant" and not bare.get("content"):
            bare.pop("content", None)
        for call in bare.get("toolCalls", ()):
            call.pop("metadata", None)
            call.pop("encryptedValue", None)
        kept.append(bare)
    return kept
