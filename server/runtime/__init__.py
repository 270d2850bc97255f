"""The process: its event loop, threads and garbage collector, and what each person holds of it."""
