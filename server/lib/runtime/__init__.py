"""The process: its event loop, threads, memory and files, and what each person holds of it.

event_loop     a loop that goes on whatever a callback raises, and when descriptors run out
offload        work for a thread, where it is long
accounts       shares of connections, memory and runs that several people have of one process
programs       the one place that starts programs; none inherits a folder, variables or descriptors
private_files  files that appear whole, for this user alone
waits, clock_jumps, memory, descriptors, file_stamps, secret_filter, command, start_folder, run_id

Alone:

    import tempfile
    from pathlib import Path
    from lib.runtime import private_files

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sub", "key")
        print(private_files.write(file, b"secret", replace=False))  # True
        print(private_files.write(file, b"other", replace=False))  # False: it is there
"""
