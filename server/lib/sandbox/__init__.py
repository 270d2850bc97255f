"""Calls of Python functions in processes that can reach only what they are given.

probe.prove tries what this machine can do (tiers A, B, C, none) and returns a pool of workers.
process.Job says what to call, with which limits and network; SandboxedProcess or PlainProcess runs
it, kept_processes keeps one for many calls, process_call.ProcessCall reads what comes of it:

    import asyncio
    import tempfile
    from lib.sandbox.policy import WORKSPACE, Mount
    from lib.sandbox.process import Job, PlainProcess
    from lib.sandbox.process_call import ProcessCall

    WHERE = ("module", "lib.sandbox.selftest", "folder_access")
    LIMITS = {"wall_s": 60, "cpu_s": 10, "memory_mb": 512, "file_mb": 16, "output_kb": 64,
              "processes": 64, "open_files": 256}

    async def main(folder):
        job = Job(WHERE, {"mode": "write"}, "any session", LIMITS)
        process = PlainProcess(job, (Mount(WORKSPACE, folder),))
        await process.start()
        print((await ProcessCall(job, process).run(print)).status)  # ok
        process.kill()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))

The function gets a tool_context.Context first. layers: seccomp, Landlock and namespaces (syscalls,
worker), a proxy for allowed hosts (netproxy), limits (supervisor). selftest attacks what was made.
"""
