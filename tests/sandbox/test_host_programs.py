"""The list of places that programs run, by table: at any depth, in any case."""

from __future__ import annotations

import unittest
from collections.abc import Collection, Sequence

from server.lib.sandbox import host_programs

REPOSITORY = ("HEAD", "objects", "refs", "config")
FOLDERS: dict[str, Collection[str]] = {
    "plain": ("HEAD", "config"),  # a folder of somebody, no repository
    "bare": REPOSITORY,
    "bare/hooks": ("pre-commit",),
    ".git": REPOSITORY,
    ".git/modules": ("a",),
    ".git/modules/a": REPOSITORY,
    ".git/worktrees/w": ("HEAD", "commondir", "gitdir"),
    "sub/.git": REPOSITORY,
}
CASES = (  # a path, the part of it that is protected
    (".git", ".git"),  # as a file or link
    (".git/config", ".git/config"),
    (".GIT/Config", ".GIT/Config"),
    (".git/hooks/pre-commit", ".git/hooks"),
    (".git/commondir", ".git/commondir"),
    (".git/config.worktree", ".git/config.worktree"),
    (".git/modules/a/hooks/x", ".git/modules/a/hooks"),
    (".git/worktrees/w/config.worktree", ".git/worktrees/w/config.worktree"),
    (".git/worktrees/w/commondir", ".git/worktrees/w/commondir"),
    ("sub/.git/hooks/pre-commit", "sub/.git/hooks"),
    ("bare/config", "bare/config"),
    ("bare/hooks/pre-commit", "bare/hooks"),
    ("new/.git/config", "new/.git/config"),
    ("node_modules/a/.git/config", "node_modules/a/.git/config"),
    (".envrc", ".envrc"),
    ("deep/er/.envrc", "deep/er/.envrc"),
    (".vscode/tasks.json", ".vscode"),
    ("a.code-workspace", "a.code-workspace"),
    (".yarn/releases/yarn.cjs", ".yarn/releases"),
    (".git/HEAD", ""),
    (".git/index", ""),
    (".git/refs/heads/config", ""),
    (".git/info/exclude", ""),
    (".gitignore", ""),
    (".gitattributes", ""),
    ("config", ""),
    ("hooks/pre-commit", ""),
    ("plain/config", ""),
    (".yarn/cache/a.zip", ""),
    ("node_modules/a/.npmrc", ""),
    ("src/main.py", ""),
    (".github/workflows/test.yml", ""),
)


class Places(unittest.TestCase):
    def test_paths(self) -> None:
        def names_in(place: Sequence[str]) -> Collection[str]:
            return FOLDERS.get("/".join(place), ())

        def is_folder(place: Sequence[str]) -> bool:
            return "/".join(place) in FOLDERS and place[-1] != ".git"

        for path, part in CASES:
            with self.subTest(path):
                found = host_programs.protected_part(path.split("/"), names_in, is_folder)
                self.assertEqual("/".join(found), part)

    def test_every_name_is_found_in_any_case_and_depth(self) -> None:
        for name in (*host_programs.WHOLE, *(f"a{end}" for end in host_programs.ENDS)):
            for path in (name, name.upper(), f"a/b/{name}", f"{name}/deep/er"):
                with self.subTest(path):
                    place = path.split("/")
                    self.assertTrue(
                        host_programs.protected_part(place, lambda _: (), lambda _: False)
                    )
                    self.assertEqual(name, name.lower(), "names are compared in lower case")

    def test_links(self) -> None:
        for path, target, leads in (
            ("a", "b", False),
            ("a", "./b/c", False),
            ("a", "/etc/passwd", True),
            ("a", "..", True),
            ("a", "../b", True),
            ("d/a", "../b", False),
            ("d/a", "../../b", True),
            ("d/e/a", "../../b", False),
            ("a", "b/../../c", True),
            ("a", "b/../c", True),  # b may be a link
            ("a", ".", False),
        ):
            with self.subTest(path=path, target=target):
                self.assertEqual(host_programs.leads_out(path.split("/"), target), leads)


if __name__ == "__main__":
    unittest.main()
