"""The texts that prompts are made of: sections, rules of the modes, forms of calls in text.

prompts.py fills them in. Each can be replaced by a session or an agent.
"""

from __future__ import annotations

CHARACTER = "You are yaa, a helpful agent."  # `session.character` of the configuration's defaults
# Section name -> template, in the order of the prompt.
SECTIONS: dict[str, str] = {
    "persona": "{character}",
    "agent": "{agent}",
    "rules": (
        "Work step by step. Use a tool when it gives a better answer than memory, one purpose per"
        " call. A tool result that reports an error is information: read it and try differently."
        " When a call was denied, do not repeat it. When the task is done, answer in plain words."
    ),
    "mode": "{mode}",
    "output": (
        "Give your final answer by calling finish with arguments that fit this JSON Schema, and"
        " only when you are done:\n{output_schema}"
    ),
    "skills": (
        "For some tasks there are instructions of their own, called skills. Before you do such a"
        " task, load its skill with the tool skill, and follow it.\n{skills}"
    ),
    "instructions": (
        "The folder that you work on has instructions of its own. What the user says comes before"
        " them.\n{instructions}"
    ),
    "host": "The server's tools run on {host}.",
    "place": "{place}",
    "date": "The current date is {date}.",
    "environment": "Facts about the user's environment:\n{environment}",
    "language": "Answer in this language: {language}.",
    "append": "{append}",
}
MODE_RULES = {
    "plain": "You may use one tool, once. Then answer.",
    "react": "Use one tool at a time, look at its result, and go on until you can answer.",
    "plan_execute": (
        "Begin with plan_set: work out the goal of the task first, then the tasks that lead to it,"
        " in order. Say with plan_update when"
        " you begin a task and when it is completed, failed or cancelled, and what came of it."
        " Tools you call together run one after another; an argument that is {{tool.field}} takes"
        " what an earlier one gave. Mark a task failed only when the goal cannot be reached any"
        " more: that ends the run."
    ),
}
TITLE = (
    "Write a title of at most six words for this conversation, in its language."
    " Answer with the title alone."
)
# Section name -> template for models that are offered tools in words (tool mode text), and
# below, the placeholders of each.
PROTOCOL: dict[str, str] = {
    "tools": """\
You can use tools. To use one, write its name as a tag and each parameter as a tag inside it:
{call}
Write values as they are, without escaping. Use one tool at a time and stop after the closing tag:
its result comes in the next message. To answer the user, write plain text without these tags.

Tools:
{tools}""",
    "call": "<{name}>\n{parameters}\n</{name}>",
    "result": "Result of {name}:\n{result}",
    "error": "Result of {name}:\n{result}",
}
PROTOCOL_FACTS: dict[str, tuple[str, ...]] = {
    "tools": ("tools", "call"),
    "call": ("name", "parameters", "arguments"),
    "result": ("name", "result"),
    "error": ("name", "result"),
}
# Keys of `config.prompt` and of an agent's `prompt` -> description for people.
ABOUT: dict[str, str] = {
    "persona": "Who the agent is.",
    "agent": "What the agent of the session is told.",
    "rules": "How to work with tools.",
    "mode": "The rules of the mode.",
    "output": "How to give an answer that has a schema.",
    "skills": "The skills that can be loaded.",
    "instructions": "What AGENTS.md of a trusted folder says.",
    "host": "What the server's tools run on.",
    "place": "The folder, network and limits of the server's tools.",
    "date": "The date on which the run began.",
    "environment": "Facts of the user's environment.",
    "language": "The answer language.",
    "append": "Whatever is to stand at the end.",
    "system": "The whole system prompt, instead of all the sections above.",
    "title": "How to name a session, for the extra call that does it.",
    "tools": "Text tool mode: how to call tools, and which there are.",
    "call": "Text tool mode: how a call is written.",
    "result": "Text tool mode: how the result of a call is shown.",
    "error": "Text tool mode: how a result that is an error is shown.",
}
