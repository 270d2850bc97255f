"""Read command lines of a shell, as far as rules about them need it.

`covers` says whether a pattern that allows covers a command line, `forms` what a pattern that
denies is compared with. client/js/core/shell-commands.js repeats what `covers` needs; both are held
to tests/vectors/rules.json. Nothing is expanded and nothing is run. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from ..session.agent_definition import fits

# -- patterns that allow --------------------------------------------------------------------------
# A wildcard covers arguments of one program. It covers no sign that begins another command, and no
# word that makes the program run another one.

SIGNS = ";&|<>$()`\n"
_IN_QUOTES = "$`"  # signs that mean something between double quotes, too
_PIECE = re.compile(
    r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[ \t]+|[^\\'\" \t\n;&|<>$()`]+|.",
    re.S,
)
_MEANS = re.compile(r"[\\'\";&|<>$()`\n]")
_QUOTED = re.compile(r"\\.|.", re.S)
# Redirections that write nothing and begin nothing count as if they were not there.
_UNSEEN = re.compile(r"(?<=[ \t])[12]?>(?:&[12]|>?[ \t]?/dev/null)(?=[ \t\n;&|]|$)")
_WILD = re.compile(r"\[([*?\[])\]|\[!?\]?[^\]]*\]|[*?]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")

# Programs whose arguments are programs or code.
RUNNERS = frozenset(
    "sh bash dash ash zsh ksh fish csh tcsh busybox eval exec source . command builtin trap"
    " python python2 python3 pypy pypy3 ipython perl ruby node nodejs deno bun php lua luajit tclsh"
    " osascript pwsh awk gawk mawk nawk sed ed ex vi vim nvim emacs gdb lldb expect"
    " env sudo doas su runuser xargs parallel nohup time timeout nice ionice chrt taskset setsid"
    " stdbuf unbuffer script watch entr flock strace ltrace valgrind perf chroot unshare nsenter"
    " setpriv systemd-run crontab at batch tmux screen ssh scp sftp socat nc ncat"
    " npx bunx uvx pipx docker podman kubectl".split()
)
_NUMBERED = re.compile(r"(python|pypy|ruby|perl|lua|node)[\d.]*")
# Words of other programs that make them run another one. A long option counts in any short form.
OPTIONS = {
    "find": "-exec -execdir -ok -okdir",
    "fd": "-x -X --exec --exec-batch",
    "rg": "--pre --hostname-bin",
    "tar": "-I -F --to-command --checkpoint-action --use-compress-program --rsh-command"
    " --info-script --new-volume-script",
    "rsync": "-e --rsh --rsync-path",
    "sort": "--compress-program",
    "man": "-P -H --pager --html",
    "make": "-f -C -I --file --makefile --eval --directory --include-dir",
    "npm": "exec x explore config",
    "pnpm": "exec dlx config",
    "yarn": "exec dlx config",
    "uv": "run tool",
    "go": "run generate -exec -toolexec",
    "cargo": "--config",
    "zip": "-TT --unzip-command",
}
_GIT_PLAIN = frozenset("--no-pager -P --version --help -v -h --no-optional-locks".split())
_GIT_VALUES = frozenset("-C -c --git-dir --work-tree --namespace --config-env".split())
_GIT_COMMANDS = frozenset(
    "config difftool mergetool filter-branch bisect submodule instaweb send-email hook".split()
)
_GIT_OPTIONS = "--exec --extcmd --upload-pack --receive-pack --open-files-in-pager --ext-diff"
_GIT_LETTERS = {"rebase": "x", "grep": "O", "clone": "u"}


@dataclass
class Pieces:
    """A command line in pieces.

    signs: each of SIGNS in it, with whether the shell would act on it.
    commands: the words of its simple commands, without quotes.
    closed: whether all quotes are closed.
    """

    signs: list[tuple[str, bool]] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=lambda: [[]])
    closed: bool = True


def lex(text: str) -> Pieces:
    """Return a command line in pieces."""
    if not _MEANS.search(text):
        return Pieces(commands=[[word for word in text.replace("\t", " ").split(" ") if word]])
    found = Pieces()
    word: str | None = None
    for match in _PIECE.finditer(_UNSEEN.sub("", text)):
        piece = match[0]
        if piece in SIGNS and piece not in "<>$" or piece.isspace() or piece in ("<", ">"):
            if word is not None:
                found.commands[-1].append(word)
            word = None
            if not piece.isspace() or piece == "\n":
                found.signs.append((piece, True))
                if piece not in "<>":
                    found.commands.append([])
            continue
        value = piece
        if piece[0] == "\\":
            value = "" if piece[1:] == "\n" else piece[1:]
            found.signs += [(sign, False) for sign in piece if sign in SIGNS]
            found.closed &= len(piece) == 2
        elif piece[0] == '"' and len(piece) > 1:
            parts = _QUOTED.findall(piece[1:-1])
            value = "".join(part[-1] for part in parts)
            found.signs += [(p[-1], p in _IN_QUOTES) for p in parts if p[-1] in SIGNS]
        elif piece[0] == "'" and len(piece) > 1:
            value = piece[1:-1]
            found.signs += [(sign, False) for sign in value if sign in SIGNS]
        elif piece in "'\"":
            found.closed = False
        elif piece == "$":
            found.signs.append((piece, True))
        word = (word or "") + value
    if word is not None:
        found.commands[-1].append(word)
    return found


def runs_others(words: list[str]) -> list[str]:
    """Return the words of a simple command that make it run another program or code."""
    found = []
    at = 0
    while at < len(words) and _ASSIGNMENT.match(words[at]):
        found.append(words[at])
        at += 1
    if at == len(words):
        return found
    program, rest = words[at].rpartition("/")[2], words[at + 1 :]
    if program in RUNNERS or _NUMBERED.fullmatch(program):
        return [*found, program]
    if program == "git":
        return found + _of_git(rest)
    options = OPTIONS.get(program, "").split()
    if program == "make":  # it may set SHELL
        found += [word for word in rest if _ASSIGNMENT.match(word)]
    return found + [word for word in rest if any(_is_option(word, each) for each in options)]


def _of_git(rest: list[str]) -> list[str]:
    found = []
    at = 0
    while at < len(rest) and rest[at].startswith("-"):  # options before the command
        end = at + (2 if rest[at] in _GIT_VALUES else 1)
        found += [] if rest[at] in _GIT_PLAIN else rest[at:end]
        at = end
    command = rest[at] if at < len(rest) else ""
    found += [command] if command in _GIT_COMMANDS else []
    letter = _GIT_LETTERS.get(command)
    for word in rest[at + 1 :]:
        short = letter and re.match(rf"-[A-Za-z]*{letter}", word)
        if short or "ext::" in word or any(_is_option(word, o) for o in _GIT_OPTIONS.split()):
            found.append(word)
    return found


def _is_option(word: str, option: str) -> bool:
    """Return whether a word is this option: with a value, or in a short form of a long one."""
    if option.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 3 and option.startswith(name)
    return word == option or (len(option) == 2 and option[0] == "-" and word.startswith(option))


def covers(text: str, pattern: str) -> bool:
    """Return whether a pattern that allows covers a command line.

    Without a wildcard that is this very text. A wildcard covers no sign of the shell that acts, no
    program and no word that makes a program run another one.
    """
    if not fits(text, pattern):
        return False
    wanted = _read_pattern(pattern)
    if wanted is None:
        return True
    signs, runners = wanted
    pieces = lex(text)
    if not pieces.closed:
        return False
    if pieces.signs != signs and (signs or any(acts for _, acts in pieces.signs)):
        return False
    return _runners(pieces) == runners


@lru_cache(maxsize=256)
def _read_pattern(pattern: str) -> tuple[list[tuple[str, bool]], list[str]] | None:
    """Return the signs of a pattern and its words that run programs; None without a wildcard."""
    wild = False

    def literal(match: re.Match[str]) -> str:
        """Return the text of a quoted sign, `*` for a wildcard."""
        nonlocal wild
        wild = wild or match[1] is None
        return match[1] or "*"

    pieces = lex(_WILD.sub(literal, pattern))
    return (pieces.signs, _runners(pieces)) if wild else None


def _runners(pieces: Pieces) -> list[str]:
    return [word for words in pieces.commands for word in runs_others(words)]


# -- commands that only look ----------------------------------------------------------------------

LOOKS = frozenset(
    "ls cat head tail wc nl grep egrep fgrep rg find fd stat file du df pwd cd echo printf true"
    " sort cut tr column diff cmp comm which basename dirname realpath readlink date test".split()
)
GIT_LOOKS = frozenset(
    "status diff log show blame shortlog ls-files ls-tree cat-file grep rev-parse rev-list describe"
    " merge-base diff-tree name-rev whatchanged".split()
)
# The options with which these write, abbreviated or in a row of letters, too.
_WRITES = {
    "find": re.compile(r"-(delete|fprint|fls)"),
    "sort": re.compile(r"-[^-]*o|--o"),
    "date": re.compile(r"-[^-]*s|--s"),
    "file": re.compile(r"-[^-]*C|--c"),
    "git": re.compile(r"--ou"),
}


def only_looks(text: str) -> bool:
    """Return whether a command line, as far as it is known here, only reads files and prints.

    It keeps no program in bounds: it saves questions where a sandbox does that.
    """
    pieces = lex(text)
    commands = [words for words in pieces.commands if words]
    signs = {sign for sign, acts in pieces.signs if acts}
    known = bool(commands) and pieces.closed and signs <= set("|;&\n")
    return known and all(map(_looks, commands))


def _looks(words: list[str]) -> bool:
    program, rest = words[0], words[1:]
    writes = _WRITES.get(program)
    if runs_others(words) or (writes and any(map(writes.match, rest))):
        return False
    if program == "git":
        return next((word for word in rest if word not in _GIT_PLAIN), "") in GIT_LOOKS
    return program in LOOKS


# -- patterns that deny ---------------------------------------------------------------------------
# A denial holds if any simple command in the line matches: behind `;` or a pipe, in `$(…)`, in
# `sh -c '…'`, behind `sudo` or an assignment, and however it is quoted.

MAX_TEXT = 100_000  # characters of a line that is read
MAX_DEPTH = 12
MAX_SUM = 10_000  # characters of one `$((…))`
MAX_WORK = 1_000_000  # characters of all forms
_STARTS = frozenset("if then else elif while until do ! { time coproc".split())
_SHELLS = frozenset("sh bash dash ash zsh ksh".split())
# They run the words that follow, after options of their own.
_WRAPPERS = frozenset(
    "env sudo doas runuser xargs parallel nohup time timeout nice ionice chrt taskset setsid stdbuf"
    " unbuffer flock strace ltrace chroot unshare nsenter setpriv systemd-run command builtin exec"
    " busybox watch".split()
)
_OWN_WORD = frozenset(("flock", "chroot", "taskset", "chrt", "ssh"))  # one word before the program
_SCRIPTS = frozenset(
    "eval trap ssh watch su script runuser flock env".split()
)  # their words are code
_NUMBER = re.compile(r"\d+(\.\d+)?[smhd]?")
_PLAIN = re.compile(r"[^\s;&|<>$()`\\'\"#*?\[{]+")
_SINGLE = re.compile(r"'([^']*)'|\$'((?:[^'\\]|\\.)*)'", re.S)
_DOUBLE = re.compile(r"((?:[^\"\\$`]|\\.)*)([\"$`])", re.S)  # up to its end or an expansion
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.S)
_BRACES = re.compile(r"\$\{((?:[^{}\\]|\\.|\{[^{}]*\})*)\}", re.S)
_REDIRECTION = re.compile(r"&?[<>]+[&|]?")
_HERE_DOCUMENT = re.compile(r"<<(-?)[ \t]*([^\s;&|<>()]+)")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.S)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\033",
}


class Unreadable(Exception):
    """Raised for a command line whose programs cannot be told without running it."""


@dataclass
class _Document:
    """A here-document. `tabs`: those at the beginning of a line do not count."""

    name: str
    expands: bool
    tabs: bool
    is_script: bool = False


@dataclass
class Word:
    """A word without its quotes. `expands`: the shell would put something else in its place."""

    text: str = ""
    expands: bool = False


def forms(text: str) -> list[str]:
    """Return what a pattern that denies is compared with: the line, and its simple commands.

    Each simple command stands there without quotes and with single spaces, as it is written and
    behind what runs it. Raises Unreadable if a program depends on what the shell would expand, or
    comes from elsewhere, such as `curl … | sh`.
    """
    if len(text) > MAX_TEXT:
        raise Unreadable
    found = _Forms()
    found.keep([text])
    _Script(text, found, 0).read()
    return list(found.texts)


class _Forms:
    """The forms of a command line, up to MAX_WORK characters."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self._left = MAX_WORK

    def keep(self, words: list[str]) -> None:
        """Keep the form of these words. Raises Unreadable beyond MAX_WORK."""
        form = " ".join(words)
        self._left -= len(form)
        if self._left < 0:
            raise Unreadable
        self.texts[form] = None


class _Script:
    """A script that is read. `found`: gets the forms of its simple commands."""

    def __init__(self, text: str, found: _Forms, depth: int, at: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable
        self._text, self._found, self._depth, self._at = text, found, depth, at
        self._words: list[Word] = []
        self._word: Word | None = None
        self._target = ""  # the redirection whose file is the next word
        self._here: Word | None = None  # a here-string of this command
        self._documents: list[_Document] = []  # here-documents whose lines are to come

    def read(self, end: str = "") -> int:
        """Read up to an unmatched `end`, or to the end of the text. Return the place behind it."""
        text, depth = self._text, 0
        while self._at < len(text):
            char = text[self._at]
            if plain := _PLAIN.match(text, self._at):
                self._add(plain[0])
                self._at = plain.end()
            elif char in " \t\r":
                self._end_word()
                self._at += 1
            elif char in "()":
                depth += 1 if char == "(" else -1
                self._end_command()
                self._at += 1
                if depth < 0 and end:
                    return self._at
            elif char in ";&|\n":
                self._separator(char)
            elif char in "<>":
                self._redirection(char)
            elif char == "#" and self._word is None:
                line = text.find("\n", self._at)
                self._at = len(text) if line < 0 else line
            else:
                self._part_of_word(char)
        if end:
            raise Unreadable
        self._end_command()
        return self._at

    def expansions(self) -> None:
        """Read only what the shell would run while it expands the text, as in a here-document."""
        for match in re.finditer(r"\\.|[$`]", self._text, re.S):
            if match[0] in "$`" and match.start() >= self._at:
                self._at = match.start()
                self._expansion()

    # -- pieces -----------------------------------------------------------------------------------

    def _separator(self, char: str) -> None:
        if self._text.startswith("&>", self._at):  # a redirection of both outputs
            self._redirection("&")
            return
        self._end_command()
        self._at += 1
        if char == "\n":
            for document in self._documents:
                self._read_document(document)
            self._documents = []

    def _redirection(self, char: str) -> None:
        text, at = self._text, self._at
        if self._word is not None and self._word.text.isdecimal():
            self._word = None
        self._end_word()
        if text.startswith(("<(", ">("), at):
            self._at = _Script(text, self._found, self._depth + 1, at + 2).read(")")
            self._add("/dev/fd/63", expands=True)
        elif text.startswith("<<<", at):
            self._at, self._target = at + 3, "<<<"
        elif match := _HERE_DOCUMENT.match(text, at):
            name = re.sub(r"[\\'\"]", "", match[2])
            self._documents.append(_Document(name, name == match[2], match[1] == "-"))
            self._at = match.end()
        else:
            match = _REDIRECTION.match(text, at)
            self._at, self._target = match.end() if match else at + 1, char

    def _read_document(self, document: _Document) -> None:
        lines = []
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            line = self._text[self._at : end if end >= 0 else None]
            self._at += len(line) + 1
            if (line.lstrip("\t") if document.tabs else line) == document.name:
                break
            lines.append(line)
        body = _Script("\n".join(lines), self._found, self._depth + 1)
        if document.is_script:
            body.read()
        elif document.expands:
            body.expansions()

    def _part_of_word(self, char: str) -> None:
        text, at = self._text, self._at
        if char == "\\":
            self._at += 2
            if (escaped := text[at + 1 : at + 2]) != "\n":
                self._add(escaped)
        elif match := _SINGLE.match(text, at):
            self._add(match[1] if match[2] is None else _ESCAPE.sub(_escaped, match[2]))
            self._at = match.end()
        elif char == '"' or text.startswith('$"', at):
            self._at += 1 if char == '"' else 2
            self._double_quoted()
        elif char in "$`":
            self._expansion()
        elif char == "'":
            raise Unreadable
        else:  # a glob, braces, or a `#` in a word
            self._add(char, expands=char in "*?[{")
            self._at += 1

    def _double_quoted(self) -> None:
        self._add("")
        while match := _DOUBLE.match(self._text, self._at):
            self._at = match.end()
            self._add(re.sub(r"\\([$`\"\\\n])", r"\1", match[1]))
            if match[2] == '"':
                return
            self._at -= 1
            self._expansion()
        raise Unreadable

    def _expansion(self) -> None:
        """Read what begins with `$` or a backtick, and the commands in it."""
        text, at, deeper = self._text, self._at, self._depth + 1
        if match := _BACKTICKS.match(text, at):
            _Script(re.sub(r"\\([$`\\])", r"\1", match[1]), self._found, deeper).read()
            self._at = match.end()
        elif text.startswith("$((", at) and (end := _end_of_sum(text, at)):
            _Script(text[at + 3 : end], self._found, deeper).expansions()
            self._at = end + 2
        elif text.startswith("$(", at):
            self._at = _Script(text, self._found, deeper, at + 2).read(")")
        elif match := _BRACES.match(text, at):
            _Script(match[1], self._found, deeper).expansions()
            self._at = match.end()
        elif (match := re.compile(r"\$(\w+|[@*#?$!-])?").match(text, at)) and match[1]:
            self._at = match.end()
        elif text[at] == "`" or text.startswith("${", at):
            raise Unreadable
        else:  # a lone dollar sign
            self._at = at + 1
            self._add("$")
            return
        self._add(text[at : self._at], expands=True)

    # -- words and commands -----------------------------------------------------------------------

    def _add(self, text: str, *, expands: bool = False) -> None:
        self._word = self._word or Word()
        self._word.text += text
        self._word.expands |= expands

    def _end_word(self) -> None:
        if self._word is None:
            return
        if self._target == "<<<":
            self._here = self._word
        elif not self._target:
            self._words.append(self._word)
        self._word, self._target = None, ""

    def _end_command(self) -> None:
        self._end_word()
        words, self._words = self._words, []
        here, self._here = self._here, None
        if words and self._command(words):  # a shell that reads its commands
            if here and not here.expands:
                self._nested(here.text)
            elif self._documents:
                self._documents[-1].is_script = True
            else:
                raise Unreadable

    def _nested(self, text: str) -> None:
        _Script(text, self._found, self._depth + 1).read()

    def _command(self, words: list[Word], depth: int = 0) -> bool:
        """Keep the forms of a simple command. Return whether it reads commands from its input.

        `depth`: how many programs run it.
        """
        if depth > MAX_DEPTH:
            raise Unreadable
        while words and (words[0].text in _STARTS or _ASSIGNMENT.match(words[0].text)):
            words = words[1:]
        if words and words[0].text == "function":
            words = words[3:]
        if not words:
            return False
        if words[0].expands and words[0].text not in ("[", "[["):
            raise Unreadable
        program, rest = words[0].text.rpartition("/")[2], words[1:]
        self._found.keep([words[0].text, *(word.text for word in rest)])
        self._found.keep([program, *(word.text for word in rest)])
        if program in _SHELLS:
            return self._shell(rest)
        if program == "git":  # an alias
            for word in rest:
                self._nested(word.text.partition("=!")[2])
        if program == "find":
            self._of_find(rest, depth)
        if program in _SCRIPTS:
            self._code(program, rest)
        return program in _WRAPPERS and self._wrapped(program, rest, depth)

    def _wrapped(self, program: str, rest: list[Word], depth: int) -> bool:
        reads = False
        for start in _program_places(program, rest):
            reads |= self._command(rest[start:], depth + 1)
            if program in ("xargs", "parallel"):  # more arguments come from the input
                self._found.keep([*(word.text for word in rest[start:]), ""])
        return reads

    def _of_find(self, rest: list[Word], depth: int) -> None:
        begin = 0
        for at, word in enumerate([*rest, Word(";")], 1):
            if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
                begin = at
            elif begin and word.text in (";", "+"):
                self._command(rest[begin : at - 1], depth + 1)
                begin = 0

    def _shell(self, rest: list[Word]) -> bool:
        """Read the script of `sh -c`. Return whether the shell reads its input instead."""
        for at, word in enumerate(rest):
            if not word.text.startswith(("-", "+")) or word.text in ("-", "--"):
                if word.expands:
                    raise Unreadable
                return word.text == "-"
            if re.match(r"-[a-zA-Z]*c", word.text):
                scripts = [each for each in rest[at + 1 :] if not each.text.startswith("-")]
                if not scripts:
                    return False
                if scripts[0].expands:
                    raise Unreadable
                self._nested(scripts[0].text)
                return False
        return True

    def _code(self, program: str, rest: list[Word]) -> None:
        """Read the words of a program that are a script."""
        texts = [word.text for word in rest]
        if program == "eval" and any(word.expands for word in rest):
            raise Unreadable
        if program in ("eval", "trap"):
            self._nested(" ".join(texts if program == "eval" else texts[:1]))
            return
        if program in ("ssh", "watch"):
            for start in _program_places(program, rest):
                self._nested(" ".join(texts[start:]))
            return
        for option, value in pairwise([*rest, Word()]):
            if option.text in ("-c", "-S", "--command", "--split-string"):
                self._nested(value.text)
            elif program == "env" and option.text.startswith(("-S", "--split-string=")):
                self._nested(re.sub(r"^(-S|--split-string=)", "", option.text))


def _program_places(program: str, rest: list[Word]) -> list[int]:
    """Return where the program may begin in the words of one that runs another.

    The word after an option may be its value, so the next one counts, too.
    """
    found: list[int] = []
    todo, seen = [0, 1] if program in _OWN_WORD else [0], set[int]()
    while todo:
        at = todo.pop()
        if at in seen or at >= len(rest):
            continue
        seen.add(at)
        text = rest[at].text
        if text.startswith("-"):
            todo += [at + 1, at + 2]
        elif _ASSIGNMENT.match(text) or _NUMBER.fullmatch(text):
            todo.append(at + 1)
        else:
            found.append(at)
    return sorted(found)


def _end_of_sum(text: str, at: int) -> int:
    """Return where the `))` of the `$((` at `at` is; 0 if it begins a command in parentheses."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, at + 1, at + MAX_SUM):
        depth += 1 if match[0] == "(" else -1
        if depth == 1 and match[0] == ")":
            return match.start() if text.startswith("))", match.start()) else 0
    return 0


def _escaped(match: re.Match[str]) -> str:
    said = match[1]
    if said[0] in "xu" and len(said) > 1:
        return chr(int(said[1:], 16))
    return chr(int(said, 8)) if said.isdecimal() else _ESCAPES.get(said, said)
