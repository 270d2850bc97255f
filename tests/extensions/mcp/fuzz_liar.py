"""An MCP server over stdio that answers from a file: `python3 -I -S fuzz_liar.py <file>`.

Each line of the file is a method and, in hex, what a request of it is answered with; the last one
of a method is said again and again. `ID` in an answer becomes the id of the request.
"""

import re
import sys

ID = b'"@ID@"'
_ASKED = re.compile(rb'"id": (\d+), "method": "([a-z/]+)"')


class Lies:
    def __init__(self, told: dict[bytes, list[bytes]]) -> None:
        self._told = {method: list(answers) for method, answers in told.items()}

    def answer(self, request: bytes) -> bytes:
        """What is said to this message; nothing to a notification or an answer."""
        found = _ASKED.search(request)
        answers = self._told.get(found[2], []) if found else []
        if found is None or not answers:
            return b""
        said = answers.pop(0) if len(answers) > 1 else answers[0]
        return said.replace(ID, found[1])


def written(told: dict[bytes, list[bytes]]) -> bytes:
    lines = [b"%s %s\n" % (m, a.hex().encode()) for m, answers in told.items() for a in answers]
    return b"".join(lines)


def main() -> None:
    told: dict[bytes, list[bytes]] = {}
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123 (pathlib would cost half the start)
        for line in file:
            method, _, answer = line.partition(b" ")
            told.setdefault(method, []).append(bytes.fromhex(answer.decode()))
    lies = Lies(told)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(lies.answer(line))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
