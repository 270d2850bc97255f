"""A model of one's own: put it into `models/` of the home folder; its provider is `echo_model`."""

import json

from yaa import BaseAPI, ModelError


class Echo(BaseAPI):
    """Says what it was told, and calls a tool where it is told to: `call NAME {"argument": 1}`."""

    model_name = "echo-1"
    max_context = 32_000

    def request(self, session_data):
        """The whole message."""
        said = session_data["messages"][-1]["content"]
        word, _, rest = said.partition(" ")
        if word == "fail":
            raise ModelError("this model was told to fail", retryable=False)
        if word != "call":
            return {"content": f"{said}, said you"}
        name, _, arguments = rest.partition(" ")
        return {"tool_calls": [{"name": name, "arguments": json.loads(arguments or "{}")}]}

    def stream(self, session_data):
        """The same in pieces."""
        message = self.request(session_data)
        for word in message.pop("content", "").split(" "):
            yield word + " " if not word.endswith("you") else word
        yield message
