"""The contract of extensions, first page: what a folder of `server/extensions` declares.

    server/extensions/NAME/extension.py    EXTENSION = Extension(…), the types of this file
                           anything.py     what it does: Parts (parts.py), commands, …

The server reads the declarations before its port is open: command line and configuration are made
of them. So a declaration imports nothing but this file and the kernel's kinds of values. It names
the rest as "module:name" in its folder, which is imported when it is used.

An extension imports the kernel and `lib`, and another extension only if it `requires` that one.
Nothing of the kernel imports an extension: its folder can be deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..lib.json_schema.field_types import TEXT, Kind

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ProcessPart:
    """What an extension has in one serving process, for as long as that serves.

    `Extension.process` names what makes it, before the agent is loaded.
    """

    def count_response(self, status: int) -> None:
        """Take note of a response."""

    def add_connections(self, by: int) -> None:
        """Take note that `by` connections were opened, or closed if it is negative."""


class ConfigKey(NamedTuple):
    """A key of the configuration.

    default   its value where nobody sets it; None: it is not there
    kind      what it may hold; None: what is like the default
    entries   "module:name" of the EntryRules of a map of entries; "" for none
    network   whether an owner's key may change it over the network
    """

    default: Any = None
    kind: Kind | None = None
    entries: str = ""
    network: bool = False


OPENS = "x-opens"  # keyword of a kind's schema: what of the machine its texts may open


def opening(what: str, kind: Kind = TEXT) -> Kind:
    """Return the kind, marked: its texts are a "path", a "command" or an "address".

    Over the network these are changed only where the settings allow it. A test wants the
    mark of every key whose name sounds like one.
    """
    return replace(kind, schema=kind.schema | {OPENS: what})


PUBLIC = "public"  # a public https address may be set


def allow(names: Iterable[str], public: Iterable[str] = (), **below: Any) -> dict[str, Any]:
    """Return names that may be changed: -> True, PUBLIC, or what is allowed below."""
    return dict.fromkeys(names, True) | dict.fromkeys(public, PUBLIC) | below


class EntryRules(NamedTuple):
    """What the network may change in the entries of a map.

    normalize   (entry) -> the entry in the form in which entries are compared; raises ToolError
    network     see `allow`
    kinds       place in an entry, "" for all of it -> what it may hold; the kinds say what opens
                something
    """

    normalize: Callable[[dict[str, Any]], dict[str, Any]]
    network: Mapping[str, Any]
    kinds: Mapping[str, Kind]


class Command(NamedTuple):
    """A command of the command line: `python3 -m server NAME`.

    about       what --help says
    perform     "module:name" of a function: (config, env, options) -> exit code
    arguments   adds its own options to the parser
    """

    name: str
    about: str
    perform: str
    arguments: Callable[[ArgumentParser], object] = lambda parser: None


class ModelApi(NamedTuple):
    """An API that models are called by.

    path  end of the address of its calls, behind the base address
    api   "module:name" of its RemoteAPI (models/http_model.py)
    """

    path: str
    api: str


@dataclass(frozen=True)
class Extension:
    """What is known of an extension before anything is open.

    requires      names of the extensions that it uses
    config_keys   dotted key of the configuration -> ConfigKey; `server.providers.*.NAME` is one
                  of each provider's entry
    config_mistakes  "module:name" of a function: (the half `server`, home folder) -> lines about
                  what the kinds of single values do not show; "" for none
    trusted_folders  "module:name" of a function: (the half `server`, home folder) -> folders whose
                  content is trusted, which no tool may change; "" for none
    errors        code of a Problem -> (HTTP status, title)
    vendors       "module:name" of the Vendors that it knows (models/vendors.py), of which one
                  extension's count; "" for none
    model_apis    name of an API, as a provider's `api` has it -> ModelApi
    tool_modes    name of a way to offer tools and read calls, as `tool_mode` has it ->
                  "module:name" of a ToolMode (models/tool_mode.py); `native` replaces the kernel's
    commands      of the command line
    variables     "module:name" of a function that reads another system's variables as settings:
                  environment -> (settings by dotted key, lines for the owner); "" for none
    refused       "module:name" of a function that refuses another system's keys in a file:
                  (layer, the file) -> (the layer without them, problems); "" for none
    exports       name that programs import from yaa -> the module of yaa that has it
    agents        "module:name" of a function: (config) -> the Agents of the server (session/
                  agents.py); "" for none, and of several extensions the first counts
    session_stores  `@NAME` that `--store` of `run` and `chat` takes -> "module:name" of a function:
                  (config) -> a cli.session_files.JsonSession
    process       "module:name" of a function: (number of processes) -> (number of one) -> its
                  ProcessPart; called once, before processes are forked; "" for none
    parts         "module:name" of its Parts (parts.py), made with the agent; "" for none
    """

    requires: tuple[str, ...] = ()
    config_keys: Mapping[str, ConfigKey] = field(default_factory=dict)
    config_mistakes: str = ""
    trusted_folders: str = ""
    errors: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    vendors: str = ""
    model_apis: Mapping[str, ModelApi] = field(default_factory=dict)
    tool_modes: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    variables: str = ""
    refused: str = ""
    exports: Mapping[str, str] = field(default_factory=dict)
    agents: str = ""
    session_stores: Mapping[str, str] = field(default_factory=dict)
    process: str = ""
    parts: str = ""
