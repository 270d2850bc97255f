"""LangChain and LangGraph."""

from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


def llm(**more: Any) -> Any:
    return ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY, **more)


def used(model: Any) -> list[Any]:
    bound = model.bind_tools([tool(get_weather)])
    messages: list[Any] = [HumanMessage("weather")]
    answer = bound.invoke(messages)
    for call in answer.tool_calls:
        messages += [answer, ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])]
    return [bound.invoke(messages).text, *asked]


def talked(model: Any) -> list[Any]:
    first = model.invoke("hi")
    second = model.invoke([HumanMessage("hi"), first, HumanMessage("recall")])
    return [first.text, second.text]


@case
def chat() -> Any:
    return llm().invoke("hi").text


@case
def stream() -> Any:
    return "".join(chunk.text for chunk in llm().stream("hi"))


@case
def tools() -> Any:
    return used(llm())


@case
def structured() -> Any:
    return llm().with_structured_output(Weather).invoke("json").model_dump()


@case
def refused() -> Any:
    return llm().invoke("refuse").text


@case
def turns() -> Any:
    return talked(llm())


@case
def responses_turns() -> Any:
    return talked(llm(use_responses_api=True))


@case
def responses_turns_by_id() -> Any:
    return talked(llm(use_responses_api=True, use_previous_response_id=True))


@case
def responses_tools() -> Any:
    return used(llm(use_responses_api=True))


@case
def responses_stream() -> Any:
    return "".join(chunk.text for chunk in llm(use_responses_api=True).stream("hi"))


@case
def responses_thoughts() -> Any:
    answer = llm(use_responses_api=True).invoke("hi")
    return [each["reasoning"] for each in answer.content_blocks if each["type"] == "reasoning"]


main()
