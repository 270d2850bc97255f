"""The page that a browser shows for an address whose name is not served, in two languages. Pure."""

from __future__ import annotations

from html import escape

from ..problem import Problem

HEADERS = {  # of a page without scripts, whose address may hold a secret
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>yaa: {name}</title>
<h1>This name is not served here</h1>
<p>yaa answers at this address, but not by the name <b>{name}</b>: a page of another origin could
reach it by a name of its own.</p>
<p>Its owner can add <code>"{name}"</code> to <code>server.hosts</code> in <code>config.json</code>.
{way}</p>
<div lang="zh">
<h1>此处不以这个名称提供服务</h1>
<p>yaa 在此地址运行，但不接受名称 <b>{name}</b>：否则其他来源的网页可以用自己的名称访问它。</p>
<p>所有者可以把 <code>"{name}"</code> 加入 <code>config.json</code> 的 <code>server.hosts</code>。
{zh_way}</p>
</div>
"""


def wants_page(method: str, accept: str) -> bool:
    """Return whether a person looks at the answer: a browser asks for pages."""
    return method == "GET" and "text/html" in accept.lower()


def host_page(problem: Problem, name: str, port: int | None) -> tuple[int, dict[str, str], bytes]:
    """Return (status, headers, body). `port`: at which this machine itself is served, if it is."""
    link = "" if port is None else f'<a href="//localhost:{port}/">localhost:{port}</a>'
    page = _PAGE.format(
        name=escape(name),
        way=f"On the machine itself it is {link}." if link else "",
        zh_way=f"在本机上的地址是 {link}。" if link else "",
    )
    return problem.status, dict(HEADERS), page.encode()
