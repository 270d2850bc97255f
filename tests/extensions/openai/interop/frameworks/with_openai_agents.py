"""OpenAI's Agents SDK."""

from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel

set_tracing_disabled(True)
CHAT, RESPONSES = OpenAIChatCompletionsModel, OpenAIResponsesModel


class Weather(BaseModel):
    city: str
    degrees: int


def agent(kind: Any, **more: Any) -> Any:
    client = AsyncOpenAI(base_url=URL, api_key=KEY)
    return Agent(name="a", model=kind(model=MODEL, openai_client=client), **more)


async def streamed(kind: Any) -> str:
    result = Runner.run_streamed(agent(kind), "hi")
    text = ""
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    return text


async def used(kind: Any) -> list[Any]:
    result = await Runner.run(agent(kind, tools=[function_tool(get_weather)]), "weather")
    return [result.final_output, *asked]


async def thought(kind: Any) -> list[Any]:
    result = await Runner.run(agent(kind), "hi")
    texts = []
    for item in result.new_items:
        if item.type == "reasoning_item":
            texts.append([part.text for part in item.raw_item.summary])
            texts.append([part.text for part in item.raw_item.content or ()])
    return texts


async def talked(kind: Any) -> list[Any]:
    first = await Runner.run(agent(kind), "hi")
    said = [*first.to_input_list(), {"role": "user", "content": "recall"}]
    second = await Runner.run(agent(kind), said)
    return [first.final_output, second.final_output]


@case
async def chat() -> Any:
    return (await Runner.run(agent(CHAT), "hi")).final_output


@case
async def stream() -> Any:
    return await streamed(CHAT)


@case
async def tools() -> Any:
    return await used(CHAT)


@case
async def structured() -> Any:
    return (await Runner.run(agent(CHAT, output_type=Weather), "json")).final_output.model_dump()


@case
async def refused() -> Any:
    return (await Runner.run(agent(CHAT), "refuse")).final_output


@case
async def turns() -> Any:
    return await talked(CHAT)


@case
async def responses_turns() -> Any:
    return await talked(RESPONSES)


@case
async def responses_turns_by_id() -> Any:
    first = await Runner.run(agent(RESPONSES), "hi")
    second = await Runner.run(
        agent(RESPONSES), "recall", previous_response_id=first.last_response_id
    )
    return [first.final_output, second.final_output]


@case
async def responses_tools() -> Any:
    return await used(RESPONSES)


@case
async def responses_stream() -> Any:
    return await streamed(RESPONSES)


@case
async def thoughts() -> Any:
    return await thought(CHAT)


@case
async def responses_thoughts() -> Any:
    return await thought(RESPONSES)


main()
