"""Places of a folder that programs on its owner's machine run or obey unasked: one list. Pure.

A place is here if a program follows it at what people do without a thought: entering the folder,
opening it in an editor or an agent, `git status`, a commit, installing packages. Source code, build
files and tests are not: who starts them means to. Neither are instructions (AGENTS.md), and what
runs elsewhere (.github). Names count in any case, since some file systems know no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

_GIT = ".gitmodules .gitconfig .githooks .husky .pre-commit-config.yaml lefthook.yml .lefthook.yml"
_FOLDER = ".envrc .mise.toml mise.toml .autoenv .autoenv.zsh"  # run by a shell that enters it
_SHELL = (  # where the folder is, or is linked as, somebody's home
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin"
    " .zlogout .inputrc .ssh"
)
_EDITORS = (
    ".vscode .idea .zed .fleet .helix .nvim.lua .nvimrc .exrc .vimrc .lvimrc .dir-locals.el"
    " .devcontainer .devcontainer.json"
)
_AGENTS = (
    ".mcp.json .claude .cursor .codex .gemini .windsurf .roo .kilocode .continue .opencode"
    " opencode.json .amazonq .kiro .qwen .factory .goose .aider.conf.yml .crush.json crush.json"
)
_PACKAGES = ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .cargo .mvn bunfig.toml"
_REPLS = ".rprofile .pdbrc .gdbinit .lldbinit .irbrc .pryrc .octaverc"  # read where they start
WHOLE = frozenset(" ".join((_GIT, _FOLDER, _SHELL, _EDITORS, _AGENTS, _PACKAGES, _REPLS)).split())
ENDS = (".code-workspace", ".sublime-project")
# `commondir` tells git to read its configuration elsewhere.
REPOSITORY = frozenset({"config", "config.worktree", "hooks", "commondir"})
PARTS = {".git": REPOSITORY, ".yarn": frozenset({"releases", "plugins"})}
_KNOWN = WHOLE | PARTS.keys()
INSTALLED = frozenset({"node_modules", "site-packages"})  # below, only repositories count
SAMPLE = ".sample"  # git runs no hook of this name


def is_named(name: str) -> bool:
    """Return whether a name is in the list, wherever it is."""
    name = name.lower()
    return name in _KNOWN or name.endswith(ENDS)


def is_repository(names: Collection[str]) -> bool:
    """Return whether git takes a folder that holds these names for a repository, whatever its name.

    A little more than git does: what is missing can be added later.
    """
    return "HEAD" in names and any(name in names for name in ("objects", "refs", "commondir"))


def protected_names(
    name: str, names: Collection[str], is_folder: Callable[[str], bool]
) -> Iterator[str]:
    """Yield which names of a folder are protected, each with all below. `name`: its own."""
    parts = PARTS.get(name.lower(), frozenset())
    if is_repository(names):
        parts |= REPOSITORY
    lows = "/".join(names).lower()
    if (_KNOWN | parts).isdisjoint(lows.split("/")) and not any(end in lows for end in ENDS):
        return
    for each in names:
        low = each.lower()
        is_listed = low in parts or low in WHOLE or low.endswith(ENDS)
        if is_listed or low in PARTS and not is_folder(each):  # a link leads to one elsewhere
            yield each


def is_of_repository(place: Sequence[str]) -> bool:
    """Return whether a protected place is one of git's own."""
    return place[-1].lower() in REPOSITORY or place[-1].lower() in PARTS


def protected_part(
    place: Sequence[str],
    names_in: Callable[[Sequence[str]], Collection[str]],
    is_folder: Callable[[Sequence[str]], bool],
) -> Sequence[str]:
    """Return the first part of a path that is protected; () if none is.

    `names_in`: what a folder holds, () if it is none.
    """
    is_installed = False
    for depth, name in enumerate(place):
        above, low = place[:depth], name.lower()
        # What the path itself says to be a folder becomes one.
        is_one = depth < len(place) - 1 or low in PARTS and is_folder(place[: depth + 1])
        names = {name, *(names_in(above) if low in REPOSITORY else ())}
        folders = {name} if is_one else set[str]()
        protected = protected_names(above[-1] if above else "", names, folders.__contains__)
        if name in protected and (not is_installed or is_of_repository((name,))):
            return place[: depth + 1]
        is_installed |= low in INSTALLED
    return ()


def leads_out(place: Sequence[str], target: str) -> bool:
    """Return whether a link at a place of a folder may lead out of it.

    `..` behind a name counts: that name may be a link.
    """
    names = [name for name in target.split("/") if name not in ("", ".")]
    up = 0
    while up < len(names) and names[up] == "..":
        up += 1
    return target.startswith("/") or ".." in names[up:] or up >= len(place)
