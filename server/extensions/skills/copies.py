"""Copies of the skills that sessions use, as tools find them: `<home>/skill_files`.

A copy is named by the hash of its content, so a session has the scripts that belong to the text it
loaded, also after the owner changed the skill. In tier A a call gets one folder with the skills of
its session by name, elsewhere each copy at its own path (sandbox/policy.py `SKILLS`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...lib.agent_skills.folder import (
    MAX_BYTES,
    NAME,
    SkillError,
    content_hash,
    files_of,
    read_file,
)
from ...tools.session_files import CALL_FILES

SKILL_FILES = CALL_FILES  # below the home folder
HASH = re.compile(r"[0-9a-f]{64}")
UNUSED_S = 30 * 86_400  # after which a copy is removed
MOST = 32  # skills of one session whose files a call gets


@dataclass(frozen=True)
class SkillCopies:
    """The copies of one home folder."""

    folder: Path

    def keep(self, owner: str, folder: Path, content: str) -> None:
        """Copy the files of a skill, unless they are here.

        `content`: their hash. Raises SkillError, also if they are no longer what it says.
        """
        target = self._copy(owner, content)
        if target.is_dir():
            _touch(target)
            return
        draft = self.folder / f".{secrets.token_hex(8)}"
        try:
            self.folder.mkdir(mode=0o711, exist_ok=True)
            self._remove_unused()
            _copy_files(folder, draft)
            if content_hash(draft) != content:
                raise SkillError("its files were changed while they were read")
            _close(draft)
            with suppress(OSError):  # another process was faster
                draft.rename(target)
        except OSError as error:
            raise SkillError(f"its files cannot be kept: {error.strerror}") from None
        finally:
            _remove(draft)

    def has(self, owner: str, content: str) -> bool:
        """Return whether the files of this hash are here."""
        return HASH.fullmatch(content) is not None and self._copy(owner, content).is_dir()

    def paths(self, owner: str, used: Iterable[tuple[str, str]]) -> dict[str, Path]:
        """Return name -> copy, of the (name, hash) that are here."""
        return {
            name: self._copy(owner, content)
            for name, content in sorted(used)[:MOST]
            if NAME.fullmatch(name) and self.has(owner, content)
        }

    def together(self, paths: dict[str, Path]) -> Path | None:
        """Return one folder that holds these copies by name, None without any. Raises OSError."""
        if not paths:
            return None
        told = "\0".join(f"{name}\0{path.name}" for name, path in paths.items())
        target = self.folder / f"set-{_digest(told)}"
        for path in (target, *paths.values()):
            _touch(path)
        if target.is_dir():
            return target
        draft = self.folder / f".{secrets.token_hex(8)}"
        try:
            draft.mkdir(mode=0o755)
            for name, path in paths.items():
                shutil.copytree(path, draft / name, copy_function=_link)
            _close(draft)
            with suppress(OSError):  # another process was faster
                draft.rename(target)
        finally:
            _remove(draft)
        return target

    def _copy(self, owner: str, content: str) -> Path:
        """Return the place of a copy; another key with the same hash has another one."""
        told = f"{owner}\0{content}"
        return self.folder / f"skill-{_digest(told)}"

    def _remove_unused(self) -> None:
        now = time.time()
        for path in self.folder.iterdir():
            with suppress(OSError):
                if now - path.stat().st_mtime > UNUSED_S:
                    _remove(path)


def _copy_files(source: Path, target: Path) -> None:
    """Copy what `files_of` lists. Raises OSError, SkillError."""
    target.mkdir(mode=0o755)
    for each in files_of(source)[0]:
        place = target / each.path
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        place.write_bytes(read_file(source, each.path, MAX_BYTES))
        place.chmod(0o555 if each.executable else 0o444)


def _close(folder: Path) -> None:
    """Take the permission to write from a folder and those in it."""
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            Path(place, name).chmod(0o555)
    folder.chmod(0o755)  # it is renamed, and its time is that of its last use


def _remove(folder: Path) -> None:
    if not folder.exists():
        return
    for place, folders, _ in os.walk(folder):
        for name in folders:
            with suppress(OSError):
                Path(place, name).chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


def _link(source: str, target: str) -> str:
    """Give a file another name, or copy it where that is not possible."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)
    return target


def _touch(path: Path) -> None:
    with suppress(OSError):
        os.utime(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
