"""The commands: serve, run, chat, doctor, workers, bundle. May import everything; nothing imports
it but `__main__`."""
