"""LlamaIndex."""

from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike
from peer import KEY, MODEL, URL, asked, case, get_weather, main
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    degrees: int


def chatting(**more: Any) -> Any:
    return OpenAILike(
        model=MODEL,
        api_base=URL,
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        should_use_structured_outputs=True,
        **more,
    )


def responding(**more: Any) -> Any:
    return OpenAIResponses(model=MODEL, api_base=URL, api_key=KEY, context_window=128000, **more)


def text(answer: Any) -> Any:
    return answer.message.content


async def used(llm: Any) -> list[Any]:
    agent = FunctionAgent(tools=[get_weather], llm=llm, streaming=True)
    return [str(await agent.run("weather")), *asked]


def blocks(answer: Any) -> Any:
    return [
        getattr(each, "content", None)
        for each in answer.message.blocks
        if each.block_type == "thinking"
    ]


def talked(llm: Any) -> list[Any]:
    first = llm.chat([ChatMessage("hi")])
    return [text(first), text(llm.chat([ChatMessage("hi"), first.message, ChatMessage("recall")]))]


@case
def chat() -> Any:
    return text(chatting().chat([ChatMessage("hi")]))


@case
def stream() -> Any:
    return "".join(each.delta for each in chatting().stream_chat([ChatMessage("hi")]))


@case
async def tools() -> Any:
    return await used(chatting())


@case
def structured() -> Any:
    model = chatting().as_structured_llm(Weather)
    return model.chat([ChatMessage("json")]).raw.model_dump()


@case
def refused() -> Any:
    return text(chatting().chat([ChatMessage("refuse")]))


@case
def turns() -> Any:
    return talked(chatting())


@case
def responses_turns() -> Any:
    return talked(responding())


@case
def responses_turns_by_id() -> Any:
    llm = responding(track_previous_responses=True)
    return [text(llm.chat([ChatMessage("hi")])), text(llm.chat([ChatMessage("recall")]))]


@case
async def responses_tools() -> Any:
    return await used(responding())


@case
def responses_stream() -> Any:
    return "".join(each.delta for each in responding().stream_chat([ChatMessage("hi")]))


@case
def responses_refused() -> Any:
    return text(responding().chat([ChatMessage("refuse")]))


@case
def broke() -> Any:
    return text(chatting().chat([ChatMessage("break")]))


@case
def thoughts() -> Any:
    return blocks(chatting().chat([ChatMessage("hi")]))


@case
def responses_thoughts() -> Any:
    return blocks(responding().chat([ChatMessage("hi")]))


main()
