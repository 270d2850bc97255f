"""openai-agents behind FastAPI, as the first pages of both show it."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import uvicorn
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

set_tracing_disabled(True)
app = FastAPI()
client = AsyncOpenAI(base_url=f"{sys.argv[1]}/v1", api_key="k")


@function_tool(name_override="datetime")
def now() -> str:
    """The time."""
    return datetime.now(UTC).isoformat()


agent = Agent(
    name="bench",
    instructions="You are helpful.",
    tools=[now],
    model=OpenAIChatCompletionsModel(model="scripted", openai_client=client),
)


class Chat(BaseModel):
    messages: list[dict[str, Any]]


@app.post("/chat")
async def chat(body: Chat) -> StreamingResponse:
    items: Any = [{"role": m["role"], "content": m["content"]} for m in body.messages]

    async def stream() -> AsyncIterator[str]:
        async for event in Runner.run_streamed(agent, input=items).stream_events():
            if event.type == "raw_response_event" and isinstance(
                event.data, ResponseTextDeltaEvent
            ):
                yield f"data: {json.dumps({'text': event.data.delta})}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


if __name__ == "__main__":
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"READY http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run([sock])
