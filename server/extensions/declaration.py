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

from dataclasses import dataclass


class ProcessPart:
    """What an extension has in one serving process, for as long as that serves.

    `Extension.process` names what makes it, before the agent is loaded.
    """

    def count_response(self, status: int) -> None:
        """Take note of a response."""

    def add_connections(self, by: int) -> None:
        """Take note that `by` connections were opened, or closed if it is negative."""


@dataclass(frozen=True)
class Extension:
    """What is known of an extension before anything is open.

    requires   names of the extensions that it uses
    process    "module:name" of a function: (number of processes) -> (number of one) -> its
               ProcessPart; called once, before processes are forked; "" for none
    parts      "module:name" of its Parts (parts.py), made with the agent; "" for none
    """

    requires: tuple[str, ...] = ()
    process: str = ""
    parts: str = ""
