"""yaa in a program of one's own: `from yaa import BaseAgent, BaseServer, OpenAIAPI, run`."""

from __future__ import annotations

from ..declaration import Extension

_NAMES = ("BaseAgent", "BaseServer", "OpenAIAPI", "OpenAI_API", "run")

EXTENSION = Extension(exports=dict.fromkeys(_NAMES, "extensions.library.program"))
