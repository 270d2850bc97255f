"""Run agents: decide the next step, perform it, fold the events.

May import every layer below `api`.
"""
