"""Vendors whose keys people paste: how the text of a key looks, and where a key is made.

A pasted key is sent to a vendor only if its shape belongs to that vendor alone, or if a person has
named the vendor (key_trial). Pure.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...models.provider import find_preset, host_of
from .discovery import LOCAL
from .presets import PRESETS

MAX_KEY = 4_096  # characters; some keys are JSON Web Tokens


class Vendor(NamedTuple):
    """A vendor of models that gives out keys.

    preset      of presets.py
    key_url     the page on which keys are made
    key_shape   how its keys begin, for people; "" if there is no sign
    pattern     of its keys and of nobody else's; "" if there is none
    api_url     where the preset has no address
    model_name  where the preset has none
    """

    name: str
    title: str
    preset: str
    key_url: str
    key_shape: str = ""
    pattern: str = ""
    api_url: str = ""
    model_name: str = ""

    @property
    def host(self) -> str | None:
        """Return the host that its keys belong to."""
        return host_of(self.api_url or PRESETS[self.preset].base_url)

    @property
    def info(self) -> dict[str, str]:
        """Return {vendor, title, preset} of it."""
        return {"vendor": self.name, "title": self.title, "preset": self.preset}

    @property
    def entry(self) -> dict[str, str]:
        """Return an entry of `server.providers`, without a key."""
        own = {"api_url": self.api_url, "model_name": self.model_name}
        return {"preset": self.preset, **{key: value for key, value in own.items() if value}}


# Sources: the vendors' documents and the rules of public secret scanners. "T3BlbkFJ" is "OpenAI" in
# base64, and is in the middle of each of its keys.
_ALL = (
    Vendor(
        *("openai", "OpenAI", "openai", "https://platform.openai.com/api-keys", "sk-proj-"),
        r"sk-(?:proj|svcacct|admin)-.+|sk-[\w-]*T3BlbkFJ[\w-]*",
    ),
    Vendor(
        *("anthropic", "Anthropic", "anthropic", "https://console.anthropic.com/settings/keys"),
        *("sk-ant-", r"sk-ant-.+"),
    ),
    Vendor(
        *("gemini", "Google Gemini", "custom", "https://aistudio.google.com/apikey", "AIza"),
        r"AIza[\w-]{20,}",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash",
    ),
    Vendor("xai", "xAI", "xai", "https://console.x.ai", "xai-", r"xai-.+"),
    Vendor(
        *("openrouter", "OpenRouter", "openrouter", "https://openrouter.ai/settings/keys"),
        *("sk-or-", r"sk-or-.+"),
    ),
    Vendor(
        *("groq", "Groq", "custom", "https://console.groq.com/keys", "gsk_", r"gsk_.+"),
        *("https://api.groq.com/openai/v1", "openai/gpt-oss-20b"),
    ),
    Vendor(
        *("cerebras", "Cerebras", "custom", "https://cloud.cerebras.ai", "csk-", r"csk-.+"),
        *("https://api.cerebras.ai/v1", "zai-glm-4.7"),
    ),
    Vendor(
        *("mistral", "Mistral", "custom", "https://console.mistral.ai/api-keys", "", ""),
        *("https://api.mistral.ai/v1", "mistral-medium-latest"),
    ),
    Vendor(
        *("deepseek", "DeepSeek", "deepseek", "https://platform.deepseek.com/api_keys", "sk-"),
    ),
    Vendor(
        *("moonshot", "Moonshot (Kimi)", "moonshot"),
        *("https://platform.moonshot.cn/console/api-keys", "sk-"),
    ),
    Vendor(
        *("bailian", "Alibaba Bailian (Qwen)", "bailian"),
        *("https://bailian.console.aliyun.com/?tab=model#/api-key", "sk-"),
    ),
    Vendor(
        *("siliconflow", "SiliconFlow", "siliconflow"),
        *("https://cloud.siliconflow.cn/account/ak", "sk-"),
    ),
    Vendor("zhipu", "Zhipu (GLM)", "zhipu", "https://bigmodel.cn/usercenter/proj-mgmt/apikeys"),
    Vendor("zai", "Z.ai (GLM)", "zai", "https://z.ai/manage-apikey/apikey-list"),
    Vendor(
        *("minimax", "MiniMax", "minimax"),
        "https://platform.minimaxi.com/user-center/basic-information/interface-key",
    ),
    # The same vendors abroad. Their keys are valid on one of the two platforms only.
    Vendor(
        *("moonshot-global", "Moonshot (Kimi), outside China", "moonshot"),
        *("https://platform.moonshot.ai/console/api-keys", "sk-"),
        api_url="https://api.moonshot.ai/v1",
    ),
    Vendor(
        *("bailian-global", "Alibaba Model Studio (Qwen), outside China", "bailian"),
        *("https://modelstudio.console.alibabacloud.com/?tab=model#/api-key", "sk-"),
        api_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    ),
    Vendor(
        *("siliconflow-global", "SiliconFlow, outside China", "siliconflow"),
        *("https://cloud.siliconflow.com/account/ak", "sk-"),
        api_url="https://api.siliconflow.com/v1",
    ),
    Vendor(
        *("minimax-global", "MiniMax, outside China", "minimax"),
        "https://platform.minimax.io/user-center/basic-information/interface-key",
        api_url="https://api.minimax.io/v1",
    ),
)
VENDORS = {vendor.name: vendor for vendor in _ALL}

# Shapes that several vendors use; a person has to say whose key it is.
SHARED = (
    (
        r"sk-.+",
        ("openai", "deepseek", "moonshot", "moonshot-global", "bailian", "bailian-global")
        + ("siliconflow", "siliconflow-global", "minimax", "minimax-global"),
    ),
    (r"[0-9a-f]{32}\.[0-9A-Za-z]{16}", ("zhipu", "zai")),
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", ("minimax", "minimax-global")),
)


def read_key(text: str) -> str:
    """Return a pasted key without what people copy along: spaces, quotes, `Bearer`.

    Raises ValueError for a text that is no key.
    """
    key = re.sub(r"^bearer\s+", "", text.strip().strip("\"'`"), flags=re.IGNORECASE).strip()
    if not re.fullmatch(r"[!-~]+", key) or len(key) > MAX_KEY:
        raise ValueError(f"a key is 1 to {MAX_KEY:,} characters of visible ASCII, without spaces")
    return key


def vendor_of(key: str) -> Vendor | None:
    """Return the vendor whose keys alone look like this; None if there is none."""
    for vendor in _ALL:
        if vendor.pattern and re.fullmatch(vendor.pattern, key):
            return vendor
    return None


def candidates(key: str) -> list[Vendor]:
    """Return the vendors that a key may be of: one, several, or all whose keys have no sign."""
    if certain := vendor_of(key):
        return [certain]
    for pattern, names in SHARED:
        if re.fullmatch(pattern, key):
            return [VENDORS[name] for name in names]
    return [vendor for vendor in _ALL if not vendor.key_shape]


def foreign_vendor(key: str, url: str) -> Vendor | None:
    """Return the vendor of a key that would be sent to another vendor's host; None if it fits.

    A key may go to any host that is no vendor's, such as a gateway of the owner.
    """
    certain, host = vendor_of(key), host_of(url)
    hosts = {vendor.host for vendor in _ALL}
    return certain if certain and host in hosts and host != certain.host else None


def find_vendor(name: str) -> Vendor | None:
    """Return a vendor by its name, or by the name or alias of its preset; None if unknown."""
    if name in VENDORS:
        return VENDORS[name]
    preset = find_preset(name, PRESETS) if name else None
    return VENDORS.get(preset.name) if preset else None


def vendors_info() -> list[dict[str, Any]]:
    """Return what the page offers: vendors with keys, and model servers at hand.

    Each is {vendor, title, preset, key_shape?, key_url?, api_url?, model_name?}.
    """
    listed: list[dict[str, Any]] = []
    for vendor in _ALL:
        shown = {"vendor": vendor.name, "title": vendor.title, **vendor.entry}
        shown["key_url"] = vendor.key_url
        listed.append(shown | ({"key_shape": vendor.key_shape} if vendor.key_shape else {}))
    for name, title in LOCAL.items():
        url = PRESETS[name].base_url
        listed.append({"vendor": name, "title": title, "preset": name, "api_url": url})
    return listed
