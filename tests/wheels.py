"""Packages for tests: wheels made here, in a folder that pip takes them from, without a network."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

from server.lib.sandbox.environments import Environment, package_folders


def wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str], requires: tuple[str, ...] = ()
) -> Path:
    """Write `<name>-<version>-py3-none-any.whl` with these files, {path: text}."""
    info = f"{name}-{version}.dist-info"
    wanted = "".join(f"Requires-Dist: {each}\n" for each in requires)
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}"
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    content = {**files, f"{info}/METADATA": about, f"{info}/WHEEL": tags}
    record = [f"{path},{_digest(text)},{len(text.encode())}" for path, text in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in content.items():
            archive.writestr(inside, text)
    return path


def make_environment(home: Path, requirements: tuple[str, ...], files: Mapping[str, str]) -> Path:
    """Make an environment with these modules, {path: text}, without pip, and return its folder."""
    environment = Environment(home, requirements)
    root = environment.note.parent
    root.mkdir(exist_ok=True)
    root.chmod(0o755)
    folder = root / f"{environment.key}-{'0' * 16}"
    venv.EnvBuilder(symlinks=True).create(folder)
    for path, text in files.items():
        file = Path(package_folders(str(folder))[0], path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    note = {"folder": folder.name, "requirements": [*requirements]}
    environment.note.write_text(json.dumps(note))
    return folder


def lend_pip(home: Path) -> None:
    """Make the environment that installs the others, with the pip of this interpreter, if any."""
    if (found := importlib.util.find_spec("pip")) and found.origin:
        folder = make_environment(home, (), {})
        shutil.copytree(Path(found.origin).parent, Path(package_folders(str(folder))[0], "pip"))


def pip_variables(folder: Path) -> dict[str, str]:
    """Return variables with which pip takes packages from a folder only."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
