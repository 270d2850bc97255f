"""What a person reads when a server starts: where to go, and what it found and has.

In the walk: beside the command line. The links come first, as soon as the page can be opened; the
rest follows once it is known. The rule of the file: nothing is said that is not so.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # when the links are printed, it is not imported yet
    from ..app import App

WIDTH = 78  # columns, with the comma behind a name
# What each tier means, in the words of the start.
TIERS = {
    "A": "tier A: a tool sees its session's folder and the system's programs, nothing else",
    "B": "tier B: a tool opens no file outside its session's folder and no connection",
    "C": "tier C: a tool is limited, but sees what this user sees",
    "none": "none: a tool may do whatever this user may",
}


def links(scheme: str, host: str, port: int, key: str) -> list[str]:
    """What to tell a person to open; the last line is the address for this machine.

    The key rides behind the #, which browsers never send anywhere.
    """
    tail = f":{port}/" + (f"#key={key}" if key else "")
    if host not in ("", "0.0.0.0", "::"):
        here = f"[{host}]" if ":" in host else host
        return ["Open this link in a browser:", f"{scheme}://{here}{tail}"]
    other = _own_address()
    lines = ["From another device:", f"{scheme}://{other}{tail}"] if other else []
    return [*lines, "Open this link in a browser:", f"{scheme}://127.0.0.1{tail}"]


def sign_in(key_file: Path | None, *, shown: bool, required: bool) -> list[str]:
    """What to say of keys beside the links. `key_file` holds the key that the server made; `shown`:
    it is in the links. Nothing if the owner configured keys."""
    if not required:
        return [
            "No key is needed: every user and program of this machine can use the server.",
            "Web pages cannot, but its own and those of server.cors_origins.",
        ]
    if key_file is None or shown:
        return []
    return [f"The key to sign in with is in {key_file} (--print-link shows it here)."]


def _own_address() -> str:
    """The address that this machine has on its network, or nothing. Connecting a datagram socket
    sends nothing; it only makes the system choose (192.0.2.1 is nobody's: RFC 5737)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def describe(app: App) -> list[str]:
    """What a person wants to know at start."""
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
    """Names behind a label, in lines that a terminal does not break; no line without names."""
    lines = [f"  {label:<9}"]
    for name in names:
        if len(lines[-1]) + len(name) > WIDTH:
            lines.append(" " * 11)
        lines[-1] += f"{name}, "
    lines[-1] = lines[-1].rstrip(", ")
    return [line.rstrip() for line in lines] if names else []
