"""Runs modules as tests/tooling/suite.py does, and says after each what it has reached.

It is run in the tree that is tried, `python mapped.py FOLDER --result FILE MODULE …`: the probes
leave their files in the folder, and those of this process begin anew with each module.
"""

import json
import sys
from pathlib import Path
from typing import Any

MAPPED = "\x1f"


def main() -> None:
    sys.path[0] = str(Path.cwd())
    from tests.tooling import suite  # noqa: PLC0415 - of that tree, not of this file's

    folder, run = Path(sys.argv.pop(1)), suite.run_module

    def run_module(name: str, wanted: Any = None) -> dict[str, Any]:
        vars(sys)["reached"] = set[str]()
        found = run(name, wanted)
        files = [*folder.iterdir()]
        reaches = [file.name for file in files]
        for file in files:
            file.unlink()
        print(MAPPED + json.dumps({**found, "reaches": sorted(reaches)}), flush=True)
        return found

    suite.run_module = run_module
    suite.main()


if __name__ == "__main__":
    main()
