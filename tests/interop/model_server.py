"""llama.cpp's HTTP server for one model file: `model_server MODEL TEMPLATE CONTEXT`.

Prints `READY http://…` and serves until its standard input ends, so it cannot outlive whoever
started it. Needs the xllamacpp wheel; local_model.py starts it only where that is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import xllamacpp

# Its threads spin while they wait: two models with two each on two processors stand still
THREADS = 1


def serve(model: str, template: str, context: int) -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = context
    parameters.n_parallel = 1  # one slot, so that the prompt cache is the conversation's own
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.use_jinja = True
    parameters.chat_template = Path(template).read_text()
    server = xllamacpp.Server(parameters)
    # One write with a line end before it, because the engine logs to the same place.
    sys.stdout.write(f"\nREADY {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
