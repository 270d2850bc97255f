"""Tables of the session document: constants, and a check for the value of each key.

Used by schema.py.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

from ..strict_json import LARGEST_COUNT
from .modes import MODES, mode_named

VERSION = 1
MAX_ID = 256  # characters; of messages, calls, interrupts
ASKED = "int-"  # prefix of a call's id in the id of its interrupt
MAX_SESSION_ID = 128
MAX_PAUSE_S = 60  # seconds between the model calls of a session
MAX_RETRIES = 20
MAX_ERRORS = 20  # reported at once; more would mostly repeat

# Path of a list or object -> the most entries it may have. Only those whose entries are compared
# with each other or written again for each call; the cost of all others is linear.
MOST = {
    "messages": 100_000,
    "messages/*/tool_calls": 256,
    "interrupts": 1_000,
    "grants": 1_000,
    "grants/*/match": 20,
    "plan/tasks": 100,
    "config/agent/tools": 256,
    "config/limits/tool": 100,
    "config/prompt": 100,
}
MAX_OPEN_CALLS = 512  # calls without a result, in all messages together
MAX_PATTERN = 1_000  # characters, in a grant

STATUSES = ("in_progress", "interrupted", "completed", "failed")
FINISH_REASONS = ("completed", "awaiting", "limit", "cancelled", "failed")
OP_KINDS = ("stub", "preview", "args", "fold", "pin", "unpin", "expire")  # of `context.ops`
# In the order in which they are tried; see context/strategies.py.
STRATEGIES = (
    "tool_invocation_compress",
    "large_message_offload_with_protection",
    "large_message_offload",
    "previous_round_conversation_summary",
    "current_round_large_message_summary",
    "current_round_message_compress",
)

ROLES = ("system", "user", "assistant", "tool", "error")
STATES = (
    *("proposed", "asking", "allowed", "denied", "started", "done"),
    *("failed", "waiting", "skipped", "indeterminate"),
)
REASONS = ("tool_call", "client_tool", "input_required", "indeterminate", "limit", "model_error")
REPLIES = ("full", "delta")
SUMMARIES = ("extract", "llm")
ON_LIMIT = ("summarize", "stop", "auto")  # auto equals summarize: older documents have it
TOOL_MODES = ("auto", "native", "json_schema", "text")
LIMITS = ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")

# Other spellings, accepted and replaced: Chinese and kebab-case ones of earlier projects, and the
# names that other tools export.
STATUS_ALIASES = {
    "in-progress": "in_progress",
    "进行中": "in_progress",
    "已中断": "interrupted",
    "已完成": "completed",
    "失败": "failed",
    "已失败": "failed",
}
ROLE_ALIASES = {
    "agent": "assistant",
    "智能体": "assistant",
    "大模型": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "human": "user",
    "用户": "user",
    "developer": "system",
    "系统": "system",
    "工具": "tool",
    "错误": "error",
}

_NUMBERS = (int, float)
Check = Callable[[Any], bool]
# Key -> check of its value, and the text of what is expected.
Fields = dict[str, tuple[Check, str]]


def is_id(value: Any) -> bool:
    """Return whether a value is a string of 1 to MAX_ID characters."""
    return isinstance(value, str) and 0 < len(value) <= MAX_ID


def _is_content(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT  # isinstance would accept bool


def _number(value: Any) -> bool:
    return type(value) in _NUMBERS and bool(0 <= value <= LARGEST_COUNT)


def _share(value: Any) -> bool:
    return _number(value) and bool(value <= 1)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_PATTERN


def _is_calibration(value: Any) -> bool:
    return isinstance(value, dict) and _number(value.get("ratio")) and _count(value.get("n"))


def _pause(value: Any) -> bool:
    return _number(value) and bool(value <= MAX_PAUSE_S)


def _optional(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _of(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _one_of(*names: str) -> Check:
    return lambda value: isinstance(value, str) and value in names


_TEXT = (_of(str), "a string")
_OPTIONAL_TEXT = (_of(str, NoneType), "a string or null")
_OBJECT = (_of(dict), "an object")
_LIST = (_of(list), "an array")
_BOOL = (_of(bool), "true or false")
_COUNT = (_count, "a whole number, 0 or more and below 2^53")
_LIMIT = (_optional(_number), "a number, 0 or more and below 2^53, or null for none")
_MOST = (
    lambda value: isinstance(value, dict) and all(map(_number, value.values())),
    "an object of numbers, 0 or more and below 2^53",
)
_SHARE = (_share, "a number from 0 to 1")
_MAYBE_COUNT = (_optional(_count), "a whole number, 0 or more, or null for none")
_TEXTS = (_texts, "an array of strings")
_SECONDS = (_number, "a number of seconds, 0 or more and below 2^53")
_ID = (is_id, f"a string of 1 to {MAX_ID} characters")

TOP: Fields = {
    "id": (
        lambda value: isinstance(value, str) and 0 < len(value) <= MAX_SESSION_ID,
        f"a string of 1 to {MAX_SESSION_ID} characters",
    ),
    "title": _OPTIONAL_TEXT,
    "start_time": _OPTIONAL_TEXT,
    "startTime": _OPTIONAL_TEXT,
    "character": _OPTIONAL_TEXT,
    "status": (_optional(_one_of(*STATUSES, *STATUS_ALIASES)), f"one of {', '.join(STATUSES)}"),
    "messages": _LIST,
    "config": _OBJECT,
    "version": (lambda value: _count(value) and value > 0, "a whole number, 1 or more"),
    "rev": _COUNT,
    "agent": _TEXT,
    "finish_reason": _OPTIONAL_TEXT,
    "calls": _OBJECT,
    "interrupts": _LIST,
    "grants": _LIST,
    "context": _OBJECT,
    "tools": _LIST,
    "environment": _TEXTS,
    "plan": _OBJECT,
    "usage": _OBJECT,
    "run": _OBJECT,
    "ext": _OBJECT,
}
MESSAGE: Fields = {
    "id": _ID,
    "content": (_is_content, "a string, null, or an array of parts with a type"),
    "tool_calls": (_of(list, NoneType), "an array"),
    "tool_call_id": _ID,
    "name": _OPTIONAL_TEXT,
    "reasoning": (
        lambda value: isinstance(value, dict) and isinstance(value.get("text", ""), str),
        "an object with a text",
    ),
    "open": _BOOL,
    "is_error": _BOOL,
    "meta": _OBJECT,
    "result": (_of(dict, NoneType), "an object"),
}
FUNCTION: Fields = {
    "name": (is_id, "a tool's name"),
    "arguments": (_of(str), "the arguments as a JSON string"),
}
CALL: Fields = {
    "name": _TEXT,
    "fingerprint": _TEXT,
    "state": (_one_of(*STATES), f"one of {', '.join(STATES)}"),
    "attempt": _COUNT,
    "args": _OBJECT,
    "input": _OBJECT,
}
INTERRUPT: Fields = {
    "id": (
        lambda value: isinstance(value, str) and is_id(value.removeprefix(ASKED)),
        f"a string of 1 to {MAX_ID} characters, {ASKED} in front of them not counted",
    ),
    "reason": (_one_of(*REASONS), f"one of {', '.join(REASONS)}"),
    "call_id": _ID,
    "message": _TEXT,
    "response_schema": _OBJECT,
    "limit": _TEXT,
    "allowed": _LIMIT,
    "observed": _LIMIT,
    "answer": (
        lambda value: isinstance(value, dict) and value.get("status") in ("resolved", "cancelled"),
        'an object with status "resolved" or "cancelled"',
    ),
}
GRANT: Fields = {
    "tool": (is_id, "a tool's name"),
    "match": (
        lambda value: isinstance(value, dict) and all(map(_is_pattern, value.values())),
        f"an object of patterns of at most {MAX_PATTERN} characters",
    ),
    "decision": (_one_of("allow", "deny"), "one of allow, deny"),
}
CLIENT_TOOL: Fields = {
    "name": (is_id, "a tool's name"),
    "description": _OPTIONAL_TEXT,
    "parameters": _OBJECT,
    "hints": _OBJECT,
    "wait": _BOOL,
}
USAGE: Fields = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "calls"), _COUNT),
    **dict.fromkeys(("reasoning_tokens", "cached_tokens", "cost_micro"), _COUNT),
    "cost_unit": _OPTIONAL_TEXT,
}
CONFIG: dict[str, Fields] = {
    "yaa": {
        "stream": _BOOL,
        "language": _OPTIONAL_TEXT,
        "reply": (_one_of(*REPLIES), f"one of {', '.join(REPLIES)}"),
        "auto_title": _BOOL,
        "unattended": _BOOL,
        "max_context": _LIMIT,
        "require_finish_tool": _BOOL,
        "mode": (
            _optional(lambda value: isinstance(value, str) and mode_named(value) is not None),
            f"one of {', '.join(MODES)}",
        ),
        "output_schema": (_of(dict, NoneType), "a JSON Schema, or null for none"),
        "tool_detail": _BOOL,
        "result_schema": _BOOL,
        "progress_hint": _BOOL,
        "tool_mode": (_one_of(*TOOL_MODES), f"one of {', '.join(TOOL_MODES)}"),
    },
    "llm_api": {
        "provider": _OBJECT,
        "stream": _BOOL,
        "model_settings": _OBJECT,
        "max_tokens": _MAYBE_COUNT,
        "tool_choice": _OPTIONAL_TEXT,
        "request_timeout": _SECONDS,
        "first_byte_timeout": _SECONDS,
        "idle_timeout": _SECONDS,
        "interval": (_pause, f"a number of seconds, 0 to {MAX_PAUSE_S}"),
        "retry": (
            lambda value: (
                isinstance(value, dict)
                and _count(value.get("times", 0))
                and value.get("times", 0) <= MAX_RETRIES
                and _pause(value.get("delay", 0))
            ),
            f"times (0 to {MAX_RETRIES}) and delay (0 to {MAX_PAUSE_S} seconds)",
        ),
    },
    "prompt": {},
    "agent": {"limits": _OBJECT},
    "tool": {},
    "limits": {
        **{name: _LIMIT for name in LIMITS},
        "tool": _MOST,
        "on_limit": (_one_of(*ON_LIMIT), f"one of {', '.join(ON_LIMIT)}"),
    },
    "context": {
        "enabled": _BOOL,
        "budget": (lambda value: _count(value) and value > 0, "a whole number, 1 or more"),
        **dict.fromkeys(("trigger_ratio", "target_ratio", "min_saving", "summary_ratio"), _SHARE),
        **dict.fromkeys(("max_messages", "ingest_tokens", "window_runs"), _MAYBE_COUNT),
        **dict.fromkeys(("keep_turns", "keep_messages", "large_chars", "preview_chars"), _COUNT),
        "exempt_tools": _TEXTS,
        "strategies": (
            lambda value: _texts(value) and set(value) <= {*STRATEGIES},
            f"an array of names: {', '.join(STRATEGIES)}",
        ),
        "summary": (_one_of(*SUMMARIES), f"one of {', '.join(SUMMARIES)}"),
        "summary_timeout_s": _SECONDS,
        "retain_tool": _BOOL,
    },
}
# The view of the messages that a model gets; see context/ops.py.
CONTEXT: Fields = {
    "ops": _LIST,
    "events": _LIST,
    "pins": _OBJECT,
    "windows": _MOST,
    "calib": (
        lambda value: isinstance(value, dict) and all(map(_is_calibration, value.values())),
        "an object of {ratio, n}",
    ),
}
OPS: dict[str, Fields] = {
    "stub": {"ids": _TEXTS},
    "preview": {"id": _TEXT, "head": _COUNT, "tail": _COUNT},
    "args": {"id": _TEXT, "keep": _COUNT},
    "summary": {"id": _TEXT, "text": _TEXT},
    "fold": {"from": _TEXT, "to": _TEXT, "text": _TEXT},
    "pin": {"ids": _TEXTS},
    "unpin": {"ids": _TEXTS},
    "expire": {"ids": _TEXTS, "after": _COUNT},
}
RECORD: Fields = {"id": _TEXT, "trigger": _TEXT, "at": _COUNT, "after": _COUNT, "before": _COUNT}
PROVIDER: Fields = {
    "name": _TEXT,
    "api_url": _TEXT,
    "api_key": _OPTIONAL_TEXT,
    "model_name": _OPTIONAL_TEXT,
    "model_type": _OBJECT,
    "model_settings": _OBJECT,
    "cost_per_ktoken": _LIMIT,
    "cost_unit": _OPTIONAL_TEXT,
    "max_tokens": _LIMIT,
}
TOOL: Fields = {
    "auto_approve": _BOOL,
    "deny": _BOOL,
    "network": (lambda value: value in ("off", "proxy", "full"), "off, proxy or full"),
}
