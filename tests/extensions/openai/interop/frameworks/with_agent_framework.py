"""Microsoft's Agent Framework."""

from typing import Any

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel

CHAT, RESPONSES = OpenAIChatCompletionClient, OpenAIChatClient


class Weather(BaseModel):
    city: str
    degrees: int


def agent(kind: Any, **more: Any) -> Any:
    return Agent(client=kind(model=MODEL, base_url=URL, api_key=KEY), **more)


async def streamed(kind: Any) -> str:
    return (await agent(kind).run("hi", stream=True).get_final_response()).text


async def used(kind: Any) -> list[Any]:
    return [(await agent(kind, tools=[get_weather]).run("weather")).text, *asked]


async def thought(kind: Any) -> list[Any]:
    result = await agent(kind).run("hi")
    contents = [each for message in result.messages for each in message.contents]
    return [each.text for each in contents if each.type == "text_reasoning"]


async def talked(kind: Any) -> list[Any]:
    made = agent(kind)
    session = made.create_session()
    first = await made.run("hi", session=session)
    return [first.text, (await made.run("recall", session=session)).text]


@case
async def chat() -> Any:
    return (await agent(CHAT).run("hi")).text


@case
async def stream() -> Any:
    return await streamed(CHAT)


@case
async def tools() -> Any:
    return await used(CHAT)


@case
async def structured() -> Any:
    result = await agent(CHAT).run("json", options={"response_format": Weather})
    return result.value.model_dump()


@case
async def refused() -> Any:
    return (await agent(CHAT).run("refuse")).text


@case
async def turns() -> Any:
    return await talked(CHAT)


@case
async def responses_turns() -> Any:
    return await talked(RESPONSES)


@case
async def responses_tools() -> Any:
    return await used(RESPONSES)


@case
async def responses_stream() -> Any:
    return await streamed(RESPONSES)


@case
async def responses_refused() -> Any:
    return (await agent(RESPONSES).run("refuse")).text


@case
async def responses_thoughts() -> Any:
    return await thought(RESPONSES)


main()
