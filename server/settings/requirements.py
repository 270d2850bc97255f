"""Requirements on packages and on the version of Python, as text (PEP 508, PEP 440). Pure.

Only packages of an index may be named. Options of pip, addresses, paths and files are refused:
text that was copied from somewhere must not decide where code comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST = 100  # requirements of one environment
MAX_CHARS = 500  # of one requirement
WITH_ENVIRONMENT = ("python", "shell")  # built-in tools that may be given packages

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = (
    r"v?(?:[0-9]+!)?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?P<before>[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?[0-9]*)?"
    r"(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?(?P<dev>[-_.]?dev[-_.]?[0-9]*)?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?"
)
_CLAUSE = re.compile(
    rf"\s*(?P<operator>~=|===?|!=|<=?|>=?)\s*{_VERSION}(?P<any>\.\*)?\s*", re.I | re.A
)
_REQUIREMENT = re.compile(
    rf"\s*(?P<name>{_NAME})\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<versions>[^;]*)(?:;(?P<marker>.*))?"
)
_VARIABLES = (
    "python_version python_full_version os_name sys_platform platform_release platform_system"
    " platform_version platform_machine platform_python_implementation implementation_name"
    " implementation_version extra"
).split()
_VALUE = rf"(?:\"[^\"]*\"|'[^']*'|{'|'.join(sorted(_VARIABLES, key=len, reverse=True))})"
_COMPARISON = re.compile(rf"{_VALUE}\s*(?:<=|>=|<|>|===|==|!=|~=|not\s+in\b|in\b)\s*{_VALUE}")
_PRINTED = re.compile(r"[^\x00-\x1f\x7f]*")

EXAMPLE = 'a requirement is written like "numpy>=2" (PEP 508)'


def normal_requirement(text: Any) -> str:
    """Return a requirement in its normal spelling. Raises ValueError, with a message that names it.

    Two spellings of one requirement are equal then, and pip cannot take it for a file or an option.
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r:.80} is no text; {EXAMPLE}")
    shown = f"{text!r:.80}"
    if len(text) > MAX_CHARS or not _PRINTED.fullmatch(text):
        raise ValueError(f"{shown} has more than {MAX_CHARS} characters, or one that is not shown")
    if text.lstrip().startswith("-"):
        raise ValueError(f"{shown} is an option of pip; {EXAMPLE}")
    named = text.partition(";")[0]
    if re.search(r"[@/\\~]|\.\s*$|^\s*\.", re.sub(r"~=", "", named)):
        raise ValueError(
            f"{shown} names an address or a path; name a package of an index, and where that is in"
            " pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS)"
        )
    found = _REQUIREMENT.fullmatch(text)
    if not found:
        raise ValueError(f"{shown}: {EXAMPLE}")
    extras = [each.strip() for each in (found["extras"] or "").split(",") if each.strip()]
    if wrong := [each for each in extras if not re.fullmatch(_NAME, each)]:
        raise ValueError(f"{shown}: {wrong[0]!r} is no name of an extra")
    versions = found["versions"].strip()
    if versions.startswith("(") and versions.endswith(")"):
        versions = versions[1:-1]
    clauses = sorted(_clauses(versions, shown))
    marker = _marker(found["marker"], shown) if found["marker"] is not None else ""
    named = f"[{','.join(sorted(map(_normal_name, extras)))}]" if extras else ""
    return _normal_name(found["name"]) + named + ",".join(clauses) + marker


def normal_requirements(texts: Any) -> tuple[str, ...]:
    """Return the requirements of one environment, sorted. Raises ValueError."""
    if not isinstance(texts, list):
        raise ValueError(f"{texts!r:.80} is no list of requirements")
    if len(texts) > MOST:
        raise ValueError(f"{len(texts)} requirements are more than {MOST}")
    return tuple(sorted(set(map(normal_requirement, texts))))


def accepts_python(wanted: str, version: tuple[int, ...]) -> bool:
    """Return whether `requires-python` accepts a released version such as (3, 11, 7).

    Raises ValueError.
    """
    clauses = _clauses(wanted, f"{wanted!r:.80}", 'requires-python is written like ">=3.11"')
    return all(_accepts(clause, version) for clause in clauses)


def tool_mistakes(tools: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes in the `requirements` of `server.tools`."""
    for name, own in tools.items():
        if "requirements" not in own:
            continue
        place = f"server.tools.{name}.requirements"
        if name not in WITH_ENVIRONMENT:
            yield f"{place}: only {' and '.join(WITH_ENVIRONMENT)} can be given packages"
        try:
            normal_requirements(own["requirements"])
        except ValueError as error:
            yield f"{place}: {error}"


def _normal_name(name: str) -> str:
    """Return a name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _clauses(versions: str, shown: str, example: str = EXAMPLE) -> Iterator[str]:
    """Yield each clause of a version specifier without spaces. Raises ValueError."""
    parts = versions.split(",") if versions.strip() else []
    if parts and not parts[-1].strip():  # PEP 440 allows no comma at the end, packaging does
        parts.pop()
    for part in parts:
        found = _CLAUSE.fullmatch(part)
        if not found or (found["any"] and found["operator"] not in ("==", "!=")):
            raise ValueError(f"{shown}: {part.strip()!r} is no version; {example}")
        if found["operator"] == "~=" and "." not in found["release"]:
            raise ValueError(f"{shown}: {part.strip()!r} needs two numbers, such as ~=2.1")
        yield "".join(part.split())


def _marker(text: str, shown: str) -> str:
    """Return the marker behind a requirement. Raises ValueError.

    Each comparison is replaced by a character that no text has here, and then what is joined or in
    brackets, until one is left.
    """
    rest = _COMPARISON.sub("\0", text).strip()
    before = ""
    while rest != before:
        before = rest
        rest = re.sub(r"\(\s*\0\s*\)|\0\s*(?:and|or)\s*\0", "\0", rest)
    if rest != "\0":
        raise ValueError(f"{shown}: behind `;` wanted a condition such as python_version < '3.13'")
    return f"; {' '.join(text.split())}"


def _accepts(clause: str, version: tuple[int, ...]) -> bool:
    found = _CLAUSE.fullmatch(clause)
    assert found
    operator, numbers = found["operator"], tuple(map(int, found["release"].split(".")))
    # A version before a release is lower than that.
    wanted = _padded(numbers), 0 if found["before"] or found["dev"] else 1
    have = _padded(version), 1
    same = version[: len(numbers)] == numbers if found["any"] else have == wanted
    match operator:
        case "==" | "===":
            return same
        case "!=":
            return not same
        case ">=":
            return have >= wanted
        case "<=":
            return have <= wanted
        case ">":
            return have > wanted
        case "<":
            return have < wanted
    return have >= wanted and version[: len(numbers) - 1] == numbers[:-1]  # ~=


def _padded(numbers: Iterable[int]) -> tuple[int, ...]:
    return (*numbers, 0, 0, 0, 0)[:4]
