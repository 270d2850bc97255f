"""A simulator: real servers in one process, on lines in memory, with a clock that jumps.

    loop      the event loop, and processes that can be killed
    disk      files with the world's time, effects and faults
    line      a TCP connection: what the client's machine has, and what its program has read
    host      one server: the product's listener, router, handlers, agent, claims and records
    world     the servers of one home, their clock, and what tools did
    wire      the client's side of HTTP
    spec      what a world consists of: calls, a disturbance, what the client does next
    client    plays one world
    caller    plays a program with an SDK
    thread    plays a client of AG-UI
    oracle    judges it, by what tools counted and what documents say
    worlds    all small worlds, and random large ones
    merged    which small worlds end alike
    whole     plays all small worlds, a share at a time

Model, tools, workspaces and the locks of fcntl are stand-ins. Processes of sandboxes, TLS and
files are not played.

    python3 -m tests.chaos.simulator --share 1/8 --seed 7
    python3 -m tests.chaos.simulator --all FILE
"""
