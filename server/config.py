"""The configuration: defaults < home config.json < variables < command line, then checked.

`config.default.json` is the only place where a default is written; its two halves are `server`,
which never leaves the server, and `session`, which is filled into sessions and travels.
The rule of the file: all mistakes are found in one pass and said with their place; whoever holds
a `Config` holds a checked one, and cannot change it for anybody else.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import importlib
import ipaddress
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import strict_json
from .http.headers import is_loopback
from .sandbox import network_policy
from .settings import gateway_variables, json_errors
from .settings.schema import Anything, At, Choice, Either, MapOf, Pattern, check, kinds_of, say
from .telemetry import redact

FOLDERS = ("agents", "tools", "models", "hooks", "workspaces", "claims", "logs")

LEAST_KEY = 16  # characters of a key that is configured as it is

# A provider is one unit: its address, its key and its model are never mixed from two places.
UNITS = {("session", "config", "llm_api", "provider")}

SHORT_NAMES = {
    "YAA_HOST": "server.host",
    "YAA_PORT": "server.port",
    "YAA_WORKERS": "server.workers",
    "YAA_API_KEYS": "server.api_keys",
    "YAA_LOG_LEVEL": "server.log.level",
}
AUTOAI = "autoai"  # begins the names of another server's settings (settings/autoai_names.py)
ENV_PROVIDER = "main"  # YAA_PROVIDER_API_KEY is server.providers.main.api_key
NOT_SETTINGS = ("YAA_HOME", "YAA_CONFIG", "YAA_SANDBOX_FORCE", "YAA_TEST_")  # read elsewhere


class ConfigError(ValueError):
    """The configuration cannot be used. `problems` has one line for each mistake."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Unavailable(ConfigError):
    """It can be used, but not now: an address that another program still has, or that the machine
    has not got yet. Starting again may help."""


class Config:
    """What `load` found: `server` and `session`, the `home` folder, the `sources` it used, and
    `remarks` on variables of another system, for the log.

    `server` and `session` are a fresh copy at each read: editing the session that was made from
    the defaults must not edit the defaults.
    """

    def __init__(
        self,
        server: Mapping[str, Any],
        session: Mapping[str, Any],
        home: Path,
        sources: tuple[str, ...] = (),
        remarks: tuple[str, ...] = (),
    ) -> None:
        self._server = copy.deepcopy(dict(server))
        self._session = copy.deepcopy(dict(session))
        self.home = home
        self.sources = sources
        self.remarks = remarks

    @property
    def server(self) -> dict[str, Any]:
        return copy.deepcopy(self._server)

    @property
    def session(self) -> dict[str, Any]:
        return copy.deepcopy(self._session)

    @property
    def agents_folder(self) -> Path:
        """Where the owner's agents are. Raises ConfigError."""
        given = self._server.get("agents_dir")
        return expanded(given, "server.agents_dir") if given else self.home / "agents"

    def secrets(self) -> list[str]:
        """Every string of the server half that no log, event or answer may hold."""
        return [value for value in _secrets(self._server, hidden=False) if value]


def load(
    home: Path,
    path: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, Any],
    last: str = "the command line",
) -> Config:
    """Read, merge and check everything.

    `path` is read instead of `home`'s config.json, which may be missing; `flags` maps dotted keys
    to values of the command line, or of whatever `last` says, None meaning "not given". Raises
    ConfigError.
    """
    merged = _read(shipped("config.default.json"))
    kinds = kinds_of(merged)
    problems: list[str] = []
    layers: dict[str, dict[str, Any]] = {}
    file = path or home / "config.json"
    if path is not None or _is_there(file):
        given = _expand(_read(file), env, str(file), problems)
        layers[str(file)] = _ours(given, file, problems)
    theirs, remarks = gateway_variables.read(env)
    layers["the environment, as a gateway's"] = _from_flags(theirs)
    layers["the environment"] = _from_env(env, kinds, problems)
    layers[last] = _from_flags(flags)
    for source, layer in layers.items():
        problems += check(layer, kinds, (), source)
        merged = merge(merged, layer)
    if not problems:
        problems += [*_contradictions(merged["server"], home), *_no_defaults(layers)]
    if problems:
        raise ConfigError(*problems)
    sources = tuple(source for source, layer in layers.items() if layer)
    return Config(merged["server"], merged["session"], home, sources, tuple(remarks))


def merge(base: Any, over: Any, at: At = ()) -> Any:
    """`over` laid on `base`: objects merge key by key, everything else replaces. A new value."""
    if not isinstance(base, dict) or not isinstance(over, dict) or at in UNITS:
        return copy.deepcopy(over)
    merged = dict(base)
    for key, value in over.items():
        merged[key] = merge(base.get(key), value, (*at, key))
    return merged


def home_folder(flag: str | None, env: Mapping[str, str]) -> Path:
    """Where everything of the owner lives: --home, else YAA_HOME, else ~/.yaa."""
    return expanded(flag or env.get("YAA_HOME") or "~/.yaa", "--home or YAA_HOME")


def expanded(name: str, setting: str) -> Path:
    """Where a file is, with `~` as the home of its user. Raises ConfigError where nobody has that
    home, as often in a container, and where the folder that we were started in is gone."""
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError:
        text = f"{name}: there is no such home folder here; give another one with {setting}"
    except OSError:
        text = f"{name}: the current folder is gone; go to another one"
    raise ConfigError(text)


def make_home(home: Path) -> None:
    """Make the home folder and those in it, for the owner only. Raises ConfigError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in FOLDERS:
            (home / name).mkdir(mode=0o700, exist_ok=True)
        if not os.access(home, os.W_OK | os.X_OK):
            raise PermissionError(0, "it cannot be written")
    except OSError as error:
        raise ConfigError(
            f"the home folder {home}: {error.strerror}; choose another with --home or YAA_HOME"
        ) from None


def shipped(name: str) -> Path:
    """A file or folder that comes with the server: inside the package where it was installed,
    beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.exists() else package.parent / name


def _read(file: Path) -> dict[str, Any]:
    try:
        data = file.read_bytes().removeprefix(BOM_UTF8)  # as some editors write it
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    try:
        value = strict_json.loads(data)
    except strict_json.JSONError as error:
        if file.suffix.lower() in (".yml", ".yaml", ".properties"):
            raise ConfigError(f"{file}: the configuration is JSON, with other names") from None
        place, message = json_errors.wrong(data, error)
        raise ConfigError(f"{file}{place}: {message}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: wanted one object with `server` and `session` in it")
    return value


def _ours(layer: dict[str, Any], file: Path, problems: list[str]) -> dict[str, Any]:
    """A file without what it says in AutoAi's names, each of which is a problem."""
    if any(str(key).startswith(AUTOAI) for key in layer):
        renamed = importlib.import_module(".settings.autoai_names", __package__)
        layer, theirs = renamed.split(layer)
        problems += [renamed.problem(name, str(file)) for name in theirs]
    return layer


def _is_there(file: Path) -> bool:
    """Whatever it is: a folder, which Docker makes where the file to mount is missing, and a link
    that leads nowhere are no settings, and whoever made them thinks they are. Not in a folder that
    may not be entered, either: `make_home` says what is wrong with that."""
    return os.path.lexists(file)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a pair of brackets, a port that is no number
        return False


def _contradictions(server: Mapping[str, Any], home: Path) -> Iterator[str]:
    """What is wrong only when taken together, or in a way that no kind shows."""
    host = server["host"]
    if not server["auth_required"] and not is_loopback(host.lower()):
        yield (
            f"server.auth_required is false and server.host is {host}: without a key only this"
            " machine may reach the server; listen on 127.0.0.1 or require a key"
        )
    if not server["auth_required"] and "null" in server["cors_origins"]:
        yield (
            "server.auth_required is false and server.cors_origins holds null, which is the origin"
            " of pages from disk, and of frames that any web page can make; require a key"
        )
    if server["tls"]["key"] and not server["tls"]["cert"]:
        yield "server.tls.key is given without server.tls.cert, the certificate it belongs to"
    named = server["default_provider"]
    adapters = [path.stem for path in sorted((home / "models").glob("*.py"))] if named else []
    if named and named not in server["providers"] and named not in adapters:
        known = ", ".join([*server["providers"], *adapters]) or "none"
        yield f"server.default_provider is {named}, but the providers configured are: {known}"
    for name, own in server["rest"].items():
        ours = {header.lower() for header in own.get("headers", {})}
        if twice := [n for n in own.get("forward", ()) if n.lower().partition(":")[0] in ours]:
            yield (
                f"server.rest.{name}.forward: {twice[0]} is in headers too, and a request can say"
                " only once who is asking"
            )
    for name, own in server["tools"].items():
        for entry in own.get("allow", ()):
            if "/" in entry and not _is_network(entry):
                yield f"server.tools.{name}.allow: {entry} is no network such as 192.168.1.0/24"
    for key in ("hosts", "hosts_on_approval"):
        for entry in server["sandbox"][key]:
            if wrong := network_policy.problem(entry):
                yield f"server.sandbox.{key}: {wrong}"
    if (url := server["tracing"]["url"]) and not _is_address(url):
        yield f"server.tracing.url is {url}, wanted an address such as http://127.0.0.1:4318"
    yield from _key_problems(server["api_keys"])


def _key_problems(entries: list[Any]) -> Iterator[str]:
    """What is wrong with `server.api_keys`. No line says anything of a key itself."""
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        key = entry if isinstance(entry, str) else entry.get("key", "")
        hashed = key.startswith("blake2b:")
        if not re.fullmatch(r"[!-~]+", key):
            yield f"server.api_keys.{index}: a key is made of visible ASCII, without spaces"
            continue
        if hashed and not re.fullmatch(r"blake2b:[0-9a-fA-F]{128}", key):
            yield f"server.api_keys.{index}: wanted blake2b: and 128 hex digits"
            continue
        if not hashed and len(key) < LEAST_KEY:
            yield (
                f"server.api_keys.{index}: this key has {len(key)} characters; wanted"
                f" {LEAST_KEY} or more, so that nobody can guess it: openssl rand -hex 24 makes one"
            )
        digest = key[8:].lower() if hashed else hashlib.blake2b(key.encode()).hexdigest()
        if (first := seen.setdefault(digest, index)) != index:
            yield (
                f"server.api_keys.{index}: this is the same key as server.api_keys.{first}; a"
                " request could not tell whose it is"
            )


def _no_defaults(layers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What would be filled into sessions, and refused when they come back with it."""
    for source, layer in layers.items():
        if "session" not in layer:  # then the port is open sooner without what knows sessions
            continue
        shape = importlib.import_module(".session.schema", __package__)
        for error in shape.check(layer["session"]):
            yield f"{source}: session{error['pointer'].replace('/', '.')}: {error['detail']}"


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _from_env(env: Mapping[str, str], kinds: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """`YAA_SERVER__LIMITS__MAX_RUNS=4` sets server.limits.max_runs: `__` parts the levels and case
    does not matter. Beside this one rule stand the SHORT_NAMES and YAA_PROVIDER_<KEY>."""
    layer: dict[str, Any] = {}
    for variable in sorted(env):
        if not variable.startswith("YAA_") or variable.startswith(NOT_SETTINGS):
            continue
        at, kind = _locate(_names(variable), kinds)
        if not at:
            near = difflib.get_close_matches(variable, [*SHORT_NAMES, "YAA_HOME", "YAA_CONFIG"], 1)
            hint = f"did you mean {near[0]}?" if near else "server.port reads YAA_SERVER__PORT"
            problems.append(f"the environment: {variable} is no setting; {hint}")
            continue
        try:
            env[variable].encode()
        except UnicodeEncodeError:  # a session that held it could neither be written nor sent
            problems.append(f"the environment: {variable} is not UTF-8")
            continue
        try:
            _put(layer, at, _from_text(env[variable], kind))
        except ValueError:
            shown = redact.masked({at[-1]: env[variable]})[at[-1]]
            problems.append(f"the environment: {variable} is {shown}, wanted {say(kind, at)}")
    return layer


def _names(variable: str) -> list[str]:
    if variable in SHORT_NAMES:
        return SHORT_NAMES[variable].split(".")
    if variable.startswith("YAA_PROVIDER_"):
        return ["server", "providers", ENV_PROVIDER, variable.removeprefix("YAA_PROVIDER_")]
    return variable.removeprefix("YAA_").split("__")


def _locate(names: list[str], kind: Any) -> tuple[At, Any]:
    """A key in its real spelling, and its kind. The key is empty when there is no such one."""
    at: list[str] = []
    for name in names:
        if isinstance(kind, MapOf | Anything):
            at.append(name.lower())
            kind = kind.kind if isinstance(kind, MapOf) else kind
            continue
        known = {key.lower(): key for key in kind} if isinstance(kind, dict) else {}
        if name.lower() not in known:
            return (), None
        at.append(known[name.lower()])
        kind = kind[at[-1]]
    return tuple(at), kind


def _from_text(text: str, kind: Any) -> Any:
    """The value of this kind that `text` spells. Raises ValueError when it spells none."""
    if isinstance(kind, str | Choice | Pattern):
        return text
    if isinstance(kind, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if isinstance(kind, list) and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return strict_json.loads(text)
    except strict_json.JSONError:
        if isinstance(kind, Anything | Either):
            return text
        raise


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for dotted, value in flags.items():
        if value is not None:
            _put(layer, tuple(dotted.split(".")), value)
    return layer


def _put(layer: dict[str, Any], at: At, value: Any) -> None:
    for name in at[:-1]:
        layer = layer.setdefault(name, {})
    layer[at[-1]] = value


def _expand(
    layer: dict[str, Any], env: Mapping[str, str], source: str, problems: list[str]
) -> dict[str, Any]:
    """`${NAME}` and `${NAME:-else}` in the server half, from the environment; `$${` stays `${`.

    Not in the session half: it travels to clients, and a secret would travel with it.
    """

    def replace(match: re.Match[str]) -> str:
        escaped, name, otherwise = match.groups()
        if escaped:
            return match[0][1:]
        if name not in env and otherwise is None:
            problems.append(f"{source}: ${{{name}}} is used, but the variable {name} is not set")
        return env.get(name, otherwise or "")

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(replace, value)
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    return {key: walk(value) if key == "server" else value for key, value in layer.items()}


def _secrets(value: Any, *, hidden: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("headers", "env", "secrets") and isinstance(item, dict):
                yield from (text for text in item.values() if isinstance(text, str))
            elif key == "query" and isinstance(item, dict):
                yield from redact.keys_in(item)
            else:
                yield from _secrets(item, hidden=redact.is_secret(key))
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item, hidden=hidden)
    elif isinstance(value, str) and hidden:
        yield value


_VARIABLE = re.compile(r"\$(\$?)\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
