"""pydantic-ai behind FastAPI, as the first pages of both show it."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

app = FastAPI()
provider = OpenAIProvider(base_url=f"{sys.argv[1]}/v1", api_key="k")
agent = Agent(OpenAIChatModel("scripted", provider=provider), instructions="You are helpful.")


@agent.tool_plain(name="datetime")
def now() -> str:
    """The time."""
    return datetime.now(UTC).isoformat()


class Chat(BaseModel):
    messages: list[dict[str, Any]]


def past(messages: list[dict[str, Any]]) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(content=m["content"])])
        if m["role"] == "user"
        else ModelResponse(parts=[TextPart(content=m["content"])])
        for m in messages
    ]


@app.post("/chat")
async def chat(body: Chat) -> StreamingResponse:
    *earlier, last = body.messages

    async def stream() -> AsyncIterator[str]:
        async with agent.run_stream(last["content"], message_history=past(earlier)) as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                yield f"data: {json.dumps({'text': text})}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


if __name__ == "__main__":
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"READY http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run([sock])
