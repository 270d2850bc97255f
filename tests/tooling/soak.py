"""`python3 -m tests soak`: what takes too long for the suite, in parts that run one after another.

`--minutes` ends it: no part begins after them, and after MINUTES without a number, as in `.ci/run`.
`--turn` chooses which part is the first, so that runs of successive commits play all parts in
turns, and it is the seed of what is random.
"""

from __future__ import annotations

import math
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import command, lanes, tools
from .lanes import Lane
from .report import Console, Outcome, Skip

# Set: walks that need one engine run in the second (walks.py).
SECOND_ENGINE = "TESTS_SECOND_ENGINE"
# Set: late parts of the page come late, by this seed; its scripts run so many times slower.
LATE, SLOW = "TESTS_LATE", "TESTS_SLOW"
MINUTES = 25.0
STEP = 8  # parts from the first of a commit to that of the next: about what MINUTES play
SILENCE_S = 1_800
SHARED = (  # the suite plays a share of them (turns.py)
    "tests.agent.test_loop",
    "tests.agent.test_run_workspace",
    "tests.bench.test_context",
    "tests.bench.test_people",
    "tests.bench.test_smoke",
    "tests.browser.test_main_flow",
    "tests.browser.test_preview_leaks",
    "tests.chaos.test_cut",
    "tests.chaos.test_file_simulator",
    "tests.chaos.test_files",
    "tests.chaos.test_full_disk",
    "tests.chaos.test_kill",
    "tests.chaos.test_memory",
    "tests.chaos.test_page",
    "tests.chaos.test_scarcity",
    "tests.chaos.test_simulator",
    "tests.chaos.test_soak",
    "tests.chaos.test_stop",
    "tests.chaos.test_unwritable",
    "tests.cli.test_environments",
    "tests.cli.test_overlay",
    "tests.context.test_compact",
    "tests.extensions.agui.interop.test_thread",
    "tests.extensions.autoai.test_mission",
    "tests.extensions.gateway.test_mission",
    "tests.extensions.keeper.test_night",
    "tests.extensions.keeper.test_storm",
    "tests.extensions.library.test_mission",
    "tests.extensions.mcp.interop.test_conformance",
    "tests.extensions.mcp.interop.test_peers",
    "tests.extensions.mcp.test_hostile",
    "tests.extensions.openai.interop.test_frameworks",
    "tests.extensions.openai.interop.test_repeats",
    "tests.extensions.pack.interop.test_pyz",
    "tests.extensions.packages.test_mission",
    "tests.extensions.rest.test_mission",
    "tests.extensions.test_folders",
    "tests.interop.test_first_start",
    "tests.interop.test_nginx",
    "tests.interop.test_project",
    "tests.interop.test_pythons",
    "tests.interop.test_release",
    "tests.interop.test_small_model",
    "tests.mission.test_configuration",
    "tests.mission.test_context",
    "tests.mission.test_tools",
    "tests.models.test_chat_decoder",
    "tests.models.test_pictures",
    "tests.sandbox.test_battery",
    "tests.sandbox.test_kept_processes",
    "tests.sandbox.test_limits",
    "tests.sandbox.test_tiers",
    "tests.session.test_sanitize",
    "tests.session.test_session_schema",
    "tests.telemetry.test_redact",
    "tests.test_app",
    "tests.test_costs",
    "tests.test_growth",
    "tests.test_main",
    "tests.test_resume",
    "tests.test_start_folder",
    "tests.tooling.test_interrupted",
    "tests.tools.builtin.test_edits",
    "tests.tools.test_runner",
    "tests.tools.test_tool_files",
    "tests.workspace.test_escapes",
    "tests.workspace.test_guard",
    "tests.workspace.test_guard_gitdirs",
)


class Part(NamedTuple):
    """What is run, with `env` set for it; `{turn}` in both is the seed.

    command  a module with its arguments, `node …`, `suite MODULE` of tests, or
             `walks BROWSER N/OF`, a share of the modules of walks
    """

    name: str
    command: str
    env: dict[str, str] = {}


def _walks(name: str, browser: str, shares: int, env: dict[str, str]) -> list[Part]:
    numbers = range(1, shares + 1)
    return [Part(f"{name} {n}/{shares}", f"walks {browser} {n}/{shares}", env) for n in numbers]


PARTS = (
    *_walks("walks in Firefox", "firefox", 4, {SECOND_ENGINE: "1"}),
    *_walks("late parts of the page", "chromium", 4, {LATE: "{turn}"}),
    *_walks("slow page", "chromium", 8, {SLOW: "6"}),
    *(Part(f"fuzz {each}", f"-m tests.fuzz {each} --seconds 120 --seed {{turn}}")
      for each in ("parser", "intake", "mcp", "answers")),
    Part("chaos", "-m tests.chaos --runs 60 --seed {turn}"),
    Part("chaos, unasked", "-m tests.chaos --unasked --runs 60 --seed {turn}"),
    Part("simulator", "-m tests.chaos.simulator --share 1/400 --seed {turn}"),
    Part("simulator, random", "-m tests.chaos.simulator --share 1/9999 --random 200 --seed {turn}"),
    Part("cuts", "-m tests.chaos.cuts --cuts 500 --seed {turn}"),
    Part("files", "-m tests.chaos.files --stories 8 --seed {turn}"),
    Part("file simulator", "-m tests.chaos.file_simulator --stories 200 --seed {turn}"),
    Part("scarcity", "-m tests.chaos.scarcity --stride 7"),
    Part("unwritable", "-m tests.chaos.unwritable --stride 7"),
    Part("crowd", "-m tests.chaos.crowd --minutes 4 --seed {turn}"),
    Part("crowd, TLS", "-m tests.chaos.crowd --minutes 2 --seed {turn} --tls"),
    Part("people", "-m tests.bench.people --rounds 5"),
    Part("kept sessions", "-m tests.extensions.keeper.bench --kib 100"),
    Part("streams", "-m tests.chaos.soak --seconds 60 --seed {turn}"),
    Part("bad line", "-m tests.browser.bad_line chromium"),
    Part("bad line, firefox", "-m tests.browser.bad_line firefox --sample"),
    Part("bad line, changes", "-m tests.browser.test_bad_line_routes table"),
    *(Part(f"bad line, walk in {each}",
           f"-m tests.browser.bad_line {each} --walk --seconds 240 --seed {{turn}}")
      for each in ("chromium", "firefox")),
    Part("two tabs", "node --test tests/client/two-tabs.test.js",
         {"STORIES": "3000", "SEED": "{turn}"}),
    *(Part(f"two tabs, {each}",
           f"-m tests.browser.test_tab_stories {each} --stories 30 --seed {{turn}}")
      for each in ("chromium", "firefox")),
    Part("bench", "-m tests.bench"),
    Part("whole client", " ".join(["node --test", *(f"tests/client/{name}.test.js" for name in (
        "branch-tree", "file-edit", "fold", "import-chat-apps", "invisible", "sanitize",
        "session-import"))])),
    *(Part(f"whole {name.removeprefix('tests.').replace('test_', '')}", f"suite {name}")
      for name in SHARED),
)  # fmt: skip
# Parts that were seen green three times: the others have no turn yet.
PROVEN = (
    "fuzz parser",
    "fuzz intake",
    "fuzz mcp",
    "fuzz answers",
    "whole agent.loop",
    "whole agent.run_workspace",
    "whole chaos.cut",
    "whole chaos.file_simulator",
    "whole chaos.page",
    "whole extensions.gateway.mission",
    "whole mission.context",
    "whole mission.tools",
    "whole models.chat_decoder",
    "whole telemetry.redact",
)
ASIDE = {
    part.name: "it was not seen green three times yet" for part in PARTS if part.name not in PROVEN
}


def walks(share: str) -> list[str]:
    """Return the modules of walks of a share, such as 1/4."""
    number, of = map(int, share.split("/"))
    return lanes.modules("browser")[number - 1 :: of]


def in_turn(parts: Sequence[Part], turn: int) -> list[Part]:
    """Return the parts, those that take long apart, beginning with one that the turn chooses."""
    mixed = sorted(parts, key=lambda part: zlib.crc32(part.name.encode()))
    step = next(each for each in range(STEP, 0, -1) if math.gcd(each, len(parts)) == 1)
    first = turn * step % max(1, len(parts))
    return mixed[first:] + mixed[:first]


def lane(
    minutes: float = math.inf,
    turn: int = 0,
    parts: Sequence[Part] = PARTS,
    aside: Mapping[str, str] = ASIDE,
) -> Lane:
    """A lane of the parts, beginning with that of the turn. `aside`: those that have no turn, by
    their names, and why; they are played where there is no end."""
    waits = [part for part in parts if minutes < math.inf and part.name in aside]
    order = in_turn([part for part in parts if part not in waits], turn)
    end = time.monotonic() + 60 * minutes

    def run(console: Console, outcome: Outcome, limit_s: float) -> None:
        played, left = list[str](), list[str]()
        for part in [*order, *waits]:
            if command.interrupted():
                return
            if part in waits or time.monotonic() >= end:
                why = aside[part.name] if part in waits else f"{minutes:g} minutes were over"
                by = "run `python3 -m tests soak --part NAME`"
                outcome.skips.append(Skip(part.name, f"{why}: {by}"))
                left.append(part.name)
                continue
            console.line("soak", f"begins: {part.name}")
            failures = len(outcome.failures)
            _play(part, turn, console, outcome, limit_s)
            red = " (FAILED)" if len(outcome.failures) > failures else ""
            played.append(f"{part.name}{red}")
        console.line("soak", f"played: {'; '.join(played)}")
        console.line("soak", f"not played: {'; '.join(left)}")

    return Lane("soak", "what takes long", lambda: [run], SILENCE_S)


def _play(part: Part, turn: int, console: Console, outcome: Outcome, limit_s: float) -> None:
    words = part.command.format(turn=turn).split()
    env = {name: value.format(turn=turn) for name, value in part.env.items()}
    if words[0] == "suite":
        lanes.run_suite(console, outcome, limit_s, words[1:])
    elif words[0] == "walks":
        names = walks(words[2])
        os.environ |= env
        lanes.run_suite(console, outcome, limit_s, names, rf"\.test_{words[1]}$")
        for name in env:
            del os.environ[name]
    else:
        start = [] if words[0] == "node" else [str(tools.python()), "-W", "error"]
        sets = ["env", *(f"{name}={value}" for name, value in env.items())]
        lanes.expect_zero(console, outcome, limit_s, part.name, [*sets, *start, *words])
