"""What has to happen to the files before a run goes on: decisions, without any files."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from server.agent.workspace_steps import (
    NO_WORKSPACE,
    AlignWorkspace,
    WorkspaceState,
    jobs_first,
    next_alignment,
)
from server.session.call_actions import Execute, Job, Recover, Reply

A, B, C = "a" * 64, "b" * 64, "c" * 64
HERE = WorkspaceState(recorded=True, known=True)
SHARED = replace(HERE, mode="write")
LAYER = replace(HERE, mode="overlay", base=C)
STRANGE = {"start": A, "foreign": True}  # of a document from elsewhere
MISSING = {"objects": [{"sha256": A}], "count": 1, "bytes": 9}
DIFFERENT = {"files": [{"path": "a", "change": "added"}], "count": 1}


def session(stand: str = "", **more: Any) -> Any:
    """A session that stands at a tree; `lost`, `unrecorded`: ids of such calls."""
    lost, unrecorded = more.pop("lost", ()), more.pop("unrecorded", ())
    calls: Any = [
        {"id": each, "function": {"name": "put", "arguments": "{}"}}
        for each in (*lost, *unrecorded)
    ]
    messages: Any = [{"id": "u", "role": "user", "content": "go"}]
    if calls:
        messages.append({"id": "m", "role": "assistant", "content": "", "tool_calls": calls})
    for each in unrecorded:
        result = {"status": "ok", "unrecorded": "no process"}
        message = {"id": f"r{each}", "role": "tool", "tool_call_id": each, "content": ""}
        messages.append({**message, "result": result})
    unattended = more.pop("unattended", False)
    return {
        "messages": messages,
        "calls": {each: {"name": "put", "state": "started", "attempt": 1} for each in lost},
        "config": {"yaa": {"unattended": unattended}},
        "run": {"files": more.pop("decided", None)},
        **({"workspace": {"start": stand}} if stand else {}),
        **more,
    }


def decided(action: str, start: str = B, goal: str = A) -> Any:
    return {"action": action, "start": start, "goal": goal}


class Alignment(unittest.TestCase):
    CASES: tuple[tuple[str, Any, WorkspaceState, Any], ...] = (
        ("no workspace here", session(A), NO_WORKSPACE, None),
        ("nothing was recorded", session(), HERE, None),
        ("not looked at", session(A), replace(HERE, known=False), "look"),
        ("no process", session(A), replace(HERE, problem="none"), None),
        ("at the same tree", session(A), replace(HERE, tree=A), None),
        ("at another one", session(A), replace(HERE, tree=B), "restore"),
        ("on a new server", session(A), HERE, "restore"),
        ("a restore that was cut", session(A), replace(HERE, tree=A, restoring=A), "restore"),
        ("to another tree", session(A), replace(HERE, tree=A, restoring=B), "restore"),
        ("a lost call's changes", session(A, lost=["c"]), replace(HERE, tree=B, call="c"), None),
        ("another lost call's", session(A, lost=["c"]), replace(HERE, tree=B, call="d"), "restore"),
        (
            "a lost call, and the workspace was restored since",
            session(A, lost=["c"]),
            replace(HERE, tree=B),
            "restore",
        ),
        (
            "a call that could not be recorded",
            session(A, unrecorded=["c"]),
            replace(HERE, tree=B, call="c"),
            "adopt",
        ),
        (
            "objects are missing",
            session(A),
            replace(HERE, tree=B, missing=MISSING),
            "workspace_missing",
        ),
        (
            "a person goes on without",
            session(A, decided=decided("go_on", "")),
            replace(HERE, tree=B, missing=MISSING),
            "adopt",
        ),
        (
            "without another tree",
            session(A, decided=decided("go_on", "", C)),
            replace(HERE, tree=B, missing=MISSING),
            "workspace_missing",
        ),
        (
            "uploaded, and still missing",
            session(A, decided=decided("uploaded", "")),
            replace(HERE, tree=B, missing=MISSING),
            "workspace_missing",
        ),
        (
            "nobody to ask for objects",
            session(A, unattended=True),
            replace(HERE, tree=B, missing=MISSING),
            "adopt",
        ),
        ("a folder others changed", session(A), replace(SHARED, tree=B, seen=A), "adopt"),
        ("a person went back", session(A), replace(SHARED, tree=B, seen=B), "compare"),
        ("a folder this session never used", session(A), replace(SHARED, tree=B), "compare"),
        (
            "compared",
            session(A),
            replace(SHARED, tree=B, seen=B, differences=DIFFERENT),
            "workspace_restore",
        ),
        (
            "nothing differs",
            session(A),
            replace(SHARED, differences={"files": [], "count": 0}),
            "adopt",
        ),
        (
            "restore it",
            session(A, decided=decided("restore")),
            replace(SHARED, tree=B, seen=B),
            "restore",
        ),
        (
            "restore what has changed since",
            session(A, decided=decided("restore", C)),
            replace(SHARED, tree=B, seen=B, differences=DIFFERENT),
            "workspace_restore",
        ),
        (
            "restore for another tree",
            session(A, decided=decided("restore", B, C)),
            replace(SHARED, tree=B, seen=B, differences=DIFFERENT),
            "workspace_restore",
        ),
        (
            "keep it",
            session(A, decided=decided("keep")),
            replace(SHARED, tree=B, seen=B),
            "adopt",
        ),
        (
            "nobody to ask",
            session(A, unattended=True),
            replace(SHARED, tree=B, seen=B),
            "adopt",
        ),
        (
            "a restore of a folder that was cut",
            session(A),
            replace(SHARED, tree=B, seen=B, restoring=A),
            "restore",
        ),
        ("from elsewhere, new here", session(A, workspace=STRANGE), HERE, "restore"),
        ("from elsewhere, the same", session(A, workspace=STRANGE), replace(HERE, tree=A), None),
        (
            "from elsewhere, over files of here",
            session(A, workspace=STRANGE),
            replace(HERE, tree=B),
            "compare",
        ),
        (
            "compared with what came from elsewhere",
            session(A, workspace=STRANGE),
            replace(HERE, tree=B, differences=DIFFERENT),
            "workspace_restore",
        ),
        (
            "a person has what came from elsewhere",
            session(A, workspace=STRANGE, decided=decided("restore")),
            replace(HERE, tree=B),
            "restore",
        ),
        (
            "a person keeps what is here",
            session(A, workspace=STRANGE, decided=decided("keep")),
            replace(HERE, tree=B),
            "adopt",
        ),
        (
            "an answer about other files is none",
            session(A, workspace=STRANGE, decided=decided("restore", C)),
            replace(HERE, tree=B, differences=DIFFERENT),
            "workspace_restore",
        ),
        (
            "from elsewhere, nobody to ask",
            session(A, workspace=STRANGE, unattended=True),
            replace(HERE, tree=B),
            "adopt",
        ),
        (
            "from elsewhere, over a layer",
            session(A, workspace=STRANGE),
            replace(LAYER, tree=B, fresh=True),
            "compare",
        ),
        (
            "from elsewhere, over a layer without changes",
            session(A, workspace=STRANGE),
            replace(LAYER, tree=C, fresh=True),
            "restore",
        ),
        ("an overlay that was not filled", session(A), replace(LAYER, base=None), "refresh"),
        ("an overlay at its tree", session(A), replace(LAYER, tree=A), "refresh"),
        ("an overlay, looked at", session(A), replace(LAYER, tree=A, fresh=True), None),
        ("an overlay elsewhere", session(A), replace(LAYER, tree=B, fresh=True), "restore"),
        (
            "an overlay under a lost call",
            session(A, lost=["c"]),
            replace(LAYER, tree=A),
            None,
        ),
    )

    def test_each_state(self) -> None:
        for name, document, state, expected in self.CASES:
            with self.subTest(name):
                found = next_alignment(document, state)
                if isinstance(found, AlignWorkspace):
                    self.assertEqual(found.action, expected)
                    self.assertEqual(found.tree, A)
                else:
                    self.assertEqual(found and found["reason"], expected)

    def test_before_the_first_change(self) -> None:
        for state, expected in (
            (replace(HERE, known=False), "look"),
            (HERE, "start"),
            (replace(LAYER, base=None), "refresh"),
            (LAYER, "start"),
        ):
            found = next_alignment(session(), state, writes=True)
            self.assertEqual(found, AlignWorkspace(expected))

    def test_interrupts_say_what_they_are_about(self) -> None:
        found: Any = next_alignment(session(A), replace(SHARED, tree=B, differences=DIFFERENT))
        self.assertEqual((found["start"], found["goal"], found["count"]), (B, A, 1))
        self.assertEqual(found["differences"], DIFFERENT["files"])
        found = next_alignment(session(A), replace(HERE, missing=MISSING))
        self.assertEqual((found["goal"], found["count"], found["bytes"]), (A, 1, 9))


class Jobs(unittest.TestCase):
    """Which calls wait for the files."""

    def job(self, name: str, kind: str) -> Job:
        call: Any = {"id": name, "function": {"name": "put", "arguments": "{}"}}
        match kind:
            case "kept":
                return Recover(call, 1)
            case "answer":
                return Reply(call, "no", "denied")
        return Execute(call, {}, {}, True, file_access=kind)

    def test_what_comes_first(self) -> None:
        elsewhere = replace(HERE, tree=B)
        for kinds, document, state, expected in (
            (["", "answer"], session(A), elsewhere, ["", "answer"]),
            (["read"], session(A), replace(HERE, tree=A), ["read"]),
            (["read"], session(A), elsewhere, "restore"),
            (["write"], session(A), elsewhere, "restore"),
            (["read"], session(), HERE, ["read"]),
            (["read", "write"], session(), HERE, "start"),
            (["read"], session(), replace(LAYER, base=None), "refresh"),
            (["answer", "", "write", ""], session(A), elsewhere, ["answer", ""]),
            (["write", "kept"], session(A), elsewhere, ["kept"]),
            (["write", "kept"], session(A), NO_WORKSPACE, ["write", "kept"]),
            (["answer"], session(A, lost=["0"]), elsewhere, "restore"),
            (["answer"], session(A, lost=["0"]), replace(elsewhere, call="0"), ["answer"]),
        ):
            with self.subTest(kinds=kinds, expected=expected):
                jobs = [self.job(str(number), kind) for number, kind in enumerate(kinds)]
                ready, before = jobs_first(document, state, jobs)
                if isinstance(before, AlignWorkspace):
                    self.assertEqual((before.action, ready), (expected, ()))
                else:
                    self.assertEqual([kinds[jobs.index(job)] for job in ready], expected)


if __name__ == "__main__":
    unittest.main()
