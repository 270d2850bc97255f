"""Rows of kernel tests' tables, for what this extension adds."""

from server.extensions.text_tools.modes import JSON_SCHEMA, NATIVE, TEXT

from ...models.fakes import tool

ADD = tool("add", {"a": {"type": "integer"}, "b": {"type": "string"}})
READERS = {  # of answers
    "native": lambda: NATIVE.readers([ADD], "chat", str),
    "text": lambda: TEXT.readers([ADD], "chat", str),
    "json_schema": lambda: JSON_SCHEMA.readers([ADD], "chat", str),
}
PURE = ("server.extensions.text_tools",)  # modules without input and output
