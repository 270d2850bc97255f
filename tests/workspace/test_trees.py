"""Directory objects, differences, paths: also of objects that a client made up."""

from __future__ import annotations

import json

from server.workspace.differences import differences
from server.workspace.errors import WorkspaceError
from server.workspace.objects import ObjectStore
from server.workspace.trees import (
    MAX_PARSED,
    PARSED,
    Flat,
    build,
    decode,
    encode,
    flatten,
    keep,
    missing,
    place_of,
    reachable,
    text_of,
    walk,
)

from .made import Case

A, B = "a" * 64, "b" * 64
HOSTILE = [
    {"..": ["l", "x"]},
    {".": ["l", "x"]},
    {"": ["l", "x"]},
    {"a/b": ["l", "x"]},
    {"a\0": ["l", "x"]},
    {"é" * 128: ["l", "x"]},
    {"\ud800": ["l", "x"]},
    {"a": ["l", ""]},
    {"a": ["l", "x\0"]},
    {"a": ["l", "x" * 4096]},
    {"a": ["f", 0o1777, 1, A]},
    {"a": ["f", True, 1, A]},
    {"a": ["f", 0o644, -1, A]},
    {"a": ["f", 0o644, 1, "../" + A[3:]]},
    {"a": ["d", 0o755, A, 1]},
    {"a": ["x"]},
    {"a": None},
]


class Trees(Case):
    def setUp(self) -> None:
        super().setUp()
        self.store = ObjectStore(self.home / "objects")

    def test_hostile_objects_are_refused(self) -> None:
        for entries in HOSTILE:
            with self.subTest(entries), self.assertRaises(WorkspaceError):
                decode(json.dumps({"entries": entries}, separators=(",", ":")).encode())
        for data in (
            b"",
            b"[]",
            b"{}",
            b'{"entries": {}}',
            b'{"entries":{},"a":1}',
            b"[" * 100_000,
        ):
            with self.subTest(data[:30]), self.assertRaises(WorkspaceError):
                decode(data)

    def test_a_small_object_may_not_name_a_huge_tree(self) -> None:
        tree = self.store.put(encode({}))
        for _ in range(40):
            tree = self.store.put(encode({name: ["d", 0o755, tree] for name in "ab"}))
        with self.assertRaises(WorkspaceError) as caught:
            list(walk(self.store, tree))
        self.assertEqual(caught.exception.code, "too_large")
        self.assertEqual(missing(self.store, tree, 5).count, 0)
        self.assertEqual(len(reachable(self.store, [tree])), 41)

    def test_build_and_flatten(self) -> None:
        flat: Flat = {
            ("a",): ["f", 0o644, 1, A],
            ("d",): ["d", 0o700, ""],
            ("d", "\udcff\n"): ["l", "x"],
            ("empty",): ["d", 0o755, ""],
        }
        tree = build(self.store, flat)
        self.assertEqual(flatten(self.store, tree), flat)
        self.assertEqual(build(self.store, flat), tree)
        with self.assertRaises(WorkspaceError):
            build(self.store, {("a",): ["l", "x"], ("a", "b"): ["l", "x"]})

    def test_differences(self) -> None:
        old = build(
            self.store,
            {
                ("mode",): ["f", 0o644, 1, A],
                ("text",): ["f", 0o644, 1, A],
                ("gone", "x"): ["l", "x"],
                ("kind",): ["l", "x"],
                ("same", "x"): ["l", "x"],
            },
        )
        new = build(
            self.store,
            {
                ("mode",): ["f", 0o600, 1, A],
                ("text",): ["f", 0o644, 1, B],
                ("kind", "x"): ["l", "x"],
                ("same", "x"): ["l", "x"],
            },
        )
        found = {text_of(item.place): item.change for item in differences(self.store, old, new)}
        expected = {"mode": "mode", "text": "modified", "gone/x": "deleted", "kind": "deleted"}
        self.assertEqual(found, expected | {"kind/x": "added"})
        self.assertEqual(list(differences(self.store, old, old)), [])
        self.assertEqual(len(list(differences(self.store, None, old))), 5)

    def test_missing(self) -> None:
        tree = build(self.store, {("d", "a"): ["f", 0o644, 3, A], ("b",): ["f", 0o644, 4, A]})
        found = missing(self.store, tree, 10)
        self.assertEqual((found.count, found.bytes), (1, 4))
        self.assertEqual(
            missing(self.store, B, 10).objects, [{"sha256": B, "bytes": 0, "path": ""}]
        )

    def test_what_is_kept_parsed(self) -> None:
        tree = build(self.store, {(f"d{n}", "f"): ["f", 0o644, n, A] for n in range(1_000)})
        self.assertEqual(len(self.store.parsed), 1_001)
        flatten(self.store, tree)
        self.assertEqual(self.store.parsed_entries, 1_001 + 2_000)
        # None of a folder that is too large.
        keep(self.store, {f"{n}": ["l", "x"] for n in range(MAX_PARSED + 1)})
        self.assertEqual(self.store.parsed_entries, 1_001 + 2_000)
        for number in range(PARSED // 5_000 + 1):
            keep(self.store, {f"{number} {n}": ["l", "x"] for n in range(5_000)})
        held = sum(len(entries) + 1 for entries in self.store.parsed.values())
        self.assertEqual(self.store.parsed_entries, held)
        self.assertTrue(PARSED - 5_001 < held <= PARSED, held)

    def test_paths_come_back(self) -> None:
        for name in ("a", "é", "\udcff\udc80", "\uf7e4", "\uf7ff\udcff", "😀", "n\nl"):
            text = text_of(("d", name))
            text.encode()  # no lone surrogates
            self.assertEqual(place_of(text), ("d", name))

    def test_paths_that_lead_out(self) -> None:
        for text in (
            "..",
            "a/../b",
            "/etc",
            "",
            "a//b",
            "./a",
            "a\0b",
            "x" * 256,
            "a/" * 200 + "b",
        ):
            with self.subTest(text), self.assertRaises(WorkspaceError):
                place_of(text)
        self.assertEqual(place_of("", top=True), ())
