"""What a small model on this machine can be relied on for: calls that a grammar makes valid, and a
cache of the prompt that lasts over compactions. Nothing here looks at whether it is right.
"""

from __future__ import annotations

import copy
import json
import unittest
from dataclasses import replace
from typing import Any

from server.context.budget import of_message
from server.context.view import view
from server.lib.http.client import Client
from server.lib.json_schema.validate import validate
from server.lib.strict_json import dumps
from server.models import Options
from server.models.chat import OpenAIAPI
from server.models.provider import Provider, endpoint

from ..bench.context import OPTIONS, Policy, Yaa
from ..extensions import needs
from ..models.fakes import TOOL_MODES, message, options, preset_named
from ..tooling import tools, turns
from .local_model import NEEDED, LocalModel

Json = Any

CALLS = 34  # of the long session
BUDGET = 1_500  # tokens at which it is made smaller
SEEN: list[str] = []  # figures to be printed
RESULT = "row {n}: the value of item {n} is {m}, checked by the clerk and found to be in order; "


def tool(name: str, about: str, required: list[str], **properties: Json) -> Json:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": parameters},
    }


SHORT = {"type": "string", "minLength": 1, "maxLength": 40}
TOOLS = [
    tool("weather", "The weather of a city", ["city"], city=SHORT,
         unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
    tool("add", "The sum of two integers", ["a", "b"],
         a={"type": "integer", "minimum": -9999, "maximum": 9999},
         b={"type": "integer", "minimum": -9999, "maximum": 9999}),
    tool("send_mail", "Send a short mail", ["to", "subject"], to=SHORT, subject=SHORT,
         urgent={"type": "boolean"}),
    tool("set_alarm", "Wake the user", ["hour", "minute"],
         hour={"type": "integer", "minimum": 0, "maximum": 23},
         minute={"type": "integer", "minimum": 0, "maximum": 59}),
    tool("list_files", "Names of files in a folder", ["folder"], folder=SHORT,
         kinds={"type": "array", "maxItems": 2,
                "items": {"type": "string", "enum": ["text", "image", "sound"]}}),
]  # fmt: skip
PROMPTS = (
    "What is the weather in Oslo?",
    "Is it raining in Lima? Answer in Fahrenheit.",
    "北京今天天气怎么样？",
    "Wie warm ist es gerade in Zürich?",
    "What is 17 plus 25?",
    "Add -40 and 12.",
    "Please sum up 1234 and 4321.",
    "How much is 3 apples and 9 apples?",
    "Send a mail to ana@example.com: the meeting is at noon.",
    "Tell bob@example.com that I am late. It is urgent!",
    "Écris à marie@example.com au sujet de la facture.",
    "Mail the word \"hello\" to eve@example.com",
    "Wake me at 6:30.",
    "Set an alarm for a quarter past seven in the evening.",
    "I have to be up at noon",
    "明日の朝五時に起こしてください。",
    "Which files are in /srv/photos?",
    "List the sounds and the texts in my music folder.",
    "what's in ./src",
    "{\"tool\": \"nonsense\"} ignore this and show me the folder C:\\temp",
)  # fmt: skip


class Case(unittest.IsolatedAsyncioTestCase):
    context = 4096
    model: LocalModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(LocalModel(cls.context))

    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    def api(self, mode: str) -> OpenAIAPI:
        preset = preset_named("llamacpp")
        source = Provider("local", endpoint(self.model.url), "smollm2", preset, tool_mode=mode)
        source = replace(source, settings={"temperature": 0})
        return OpenAIAPI(source, self.client, modes=TOOL_MODES)

    async def ask(
        self, api: OpenAIAPI, messages: list[Any], offered: list[Json], wanted: Options
    ) -> Json:
        events = [event async for event in api.stream(messages, offered, wanted)]
        self.assertEqual(events[-1]["type"], "TEXT_MESSAGE_END", events[-1])
        return message(events)


@tools.needs(*NEEDED)
@needs("text_tools")
class ToolCalls(Case):
    async def test_every_call_is_valid(self) -> None:
        """20 prompts in turns, five tools to choose from, the grammar of json_schema mode."""
        api, valid = self.api("json_schema"), 0
        prompts = turns.share(PROMPTS, 10)
        for prompt in prompts:
            asked = [{"id": "u", "role": "user", "content": prompt}]
            wanted = options(tool_choice="required", max_tokens=200)
            said = await self.ask(api, asked, TOOLS, wanted)
            with self.subTest(prompt=prompt, said=said.get("content")):
                (call,) = said["tool_calls"]
                function = call["function"]
                (known,) = [each for each in TOOLS if each["function"]["name"] == function["name"]]
                arguments = json.loads(function["arguments"])
                self.assertEqual(list(validate(arguments, known["function"]["parameters"])), [])
                valid += 1
        self.assertEqual(valid, len(prompts))
        self.assertEqual(len(PROMPTS), 20)


class Small(Yaa):
    """The server's own, with nothing beside the messages."""

    system = ""


def grow(session: Json, number: int, asked: int) -> None:
    """What happens before call `number`: in each turn the user speaks and three tools answer."""
    messages = session["messages"]

    def say(role: str, content: str, **more: Any) -> None:
        made: Any = {"id": f"m{len(messages)}", "role": role, "content": content, **more}
        if role == "assistant":
            usage = {"prompt_tokens": asked, "completion_tokens": of_message(made)}
            made["meta"] = {"usage": usage}
        messages.append(made)

    if number % 4 == 0:
        if number:
            say("assistant", f"Item {number} is done.")
        say("user", f"Please look up item {number} and the three after it.")
        return
    function = {"name": "look_up", "arguments": json.dumps({"item": number})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    say("assistant", "", tool_calls=[call])
    text = "".join(RESULT.format(n=number * 10 + n, m=number * n) for n in range(2))
    say("tool", text, tool_call_id=call["id"], name="look_up", result={"status": "ok"})


@tools.needs(*NEEDED)
class PromptCache(Case):
    """The provider's own count of cached prompt tokens, for a session that outgrows its budget."""

    def setUp(self) -> None:
        self.counted: dict[str, Json] = {}

    async def share(self, policy: Policy, calls: int) -> tuple[float, Json]:
        """Both policies send the same until one of them makes it smaller: that is asked once."""
        session: Any = {"messages": [], "config": copy.deepcopy(OPTIONS["config"]), "context": {}}
        session["config"]["context"] |= {"budget": BUDGET}
        api, prompt, cached, last = self.api("native"), 0, 0, 0
        before: list[Json] = []
        for number in range(calls):
            grow(session, number, last)
            sent = policy.sent(session)
            if (known := dumps(sent)) not in self.counted:
                if before:  # the beginning of what is cached: with it the cache is as it was then
                    await self.ask(api, before, [], options(max_tokens=1))
                    before = []
                said = await self.ask(api, sent, [], options(max_tokens=1))
                self.counted[known] = said["meta"]["usage"]
            else:
                before = sent
            usage = self.counted[known]
            policy.reported(session, usage["prompt_tokens"])
            last = usage["prompt_tokens"]
            if number:
                prompt += usage["prompt_tokens"]
                cached += usage["cached_tokens"]
        return cached / prompt, session

    @unittest.skipUnless(turns.whole(), "`python3 -m tests soak` plays it")
    async def test_compactions_cost_less_than_ten_points(self) -> None:
        whole, _ = await self.share(Policy(), CALLS)
        ours, session = await self.share(Small(), CALLS)
        SEEN.append(f"cached of the prompt: {whole:.1%} append-only, {ours:.1%} with compactions")
        compactions = [r for r in session["context"]["events"] if r["trigger"] == "size"]
        self.assertGreaterEqual(len(compactions), 2)
        self.assertGreaterEqual(ours, whole - 0.10)
        self.assertLess(len(view(session)), len(session["messages"]))


if __name__ == "__main__":
    unittest.main(exit=False)
    print("\n".join(SEEN))
