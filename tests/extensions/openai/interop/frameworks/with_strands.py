"""Strands Agents."""

from typing import Any

from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


CHAT, RESPONSES = OpenAIModel, OpenAIResponsesModel


def agent(kind: Any, **more: Any) -> Any:
    settings = more.pop("settings", {})
    model = kind(client_args={"base_url": URL, "api_key": KEY}, model_id=MODEL, **settings)
    return Agent(model=model, callback_handler=None, **more)


def texts(result: Any) -> str:
    return "".join(each.get("text", "") for each in result.message["content"])


def used(kind: Any) -> list[Any]:
    return [texts(agent(kind, tools=[tool(get_weather)])("weather")), *asked]


async def streamed(kind: Any) -> str:
    source = agent(kind).stream_async("hi")
    return "".join([each["data"] async for each in source if "data" in each])


def talked(kind: Any, **more: Any) -> list[Any]:
    made = agent(kind, **more)
    return [texts(made("hi")), texts(made("recall"))]


def thought(kind: Any) -> Any:
    contents = agent(kind)("hi").message["content"]
    return [each["reasoningContent"] for each in contents if "reasoningContent" in each]


@case
def chat() -> Any:
    return texts(agent(CHAT)("hi"))


@case
def turns() -> Any:
    return talked(CHAT)


@case
async def stream() -> Any:
    return await streamed(CHAT)


@case
def tools() -> Any:
    return used(CHAT)


@case
def structured() -> Any:
    result = agent(CHAT)("byTool", structured_output_model=Weather)
    return result.structured_output.model_dump()


@case
def refused() -> Any:
    return texts(agent(CHAT)("refuse"))


@case
def responses_turns() -> Any:
    return talked(RESPONSES)


@case
def responses_turns_by_id() -> Any:
    return talked(RESPONSES, settings={"stateful": True})


@case
def responses_tools() -> Any:
    return used(RESPONSES)


@case
async def responses_stream() -> Any:
    return await streamed(RESPONSES)


@case
def responses_refused() -> Any:
    return texts(agent(RESPONSES)("refuse"))


@case
def thoughts() -> Any:
    return thought(CHAT)


@case
def responses_thoughts() -> Any:
    return thought(RESPONSES)


main()
