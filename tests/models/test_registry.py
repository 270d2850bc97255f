"""Which provider a session gets, and that keys and addresses are never mixed."""

from __future__ import annotations

import gc
import json
import unittest
import weakref
from typing import Any

from server.config import ConfigError
from server.errors import Problem
from server.lib.http.client import Client
from server.models.http_model import RemoteAPI
from server.models.provider import OF_THE_ENTRY, Provider
from server.models.registry import Model, Models
from server.models.vendors import DiscoveredProviders

from ..fakes import ScriptedModel
from .fakes import APIS, KEY, STOP, answer, options, said, serving, sse

THEIRS = "sk-theirs-0123456789"
MAIN = {
    "api_url": "https://api.main.example/v1",
    "api_key": KEY,
    "model_name": "m-1",
    "cost_per_ktoken": 0.002,
    "cost_unit": "USD",
    "max_tokens": 1000,
    "max_context": 8000,
    "model_settings": {"top_p": 0.5, "seed": 1},
    "headers": {"X-Org": "secret-org-id"},
    "extra_body": {"store": False},
}
OTHER = {
    "api_url": "https://api.other.example/v1",
    "api_key": "sk-other",
    "models": ["d-1", {"name": "d-2", "max_tokens": 7}],
}
OPEN = {
    "allow": True,
    "hosts": ["api.good.example", "*.wide.example", "10.0.0.5", "odd.example:8443"],
}


LAST = Model("demo", "demo", ScriptedModel(lambda messages: []), {"demo": True})


def models(
    providers: Any = None,
    *,
    rules: Any = None,
    default: str = "",
    env: Any = None,
    found: Any = None,
) -> Models:
    server = {
        "providers": {"main": MAIN, "other": OTHER} if providers is None else providers,
        "default_provider": default,
        "client_providers": rules or {"allow": False, "hosts": []},
    }
    made = Models(server, Client(), env or {}, found)
    made.fallbacks[LAST.name] = LAST
    return made


def provider(made: Models, **wanted: Any) -> Provider:
    api = made.resolve(wanted).api
    assert isinstance(api, RemoteAPI)
    return api.provider


class Apis(unittest.TestCase):
    """Which API is spoken to a provider, and that it is the owner's to say."""

    def test_of_the_server(self) -> None:
        cases: list[tuple[dict[str, Any], str, str]] = [
            ({"api_url": "http://127.0.0.1:8080/v1"}, "chat")
            + ("http://127.0.0.1:8080/v1/chat/completions",),
        ]
        for entry, api, url in cases:
            made = models({"main": {"api_key": KEY, "model_name": "m", **entry}})
            for wanted in ({}, {"name": "main", "api": "chat"}, {"api": "messages"}):
                with self.subTest(entry, wanted=wanted):
                    found = made.resolve(wanted).api
                    self.assertIs(type(found), APIS[api])
                    asked = provider(made, **wanted)
                    self.assertEqual((asked.url, asked.key), (url, KEY))

    def test_of_a_session(self) -> None:
        made = models(rules=OPEN)
        own = {"api_url": "https://api.good.example", "api_key": THEIRS, "model_name": "m"}
        for api in ("", "chat"):
            found = provider(made, api=api, **own)
            self.assertEqual(found.url, "https://api.good.example/v1/chat/completions")
            self.assertEqual(found.key, THEIRS)
        with self.assertRaises(Problem) as caught:
            made.resolve({"api": "soap", **own})
        self.assertEqual(caught.exception.errors[0]["pointer"], "/config/llm_api/provider/api")

    def test_what_is_different_for_one_model_is_neither_address_nor_key(self) -> None:
        """Else a key of the entry went where the model says, or one that nothing masks is sent."""
        special = {
            "name": "m-2",
            "max_tokens": 7,
            "api_url": "https://else.example",
            "api_key": "x",
        }
        special |= {"headers": {"X-Org": "else"}, "preset": "other"}
        entry = {**MAIN, "models": ["m-1", special]}
        usual, other = (provider(models({"main": entry}), model_name=n) for n in ("m-1", "m-2"))
        self.assertEqual((usual.max_tokens, other.max_tokens), (1000, 7))
        for part in ("url", "key", "headers", "preset"):
            self.assertEqual(getattr(other, part), getattr(usual, part), part)

    def test_a_mistake_is_found_at_start(self) -> None:
        with self.assertRaises(ConfigError) as caught:
            models({"main": {"api_url": "http://x", "api": "soap"}})
        self.assertIn("soap", str(caught.exception))


class Case(unittest.TestCase):
    def problem(self, made: Models, wanted: Any) -> Problem:
        with self.assertRaises(Problem) as caught:
            made.resolve(wanted)
        text = json.dumps(caught.exception.body())
        for secret in (KEY, THEIRS, "secret-org-id", "api.main.example"):
            self.assertNotIn(secret, text)
        return caught.exception


class Named(Case):
    def test_by_name(self) -> None:
        found = provider(models(), name="main")
        self.assertEqual(found.url, "https://api.main.example/v1/chat/completions")
        self.assertEqual((found.key, found.model, found.max_tokens), (KEY, "m-1", 1000))
        self.assertEqual((dict(found.costs), found.cost_unit), ({"total": 0.002}, "USD"))
        self.assertEqual(found.headers["X-Org"], "secret-org-id")
        self.assertFalse(found.public_only)

    def test_auto(self) -> None:
        cases: list[tuple[Models, dict[str, Any], tuple[str, str]]] = [
            (models(), {}, ("main", "m-1")),
            (models(), {"name": "auto"}, ("main", "m-1")),
            (models(), {"name": ""}, ("main", "m-1")),
            (models(), {"name": None, "api_url": "", "api_key": ""}, ("main", "m-1")),
            (models(default="other"), {}, ("other", "deepseek-chat")),
            (models(), {"model_name": "d-2"}, ("other", "d-2")),
            (models(), {"model_name": "m-9"}, ("main", "m-9")),
            (models({}), {}, ("demo", "demo")),
            (models(), {"name": "demo"}, ("demo", "demo")),
        ]
        offered = {**OTHER, "model_name": "deepseek-chat"}
        cases[4] = (models({"main": MAIN, "other": offered}, default="other"), {}, cases[4][2])
        for made, wanted, result in cases:
            with self.subTest(wanted, result=result):
                model = made.resolve(wanted)
                self.assertEqual((model.name, model.model), result)

    def test_discovered_ones_come_after_configured_ones(self) -> None:
        found = DiscoveredProviders(
            {"ollama": {"api_url": "http://127.0.0.1:1", "model_name": "l"}, "main": {}}
        )
        self.assertEqual(models({}, found=found).resolve({}).name, "ollama")
        made = models(found=found)
        self.assertEqual(made.resolve({}).name, "main")
        self.assertEqual(provider(made, name="main").key, KEY)

    def test_what_answers_where_there_is_no_other(self) -> None:
        self.assertIs(models({}).resolve({"name": "auto"}), LAST)

    def test_no_model_at_all(self) -> None:
        made = models({})
        made.fallbacks.clear()
        self.assertEqual((made.default, made.names(), made.catalog()), ("", [], []))
        for wanted in ({}, {"name": "auto"}, {"model_name": "x"}):
            with self.subTest(wanted):
                error = self.problem(made, wanted)
                self.assertEqual(error.detail, made.vendors.no_model)
        self.assertEqual(self.problem(made, {"name": "demo"}).code, "provider_unknown")

    def test_unknown(self) -> None:
        error = self.problem(models(), {"name": "mian"})
        self.assertEqual((error.code, error.status), ("provider_unknown", 422))
        self.assertIn("Did you mean 'main'", error.detail)
        for wanted in (
            {"name": "other", "model_name": "d-9"},
            {"name": "demo", "model_name": "gpt"},
        ):
            self.assertEqual(self.problem(models(), wanted).code, "provider_unknown")
        self.assertEqual(self.problem(models({}), {"model_name": "x"}).code, "provider_unknown")
        self.assertEqual(self.problem(models(default="gone"), {}).code, "provider_unknown")

    def test_what_a_session_may_say(self) -> None:
        found = provider(
            models(),
            name="main",
            model_name="m-2",
            max_tokens=50,
            cost_per_ktoken=0,
            model_settings={"seed": 2, "extra_body": {"store": True}},
            model_type={"is_reasoning": True, "is_function_call": False},
            extra_body={"store": True},
            headers={"X-Org": "mine"},
            preset="vllm",
        )
        self.assertEqual((found.model, found.max_tokens), ("m-2", 50))
        self.assertEqual(dict(found.settings), {"top_p": 0.5, "seed": 2})
        self.assertEqual((found.is_reasoning, found.is_function_call), (True, False))
        self.assertEqual(dict(found.costs), {"total": 0.002})
        self.assertEqual(found.extra_body, {"store": False})
        self.assertEqual(found.headers, {"X-Org": "secret-org-id"})
        self.assertEqual(found.preset.name, "custom")
        self.assertEqual(provider(models(), name="main", max_tokens=10**6).max_tokens, 1000)

    def test_one_model_of_several(self) -> None:
        self.assertEqual(provider(models(), name="other", model_name="d-2").max_tokens, 7)
        self.assertIsNone(provider(models(), name="other", model_name="d-1").max_tokens)

    def test_types(self) -> None:
        odd: list[Any] = [
            5,
            None,
            [],
            {"name": 5},
            {"name": "main", "model_name": []},
            {"name": "main", "model_settings": 5},
            {"name": "main", "model_type": "x"},
            {"name": "main", "max_tokens": "9"},
            {"name": "main", "max_tokens": -1},
            {"name": "main", "max_tokens": True},
            {"name": "main", "model_type": {"is_function_call": "false"}},
            {"name": "main", "model_settings": {"temperature": "float"}},
            {"api_url": {}},
        ]
        for wanted in odd:
            with self.subTest(wanted):
                error = self.problem(models(), wanted)
                self.assertEqual(error.code, "session_invalid")
                self.assertTrue(error.errors[0]["pointer"].startswith("/config/llm_api/provider"))


class Own(Case):
    def test_only_where_it_is_allowed(self) -> None:
        wanted = {"api_url": "https://api.good.example/v1", "api_key": THEIRS, "model_name": "x"}
        error = self.problem(models(), wanted)
        self.assertEqual((error.code, error.status), ("provider_not_allowed", 422))
        found = provider(models(rules=OPEN), **wanted, name="auto")
        self.assertEqual(found.url, "https://api.good.example/v1/chat/completions")
        self.assertEqual((found.key, found.headers, found.extra_body), (THEIRS, {}, {}))

    def test_a_servers_key_never_goes_to_a_sessions_address(self) -> None:
        """The leak of seed 003: only api_url is sent, the rest is merged from the server."""
        url = "https://api.good.example/v1"
        for wanted in (
            {"api_url": url},
            {"api_url": url, "model_name": "m-1"},
            {"api_url": url, "api_key": ""},
            {"api_url": url, "api_key": "  ", "model_name": "x"},
            {"name": "main", "api_url": url},
            {"name": "main", "api_url": url, "api_key": THEIRS, "model_name": "x"},
            {"name": "main", "api_key": THEIRS, "model_name": "x"},
            {"name": "demo", "api_url": url, "api_key": THEIRS, "model_name": "x"},
        ):
            for rules in (None, OPEN, {"allow": True, "hosts": ["*"]}):
                with self.subTest(wanted, rules=rules):
                    self.problem(models(rules=rules), wanted)

    def test_hosts(self) -> None:
        everyone = {"allow": True, "hosts": ["*"]}
        mixed: dict[str, Any] = {"allow": True, "hosts": ["*", "api.good.example", "10.0.0.5"]}
        cases: list[tuple[Any, str, bool | None]] = [  # None: refused; else public_only
            (OPEN, "https://api.good.example/v1", False),
            (OPEN, "https://API.GOOD.example:444/v1", False),
            (OPEN, "https://evil.example/v1", None),
            (OPEN, "https://api.good.example.evil.example/v1", None),
            (OPEN, "https://evil-api.good.example/v1", None),
            (OPEN, "https://a.wide.example/v1", False),
            (OPEN, "https://wide.example/v1", None),
            (OPEN, "https://evilwide.example/v1", None),
            (OPEN, "http://10.0.0.5:11434", False),
            (OPEN, "http://10.0.0.6:11434", None),
            (OPEN, "https://odd.example:8443/v1", False),
            (OPEN, "https://odd.example/v1", None),
            (everyone, "https://anything.example/v1", True),
            (everyone, "https://8.8.8.8/v1", True),
            (everyone, "http://anything.example/v1", None),
            (everyone, "https://localhost./v1", None),
            (everyone, "https://[::1]./v1", None),
            (mixed, "http://10.0.0.5:11434", False),
            (mixed, "https://10.0.0.6:11434", None),
            (mixed, "https://anything.example/v1", True),
            (mixed, "http://api.good.example/v1", False),
            (everyone, "http://127.0.0.1:11434", None),
            (everyone, "http://localhost:11434", None),
            (everyone, "http://[::1]:1", None),
            (everyone, "http://169.254.169.254/latest", None),
            (everyone, "http://192.168.1.1/v1", None),
            (everyone, "http://[::ffff:10.0.0.1]/v1", None),
            ({"allow": True, "hosts": []}, "https://api.good.example/v1", None),
        ]
        for rules, url, wanted in cases:
            asked = {"api_url": url, "api_key": THEIRS, "model_name": "x"}
            with self.subTest(url, hosts=rules["hosts"]):
                if wanted is None:
                    error = self.problem(models(rules=rules), asked)
                    self.assertEqual(error.code, "provider_not_allowed")
                else:
                    self.assertIs(provider(models(rules=rules), **asked).public_only, wanted)

    def test_what_sessions_may_bring(self) -> None:
        cases: list[tuple[Any, str]] = [
            ({"allow": False, "hosts": ["*"]}, "none"),
            ({"allow": True, "hosts": []}, "none"),
            (OPEN, "listed"),
            ({"allow": True, "hosts": ["*", "10.0.0.5"]}, "public"),
        ]
        for rules, wanted in cases:
            self.assertEqual(models(rules=rules).of_sessions, wanted)

    def test_incomplete(self) -> None:
        rules = {"allow": True, "hosts": ["*"]}
        cases = [
            ({"api_key": THEIRS}, "session_invalid"),
            ({"api_key": THEIRS, "api_url": "https://h.example"}, "session_invalid"),
            ({"api_key": THEIRS, "api_url": "ftp://h.example"}, "session_invalid"),
            ({"api_key": THEIRS, "api_url": "https://u:p@h.example"}, "session_invalid"),
            ({"api_url": "https://h.example", "model_name": "x"}, "session_invalid"),
            ({"api_key": THEIRS, "preset": "nonsense"}, "provider_unknown"),
        ]
        for wanted, code in cases:
            with self.subTest(wanted):
                self.assertEqual(self.problem(models(rules=rules), wanted).code, code)


class Configured(unittest.TestCase):
    def test_mistakes_are_found_at_start(self) -> None:
        cases = {
            "is not known; did you mean custom": {"preset": "costum"},
            "api_url is missing": {"model_name": "x"},
            "names a host": {"api_url": "http://"},
            "quirks": {"api_url": "http://x", "quirks": {"nonsense": True}},
            "Invalid IPv6 URL": {"api_url": "http://[::1/v1"},
        }
        for says, entry in cases.items():
            with self.subTest(says), self.assertRaisesRegex(ConfigError, says):
                models({"main": entry})

    def test_quirks_say_neither_where_to_nor_with_which_key(self) -> None:
        for name in OF_THE_ENTRY:
            for entry in (
                {"api_url": "http://x", "api_key": KEY, "quirks": {name: "http://evil.example"}},
                {"api_url": "http://x", "models": [{"name": "m", "quirks": {name: ["PATH"]}}]},
            ):
                with self.subTest(entry), self.assertRaisesRegex(ConfigError, f"{name} is no flag"):
                    models({"main": entry})

    def test_quirks(self) -> None:
        quirks = {"implicit_think": True, "tool_choice_modes": ["auto"]}
        made = models({"main": {"api_url": "http://x", "model_name": "x", "quirks": quirks}})
        preset = provider(made).preset
        self.assertTrue(preset.implicit_think)
        self.assertEqual(preset.tool_choice_modes, {"auto"})

    def test_costs(self) -> None:
        costs = {"input": 1, "output": 2.5, "cached": 0.1, "nonsense": 3}
        made = models({"main": {**MAIN, "costs": costs}})
        self.assertEqual(dict(provider(made).costs), {"input": 1, "output": 2.5, "cached": 0.1})

    def test_a_session_does_not_change_the_owners_price(self) -> None:
        made = models({"main": {**MAIN, "cost_per_ktoken": 0.5, "cost_unit": "USD"}})
        own: tuple[dict[str, Any], ...] = (
            {"cost_per_ktoken": 0.001, "cost_unit": "EUR"},
            {"costs": {"input": 0, "output": 0}},
        )
        for each in own:
            with self.subTest(each):
                found = provider(made, name="main", **each)
                self.assertEqual((dict(found.costs), found.cost_unit), ({"total": 0.5}, "USD"))

    def test_a_price_is_never_negative_nor_beyond_counting(self) -> None:
        for value in (-1, -1e308, 10**400, True, "1"):
            costs = {"input": value, "output": 2}
            made = models({"main": {**MAIN, "cost_per_ktoken": None, "costs": costs}})
            self.assertEqual(dict(provider(made).costs), {"output": 2})
            with self.assertRaises(Problem) as caught:
                models().resolve({"name": "main", "costs": costs})
            place = caught.exception.errors[0]["pointer"]
            self.assertTrue(place.endswith("/provider/costs/input"))

    def test_the_catalog_has_no_secret(self) -> None:
        catalog = models().catalog()
        text = json.dumps(catalog)
        for secret in (KEY, "sk-other", "secret-org-id", "api.main.example", "http"):
            self.assertNotIn(secret, text)
        self.assertEqual([item["name"] for item in catalog], ["main", "other", "demo"])
        self.assertEqual([item.get("default") for item in catalog], [True, None, None])
        main, other, demo = catalog
        self.assertEqual((main["preset"], main["max_context"]), ("custom", 8000))
        self.assertEqual(other["models"], ["d-1", "d-2"])
        self.assertTrue(demo["demo"])

    def test_facts(self) -> None:
        facts = models().resolve({}).facts
        self.assertEqual((facts["max_context"], facts["max_tokens"]), (8000, 1000))


class Later(unittest.TestCase):
    def test_nothing_of_a_session_stays(self) -> None:
        """The name of a model may be as long as a session may be large."""
        made = models(default="main")
        model = made.resolve({"name": "main", "model_name": None})
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        self.assertIn("main", made.names())

    def test_what_comes_later_counts(self) -> None:
        made = models({})
        self.assertEqual(made.resolve({}).name, "demo")
        entry = {"api_url": "http://127.0.0.1:9/v1", "model_name": "m", "api_key": KEY}
        made.add(DiscoveredProviders({"found": entry}))
        self.assertEqual(made.resolve({}).name, "found")


class Called(unittest.IsolatedAsyncioTestCase):
    async def test_peers_are_shared_between_sessions(self) -> None:
        """What one session learnt about an endpoint (a refused field) the next one knows."""
        refusal = answer(b'{"error":"unknown field stream_options"}', "400 No")
        client = Client()
        async with serving(refusal, answer(sse(said("hey"), STOP))) as server:
            entry = {"api_url": server.url, "model_name": "m", "api_key": KEY}
            made = Models({"providers": {"main": entry}}, client, {})
            for _ in range(2):
                stream = made.resolve({}).api.stream([], [], options())
                self.assertEqual([e async for e in stream][-1]["type"], "TEXT_MESSAGE_END")
        self.assertEqual(
            ["stream_options" in r.json for r in server.requests], [True, False, False]
        )
        await client.close()

    async def test_what_one_key_taught_another_does_not_know(self) -> None:
        """A key could make an endpoint refuse a field, and take it from all others."""
        refusal = answer(b'{"error":"unknown field stream_options"}', "400 No")
        good = answer(sse(said("hey"), STOP))
        client = Client()
        async with serving(refusal, good) as server:
            entry = {"api_url": server.url, "model_name": "m", "api_key": KEY}
            made = Models({"providers": {"main": entry}}, client, {})
            for owner in ("bob", "bob", "ann", ""):
                stream = made.resolve({}, owner).api.stream([], [], options())
                self.assertEqual([e async for e in stream][-1]["type"], "TEXT_MESSAGE_END")
        self.assertEqual(
            ["stream_options" in r.json for r in server.requests], [True, False, False, True, True]
        )
        await client.close()

    def test_an_interval_is_of_one_session_of_one_key(self) -> None:
        """Whatever it calls; sessions that were POSTed again are the same ones."""
        rules = {"allow": True, "hosts": ["*"]}
        entry = {"api_url": "http://h/v1", "model_name": "m", "api_key": KEY}
        providers = {"main": entry, "other": entry}
        made = Models({"client_providers": rules, "providers": providers}, Client(), {})
        brought = {"api_url": "https://far.example/v1", "api_key": THEIRS, "model_name": "x"}
        waits = {}
        for owner in ("", "ann", "bob"):
            for name, provider in (("main", {}), ("other", {"name": "other"}), ("own", brought)):
                api = made.resolve(provider, owner).api
                assert isinstance(api, RemoteAPI)
                waits[owner, name] = api._peer.pace.wait("s1", 1000)
        self.assertEqual([round(wait, -2) for wait in waits.values()], [0, 1000, 2000] * 3)

    async def test_public_only_reaches_the_client(self) -> None:
        """A name that leads into this machine, allowed by `*`: refused when it is resolved."""
        async with serving(answer(sse(said("hey"), STOP))) as server:
            rules = {"allow": True, "hosts": ["*"]}
            client = Client()
            made = Models({"client_providers": rules}, client, {})
            for host in ("localhost.", "127.1", "0x7f000001"):
                url = f"https://{host}:{server.port}/v1"
                wanted = {"api_url": url, "api_key": THEIRS, "model_name": "x"}
                with self.subTest(host):
                    try:
                        stream = made.resolve(wanted).api.stream([], [], options())
                        self.assertEqual([e async for e in stream][-1]["type"], "RUN_ERROR")
                    except Problem as problem:
                        self.assertEqual(problem.code, "provider_not_allowed")
            self.assertEqual(server.requests, [])
            await client.close()


if __name__ == "__main__":
    unittest.main()
