"""Show a call on a page without scripts, on which a person allows or denies it. Pure.

Every text is escaped where the page is made: what is not `Html` cannot be markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from ...lib.hidden_characters import written_out

MOST_SHOWN = 60_000  # characters of a call; a longer one cannot be allowed here
STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c1c1e; --line: #d0d0d5; --soft: #f3f3f5;
 --add: #dcf5e0; --cut: #fde2e1; --main: #14622f; --main-text: #fff }
@media (prefers-color-scheme: dark) { :root { --back: #17171a; --text: #ececf0; --line: #45454c;
 --soft: #222226; --add: #173d22; --cut: #4a1f1e; --main: #8fd6a3; --main-text: #10240f } }
body { margin: 0 auto; max-width: 44rem; padding: 1rem; background: var(--back);
 color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.3rem; margin: .5rem 0 }
h2 { font-size: 1rem; margin: 1rem 0 .25rem }
pre { margin: 0; padding: .6rem; background: var(--soft); border: 1px solid var(--line);
 border-radius: .4rem; font: .9rem/1.45 ui-monospace, monospace; white-space: pre-wrap }
ins, del { display: block; text-decoration: none }
ins { background: var(--add) } del { background: var(--cut) }
form { position: sticky; bottom: 0; display: flex; gap: .75rem; padding: 1rem 0;
 background: var(--back) }
button { flex: 1; min-height: 3rem; border: 1px solid var(--line); border-radius: .5rem;
 background: var(--soft); color: inherit; font: inherit; font-weight: 600 }
button[value=allow] { background: var(--main); color: var(--main-text) }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
WORDS = {
    "en": {
        "title": "May this run?",
        "session": "Session: {}",
        "tool": "Tool: {}",
        "network": "It would have network access: {}",
        "until": "This link answers for this one call, once, until {}.",
        "allow": "Allow this call",
        "deny": "Deny",
        "too_long": "The call is too long to be shown here. Allow it in yaa itself.",
        "allowed": "Allowed",
        "denied": "Denied",
        "goes_on": "The session goes on. You can close this page.",
        "closed": "This link is no longer good",
        "link_expired": "It was used, is older than a day, or the call has changed or was answered"
        " elsewhere. Open yaa to see how it stands.",
        "rate_limited": "There were too many attempts. Try again in a minute.",
        "failed": "That did not work. The link is still good: try again, or open yaa.",
    },
    "zh": {
        "title": "允许运行吗？",
        "session": "会话：{}",
        "tool": "工具：{}",
        "network": "它将可以访问网络：{}",
        "until": "此链接只对这一次调用有效，只能使用一次，有效期至 {}。",
        "allow": "允许这次调用",
        "deny": "拒绝",
        "too_long": "这次调用太长，无法在此显示。请在 yaa 中允许。",
        "allowed": "已允许",
        "denied": "已拒绝",
        "goes_on": "会话将继续。可以关闭此页面。",
        "closed": "此链接已失效",
        "link_expired": "它已被使用、已超过一天，或者这次调用已更改、已在别处答复。"
        "请打开 yaa 查看。",
        "rate_limited": "尝试次数过多，请稍后再试。",
        "failed": "操作没有成功。链接仍然有效：请重试，或打开 yaa。",
    },
}


class Html(str):
    """Markup that was made by `element`."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str) -> Html:
    """Return an element; whatever is not `Html` is escaped in it."""
    inner = "".join(each if isinstance(each, Html) else escape(each) for each in children)
    named = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{named}>{inner}</{name}>")


def language(accept: str) -> str:
    """Return en or zh, whichever an Accept-Language header wants more."""
    wanted = {"en": 0.001, "zh": 0.0}
    for part in accept.lower().split(",")[:20]:
        tag, _, quality = part.strip().partition(";q=")
        try:
            value = float(quality or 1)
        except ValueError:
            continue
        if (name := tag.split("-")[0]) in wanted:
            wanted[name] = max(wanted[name], value)
    return max(wanted, key=lambda name: wanted[name])


def call_page(
    session: Mapping[str, Any], question: Mapping[str, Any], expires: float, lang: str
) -> str:
    """Return the page of a call that is asked about. `expires`: Unix seconds."""
    words = WORDS[lang]
    title, tool = session.get("title") or session.get("id") or "", question["tool"]
    parts = [*_shown(tool, question["args"])]
    until = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%d %H:%M UTC")
    is_short = sum(map(len, parts)) <= MOST_SHOWN
    buttons = [element("button", words["deny"], name="decision", value="deny")]
    if is_short:
        buttons.append(element("button", words["allow"], name="decision", value="allow"))
    policy = question.get("policy") or {}
    if policy.get("network") not in (None, "none"):
        hosts = ", ".join(map(str, policy.get("hosts") or ())) or str(policy["network"])
        parts.append(element("p", words["network"].format(written_out(hosts))))
    return _page(
        lang,
        words["title"],
        element("p", words["session"].format(written_out(title))),
        element("p", words["tool"].format(written_out(tool))),
        *(parts if is_short else [element("p", words["too_long"])]),
        element("p", words["until"].format(until)),
        element("form", *buttons, method="post"),
    )


def note_page(code: str, lang: str) -> str:
    """Return the page that says what became of a link: `allowed`, `denied`, or why it did not."""
    words = WORDS[lang]
    if code in ("allowed", "denied"):
        return _page(lang, words[code], element("p", words["goes_on"]))
    text = words.get(code, words["failed"])
    return _page(lang, words["closed" if code == "link_expired" else "title"], element("p", text))


def _page(lang: str, title: str, *children: Html) -> str:
    head = element(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width">'),
        element("title", f"yaa: {title}"),
        element("style", Html(STYLE)),
    )
    body = element("body", element("h1", title), *children)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang=lang)}\n"


def _shown(tool: str, args: Mapping[str, Any]) -> Iterator[Html]:
    """Yield all arguments: what leaves a file and comes into it as such, the others by name."""
    changes: list[Html] = []
    for name, value in args.items():
        if lines := [*_change(tool, name, value)]:
            changes += lines
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        yield element("h2", written_out(name))
        yield element("pre", written_out(text))
    if changes:
        yield element("pre", *changes)


def _change(tool: str, name: str, value: Any) -> Iterator[Html]:
    """Yield the lines that an argument puts into a file or takes out, none for another one."""
    if isinstance(value, str) and (mark := MARKS.get(tool, {}).get(name)):
        for line in value.split("\n"):
            yield element(mark, f"{SIGNS[mark]} {written_out(line)}")
    if (tool, name) == ("edit_file", "edits") and isinstance(value, list):
        if all(isinstance(each, dict) and _is_edit(each) for each in value):
            for each in value:
                yield from _change(tool, "old", each["old"])
                yield from _change(tool, "new", each["new"])


def _is_edit(edit: Mapping[str, Any]) -> bool:
    return edit.keys() == {"old", "new"} and all(isinstance(each, str) for each in edit.values())


MARKS = {"write_file": {"content": "ins"}, "edit_file": {"old": "del", "new": "ins"}}
SIGNS = {"ins": "+", "del": "-"}
