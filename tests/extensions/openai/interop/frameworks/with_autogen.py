"""AutoGen."""

from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelFamily, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": ModelFamily.R1,
}


def client() -> Any:
    return OpenAIChatCompletionClient(model=MODEL, base_url=URL, api_key=KEY, model_info=INFO)


@case
async def chat() -> Any:
    return (await client().create([UserMessage(content="hi", source="user")])).content


@case
async def stream() -> Any:
    source = client().create_stream([UserMessage(content="hi", source="user")])
    return [each async for each in source][-1].content


@case
async def tools() -> Any:
    agent = AssistantAgent(
        "a", model_client=client(), tools=[get_weather], reflect_on_tool_use=True
    )
    result = await agent.run(task="weather")
    return [result.messages[-1].content, *asked]


@case
async def structured() -> Any:
    agent = AssistantAgent("a", model_client=client(), output_content_type=Weather)
    return (await agent.run(task="json")).messages[-1].content.model_dump()


@case
async def refused() -> Any:
    return (await client().create([UserMessage(content="refuse", source="user")])).content


@case
async def turns() -> Any:
    agent = AssistantAgent("a", model_client=client())
    said = [await agent.run(task=each) for each in ("hi", "recall")]
    return [each.messages[-1].content for each in said]


@case
async def thoughts() -> Any:
    return (await client().create([UserMessage(content="hi", source="user")])).thought


main()
