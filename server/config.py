"""Load and check the configuration: defaults < home config.json < variables < command line.

`config.default.json` is the only place where a default is written. Its half `server` never leaves
the server; its half `session` is filled into sessions, which travel to clients. `load` reports all
mistakes in one pass, each with its place. A `Config` has been checked and cannot be changed.
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
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import extensions
from .json_types import Session
from .lib import strict_json
from .lib.http.parser import is_loopback
from .lib.json_schema.field_types import ANY, Kind
from .lib.runtime.start_folder import resolve
from .lib.sandbox import network_policy
from .lib.sandbox.policy import code_folders, read_mistakes
from .settings import real_folders as folders
from .settings import schema
from .settings.file_trust import distrust_reason, folder_distrust_reason
from .settings.requirements import tool_mistakes
from .settings.secret_values import secrets_in, secrets_within
from .telemetry import redact

KeyPath = tuple[str, ...]

FOLDERS = ("agents", "tools", "skills", "models", "hooks", "workspaces", "claims", "logs")

POWER = "whoever can write it can start programs as you"
LEAST_KEY = 16  # characters of a key that is configured in plain text
HASHED = "blake2b:"  # prefix of a key's 64-byte digest in hex
KEY_FILE = "key"  # in the home folder: the key that the server made

# A provider is replaced whole: address, key and model must not be mixed from two layers.
UNITS = {("session", "config", "llm_api", "provider")}

SHORT_NAMES = {
    "YAA_HOST": "server.host",
    "YAA_PORT": "server.port",
    "YAA_WORKERS": "server.workers",
    "YAA_API_KEYS": "server.api_keys",
    "YAA_LOG_LEVEL": "server.log.level",
}
ENV_PROVIDER = "main"  # YAA_PROVIDER_API_KEY is server.providers.main.api_key
NOT_SETTINGS = ("YAA_HOME", "YAA_CONFIG", "YAA_SANDBOX_FORCE", "YAA_TEST_")  # read elsewhere


class ConfigError(ValueError):
    """The configuration cannot be used. `problems` has one line for each mistake."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Unavailable(ConfigError):
    """The configuration cannot be used now; a restart later may help.

    An address is in use by another program, or the machine does not have it yet.
    """


class Config:
    """A checked configuration.

    `home` is the home folder, `sources` names the layers that set something, `remarks` are lines
    for the log about variables of another system. `fixed`: dotted keys that variables and flags
    set, which a file cannot change. `server` must not be changed. `session` is a deep copy at each
    read: editing a session that was made from the defaults must not edit the defaults.
    """

    def __init__(
        self,
        server: Mapping[str, Any],
        session: Mapping[str, Any],
        home: Path,
        sources: tuple[str, ...] = (),
        remarks: tuple[str, ...] = (),
        fixed: tuple[str, ...] = (),
    ) -> None:
        self.server: dict[str, Any] = copy.deepcopy(dict(server))
        self._session: Any = copy.deepcopy(dict(session))
        self.home = home
        self.sources = sources
        self.remarks = remarks
        self.fixed = fixed

    @property
    def session(self) -> Session:
        """Return a copy of the half `session`: the defaults of sessions."""
        found: Session = copy.deepcopy(self._session)
        return found

    def secrets(self) -> list[str]:
        """Return every string of the half `server` that no log, event or response may contain."""
        named = (value for _, value in secrets_in(self.server) if value)
        return [*named, *secrets_within(self.server)]


def load(
    home: Path,
    path: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, Any],
    last: str = "the command line",
    given: dict[str, Any] | None = None,
) -> Config:
    """Read, merge and check all layers.

    `path` is read instead of `home`'s config.json; only the latter may be missing. `flags` maps
    dotted keys to values, None meaning "not given"; `last` is the name of their source in messages.
    `given`: what the file would hold, checked in place of what it holds. Variables of other systems
    lie under the YAA_* ones. Raises ConfigError.
    """
    merged = defaults()
    kind = schema.kind_of(merged)
    problems: list[str] = []
    layers: dict[str, dict[str, Any]] = {}
    file = config_file(home, path)
    _check_writers(home, file)
    if given is None and (path is not None or _is_there(file)):
        given = _read(file)
    if given is not None:
        given = _expand(given, env, str(file), problems)
        for refuse in extensions.load_each("refused").values():
            given, wrong = refuse(given, str(file))
            problems += wrong
        layers[str(file)] = given
    remarks: list[str] = []
    for name, read in extensions.load_each("variables").items():
        settings, lines = read(env)
        layers[f"the environment, as {name} reads it"] = _from_flags(settings)
        remarks += lines
    layers["the environment"] = _from_env(env, kind, problems)
    layers[last] = _from_flags(flags)
    for source, layer in layers.items():
        problems += (f"{source}: {line}" for line in schema.problems(layer, kind))
        merged = merge(merged, layer)
    if not problems:
        problems += [*_contradictions(merged["server"], home), *_no_defaults(layers)]
    if problems:
        raise ConfigError(*problems)
    sources = tuple(source for source, layer in layers.items() if layer)
    fixed = (key for source, layer in layers.items() if source != str(file) for key in _keys(layer))
    shown = tuple(dict.fromkeys(fixed))
    return Config(merged["server"], merged["session"], home, sources, tuple(remarks), shown)


def defaults() -> dict[str, Any]:
    """Return all defaults: config.default.json, and those of the extensions that are there."""
    declared = extensions.all_of("config_keys").items()
    added = _from_flags({key: about.default for key, about in declared})
    merged: dict[str, Any] = merge(_read(shipped_path("config.default.json")), added)
    return merged


def _check_writers(home: Path, file: Path) -> None:
    """Raise ConfigError if another user may have written the file, or may write into the home."""
    with suppress(OSError):  # what cannot be looked at is reported by `_read` and `make_home`
        if home.is_dir() and (why := folder_distrust_reason(home)):
            raise ConfigError(f"the home folder {home} {why}; {POWER}")
        if file.is_file() and (why := distrust_reason(file)):
            raise ConfigError(f"{file}: {why}; {POWER}")


def config_file(home: Path, path: Path | None) -> Path:
    """Return the file that is read: `path`, else `config.json` in the home folder."""
    return path or home / "config.json"


def _keys(layer: Mapping[str, Any], at: KeyPath = ()) -> Iterator[str]:
    """Yield the dotted keys of all values of a layer."""
    for key, value in layer.items():
        if isinstance(value, Mapping) and value:
            yield from _keys(value, (*at, key))
        else:
            yield ".".join((*at, key))


def merge(base: Any, over: Any, at: KeyPath = ()) -> Any:
    """Return a new value: `base` with `over` laid on it.

    Objects merge key by key, except those in UNITS; everything else replaces. `at`: the place of
    both.
    """
    if not isinstance(base, dict) or not isinstance(over, dict) or at in UNITS:
        return copy.deepcopy(over)
    merged = dict(base)
    for key, value in over.items():
        merged[key] = merge(base.get(key), value, (*at, key))
    return merged


def home_folder(flag: str | None, env: Mapping[str, str]) -> Path:
    """Return the home folder of the server: --home, else YAA_HOME, else ~/.yaa.

    Raises ConfigError, see `expand_path`.
    """
    return expand_path(flag or env.get("YAA_HOME") or "~/.yaa", "--home or YAA_HOME")


def expand_path(name: str, setting: str, home: Path | None = None) -> Path:
    """Expand `~` and return an absolute path.

    A relative name begins in `home`, or without it, for what a person types, in the folder that yaa
    was started in. `setting` is named in the message. Raises ConfigError if the user has no home
    folder (common in containers) or the current folder was deleted.
    """
    try:
        path = Path(name).expanduser()
        return resolve(path) if home is None else home / path
    except RuntimeError:
        text = f"{name}: there is no such home folder here; give another one with {setting}"
    except OSError:
        text = f"{name}: the current folder is gone; go to another one"
    raise ConfigError(text)


def make_home(home: Path) -> None:
    """Create the home folder and its subfolders, for the owner only. Raises ConfigError."""
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


def shipped_path(name: str) -> Path:
    """Return the path of a file or folder that comes with the server.

    It is inside the package if that was installed, beside it in a checkout.
    """
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.exists() else package.parent / name


def _read(file: Path) -> dict[str, Any]:
    try:
        data = file.read_bytes().removeprefix(BOM_UTF8)  # some editors write a byte order mark
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    try:
        value = strict_json.loads(data)
    except strict_json.JSONError as error:
        if file.suffix.lower() in (".yml", ".yaml", ".properties"):
            raise ConfigError(f"{file}: the configuration is JSON, with other names") from None
        place, message = strict_json.explain_error(data, error)
        raise ConfigError(f"{file}{place}: {message}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: wanted one object with `server` and `session` in it")
    return value


def _is_there(file: Path) -> bool:
    """Return whether the path exists in any form.

    Docker creates a folder when the file to mount is missing. That and a dangling symlink must be
    reported, not ignored. False inside a folder that may not be entered: `make_home` reports that.
    """
    return os.path.lexists(file)


def _contradictions(server: Mapping[str, Any], home: Path) -> Iterator[str]:
    """Yield the mistakes that the kind of a single value does not show."""
    present, lacking = extensions.present(), extensions.incomplete()
    for name in server["extensions"]:
        if name in lacking:
            needed = ", ".join(lacking[name])
            yield f"server.extensions names {name}, which requires {needed}: put that there, too"
        elif name not in (extensions.ALL, *present):
            yield f"server.extensions names {name}; there are {', '.join(present) or 'none'}"
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
    for name, own in server["tools"].items():
        for entry in own.get("allow", ()):
            if "/" in entry and not _is_network(entry):
                yield f"server.tools.{name}.allow: {entry} is no network such as 192.168.1.0/24"
    for key in ("hosts", "hosts_on_approval"):
        for entry in server["sandbox"][key]:
            if wrong := network_policy.entry_problem(entry):
                yield f"server.sandbox.{key}: {wrong}"
    yield from read_mistakes(server["sandbox"], home)
    yield from tool_mistakes(server["tools"])
    for check in extensions.members("config_mistakes"):
        yield from check(server, home)
    loaded = [*map(Path, code_folders())]
    for folders_of in extensions.members("trusted_folders"):
        loaded += folders_of(server, home)
    yield from folders.mistakes(server["folders"], home, loaded)
    yield from _key_problems(server["api_keys"])


def _key_problems(entries: list[Any]) -> Iterator[str]:
    """Yield the mistakes in `server.api_keys`. No line contains a key or a part of one."""
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        key = entry if isinstance(entry, str) else entry.get("key", "")
        hashed = key.startswith(HASHED)
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
    """Yield the defaults for sessions that a session would be refused with."""
    for source, layer in layers.items():
        if "session" not in layer:  # importing the schema of sessions would delay the start
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


def _from_env(env: Mapping[str, str], whole: Kind, problems: list[str]) -> dict[str, Any]:
    """Return the layer of the variables; mistakes are added to `problems`.

    `YAA_SERVER__LIMITS__MAX_RUNS=4` sets server.limits.max_runs: `__` separates the levels, case
    does not matter. Exceptions to this rule: SHORT_NAMES and YAA_PROVIDER_<KEY>.
    """
    layer: dict[str, Any] = {}
    for variable in sorted(env):
        if not variable.startswith("YAA_") or variable.startswith(NOT_SETTINGS):
            continue
        at, kind = _locate(_names(variable), whole)
        if not at:
            near = difflib.get_close_matches(variable, [*SHORT_NAMES, "YAA_HOME", "YAA_CONFIG"], 1)
            hint = f"did you mean {near[0]}?" if near else "server.port reads YAA_SERVER__PORT"
            problems.append(f"the environment: {variable} is no setting; {hint}")
            continue
        try:
            env[variable].encode()
        except UnicodeEncodeError:  # a session with it could not be encoded
            problems.append(f"the environment: {variable} is not UTF-8")
            continue
        try:
            _put(layer, at, _from_text(env[variable], kind))
        except ValueError:
            shown = redact.mask_values({at[-1]: env[variable]})[at[-1]]
            problems.append(f"the environment: {variable} is {shown}, wanted {kind.words}")
    return layer


def _names(variable: str) -> list[str]:
    if variable in SHORT_NAMES:
        return SHORT_NAMES[variable].split(".")
    if variable.startswith("YAA_PROVIDER_"):
        return ["server", "providers", ENV_PROVIDER, variable.removeprefix("YAA_PROVIDER_")]
    return variable.removeprefix("YAA_").split("__")


def _locate(names: list[str], kind: Kind) -> tuple[KeyPath, Kind]:
    """Return a key in its real spelling and its kind; the key is empty if it does not exist."""
    at: list[str] = []
    for name in names:
        if kind is ANY or (kind.each is not None and kind.schema["type"] == "object"):
            at.append(name.lower())
            kind = kind.each or kind
            continue
        known = {key.lower(): key for key in kind.fields}
        if name.lower() not in known:
            return (), kind
        at.append(known[name.lower()])
        kind = kind.fields[at[-1]]
    return tuple(at), kind


def _from_text(text: str, kind: Kind) -> Any:
    """Parse `text` as a value of this kind. Raises ValueError."""
    expected = kind.schema.get("type")  # None: it may be a string
    if expected == "string":
        return text
    if expected == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if expected == "array" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return strict_json.loads(text)
    except strict_json.JSONError:
        if expected is None:
            return text
        raise


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    layer: dict[str, Any] = {}
    for dotted, value in flags.items():
        if value is not None:
            _put(layer, tuple(dotted.split(".")), value)
    return layer


def _put(layer: dict[str, Any], at: KeyPath, value: Any) -> None:
    for name in at[:-1]:
        layer = layer.setdefault(name, {})
    layer[at[-1]] = value


def _expand(
    layer: dict[str, Any], env: Mapping[str, str], source: str, problems: list[str]
) -> dict[str, Any]:
    """Replace `${NAME}` and `${NAME:-else}` in the half `server` by variables; `$${` becomes `${`.

    Not in the half `session`: it travels to clients, and a secret would travel with it.
    """

    def replace(match: re.Match[str]) -> str:
        """Return the text for one match of _VARIABLE."""
        escaped, name, otherwise = match.groups()
        if escaped:
            return match[0][1:]
        if name not in env and otherwise is None:
            problems.append(f"{source}: ${{{name}}} is used, but the variable {name} is not set")
        return env.get(name, otherwise or "")

    def walk(value: Any) -> Any:
        """Return a copy of `value` with the variables replaced in every string."""
        if isinstance(value, str):
            return _VARIABLE.sub(replace, value)
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else value

    return {key: walk(value) if key == "server" else value for key, value in layer.items()}


_VARIABLE = re.compile(r"\$(\$?)\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
