"""Judge a world by what tools counted and what documents say; nothing of the product is asked."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .client import Client
from .spec import ONCE, UNASKED, Disturbance, text_of, wanted_by

# What may never be; everything else is only counted.
WRONG = (
    *("ran twice", "denied though it ran", "ran though it was denied", "wrong in the call log"),
    *("result lost", "asked without need", "never ends", "folds differ", "refused", "complaint"),
    "wish not granted",
)
# What a client went on to in another way before a request of it arrived.
OTHER_WAYS = ("user", "user-later", "user-older", "keep+user", "branch", "sibling", "wish")
SETTLED = ("denied", "skipped", "invalid_arguments")


def judge(client: Client) -> list[str]:
    """Return what is wrong with a world that was played, and tell it in its story."""
    found = [
        *_doubles(client),
        *_denials(client),
        *_call_log(client),
        *_lost_results(client),
        *_needless_questions(client),
        *(f"complaint: {each}" for each in client.world.loop.complaints),
        *(f"{name}" for name in client.found if name.startswith(WRONG)),
    ]
    for each in found:
        client.world.tell(f"  WRONG: {each}")
    return found


def _are_two_conversations(due: Disturbance) -> bool:
    """Return whether a late request and what its client went on to are of two branches.

    From its first document a client goes another way if it had been asked before.
    """
    back = due.action == "oldest" and due.post > 0
    return due.mode == "late" and (back or due.action in OTHER_WAYS)


def _is_back(client: Client) -> bool:
    """Return whether the client went back to its first document, past what it had gone on to."""
    due = client.spec.disturbances
    return any(each.action == "oldest" and (each.mode == "late" or len(due) > 1) for each in due)


def _first_runs(client: Client) -> dict[str, float]:
    """Return when each call that may not repeat began first, by call id."""
    began: dict[str, float] = {}
    for each in client.world.ran:
        if each.tool in ONCE:
            began.setdefault(each.call_id, each.at)
    return began


def _ran_unwished(client: Client) -> dict[str, list[str]]:
    """Return the ids of the calls that ran, by what was wanted, without those wanted again."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in client.world.ran:
        again = any(begins <= each.at <= ends for begins, ends, _ in client.wishes)
        again |= _is_back(client) and each.tool not in UNASKED  # a person has allowed both calls
        if each.tool in ONCE and not again and not each.wanted.startswith("other"):
            found[each.wanted].append(each.call_id)
    return found


def _doubles(client: Client) -> list[str]:
    if any(map(_are_two_conversations, client.spec.disturbances)):
        return []
    found = [
        f"ran twice: {wanted} as {', '.join(ids)}"
        for wanted, ids in _ran_unwished(client).items()
        if len(ids) > 1
    ]
    for begins, ends, wanted in client.wishes:
        ran = any(begins <= r.at <= ends and r.tool in ONCE for r in client.world.ran)
        if wanted and not ran:
            found.append("wish not granted")
    return found


def _denials(client: Client) -> list[str]:
    """Return what a document denied of a call that had run, or that ran afterwards."""
    began, found = _first_runs(client), {}
    for said_at, document in [*client.documents, (client.world.loop.now, client.final)]:
        for message in document.get("messages", ()):
            status = (message.get("result") or {}).get("status")
            if message["role"] != "tool" or status not in SETTLED:
                continue
            call_id = message["tool_call_id"]
            if call_id in began and call_id not in found:
                had_run = began[call_id] < said_at
                if not had_run and status == "skipped" and _is_back(client):
                    continue  # it was moved on from in another branch
                kind = "denied though it ran" if had_run else "ran though it was denied"
                found[call_id] = f"{kind}: {call_id} ({status}: {message['content'][:40]})"
    return list(found.values())


def _call_log(client: Client) -> list[str]:
    began, found = _first_runs(client), []
    results = _results(client.final)
    for call_id, entry in client.final.get("calls", {}).items():
        if call_id not in began or entry["state"] not in (
            "proposed",
            "asking",
            "denied",
            "skipped",
        ):
            continue
        if (results.get(call_id, {}).get("result") or {}).get("status") != "indeterminate":
            found.append(f"wrong in the call log: {call_id} ran and is {entry['state']}")
    return found


def _results(document: Any) -> dict[str, Any]:
    messages = document.get("messages", ())
    return {m["tool_call_id"]: m for m in messages if m["role"] == "tool"}


def _lost_results(client: Client) -> list[str]:
    """Return what ran for a message of the final document that has no result of it."""
    texts = {text_of(m) for m in client.final.get("messages", ()) if m["role"] == "user"}
    results = _results(client.final)
    told = {
        wanted_by(call)
        for message in client.final.get("messages", ())
        for call in message.get("tool_calls") or ()
        if (results.get(call["id"], {}).get("result") or {"status": "denied"}).get("status")
        not in ("denied", "skipped")
    }
    return [
        f"result lost: {wanted}"
        for wanted in _ran_unwished(client)
        if wanted.rpartition(".")[0] in texts and wanted not in told
    ]


def _needless_questions(client: Client) -> list[str]:
    """Return questions about calls of tools that ask nothing, where no such call ever ran.

    Only about calls that were made after everything had gone wrong: what was made before may be too
    old to know of. A server that was killed, or whose disk was full, may have left only that a call
    was about to begin. After a day a host does not know any more what did not begin.
    """
    if client.killed or any(each.mode == "full" for each in client.spec.disturbances):
        return []
    tools = {
        call["id"]: (call["function"]["name"], message.get("at", 0))
        for _, document in client.documents
        for message in document.get("messages", ())
        for call in message.get("tool_calls") or ()
    }
    ran = {each.wanted for each in client.world.ran}
    knows = not any(each.action in ("day", "clock", "times") for each in client.spec.disturbances)
    wanted = {
        call["id"]: wanted_by(call)
        for _, document in client.documents
        for message in document.get("messages", ())
        for call in message.get("tool_calls") or ()
    }
    found = []
    for at, call_id, reason, _ in client.questions:
        tool, made_ms = tools.get(call_id, ("", 0))
        is_fresh = made_ms >= client.world.now_ms() - 1000 * (
            client.world.loop.now - client.moved_at
        )
        if tool in UNASKED and reason == "tool_call" and is_fresh and wanted[call_id] not in ran:
            found.append(f"asked without need: {call_id} at {at:.3f}")
        if tool in UNASKED and reason == "indeterminate" and wanted[call_id] not in ran and knows:
            found.append(f"asked without need: {call_id} never began, at {at:.3f}")
    return found
