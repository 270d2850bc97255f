"""The configuration: precedence, kinds, places of mistakes, and defaults nobody can change."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server import config
from server.config import ConfigError

from .extensions import rows_for

DEFAULTS = config.defaults()
ONE, TWO = "one-key-of-sixteen", "two-keys-of-sixteen"
HASHED_ONE = "blake2b:" + hashlib.blake2b(ONE.encode()).hexdigest().upper()
S1, S2 = "s1" * 8, "s2" * 8


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)

    def load(
        self,
        file: Any = None,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> config.Config:
        if file is not None:
            text = file if isinstance(file, str) else json.dumps(file)
            (self.home / "config.json").write_text(text)
        return config.load(self.home, None, env or {}, flags or {})

    def problems(self, file: Any = None, env: Mapping[str, str] | None = None) -> list[str]:
        with self.assertRaises(ConfigError) as caught:
            self.load(file, env)
        here = str(self.home / "config.json")
        return [problem.replace(here, "FILE") for problem in caught.exception.problems]


class Precedence(Case):
    def test_the_defaults_alone(self) -> None:
        found = self.load()
        self.assertEqual(found.server, DEFAULTS["server"])
        self.assertEqual(found.session, DEFAULTS["session"])
        self.assertEqual(found.sources, ())

    def test_each_source_wins_over_the_one_before(self) -> None:
        file = {"server": {"port": 1, "host": "::1", "discover": False, "limits": {"max_runs": 7}}}
        found = self.load(file, {"YAA_PORT": "2", "YAA_HOST": "localhost"}, {"server.port": 3})
        server = found.server
        self.assertEqual(
            (server["port"], server["host"], server["discover"]), (3, "localhost", False)
        )
        self.assertEqual(server["limits"]["max_runs"], 7)
        self.assertEqual(server["limits"]["heartbeat_s"], 15)
        self.assertEqual(
            found.sources,
            (str(self.home / "config.json"), "the environment", "the command line"),
        )

    def test_a_named_file_is_read_instead_of_the_home_one(self) -> None:
        (self.home / "config.json").write_text('{"server": {"port": 1}}')
        other = self.home / "other.json"
        other.write_text('{"server": {"discover": false}}')
        found = config.load(self.home, other, {}, {})
        self.assertFalse(found.server["discover"])
        self.assertEqual(found.server["port"], DEFAULTS["server"]["port"])

    def test_a_named_file_must_exist(self) -> None:
        with self.assertRaisesRegex(ConfigError, r"none\.json: No such file"):
            config.load(self.home, self.home / "none.json", {}, {})

    def test_flags_not_given_change_nothing(self) -> None:
        found = self.load(flags={"server.port": None})
        self.assertEqual(found.server["port"], DEFAULTS["server"]["port"])

    def test_a_provider_in_the_session_half_is_one_unit(self) -> None:
        provider = {"api_url": "http://127.0.0.1:1/v1", "model_name": "m"}
        found = self.load({"session": {"config": {"llm_api": {"provider": provider}}}})
        self.assertEqual(found.session["config"]["llm_api"]["provider"], provider)


class Frozen(Case):
    def test_editing_what_was_read_edits_nobody_elses(self) -> None:
        found = self.load()
        session = found.session
        session["config"]["tool"]["finish"] = {"auto_approve": True}
        session["config"]["limits"]["tool"]["wall_s"] = 1
        self.assertEqual(found.session, DEFAULTS["session"])
        self.assertEqual(self.load().session, DEFAULTS["session"])

    def test_merge_shares_nothing_with_its_sources(self) -> None:
        over = {"a": {"b": [1]}, "c": {"d": {}}}
        base: dict[str, Any] = {"a": {"x": 1}}
        merged = config.merge(base, over)
        merged["a"]["b"].append(2)
        merged["c"]["d"]["e"] = 1
        merged["a"]["x"] = 2
        self.assertEqual(over, {"a": {"b": [1]}, "c": {"d": {}}})
        self.assertEqual(base, {"a": {"x": 1}})


class Kinds(Case):
    WRONG: tuple[tuple[Any, str], ...] = (
        ({"server": {"port": "abc"}}, 'server.port is "abc", wanted a whole number from 0 to'),
        ({"server": {"port": 70000}}, "server.port is 70000, wanted a whole number from 0 to 655"),
        ({"server": {"port": 1.5}}, "server.port is 1.5, wanted a whole number"),
        ({"server": {"port": True}}, "server.port is true, wanted a whole number"),
        ({"server": {"port": None}}, "server.port is null, wanted a whole number"),
        ({"server": {"workers": 0}}, "server.workers is 0, wanted a whole number from 1"),
        ({"server": {"host": 5}}, "server.host is 5, wanted a string"),
        ({"server": {"host": ["a"]}}, 'server.host is ["a"], wanted a string'),
        ({"server": {"auth_required": 1}}, "server.auth_required is 1, wanted true or false"),
        ({"server": {"auth_required": "no"}}, 'auth_required is "no", wanted true or false'),
        ({"server": {"limits": 5}}, "server.limits is 5, wanted an object"),
        ({"server": {"limits": []}}, "server.limits is [], wanted an object"),
        ({"server": {"limits": {"max_runs": -1}}}, "max_runs is -1, wanted a whole number from 1"),
        ({"server": {"limits": {"rate_limit": "100"}}}, 'rate_limit is "100", wanted a rate such'),
        ({"server": {"limits": {"rate_limit": "0/1m"}}}, 'rate_limit is "0/1m", wanted a rate'),
        ({"server": {"limits": {"rate_limit": f"{9**999}/s"}}}, "wanted a rate such as"),
        ({"server": {"cors_origins": ["https://x.org/"]}}, "wanted an origin such as https://exa"),
        ({"server": {"cors_origins": ["x.org"]}}, '.cors_origins.0 is "x.org", wanted an origin'),
        (
            {"server": {"api_keys": [{"key": "k", "limits": {"rate_limit": 5}}]}},
            "rate_limit is 5, wanted a rate such as",
        ),
        ({"server": {"limits": {"heartbeat_s": -1}}}, "heartbeat_s is -1, wanted a number, 0 or"),
        ({"server": {"limits": {"max_connections": 1.5}}}, "max_connections is 1.5, wanted a whol"),
        (
            {"server": {"limits": {"session": {"max_tokens": "many"}}}},
            'max_tokens is "many", wanted a number, 0 or more, or null',
        ),
        ({"server": {"hosts": "me.lan"}}, 'server.hosts is "me.lan", wanted a list'),
        ({"server": {"hosts": [1]}}, "server.hosts.0 is 1, wanted a name such as me.lan"),
        ({"server": {"hosts": ["https://me.lan"]}}, "wanted a name such as me.lan, without scheme"),
        ({"server": {"hosts": ["me.lan:8443"]}}, '.hosts.0 is "me.lan:8443", wanted a name such'),
        ({"server": {"hosts": ["*"]}}, '.hosts.0 is "*", wanted a name such as me.lan'),
        ({"server": {"providers": []}}, "server.providers is [], wanted an object"),
        ({"server": {"providers": {"a": 1}}}, "server.providers.a is 1, wanted an object"),
        (
            {"server": {"providers": {"a": {"api_url": 1}}}},
            "server.providers.a.api_url is 1, wanted a string",
        ),
        (
            {"server": {"providers": {"r": {"headers": "key=hush-hush"}}}},
            'server.providers.r.headers is "***", wanted an object',
        ),
        (
            {"server": {"providers": {"r": {"headers": {"X-Key": ["hush-hush"]}}}}},
            'server.providers.r.headers.X-Key is "***", wanted a string',
        ),
        ({"server": {"api_keys": [5]}}, 'api_keys.0 is "***", wanted a string or an object'),
        (
            {"server": {"api_keys": [{"name": "a", "key": 5}]}},
            'server.api_keys.0.key is "***", wanted a string',
        ),
        (
            {"server": {"tools": {"shell": {"ceiling": "never"}}}},
            'server.tools.shell.ceiling is "never", wanted one of deny, ask, auto',
        ),
        ({"server": {"log": {"level": "loud"}}}, 'is "loud", wanted one of debug, info, warning'),
        ({"server": {"sandbox": {"require": "Z"}}}, 'is "Z", wanted one of none, C, B, A'),
        ({"session": {"character": None}}, "session.character is null, wanted a string"),
        ({"session": {"config": {"tool": {"shell": 1}}}}, "tool.shell is 1, wanted an object"),
        ([], "FILE: wanted one object with `server` and `session`"),
    )

    UNKNOWN: tuple[tuple[Any, str], ...] = (
        ({"server": {"prot": 1}}, "unknown key server.prot; did you mean server.port?"),
        ({"server": {"API_KEYS": []}}, "unknown key server.API_KEYS; did you mean server.api_keys"),
        ({"srever": {}}, "unknown key srever; did you mean server?"),
        ({"server": {"limits": {"max_run": 1}}}, "did you mean server.limits.max_runs?"),
        (
            {"server": {"tools": {"shell": {"celing": "ask"}}}},
            "did you mean server.tools.shell.cei",
        ),
        ({"port": 1}, "unknown key port; did you mean server.port?"),
        (
            {"server": {"providers": {"main": {"apikey": "x"}}}},
            "unknown key server.providers.main.apikey; did you mean server.providers.main.api_key",
        ),
        (
            {"server": {"api_keys": [{"nane": "a", "key": "k"}]}},
            "unknown key server.api_keys.0.nane; did you mean server.api_keys.0.name?",
        ),
        (
            {"session": {"config": {"llm_api": {"provider": {"api_key": "k"}}}}},
            "session.config.llm_api.provider.api_key would travel to every client",
        ),
    )

    def test_wrong_kinds_say_key_value_kind_and_file(self) -> None:
        for file, said in (*self.WRONG, *self.UNKNOWN):
            with self.subTest(file=file):
                found = self.problems(file)
                self.assertEqual(len(found), 1, found)
                self.assertIn(said, found[0])
                self.assertTrue(found[0].startswith("FILE: "), found[0])

    def test_a_default_is_what_a_session_may_have(self) -> None:
        """It is filled into sessions, which come back with it."""
        own: dict[str, Any]
        for own, said in (
            ({"yaa": {"reply": "x"}}, "yaa.reply: expected one of full, delta"),
            ({"yaa": {"mode": "fre"}}, "yaa.mode: expected one of free"),
            ({"yaa": {"output_schema": {"type": 5}}}, "yaa.output_schema: expected a JSON Schema"),
            ({"llm_api": {"tool_choice": 5}}, "llm_api.tool_choice: expected a string or null"),
            ({"llm_api": {"retry": {"times": 50}}}, "llm_api.retry: expected times (0 to 20)"),
            ({"limits": {"max_steps": 1 << 53}}, "limits.max_steps: expected a number"),
            ({"context": {"trigger_ratio": 5}}, "context.trigger_ratio: expected a number from 0"),
            ({"context": {"strategies": ["x"]}}, "context.strategies: expected an array of names"),
            ({"tool": {"shell": {"network": "of"}}}, "tool.shell.network: expected off, proxy"),
        ):
            with self.subTest(own=own):
                (found,) = self.problems({"session": {"config": own}})
                self.assertTrue(found.startswith(f"FILE: session.config.{said}"), found)
        for own in (
            {"llm_api": {"tool_choice": "required"}},
            {"limits": {"max_steps": None, "max_wall_s": None, "max_consecutive_errors": None}},
            {"yaa": {"mode": "Plan-Execute", "output_schema": {"type": "object"}}},
        ):
            with self.subTest(own=own):
                self.load({"session": {"config": own}})

    def test_every_mistake_is_said_at_once(self) -> None:
        found = self.problems({"server": {"port": "a", "hots": [], "workers": 0}}, {"YAA_PROT": ""})
        self.assertEqual(len(found), 4, found)

    def test_no_wait_is_over_before_it_begins(self) -> None:
        for key in ("head_timeout_s", "body_grace_s", "write_timeout_s"):
            (said,) = self.problems({"server": {"limits": {key: 0}}})
            self.assertIn(f"server.limits.{key} is 0, wanted a number above 0", said)
            self.load({"server": {"limits": {key: 0.1, "body_min_rate": 0}}})

    def test_what_is_allowed(self) -> None:
        for server in (
            {"limits": {"head_timeout_s": 2.5, "session": {"max_tokens": 10}}},
            {"limits": {"session": {"max_tokens": None, "max_cost_micro": 5.5}}},
            {"limits": {"session": {"max_steps": None, "max_wall_s": None}}},
            {"api_keys": ["a" * 16, "blake2b:" + "0f" * 64]},
            {"api_keys": [{"name": "p", "key": "k" * 16, "limits": {}, "owner": True}]},
            {"api_keys": [{"name": "p", "key": "old" * 8}, {"name": "p", "key": "new" * 8}]},
            {"providers": {"any name": {"preset": "openai", "models": ["a", {"name": "b"}]}}},
            {"providers": {"a": {"headers": {"X": "y"}, "extra_body": {"deep": [1]}}}},
            {"hosts": ["me", "my_box", "yaa.example.org", "10.0.0.7", "fd00::7"]},
            {"cors_origins": ["*", "null", "https://x.org:8443", "chrome-extension://abc"]},
            {"tools": {"shell": {"ceiling": "ask"}}},
            {"sandbox": {"network": "proxy", "hosts": ["packages.test", "*.x.org", "nas.lan:445"]}},
            {"sandbox": {"hosts_on_approval": ["*", "10.0.0.0/8", "[::1]:80"], "ports": [8443]}},
        ):
            with self.subTest(server=server):
                self.load({"server": server})
        self.load({"session": {"config": {"tool": {"finish": {"auto_approve": True}}}}})
        self.load(
            {"session": {"config": {"context": {"keep_turns": 5}, "prompt": {"custom": "x"}}}}
        )
        self.load({"session": {"config": {"llm_api": {"interval": 0.5, "retry": {"delay": 1.5}}}}})

    def test_every_empty_object_of_the_defaults_takes_an_entry(self) -> None:
        entries: dict[str, Any] = {
            "server.providers": {"a": {"preset": "openai"}},
            "server.folders": {"a": {"path": "/srv/a", "mode": "read"}},
            "server.tools": {"shell": {"ceiling": "ask"}},
            "session.config.llm_api.model_settings": {"temperature": 0.2},
            "session.config.prompt": {"task": "Be brief."},
            "session.config.tool": {"shell": {"auto_approve": False}},
        }
        for added in rows_for("EMPTY_DEFAULTS"):
            entries |= added

        def empty(value: Any, at: str) -> list[str]:
            if not isinstance(value, dict):
                return []
            inner = [each for key in value for each in empty(value[key], f"{at}.{key}")]
            return inner if value else [at.removeprefix(".")]

        self.assertEqual(sorted(empty(DEFAULTS, "")), sorted(entries))
        for at, value in entries.items():
            with self.subTest(at):
                file: dict[str, Any] = value
                for key in reversed(at.split(".")):
                    file = {key: file}
                self.load(file)

    def test_text_that_is_not_json_says_line_and_column(self) -> None:
        for text, said in (
            ('{"server": {\n  "port": 1\n"x": 2}}', "FILE:3:1: "),
            ('{"server": {},\n "server": {}}', "FILE:2:2: the key 'server' appears twice"),
            ('{"server": {}, // mine\n}', "FILE:1:16: this looks like a comment"),
            ("", "FILE:1:1: "),
            ('{"server": NaN}', "NaN"),
        ):
            with self.subTest(text=text):
                found = self.problems(text)
                self.assertIn(said, found[0])

    def test_what_is_no_file_is_not_passed_over(self) -> None:
        file = self.home / "config.json"
        file.symlink_to(self.home / "none.json")
        self.assertEqual(self.problems(), ["FILE: No such file or directory"])
        file.unlink()
        file.mkdir()
        self.assertEqual(self.problems(), ["FILE: Is a directory"])

    def test_a_byte_order_mark(self) -> None:
        (self.home / "config.json").write_bytes(b'\xef\xbb\xbf{"server": {"port": 7}}')
        self.assertEqual(self.load().server["port"], 7)

    def test_invalid_utf8(self) -> None:
        (self.home / "config.json").write_bytes(b'{"a": "\xff"}')
        self.assertIn("FILE:1:8: the text is not valid UTF-8", self.problems())

    def test_a_home_that_cannot_be_looked_into(self) -> None:
        """One below a folder that may not be entered, or with a name that no folder can have."""
        home = self.home / ("x" * 300)
        self.assertEqual(config.load(home, None, {}, {}).sources, ())
        with self.assertRaises(ConfigError) as caught:
            config.make_home(home)
        self.assertIn("choose another with --home", caught.exception.problems[0])

    def test_no_secret_in_a_message(self) -> None:
        wrong = {"server": {"providers": {"a": {"api_key": ["canary-1"], "headers": 5}}}}
        self.assertNotIn("canary-1", "\n".join(self.problems(wrong)))

    def test_contradictions(self) -> None:
        for server, said in (
            ({"auth_required": False, "host": "0.0.0.0"}, "only this machine may reach"),
            ({"auth_required": False, "host": ""}, "only this machine may reach"),
            ({"auth_required": False, "cors_origins": ["null"]}, "frames that any web page can"),
            ({"default_provider": "x"}, "the providers configured are: none"),
            ({"tls": {"key": "k.pem"}}, "without server.tls.cert"),
            ({"tools": {"fetch_url": {"allow": ["10.0.0/8"]}}}, "10.0.0/8 is no network such as"),
            ({"sandbox": {"hosts": ["http://x.org"]}}, "server.sandbox.hosts: http://x.org is no"),
            ({"sandbox": {"hosts_on_approval": ["1.2/8"]}}, "1.2/8 is no network such as"),
            ({"sandbox": {"read": ["lib"]}}, "read: lib' is no path that begins with / or ~"),
            ({"sandbox": {"read": ["/no-such-folder"]}}, "read: /no-such-folder is not there"),
            ({"sandbox": {"read": ["/"]}}, "read: / holds the home folder"),
            ({"sandbox": {"read": ["/proc/self"]}}, "read: /proc/self is the kernel's"),
            ({"default_provider": "x", "providers": {"a": {}, "b": {}}}, "configured are: a, b"),
            ({"api_keys": ["two words"]}, "visible ASCII"),
            ({"api_keys": [""]}, "visible ASCII"),
            ({"api_keys": [{"name": "no key"}]}, "visible ASCII"),
            ({"api_keys": ["ключ"]}, "visible ASCII"),
            ({"api_keys": ["blake2b:abcd"]}, "128 hex digits"),
            ({"api_keys": [ONE, "k" * 15]}, "api_keys.1: this key has 15 characters; wanted 16 or"),
            ({"api_keys": [{"name": "x", "key": "blake2a:"}]}, "this key has 8 characters"),
            ({"api_keys": [ONE, TWO, {"name": "x", "key": ONE}]}, "same key as server.api_keys.0"),
            ({"api_keys": [ONE, HASHED_ONE]}, "api_keys.1: this is the same key as"),
            ({"api_keys": [HASHED_ONE, ONE]}, "api_keys.1: this is the same key as"),
        ):
            with self.subTest(server=server):
                self.assertIn(said, self.problems({"server": server})[0])
        for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"):
            self.load({"server": {"auth_required": False, "host": host}})
        self.load({"server": {"default_provider": "a", "providers": {"a": {}}}})

    def test_every_default_passes_its_own_check(self) -> None:
        self.assertEqual(self.load(DEFAULTS).server, DEFAULTS["server"])


class Environment(Case):
    SET: tuple[tuple[str, str, tuple[str, ...], Any], ...] = (
        ("YAA_HOST", "::1", ("server", "host"), "::1"),
        ("YAA_PORT", "0", ("server", "port"), 0),
        ("YAA_WORKERS", "1", ("server", "workers"), 1),
        ("YAA_LOG_LEVEL", "debug", ("server", "log", "level"), "debug"),
        ("YAA_API_KEYS", f"{ONE}, {TWO},", ("server", "api_keys"), [ONE, TWO]),
        (
            "YAA_API_KEYS",
            f'["{ONE}", {{"name": "n", "key": "{TWO}"}}]',
            ("server", "api_keys"),
            [ONE, {"name": "n", "key": TWO}],
        ),
        ("YAA_SERVER__LIMITS__MAX_RUNS", "4", ("server", "limits", "max_runs"), 4),
        ("YAA_SERVER__LIMITS__RATE_LIMIT", "5/s", ("server", "limits", "rate_limit"), "5/s"),
        ("YAA_SERVER__LIMITS__HEAD_TIMEOUT_S", "0.5", ("server", "limits", "head_timeout_s"), 0.5),
        (
            "YAA_SERVER__LIMITS__SESSION__MAX_TOKENS",
            "null",
            ("server", "limits", "session", "max_tokens"),
            None,
        ),
        ("YAA_SERVER__DISCOVER", "false", ("server", "discover"), False),
        ("YAA_SERVER__DISCOVER", "1", ("server", "discover"), True),
        (
            "YAA_SERVER__TOOLS__SHELL__CEILING",
            "ask",
            ("server", "tools", "shell", "ceiling"),
            "ask",
        ),
        (
            "YAA_PROVIDER_API_URL",
            "http://x/v1",
            ("server", "providers", "main", "api_url"),
            "http://x/v1",
        ),
        ("YAA_PROVIDER_API_KEY", "12345", ("server", "providers", "main", "api_key"), "12345"),
        ("YAA_SESSION__CHARACTER", "A cat.", ("session", "character"), "A cat."),
        (
            "YAA_SESSION__CONFIG__YAA__LANGUAGE",
            "de",
            ("session", "config", "yaa", "language"),
            "de",
        ),
        (
            "YAA_SESSION__CONFIG__TOOL__FINISH__AUTO_APPROVE",
            "true",
            ("session", "config", "tool", "finish", "auto_approve"),
            True,
        ),
    )

    def test_bytes_that_are_no_text(self) -> None:
        value = os.fsdecode(b"a\xff")
        found = self.problems(None, {"YAA_SESSION__CHARACTER": value, "YAA_HOST": value})
        wanted = ["YAA_HOST is not UTF-8", "YAA_SESSION__CHARACTER is not UTF-8"]
        self.assertEqual(found, [f"the environment: {each}" for each in wanted])

    def test_each_variable_changes_its_setting(self) -> None:
        for variable, text, at, expected in self.SET:
            with self.subTest(variable=variable, text=text):
                found = self.load(env={variable: text, "HOME": "/x", "PATH": ""})
                value: Any = {"server": found.server, "session": found.session}
                for key in at:
                    value = value[key]
                self.assertEqual(value, expected)
                self.assertIs(type(value), type(expected))

    def test_every_default_can_be_set_by_its_variable(self) -> None:
        def leaves(value: Any, at: str) -> list[tuple[str, Any]]:
            if isinstance(value, dict) and value:
                return [pair for key in value for pair in leaves(value[key], f"{at}__{key}")]
            return [(at, value)]

        both = (leaves(DEFAULTS[half], f"YAA_{half}") for half in DEFAULTS)
        for name, value in (leaf for half in both for leaf in half):
            text = value if isinstance(value, str) else json.dumps(value)
            with self.subTest(name=name):
                self.load(env={name.upper(): text})

    def test_wrong_variables(self) -> None:
        for env, said in (
            ({"YAA_PROT": "1"}, "YAA_PROT is no setting; did you mean YAA_PORT?"),
            ({"YAA_SERVER__NOPE": "1"}, "YAA_SERVER__NOPE is no setting"),
            ({"YAA_PROVIDER_KEY_": "1"}, "YAA_PROVIDER_KEY_ is no setting"),
            ({"YAA_SERVER__PORT__DEEPER": "1"}, "is no setting"),
            ({"YAA_": "1"}, "is no setting"),
            ({"YAA_PORT": "abc"}, "YAA_PORT is abc, wanted a whole number"),
            ({"YAA_PORT": "-1"}, "server.port is -1, wanted a whole number"),
            ({"YAA_SERVER__DISCOVER": "maybe"}, 'server.discover is "maybe", wanted true or false'),
            ({"YAA_SERVER__LIMITS": "5"}, "server.limits is 5, wanted an object"),
            ({"YAA_SERVER__LOG__LEVEL": "x"}, "wanted one of debug"),
        ):
            with self.subTest(env=env):
                found = self.problems(env=env)
                self.assertIn(said, found[0])
                self.assertTrue(found[0].startswith("the environment: "), found[0])

    def test_variables_of_others_are_left_alone(self) -> None:
        self.load(env={"YAA_HOME": "/x", "YAA_CONFIG": "/y", "YAA_TEST_SLOW": "1", "YAAX": "1"})


class Secrets(Case):
    def test_variables_are_expanded_in_the_server_half_only(self) -> None:
        file = {
            "server": {
                "providers": {"main": {"api_key": "${KEY}", "api_url": "http://${H:-h}/$${raw}"}},
                "api_keys": ["a-${KEY}-key-of-ours"],
            },
            "session": {"character": "costs ${KEY}"},
        }
        found = self.load(file, {"KEY": "s3cret"})
        main = found.server["providers"]["main"]
        self.assertEqual(main, {"api_key": "s3cret", "api_url": "http://h/${raw}"})
        self.assertEqual(found.server["api_keys"], ["a-s3cret-key-of-ours"])
        self.assertEqual(found.session["character"], "costs ${KEY}")

    def test_a_variable_that_is_not_set(self) -> None:
        found = self.problems({"server": {"providers": {"main": {"api_key": "${NOPE}"}}}})
        self.assertEqual(found, ["FILE: ${NOPE} is used, but the variable NOPE is not set"])

    def test_all_secrets_are_known(self) -> None:
        file = {
            "server": {
                "api_keys": [S1, {"name": "phone", "key": S2}],
                "providers": {
                    "a": {"api_key": "s3", "headers": {"X-Custom": "s4"}, "model_name": "gpt"}
                },
            }
        }
        self.assertEqual(sorted(self.load(file).secrets()), [S1, S2, "s3", "s4"])


class Home(Case):
    def test_where_it_is(self) -> None:
        self.assertEqual(config.home_folder("/a", {"YAA_HOME": "/b"}), Path("/a"))
        self.assertEqual(config.home_folder(None, {"YAA_HOME": "/b"}), Path("/b"))
        self.assertEqual(config.home_folder(None, {}), Path("~/.yaa").expanduser())
        self.assertTrue(config.home_folder("relative", {}).is_absolute())

    def test_one_of_nobody(self) -> None:
        with self.assertRaisesRegex(ConfigError, "no such home folder here; .* --home or YAA_HOME"):
            config.home_folder("~nobody-of-that-name/yaa", {})

    def test_it_is_made_for_the_owner_only(self) -> None:
        home = self.home / "new" / "home"
        config.make_home(home)
        config.make_home(home)
        self.assertEqual(stat.S_IMODE(home.stat().st_mode), 0o700)
        self.assertEqual({entry.name for entry in home.iterdir()}, set(config.FOLDERS))

    def test_one_that_cannot_be_made_says_what_to_do(self) -> None:
        (self.home / "file").write_text("")
        with self.assertRaisesRegex(ConfigError, "choose another with --home or YAA_HOME"):
            config.make_home(self.home / "file" / "home")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_one_that_cannot_be_written(self) -> None:
        config.make_home(self.home)
        self.home.chmod(0o500)
        self.addCleanup(self.home.chmod, 0o700)
        with self.assertRaisesRegex(ConfigError, "it cannot be written; choose another"):
            config.make_home(self.home)


if __name__ == "__main__":
    unittest.main()
