"""LiteLLM."""

import json
from typing import Any

import litellm
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel

litellm.suppress_debug_info = True


class Weather(BaseModel):
    city: str
    degrees: int


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}


def ask(*said: Any, **more: Any) -> Any:
    messages = [
        {"role": "user", "content": each} if isinstance(each, str) else each for each in said
    ]
    return litellm.completion(
        model=f"openai/{MODEL}", messages=messages, api_base=URL, api_key=KEY, **more
    )


@case
def chat() -> Any:
    return ask("hi").choices[0].message.content


@case
def stream() -> Any:
    return "".join(each.choices[0].delta.content or "" for each in ask("hi", stream=True))


@case
def tools() -> Any:
    message = ask("weather", tools=[TOOL]).choices[0].message
    said: list[Any] = ["weather", message]
    for call in message.tool_calls:
        content = get_weather(**json.loads(call.function.arguments))
        said.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return [ask(*said, tools=[TOOL]).choices[0].message.content, *asked]


@case
def structured() -> Any:
    return json.loads(ask("json", response_format=Weather).choices[0].message.content)


@case
def refused() -> Any:
    return ask("refuse").choices[0].message.content


@case
def broke() -> Any:
    return ask("break").choices[0].message.content


@case
def turns() -> Any:
    first = ask("hi").choices[0].message
    return [first.content, ask("hi", first, "recall").choices[0].message.content]


@case
def responses_turns_by_id() -> Any:
    more = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": KEY}
    first = litellm.responses(input="hi", **more)
    second = litellm.responses(input="recall", previous_response_id=first.id, **more)
    return [first.output_text, second.output_text]


@case
def thoughts() -> Any:
    return ask("hi").choices[0].message.reasoning_content


main()
