"""Tools under the names that agents of other servers use, offered only to agents that name them.

They repeat `shell` and `datetime`, or return invented data.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from typing import Annotated, Any

from ..decorators import COMMAND, Context, ToolError, tool
from .clock import zone_of
from .shell import shell

CITY = {"maxLength": 100}
AREAS = "Asia Europe America Africa Australia Pacific Atlantic Indian Antarctica Arctic".split()
# Cities that have no IANA zone of their own name, or are written in another script.
ZONES = {
    **dict.fromkeys(
        "beijing shenzhen guangzhou hangzhou chengdu nanjing wuhan tianjin xian suzhou".split(),
        "Asia/Shanghai",
    ),
    **dict.fromkeys(
        "北京 上海 深圳 广州 杭州 成都 南京 武汉 天津 西安 苏州 重庆".split(), "Asia/Shanghai"
    ),
    **dict.fromkeys("mumbai delhi bangalore bengaluru chennai".split(), "Asia/Kolkata"),
    **dict.fromkeys(("osaka", "kyoto", "东京", "大阪", "東京"), "Asia/Tokyo"),
    **dict.fromkeys(
        ("washington", "boston", "miami", "atlanta", "philadelphia", "纽约"), "America/New_York"
    ),
    **dict.fromkeys(
        ("san francisco", "seattle", "las vegas", "san diego", "旧金山", "洛杉矶"),
        "America/Los_Angeles",
    ),
    **dict.fromkeys(("houston", "dallas", "austin"), "America/Chicago"),
    **dict.fromkeys(("munich", "hamburg", "frankfurt", "cologne", "柏林"), "Europe/Berlin"),
    **dict.fromkeys(("milan", "naples", "florence", "venice"), "Europe/Rome"),
    **dict.fromkeys(("manchester", "edinburgh", "伦敦"), "Europe/London"),
    "barcelona": "Europe/Madrid",
    "st petersburg": "Europe/Moscow",
    "geneva": "Europe/Zurich",
    "rio de janeiro": "America/Sao_Paulo",
    "canberra": "Australia/Sydney",
    "wellington": "Pacific/Auckland",
    "巴黎": "Europe/Paris",
    "莫斯科": "Europe/Moscow",
    "悉尼": "Australia/Sydney",
    "新加坡": "Asia/Singapore",
    "首尔": "Asia/Seoul",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "曼谷": "Asia/Bangkok",
    "迪拜": "Asia/Dubai",
}
_PLAIN = re.compile(r"[a-z][a-z -]*")
SKIES = ("sunny", "cloudy", "rain")


@tool(destructive=True)
def bash(
    ctx: Context,
    command: Annotated[str, "A command line for bash; for sh where there is no bash", COMMAND],
) -> dict[str, Any]:
    """Run a shell command in the session's folder and return its exit code and output.

    Standard error is mixed into the output as it came. There is no terminal and no input. Whatever
    is left running in the background ends with the call.
    """
    return shell(ctx, command)


@tool(read_only=True, parallel_safe=True)
def city_datetime(
    ctx: Context, city: Annotated[str, "Name of a city, such as Tokyo", CITY]
) -> dict[str, Any]:
    """Tell the current date and time in a city. The result's zone is UTC for a city that is not
    known."""
    name, zone = _zone(city)
    now = dt.datetime.now(zone)
    return {
        "city": city,
        "zone": name,
        "date": now.date().isoformat(),
        "time": now.strftime("%H:%M:%S"),
        "weekday": now.strftime("%A"),
    }


@tool(read_only=True, parallel_safe=True)
def mock_city_weather(
    ctx: Context,
    city: Annotated[str, "Name of a city", CITY],
    date: Annotated[str, "The day, such as 2026-03-01", {"maxLength": 40}],
) -> dict[str, Any]:
    """Tell the weather in a city on a day. Made up, for demonstrations: the same for the same
    arguments."""
    try:
        day = dt.datetime.fromisoformat(date.strip()).date()
    except ValueError:
        raise ToolError(f"{date[:40]!r} is no day such as 2026-03-01") from None
    name = " ".join(city.split()).casefold()
    seed = hashlib.sha256(f"{name} {day}".encode("utf-8", "surrogatepass")).digest()
    celsius = seed[0] % 35 - 5
    sky = SKIES[seed[1] % len(SKIES)]
    return {
        "city": city,
        "date": day.isoformat(),
        "sky": "snow" if sky == "rain" and celsius < 2 else sky,
        "celsius": celsius,
        "mock": True,
    }


def _zone(city: str) -> tuple[str, dt.tzinfo]:
    """Return (name, time zone) of a city; UTC if it is unknown.

    Looks in ZONES, then among IANA zones of that name; a name with a slash may be a zone itself.
    """
    name = " ".join(re.sub(r"[.'’]", "", city).split()).casefold()
    candidates = [ZONES[name]] if name in ZONES else [city.strip()] if "/" in city else []
    if not candidates and _PLAIN.fullmatch(name):
        spelled = "_".join(word.capitalize() for word in name.split())
        candidates = [f"{area}/{spelled}" for area in AREAS]
    for candidate in candidates:
        try:
            return candidate, zone_of(candidate)
        except ToolError:
            continue
    return "UTC", dt.UTC
