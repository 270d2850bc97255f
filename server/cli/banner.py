"""The text that a server prints at start: links, models, tools, problems and sandbox.

The links are printed as soon as the page can be opened, the rest once the agent is loaded.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `app` takes long to import, and the links are printed before
    from ..app import App

WIDTH = 78  # columns, including the comma after a name
# Descriptions of the sandbox's tiers.
TIERS = {
    "A": "tier A: a tool sees its session's folder and the system's programs, nothing else",
    "B": "tier B: a tool opens no file outside its session's folder and no connection",
    "C": "tier C: a tool is limited, but sees what this user sees",
    "none": "none: a tool may do whatever this user may",
}


def links(scheme: str, host: str, port: int, key: str) -> list[str]:
    """Return lines with the links to open; the last line is the link for this machine.

    The key is in the fragment, which browsers never send to a server.
    """
    tail = f":{port}/" + (f"#key={key}" if key else "")
    if host not in ("", "0.0.0.0", "::"):
        here = f"[{host}]" if ":" in host else host
        return ["Open this link in a browser:", f"{scheme}://{here}{tail}"]
    other = _own_address()
    lines = ["From another device:", f"{scheme}://{other}{tail}"] if other else []
    return [*lines, "Open this link in a browser:", f"{scheme}://127.0.0.1{tail}"]


def sign_in(key_file: Path | None, *, shown: bool, required: bool) -> list[str]:
    """Return lines about the key, none if keys are configured.

    `key_file`: file of the key that the server generated, None for none. `shown`: the key is in the
    links. `required`: a key is needed.
    """
    if not required:
        return [
            "No key is needed: every user and program of this machine can use the server.",
            "Web pages cannot, but its own and those of server.cors_origins.",
        ]
    if key_file is None or shown:
        return []
    return [f"The key to sign in with is in {key_file} (--print-link shows it here)."]


def _own_address() -> str:
    """Return this machine's address on its network, or "".

    Connecting a datagram socket sends nothing; the system only selects the local address for it
    (192.0.2.1 is reserved for documentation: RFC 5737).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def describe(app: App) -> list[str]:
    """Return lines about models, tools, hooks, problems, sandbox and home folder."""
    lines = [f"  found    {line}" for line in app.found.lines]
    for model in app.models.catalog():
        mark = ", the default" if model.get("default") else ""
        if not model.get("demo"):
            lines.append(f"  model    {model['name']}: {model['model']}{mark}")
    if app.demo:
        lines += [
            "  model    demo: a script that shows what a model would do; no AI",
            "           For a real one set OPENAI_API_KEY (or another vendor's), start Ollama,",
            "           or name a provider in config.json, then start again.",
        ]
    usable = [tool["name"] for tool in app.toolbox.info() if "unavailable" not in tool]
    lines += _row("tools", usable)
    lines += _row("hooks", [each["name"] for each in app.hooks.info()["loaded"]])
    for problems in app.problems().values():
        lines += [f"  problem  {problem}" for problem in problems]
    sandbox = app.toolbox.sandbox()
    lines.append(f"  sandbox  {TIERS[sandbox['tier']]}")
    lines += [f"           open: {gap}" for gap in sandbox["missing"]]
    lines += [f"           not {tier}: {why}" for tier, why in sandbox["tried"].items()]
    if sandbox["withheld"]:
        lines.append(f"           so withheld, for {sandbox['require']} is required:")
        lines += _row("", sandbox["withheld"])
    lines.append(f"  home     {app.config.home}")
    if (workers := app.config.server["workers"]) > 1:
        lines.append(f"  workers  {workers} processes")
    return lines


def _row(label: str, names: list[str]) -> list[str]:
    """Return lines of names after a label, at most WIDTH columns wide; none without names."""
    lines = [f"  {label:<9}"]
    for name in names:
        if len(lines[-1]) + len(name) > WIDTH:
            lines.append(" " * 11)
        lines[-1] += f"{name}, "
    lines[-1] = lines[-1].rstrip(", ")
    return [line.rstrip() for line in lines] if names else []
