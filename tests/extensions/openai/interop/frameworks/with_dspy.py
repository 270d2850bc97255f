"""DSPy, which calls tools natively only where its catalogue knows the model by its name."""

from typing import Any

import dspy
from peer import KEY, MODEL, URL, case, get_weather, main

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
KNOWN = "gpt-4o"  # an agent of this name


class Call(dspy.Signature):
    question: str = dspy.InputField()
    tools: list[dspy.Tool] = dspy.InputField()
    outputs: dspy.ToolCalls = dspy.OutputField()


def lm(name: str = MODEL, **more: Any) -> Any:
    return dspy.LM(f"openai/{name}", api_base=URL, api_key=KEY, cache=False, **more)


def called(**more: Any) -> list[Any]:
    adapter = dspy.ChatAdapter(use_native_function_calling=True)
    with dspy.context(lm=lm(KNOWN, **more), adapter=adapter):
        found = dspy.Predict(Call)(question="weather", tools=[dspy.Tool(get_weather)])
    (call,) = found.outputs.tool_calls
    return [call.name, call.args["city"]]


@case
def chat() -> Any:
    return lm()("hi")[0]["text"]


@case
def structured() -> Any:
    signature = dspy.Signature("question -> city: str, degrees: int")
    with dspy.context(lm=lm(), adapter=dspy.JSONAdapter()):
        return dspy.Predict(signature)(question="json").toDict()


@case
def calls() -> Any:
    return called()


@case
def responses_calls() -> Any:
    return called(model_type="responses")


@case
def refused() -> Any:
    return lm()("refuse")


@case
def responses_chat() -> Any:
    return lm(model_type="responses")("hi")[0]["text"]


@case
def thoughts() -> Any:
    return lm()("hi")[0]["reasoning_content"]


@case
def responses_thoughts() -> Any:
    return lm(model_type="responses")("hi")[0]["reasoning_content"]


main()
