"""Instructor."""

from typing import Any

import instructor
from openai import OpenAI
from peer import KEY, MODEL, URL, case, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


def ask(said: str, mode: Any, **more: Any) -> Any:
    client = instructor.from_openai(OpenAI(base_url=URL, api_key=KEY), mode=mode)
    messages: Any = [{"role": "user", "content": said}]
    return client.create(
        model=MODEL, messages=messages, response_model=Weather, **more
    ).model_dump()


@case
def structured() -> Any:
    return ask("json", instructor.Mode.JSON_SCHEMA)


@case
def structured_as_json() -> Any:
    return ask("json", instructor.Mode.JSON)


@case
def structured_by_tool() -> Any:
    return ask("byTool", instructor.Mode.TOOLS)


@case
def refused() -> Any:
    return ask("refuse", instructor.Mode.TOOLS)


main()
