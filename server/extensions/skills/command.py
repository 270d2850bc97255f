"""The commands `skills list` and `skills check FOLDER`: what models see of skills, or why not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...api.auth import owners
from ...cli.console import FAILED
from ...config import Config, ConfigError, expand_path
from ...context.budget import estimate
from ...lib.agent_skills.folder import FILE, SkillError, content_hash, files_of
from ...lib.agent_skills.front_matter import read_front_matter
from ...lib.hidden_characters import visible
from ...telemetry import log
from .catalog import Skill, SkillCatalog, read_skill

LONG_TOKENS = 5_000  # of instructions; the standard recommends fewer
MANY_LINES = 500
MOST_NAMED = 20


def perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Print what models see of all skills, or of one. Raises ConfigError without its folder."""
    log.setup("error")
    if options.action == "check" and not options.folder:
        raise ConfigError("skills check needs the folder of a skill: skills check FOLDER")
    if options.action == "list":
        lines, fine = list_skills(config)
    else:
        lines, fine = check_skill(expand_path(options.folder, "FOLDER"))
    print("\n".join(lines))
    return 0 if fine else FAILED


def list_skills(config: Config) -> tuple[list[str], bool]:
    """Return lines for a terminal, and whether every skill that was found is used."""
    server = config.server
    catalog = SkillCatalog(
        config.home,
        server["skills"]["folders"],
        owners(server["api_keys"], home_key=server["home_key"]),
    )
    found, problems = catalog.of(), catalog.problems()
    lines = []
    for skill in found.values():
        hidden = "  HIDDEN CHARACTERS" if skill.about.hidden else ""
        lines += [f"{skill.name}{hidden}", f"  {visible(skill.about.description)}"]
        lines += [f"  in       {skill.given}"]
    if not found:
        places = ", ".join(source.given for source in catalog.sources())
        lines.append(f"no skill in {places} (skills/ is in the home folder {config.home})")
    lines += ["", *(f"not used  {each}" for each in problems)] if problems else [""]
    lines.append(f"{len(found)} to use, {len(problems)} not used")
    return lines, not problems


def check_skill(path: Path) -> tuple[list[str], bool]:
    """Return lines for a terminal, and whether the skill can be used. `path`: its folder or file.

    Remarks do not make a skill unusable; hidden characters do, until somebody has looked at them.
    """
    folder = path.parent if path.name == FILE else path
    if not folder.is_dir():
        return [f"there is no folder {folder}"], False
    try:
        skill = read_skill(folder.absolute(), "folder", folder.name)
        lines = list(_describe(skill))
    except SkillError as error:
        return [f"refused  {visible(str(error))}"], False
    return lines, not skill.about.hidden


def _describe(skill: Skill) -> Iterator[str]:
    """Yield lines about a skill. Raises SkillError."""
    about = skill.about
    body = read_front_matter(about.text).body
    files, left_out = files_of(skill.folder)
    yield about.name
    yield f"  {visible(about.description)}"
    yield f"  listed   {estimate(f'- {about.name}: {about.description}')} tokens in each prompt"
    yield f"  text     {estimate(body)} tokens when it is loaded, {body.count(chr(10)) + 1} lines"
    if about.compatibility:
        yield f"  needs    {visible(about.compatibility)}"
    if about.allowed_tools:
        yield f"  tools    {visible(about.allowed_tools)} (allowed-tools permits nothing here)"
    others = [each for each in files if each.path != FILE]
    for each in others[:MOST_NAMED]:
        program = ", a program" if each.executable else ""
        yield f"  file     {visible(each.path)}, {each.size} bytes{program}"
    if len(others) > MOST_NAMED:
        yield f"  file     and {len(others) - MOST_NAMED} more"
    yield f"  hash     {content_hash(skill.folder)}"
    for text in (*about.remarks, *left_out, *_advice(body)):
        yield f"  better   {visible(text)}"
    for name, number in about.hidden.items():
        yield f"  hidden   {number} x {name}: nobody who reads the file sees this"
    for number, line in enumerate(about.text.splitlines(), 1):
        if visible(line) != line and about.hidden:
            yield f"           line {number}: {visible(line)[:200]}"


def _advice(body: str) -> Iterator[str]:
    if estimate(body) > LONG_TOKENS or body.count("\n") > MANY_LINES:
        yield "shorter instructions, with references/ for the rest, which is read when it is needed"
