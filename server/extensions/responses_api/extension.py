"""The Responses API of models, which OpenAI and xAI recommend for theirs."""

from __future__ import annotations

from ..declaration import Extension, ModelApi

EXTENSION = Extension(model_apis={"responses": ModelApi("/responses", "responses:ResponsesAPI")})
