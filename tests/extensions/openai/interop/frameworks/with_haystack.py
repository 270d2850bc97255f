"""Haystack."""

from typing import Any

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


CHAT, RESPONSES = OpenAIChatGenerator, OpenAIResponsesChatGenerator


def generator(kind: Any, **more: Any) -> Any:
    return kind(model=MODEL, api_base_url=URL, api_key=Secret.from_token(KEY), **more)


def ask(kind: Any, *said: Any, **more: Any) -> Any:
    messages = [ChatMessage.from_user(each) if isinstance(each, str) else each for each in said]
    return generator(kind, **more).run(messages)["replies"][0]


def used(kind: Any) -> list[Any]:
    agent = Agent(chat_generator=generator(kind), tools=[create_tool_from_function(get_weather)])
    result = agent.run(messages=[ChatMessage.from_user("weather")])
    return [result["messages"][-1].text, *asked]


def streamed(kind: Any) -> str:
    texts: list[str] = []
    ask(kind, "hi", streaming_callback=lambda chunk: texts.append(chunk.content))
    return "".join(texts)


def talked(kind: Any) -> list[Any]:
    first = ask(kind, "hi")
    return [first.text, ask(kind, "hi", first, "recall").text]


@case
def chat() -> Any:
    return ask(CHAT, "hi").text


@case
def stream() -> Any:
    return streamed(CHAT)


@case
def tools() -> Any:
    return used(CHAT)


@case
def structured() -> Any:
    text = ask(CHAT, "json", generation_kwargs={"response_format": Weather}).text
    return Weather.model_validate_json(text).model_dump()


@case
def refused() -> Any:
    return ask(CHAT, "refuse").text


@case
def turns() -> Any:
    return talked(CHAT)


@case
def responses_turns() -> Any:
    return talked(RESPONSES)


@case
def responses_tools() -> Any:
    return used(RESPONSES)


@case
def responses_stream() -> Any:
    return streamed(RESPONSES)


@case
def responses_thoughts() -> Any:
    reasoning = ask(RESPONSES, "hi").reasoning
    return reasoning and reasoning.reasoning_text


main()
