"""Agno."""

from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIResponses
from agno.models.openai.like import OpenAILike
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


CHAT, RESPONSES = OpenAILike, OpenAIResponses


def agent(kind: Any, **more: Any) -> Any:
    return Agent(model=kind(id=MODEL, base_url=URL, api_key=KEY), telemetry=False, **more)


def streamed(kind: Any) -> str:
    return "".join(each.content or "" for each in agent(kind).run("hi", stream=True))


def used(kind: Any) -> list[Any]:
    return [agent(kind, tools=[get_weather]).run("weather").content, *asked]


def talked(kind: Any) -> list[Any]:
    made = agent(kind, db=InMemoryDb(), add_history_to_context=True)
    first = made.run("hi", session_id="s")
    return [first.content, made.run("recall", session_id="s").content]


@case
def chat() -> Any:
    return agent(CHAT).run("hi").content


@case
def stream() -> Any:
    return streamed(CHAT)


@case
def tools() -> Any:
    return used(CHAT)


@case
def structured() -> Any:
    return agent(CHAT, output_schema=Weather).run("json").content.model_dump()


@case
def refused() -> Any:
    result = agent(CHAT).run("refuse")
    return [str(result.status), result.content]


@case
def responses_tools() -> Any:
    return used(RESPONSES)


@case
def responses_stream() -> Any:
    return streamed(RESPONSES)


@case
def turns() -> Any:
    return talked(CHAT)


@case
def responses_turns() -> Any:
    return talked(RESPONSES)


@case
def thoughts() -> Any:
    return agent(CHAT).run("hi").reasoning_content


@case
def responses_thoughts() -> Any:
    return agent(RESPONSES).run("hi").reasoning_content


main()
