"""The state: replaced as a whole, bounded, and readable whatever was left of it."""

from __future__ import annotations

from server.workspace.errors import WorkspaceError
from server.workspace.state import MAX_SEEN, StateFile, note_seen

from .made import Case


class States(Case):
    def test_what_was_saved(self) -> None:
        state = StateFile(self.home / "state")
        self.assertEqual(state.load(), {})
        state.save({"tree": "\udcff"})
        self.assertEqual(state.load(), {"tree": "\udcff"})
        for text in ("", "{", "[]", "[" * 10_000):
            (self.home / "state/state.json").write_text(text)
            self.assertEqual(state.load(), {})

    def test_locks(self) -> None:
        one, other = StateFile(self.home / "state"), StateFile(self.home / "state")
        with one.lock(True, 0), self.assertRaises(WorkspaceError) as caught:
            with other.lock(False, 0.05):
                self.fail("held twice")
        self.assertEqual(caught.exception.code, "busy")
        with other.lock(True, 0):
            pass

    def test_sessions_are_bounded(self) -> None:
        state: dict[str, object] = {}
        for number in range(MAX_SEEN + 5):
            self.assertTrue(note_seen(state, str(number), "t"))
        seen = state["seen"]
        assert isinstance(seen, dict)
        self.assertEqual((len(seen), "4" in seen, "5" in seen), (MAX_SEEN, False, True))
        self.assertFalse(note_seen(state, "5", "t"))
