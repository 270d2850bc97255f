"""A model of the owner's, for servers that have no other: it calls the calculator once."""

from __future__ import annotations

from pathlib import Path

TEXT = """
from yaa import BaseAPI

class Calculates(BaseAPI):
    def request(self, asked):
        last = asked["messages"][-1]
        if last["role"] == "tool":
            return "It is " + last["content"]
        call = {"name": "calculator", "arguments": '{"expression": "2+2"}'}
        return {"tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
"""


def write_model(home: Path) -> Path:
    """Put the model into a home folder, and return that."""
    file = home / "models" / "calculates.py"
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_text(TEXT)
    return home
