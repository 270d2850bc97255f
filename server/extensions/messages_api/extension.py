"""The Messages API of models: Anthropic's, and compatible vendors'."""

from __future__ import annotations

from ..declaration import Extension, ModelApi

EXTENSION = Extension(model_apis={"messages": ModelApi("/messages", "messages:AnthropicAPI")})
