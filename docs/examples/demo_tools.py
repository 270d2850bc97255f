"""Tools to try things out with. Copy this file into ~/.yaa/tools/ and start the server again.

They show most of what a tool can be: enums and dataclasses as arguments and results, a toolkit,
live log lines, a file for the person, a failure that the model can act on. What is called `mock_`
makes its answers up, always the same ones for the same arguments. Ask, for instance: "What will the
weather be in Tokyo tomorrow?" A model can pass the date on: {{city_datetime.date+1d}}.
"""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from yaa import Context, ToolError, tool, toolkit

ZONES = {
    "beijing": "Asia/Shanghai",
    "berlin": "Europe/Berlin",
    "london": "Europe/London",
    "new york": "America/New_York",
    "paris": "Europe/Paris",
    "shanghai": "Asia/Shanghai",
    "sydney": "Australia/Sydney",
    "tokyo": "Asia/Tokyo",
    "上海": "Asia/Shanghai",
    "北京": "Asia/Shanghai",
}


@dataclass
class Moment:
    city: str
    zone: str
    date: str
    time: str


@tool(read_only=True, parallel_safe=True)
def city_datetime(city: Annotated[str, "Name of a city, such as Tokyo"]) -> Moment:
    """Tell the date and time in a city. UTC for cities that are not known."""
    zone = ZONES.get(city.strip().lower(), "UTC")
    now = dt.datetime.now(ZoneInfo(zone))
    return Moment(city, zone, now.date().isoformat(), now.strftime("%H:%M:%S"))


class Sky(enum.Enum):
    SUNNY = "sunny"
    CLOUDY = "cloudy"
    RAIN = "rain"
    SNOW = "snow"


@dataclass
class Weather:
    city: str
    date: dt.date
    sky: Sky
    celsius: int


@tool(read_only=True, parallel_safe=True)
def mock_city_weather(city: str, date: dt.date) -> Weather:
    """Tell the weather in a city on a day. Made up, for demonstrations.

    Args:
        city: Name of a city
        date: The day, such as 2026-03-01
    """
    seed = hashlib.sha256(f"{city.strip().lower()} {date}".encode()).digest()
    celsius = seed[0] % 35 - 5
    skies = [Sky.SUNNY, Sky.CLOUDY, Sky.SNOW if celsius < 2 else Sky.RAIN]
    return Weather(city, date, skies[seed[1] % 3], celsius)


@toolkit(keep=3)
class Ops:
    """Both are named after the class: Ops_mock_runbook and Ops_bash."""

    @tool(read_only=True)
    async def mock_runbook(self, service: str, symptom: str, ctx: Context) -> list[str]:
        """Tell what to do about a symptom of a service. Made up, and left as a file to download."""
        ctx.log("looking up", service)
        steps = [
            f"Look at the dashboard of {service} for the last hour.",
            f"Search its log for {symptom!r}.",
            "Compare with the last release; roll it back if the times match.",
            "Tell the people on call what you found.",
        ]
        lines = [f"{number}. {step}\n" for number, step in enumerate(steps, 1)]
        Path("runbook.md").write_text("".join(lines), encoding="utf-8")
        ctx.attach("runbook.md", f"runbook {service}.md")
        return steps

    @tool(read_only=True)
    def bash(
        self, command: Annotated[str, "One of ls pwd cat head tail df free, with arguments"]
    ) -> dict[str, object]:
        """Run one harmless command in the session's folder: no pipes, no shell, five seconds.

        It asks nobody, which is why it can do so little; `shell` can do everything, and asks.
        """
        words = shlex.split(command)
        if not words or words[0] not in ("ls", "pwd", "cat", "head", "tail", "df", "free"):
            raise ToolError("only ls, pwd, cat, head, tail, df and free; use shell for the rest")
        for word in words[1:]:
            if word.startswith("-"):
                if not re.fullmatch(r"-[A-Za-z0-9]+", word):
                    raise ToolError(f"the option {word} is not allowed; only short ones are")
            elif not Path(word).resolve().is_relative_to(Path.cwd().resolve()):
                raise ToolError(f"{word} lies outside of the session's folder")
        try:
            done = subprocess.run(words, capture_output=True, timeout=5, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return {"ok": False, "timedOut": True, "exitCode": None, "stdout": "", "stderr": ""}
        return {
            "ok": done.returncode == 0,
            "timedOut": False,
            "exitCode": done.returncode,
            "stdout": done.stdout.decode(errors="replace")[:2000],
            "stderr": done.stderr.decode(errors="replace")[:2000],
        }


@dataclass
class Finding:
    kind: str
    shown: str
    start: int
    end: int


PATTERNS = {
    "email": r"[\w.+-]+@[\w-]+\.[\w.-]+\w",
    "card": r"\b(?:\d[ -]?){13,18}\d\b",
    "phone": r"\+\d[\d ()-]{7,14}\d",
    "key": r"\b(?:sk|pk|ghp|AKIA)[-_A-Za-z0-9]{16,}\b",
}


@tool(read_only=True, parallel_safe=True)
def mock_sensitive_data_detector(text: str) -> list[Finding]:
    """Find what looks like mail addresses, card and phone numbers, and keys in a text.

    A demonstration: it misses much, and what it finds is shown with its middle masked.
    """
    found: list[Finding] = []
    for kind, pattern in PATTERNS.items():
        for match in re.finditer(pattern, text):
            taken = any(f.start < match.end() and match.start() < f.end for f in found)
            if taken or (kind == "card" and not luhn(match[0])):
                continue
            shown = f"{match[0][:2]}…{match[0][-2:]}"
            found.append(Finding(kind, shown, match.start(), match.end()))
    return sorted(found, key=lambda finding: finding.start)


def luhn(number: str) -> bool:
    """ISO/IEC 7812-1: whether the last digit fits the others."""
    digits = [int(each) for each in number if each.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
