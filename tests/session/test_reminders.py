"""What the model is told beside the conversation, and that no session holds it."""

from __future__ import annotations

import asyncio
import copy
import unittest
from typing import Any

from server.session.reminders import GO_ON, progress, with_reminders

from .. import fakes
from ..fakes import user
from .test_structured_output import INTEGER, ended, session, words


class Between(unittest.TestCase):
    """What stands between two answers."""

    def test_between_answers_and_at_the_end(self) -> None:
        go, one, two = user("go"), words("x", "m1"), words("3", "m2")
        call = ended("ok", "c1")
        cases: list[tuple[list[Any], str, list[str]]] = [
            ([go], "", ["go"]),
            ([go], "sum up", ["go", "sum up"]),
            ([go, one], "", ["go", "x", GO_ON]),
            ([go, one, two, user("and", "u2")], "", ["go", "x", GO_ON, "3", "and"]),
            ([go, one, *call], "", ["go", "x", GO_ON, "", ""]),
            ([go, *call, one], "", ["go", "", "", "x", GO_ON]),
        ]
        for messages, note, wanted in cases:
            with self.subTest(wanted):
                before = [dict(message) for message in messages]
                told = with_reminders(session(), messages, note)
                self.assertEqual([m.get("content") or "" for m in told], wanted)
                self.assertEqual(messages, before)
                self.assertEqual(told, with_reminders(session(), messages, note))

    def test_what_is_wrong_is_named(self) -> None:
        made = session(INTEGER)
        told = with_reminders(made, [user("go"), words("3.5", "m1")])[-1]["content"]
        self.assertIn("expected integer", told)
        made["run"]["summary"] = "m1"
        self.assertEqual(with_reminders(made, [user("go"), words("3", "m1")])[-1]["content"], GO_ON)


class Progress(unittest.TestCase):
    def test_how_far_the_run_has_come(self) -> None:
        results = [user("go"), *ended("ok", "c1")]
        for step, most, wanted in (
            (0, 10, "This is step 1 of 10."),
            (1, 10, "This is step 2 of 10."),
            (2, 10, "This is step 3 of 10. Keep to what the task needs."),
            (5, 10, "This is step 6 of 10. Keep to what the task needs."),
            (6, 10, "This is step 7 of 10. Few steps are left: finish with what you have."),
            (9, 10, "This is step 10 of 10. Few steps are left: finish with what you have."),
            (1, None, ""),
        ):
            made = session(messages=results)
            made["config"]["yaa"]["progress_hint"] = True
            made["run"]["step"] = step
            self.assertEqual(progress(made, {"max_steps": most}), wanted)
            made["config"]["yaa"]["progress_hint"] = False
            self.assertEqual(progress(made, {"max_steps": most}), "", "off")

    def test_only_behind_results(self) -> None:
        for messages in ([], [user("go")], [user("go"), words("x", "m1")]):
            made = session(messages=messages)
            made["config"]["yaa"]["progress_hint"] = True
            self.assertEqual(progress(made, {"max_steps": 5}), "")

    def test_in_the_request_and_never_in_the_session(self) -> None:
        """And in front of it every request is the beginning of the next, as it is without."""
        found = {}
        for wanted in (False, True):
            model = fakes.ScriptedModel(_three_steps)
            document: Any = {"messages": [user("go")]}
            document["config"] = {"yaa": {"progress_hint": wanted}, "limits": {"max_steps": 4}}
            found[wanted] = (asyncio.run(_run(model, document)), model.requests)
        after, requests = found[True]
        told = [[m["content"] for m in r if "This is step" in m["content"]] for r in requests]
        few = "Few steps are left: finish with what you have."
        keep = "Keep to what the task needs."
        second, third = f"This is step 2 of 4. {keep}", f"This is step 3 of 4. {few}"
        self.assertEqual(told, [[], [second], [third]])
        self.assertNotIn("This is step", str(after))
        bare = [[m for m in r if "This is step" not in m["content"]] for r in requests]
        self.assertEqual(bare, found[False][1])


def _three_steps(messages: list[Any]) -> list[tuple[Any, ...]]:
    done = sum(message["role"] == "tool" for message in messages)
    return [("call", "look", "{}")] if done < 2 else [("text", "done")]


async def _run(model: fakes.ScriptedModel, document: Any) -> Any:
    agent = fakes.agent(model, fakes.CountingToolbox({"look": "read"}, {}))
    run = agent.prepare(copy.deepcopy(document))
    async for _ in run.events():
        pass
    return run.session


class Host(unittest.TestCase):
    def test_the_facts_of_this_server_replace_those_of_another(self) -> None:
        """A session that went on elsewhere speaks of where its tools run now."""
        model = fakes.ScriptedModel(lambda messages: [("text", "hi")])
        toolbox = fakes.CountingToolbox({}, {})
        toolbox.host = "Plan 9 (mips)"
        document = {"messages": [user("go")], "run": {"message": "u1", "host": "Linux (arm64)"}}
        run = fakes.agent(model, toolbox).prepare(document)

        async def events() -> None:
            async for _ in run.events():
                pass

        asyncio.run(events())
        self.assertIn("Plan 9 (mips)", model.requests[0][0]["content"])
        self.assertNotIn("arm64", model.requests[0][0]["content"])


if __name__ == "__main__":
    unittest.main()
