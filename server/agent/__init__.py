"""The agent's loop: decide what is next, perform it, fold the events. Imports everything below the
API."""
