"""Pydantic AI."""

from typing import Any

from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Weather(BaseModel):
    city: str
    degrees: int


CHAT, RESPONSES = OpenAIChatModel, OpenAIResponsesModel


def agent(kind: Any, **more: Any) -> Any:
    return Agent(kind(MODEL, provider=OpenAIProvider(base_url=URL, api_key=KEY)), **more)


async def streamed(kind: Any) -> str:
    async with agent(kind).run_stream("hi") as result:
        return "".join([each async for each in result.stream_text(delta=True)])


async def used(kind: Any) -> list[Any]:
    return [(await agent(kind, tools=[get_weather]).run("weather")).output, *asked]


async def thought(kind: Any) -> list[Any]:
    result = await agent(kind).run("hi")
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ThinkingPart)]


async def talked(kind: Any, **more: Any) -> list[Any]:
    first = await agent(kind).run("hi")
    second = await agent(kind).run("recall", message_history=first.all_messages(), **more)
    return [first.output, second.output]


@case
async def chat() -> Any:
    return (await agent(CHAT).run("hi")).output


@case
async def stream() -> Any:
    return await streamed(CHAT)


@case
async def tools() -> Any:
    return await used(CHAT)


@case
async def structured() -> Any:
    result = await agent(CHAT, output_type=NativeOutput(Weather)).run("json")
    return result.output.model_dump()


@case
async def structured_by_tool() -> Any:
    result = await agent(CHAT, output_type=Weather).run("byTool")
    return result.output.model_dump()


@case
async def refused() -> Any:
    return (await agent(CHAT).run("refuse")).output


@case
async def turns() -> Any:
    return await talked(CHAT)


@case
async def responses_turns() -> Any:
    return await talked(RESPONSES)


@case
async def responses_turns_by_id() -> Any:
    return await talked(RESPONSES, model_settings={"openai_previous_response_id": "auto"})


@case
async def responses_tools() -> Any:
    return await used(RESPONSES)


@case
async def responses_stream() -> Any:
    return await streamed(RESPONSES)


@case
async def responses_refused() -> Any:
    return (await agent(RESPONSES).run("refuse")).output


@case
async def thoughts() -> Any:
    return await thought(CHAT)


@case
async def responses_thoughts() -> Any:
    return await thought(RESPONSES)


main()
