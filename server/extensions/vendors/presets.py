"""Presets of the vendors that are known: one record of flags each, and the address of their API.

A vendor's difference is a flag of models/provider.py, set here with its source.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ...models.provider import CUSTOM, Preset

NOT_FORCED = frozenset({"auto", "none"})

# Sources: the vendors' documents, and the issues named. Model names are defaults for owners to
# replace.
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            "gpt-4.1-mini",
            url_env="OPENAI_BASE_URL",
            model_env="OPENAI_MODEL",
            api="responses",  # Chat Completions refuses tools to models that reason: GPT-5.6
            max_tokens_field="max_completion_tokens",
            send_back_reasoning="never",
            think_tags=False,
            strict=True,
            references=True,
            parallel_tool_calls=True,
            message_name=True,
        ),
        Preset(
            "anthropic",
            "https://api.anthropic.com/v1",
            ("ANTHROPIC_API_KEY",),
            "claude-sonnet-5",
            aliases=("claude",),
            url_env="ANTHROPIC_BASE_URL",
            model_env="ANTHROPIC_MODEL",
            api="messages",
            references=True,
            parallel_tool_calls=True,
            bearer=False,  # a bearer token means another kind of key there
        ),
        Preset(
            "xai",
            "https://api.x.ai/v1",
            ("XAI_API_KEY",),
            "grok-4",
            aliases=("grok",),
            api="responses",  # its Chat Completions are deprecated and hide the reasoning
            parallel_tool_calls=True,
        ),
        Preset(
            "bailian",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            ("DASHSCOPE_API_KEY", "BAILIAN_API_KEY"),
            "qwen3-max",
            aliases=("dashscope", "qwen", "aliyun"),
            parallel_tool_calls=True,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://dashscope.aliyuncs.com/apps/anthropic"}),
        ),
        Preset(
            "siliconflow",
            "https://api.siliconflow.cn/v1",
            ("SILICONFLOW_API_KEY",),
            "deepseek-ai/DeepSeek-V3.2",
            max_tokens_field="max_tokens",
        ),
        Preset(
            "zhipu",
            "https://open.bigmodel.cn/api/paas/v4",
            ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY", "BIGMODEL_API_KEY"),
            "glm-4.7",
            aliases=("bigmodel", "glm"),
            max_tokens_field="max_tokens",
            stream_options=False,
            tool_choice_modes=frozenset({"auto"}),
            think_tags=False,
            extra_body=MappingProxyType({"tool_stream": True}),
            urls=MappingProxyType({"messages": "https://open.bigmodel.cn/api/anthropic"}),
        ),
        Preset(
            "minimax",
            "https://api.minimaxi.com/v1",
            ("MINIMAX_API_KEY",),
            "MiniMax-M2",
            max_tokens_field="max_completion_tokens",
            reasoning_field="reasoning_details",
            cumulative=True,  # documented, though measurements differ: MiniMax-M2 issue 95
            extra_body=MappingProxyType({"reasoning_split": True}),
            urls=MappingProxyType({"messages": "https://api.minimaxi.com/anthropic"}),
        ),
        Preset(
            "deepseek",
            "https://api.deepseek.com",
            ("DEEPSEEK_API_KEY",),
            "deepseek-chat",
            max_tokens_field="max_tokens",
            reasoning_required_on_tool_turns=True,  # 400 without it, even for empty reasoning
            reasoning_required_everywhere=True,  # V4; the others ignore it
            tool_choice_modes=NOT_FORCED,  # forced choices are refused while thinking
            documents=False,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://api.deepseek.com/anthropic"}),
        ),
        Preset(
            "moonshot",
            "https://api.moonshot.cn/v1",
            ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
            "kimi-latest",
            aliases=("kimi",),
            reasoning_required_on_tool_turns=True,  # opencode issue 25758
            tool_choice_modes=NOT_FORCED,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://api.moonshot.cn/anthropic"}),
        ),
        Preset(
            "openrouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            "openrouter/auto",
            proof="/key",
            search_plugin=True,
            max_tokens_field="max_tokens",
            reasoning_field="reasoning",
            parallel_tool_calls=True,
        ),
        Preset(
            "ollama",
            "http://127.0.0.1:11434/v1",
            max_tokens_field="max_tokens",
            reasoning_field="reasoning",
            documents=False,
            timeout_first_byte=300,  # the model is loaded while the first request waits
        ),
        Preset(
            "lmstudio",
            "http://127.0.0.1:1234/v1",
            max_tokens_field="max_tokens",
            documents=False,
            timeout_first_byte=300,
        ),
        Preset(
            "llamacpp",
            "http://127.0.0.1:8080/v1",
            aliases=("llama.cpp",),
            max_tokens_field="max_tokens",
            references=True,  # measured with b11549, recursive ones too
            model_paths=True,
            documents=False,
            timeout_first_byte=300,
        ),
        Preset(
            "vllm",
            "http://127.0.0.1:8000/v1",
            aliases=("sglang",),
            reasoning_field="reasoning",
            documents=False,
        ),
        CUSTOM,
    )
}
# The same models on the vendor's platform abroad. Keys are valid on one of the two only.
PRESETS["zai"] = replace(
    PRESETS["zhipu"],
    name="zai",
    aliases=("z.ai",),
    base_url="https://api.z.ai/api/paas/v4",
    key_env=("ZAI_API_KEY",),
    urls=MappingProxyType({"messages": "https://api.z.ai/api/anthropic"}),
)
