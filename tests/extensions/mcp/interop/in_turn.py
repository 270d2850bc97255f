"""`python -I -S in_turn.py SOCKET URL`: has the client that serves at SOCKET (mcp_client.py) go
through a scenario, prints what it says, and exits as it would. Imports little: it starts for each.
"""

from __future__ import annotations

import json
import os
import socket
import sys

if __name__ == "__main__":
    env = {name: value for name, value in os.environ.items() if name.startswith("MCP_")}
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sys.argv[1])
        line.sendall(json.dumps([sys.argv[-1], env]).encode() + b"\n")
        with line.makefile() as answer:
            *said, code = answer.readlines()
    sys.stdout.writelines(said)
    sys.exit(int(code))
