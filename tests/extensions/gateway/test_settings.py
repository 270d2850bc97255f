"""A gateway's variables: which are read, and what is said of each."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from server.config import Config, load
from server.extensions import present
from server.extensions.gateway.settings import read


class Read(unittest.TestCase):
    def test_values(self) -> None:
        runs = "session.config.context.window_runs"
        for name, text, expected in (
            ("SERVER_PORT", "8080", {"server.port": 8080}),
            ("SERVER_PORT", " 0 ", {"server.port": 0}),
            ("SERVER_PORT", "65536", {}),
            ("SERVER_PORT", "tcp://10.0.0.7:80", {}),  # as clusters make it
            ("SERVER_PORT", "８０８０", {}),
            ("SERVER_PORT", "", {}),
            ("MEMORY_CHAT_K", "20", {runs: 20}),
            ("MEMORY_CHAT_K", "0", {}),
            ("MEMORY_CHAT_K", "-1", {}),
            ("MEMORY_CHAT_K", "9" * 5000, {}),
            (
                "AGENT_LLM_INTERACTION_LOG_ENABLED",
                "FALSE",
                {"server.log.model_calls": False, "server.log.model_deltas": False},
            ),
            ("AGENT_LLM_INTERACTION_LOG_ENABLED", "maybe", {}),
            ("SERVER_PORTS", "1", {}),
        ):
            with self.subTest(name, text=text[:20]):
                self.assertEqual(read({name: text})[0], expected)

    def test_each_is_told_without_its_value(self) -> None:
        env = {
            "MEMORY_CHAT_DIR": "/secret/place",
            "MEMORY_CHAT_CHARSET": "UTF-8",
            "AGENT_BASH_ALLOWED_PATHS": "/secret/place",
            "SERVER_PORT": "tcp://secret",
            "AGENT_LLM_INTERACTION_LOG_MASK_SENSITIVE": "false",
            "HOME": "/secret",
        }
        said = read(env)[1]
        self.assertEqual(len(said), 5)
        self.assertNotIn("secret/", "\n".join(said))
        self.assertEqual([line.split()[0] for line in said], sorted({*env} - {"HOME"}))

    def test_the_folder_of_agents_is_read_where_they_can_be_in_files(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            config = load(Path(name), None, {"AGENT_EXTERNAL_DIR": "代理"}, {})
        key = "server.agents_dir"
        there = "agents" in present()
        self.assertEqual(config.server.get("agents_dir"), "代理" if there else None)
        for text, expected in (
            ("~/agents 代理", "~/agents 代理"),
            ("", None),
            ("a\nb", None),
            ("a\udc80", None),
        ):
            with self.subTest(text):
                found = {} if expected is None else {key: expected}
                self.assertEqual(read({"AGENT_EXTERNAL_DIR": text}, {key})[0], found)
        without, lines = read({"AGENT_EXTERNAL_DIR": "agents"}, ())
        self.assertEqual(without, {})
        self.assertIn("changes nothing here: the extension agents", lines[0])

    def test_they_come_over_the_file_and_under_ours(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            (home / "config.json").write_text('{"server": {"port": 1}}')
            theirs = {"SERVER_PORT": "2"}

            def loaded(env: dict[str, str]) -> Config:
                return load(home, None, env, {})

            self.assertEqual(loaded({}).server["port"], 1)
            config = loaded(theirs)
            self.assertEqual((config.server["port"], len(config.remarks)), (2, 1))
            self.assertEqual(loaded({**theirs, "YAA_PORT": "3"}).server["port"], 3)
            stray = loaded({"SERVER_PORT": "tcp://10.0.0.7:80"})
            self.assertEqual(stray.server["port"], 1)


if __name__ == "__main__":
    unittest.main()
