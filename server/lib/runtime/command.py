"""Tell with which command this program was started, for texts that name a next step.

`python3 -m server` in a checkout, `yaa` or `python3 -m yaa` where it is installed, `python3
yaa.pyz` for the one file. These texts also reach pages, so a folder is never part of it.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from zipimport import zipimporter

INSTALLED = "yaa"
_PLAIN = re.compile(r"[\w.+-]+")  # a file name that shells take as it is


def command_of(package: str, started: str, *, packed: bool, safe: bool = False) -> str:
    """Return the command for a program started as `started` (sys.argv[0]).

    `package`: the top package of this code. `packed`: whether the program is one file. `safe`:
    whether Python was told with -P not to look for modules in the current folder.
    """
    path, module = Path(started), "python3 -P -m" if safe else "python3 -m"
    if package != INSTALLED:
        return f"{module} server"
    if not packed:
        return f"{module} yaa" if path.name == "__main__.py" else INSTALLED
    if not _PLAIN.fullmatch(path.name):
        return "python3 yaa.pyz"
    found = shutil.which(path.name)  # the file may be in a folder of programs
    on_path = found is not None and Path(found).resolve() == path.resolve()
    return path.name if on_path else f"python3 {path.name}"


def _packed() -> bool:
    """Return whether Python runs a zip file, from which it has loaded the main module."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return isinstance(getattr(spec, "loader", None), zipimporter)


COMMAND = command_of(
    __name__.partition(".")[0],
    sys.argv[0] if sys.argv else "",
    packed=_packed(),
    safe=sys.flags.safe_path,
)
