"""The official conformance tests of MCP's clients."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

from ....tooling import patience, tools, turns
from ....tooling.child import Child

CLIENT = "tests.extensions.mcp.interop.mcp_client"
IN_TURN = Path(__file__).with_name("in_turn.py")
CONFORMANCE = tools.package("@modelcontextprotocol/conformance")
SUITES = ("core", "extensions", "backcompat", "draft")
WHOLE_S = 240.0  # of a suite: 20 on an idle machine
NODE = str(tools.program_node().path)

SCENARIOS = (
    *("initialize", "tools_call", "sse-retry", "request-metadata"),
    "elicitation-sep1034-client-defaults",
    *("sep-2322-client-request-state", "http-standard-headers", "http-custom-headers"),
    *("http-invalid-tool-headers", "json-schema-ref-no-deref"),
    "json-schema-2020-12-preservation",
    *("sep-2640-client-no-prefetch", "sep-2640-client-verify-digest"),
    *("sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"),
)
# Checks of what this client does not do: roots, sampling, the handshake of the legacy era.
SKIPPED = {
    "request-metadata": ["declares valid roots capability", "declares valid sampling capability"],
    "http-standard-headers": ["on initialize request", "on notifications/initialized request"],
}
# Tokens that are bound to a key, and clients that sign in with one: not built.
NOT_BUILT = ("auth/dpop", "auth/dpop-nonce", "auth/client-credentials-jwt")
# Those of every revision, and of the extensions.
SIGN_IN = (
    *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd"),
    *("scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"),
    *("scope-step-up", "scope-retry-limit", "pre-registration", "resource-mismatch"),
    *("token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none"),
    *("2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"),
    *("offline-access-scope", "offline-access-not-supported", "authorization-server-migration"),
    *("iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer"),
    *("iss-unexpected", "iss-normalized", "metadata-issuer-mismatch", "client-credentials-basic"),
    *("enterprise-managed-authorization", "wif-jwt-bearer"),
)


class Conformance(unittest.TestCase):
    place: ClassVar[str] = ""

    def run_suite(self, *arguments: str) -> tuple[int, str]:
        """(exit code, what it said)"""
        older = Path(__file__).with_name("older_node.mjs").as_uri()
        suite = str((CONFORMANCE.path or Path()) / "dist" / "index.js")
        with tempfile.TemporaryFile() as out:
            command = [NODE, "--import", older, suite, *arguments]
            done = subprocess.run(
                command,
                cwd=tools.ROOT,
                stdout=out,
                stderr=out,
                timeout=patience.seconds(WHOLE_S),
                check=False,
            )
            out.seek(0)
            return done.returncode, out.read().decode("utf-8", "replace")

    def client(self) -> str:
        """The place where the client serves, which is started once."""
        if not self.place:
            folder = self.enterClassContext(tempfile.TemporaryDirectory())
            place = f"{folder}/client"
            child = Child([sys.executable, "-m", CLIENT, place])
            self.addClassCleanup(child.stop)
            child.wait_for("READY", 60)
            type(self).place = place
        return self.place

    def checks(self, *chosen: str) -> dict[str, Any]:
        """Run scenarios of clients; the checks by the scenario."""
        with tempfile.TemporaryDirectory() as folder:
            patient = str(round(patience.seconds(WHOLE_S) * 1000))
            command = f"{sys.executable} -I -S {IN_TURN} {self.client()}"
            more = ("--timeout", patient, "-o", folder, "--command", command)
            code, said = self.run_suite("client", *chosen, *more)
            found = {}
            for file in Path(folder).rglob("checks.json"):
                name = re.sub(r"-\d{4}-\d\d-[\dTZ-]+$", "", str(file.parent.relative_to(folder)))
                found[name] = json.loads(file.read_text())
            self.assertEqual(bool(code), any(name in found for name in NOT_BUILT), said[-3000:])
            return found

    @tools.needs(CONFORMANCE)
    def test_scenarios(self) -> None:
        """None fails, and no check is skipped, which would pass as well, but those of SKIPPED.
        One Node.js runs a suite: its scenarios are open at once, their clients come in turn."""
        wanted = (*SCENARIOS, *(f"auth/{name}" for name in SIGN_IN))
        found: dict[str, Any] = {}
        for suite in turns.share(SUITES, 2):
            found |= self.checks("--suite", suite)
        self.assertTrue(found)
        for scenario in wanted if turns.whole() else [each for each in wanted if each in found]:
            with self.subTest(scenario):
                if scenario not in found:  # no suite has it
                    found |= self.checks("--scenario", scenario)
                checks = found[scenario]
                self.assertTrue(checks)
                self.assertNotIn("FAILURE", [c["status"] for c in checks], checks)
                skipped = [c["description"] for c in checks if c["status"] == "SKIPPED"]
                expected = SKIPPED.get(scenario, [])
                self.assertEqual(len(skipped), len(expected), skipped)
                for words, described in zip(expected, skipped, strict=True):
                    self.assertIn(words, described)

    @tools.needs(CONFORMANCE)
    def test_all_scenarios_of_clients_are_run(self) -> None:
        code, said = self.run_suite("list")
        self.assertEqual(code, 0, said)
        _, _, listed = said.partition("Client scenarios")
        listed, _, _ = listed.partition("\n\n")
        names = re.findall(r"^ +- (\S+)", listed, re.MULTILINE)
        built = [*SCENARIOS, *(f"auth/{name}" for name in SIGN_IN)]
        self.assertEqual(sorted(names), sorted([*built, *NOT_BUILT]))


if __name__ == "__main__":
    unittest.main()
