"""smolagents."""

import json
from typing import Any

from peer import KEY, MODEL, SCHEMA, URL, asked, case, main
from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: its name
    """
    asked.append(city)
    return "sunny"


def model() -> Any:
    return OpenAIServerModel(model_id=MODEL, api_base=URL, api_key=KEY)


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


@case
def chat() -> Any:
    return model().generate(said("hi")).content


@case
def stream() -> Any:
    return "".join(each.content or "" for each in model().generate_stream(said("hi")))


@case
def tools() -> Any:
    agent = ToolCallingAgent(tools=[get_weather], model=model(), verbosity_level=0, max_steps=3)
    return [agent.run("weather"), *asked]


@case
def structured() -> Any:
    wanted = {"type": "json_schema", "json_schema": {"name": "w", "schema": SCHEMA}}
    return json.loads(model().generate(said("json"), response_format=wanted).content)


@case
def refused() -> Any:
    return model().generate(said("refuse")).content


main()
